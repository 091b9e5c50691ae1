"""The best of all mixes of two runs is the best that brute force finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.rankings.builders import OTHERS, TREC, orders, plain_value, random_runs
from tunesmith.data.rankings.building import from_runs
from tunesmith.tasks.rankings import RankingTask
from tunesmith.tuners.fusion.mix import best_mix, curve_of, shortest

pytestmark = pytest.mark.filterwarnings("ignore:.* count:UserWarning")

seeds = st.integers(0, 2**31)
normalisations = st.sampled_from(["none", "min-max", "z", "sum", "rank", "reciprocal-rank"])


def crossings(task):
    """Return each α between 0 and 1 where two documents of a query have the same score."""
    found = {0.0, 1.0}
    first, second = task.features.dense
    for q in range(task.groups):
        rows = range(task.rankings.start[q], task.rankings.start[q + 1])
        for i, j in itertools.combinations(rows, 2):
            rise = (second[i] - first[i]) - (second[j] - first[j])
            if rise != 0.0:
                at = (first[j] - first[i]) / rise
                if 0.0 < at < 1.0:
                    found.add(at)
    return sorted(found)


def between(edges):
    """Return the middle of each interval that is one."""
    return [0.5 * (a + b) for a, b in itertools.pairwise(edges) if b - a > 1e-9]


@given(seeds, st.sampled_from([*OTHERS, "ndcg", "ndcg@3", "ap", "rr", "success@1"]), normalisations)
def test_no_mix_is_better_by_brute_force_over_all_breakpoints(seed, metric, normalisation):
    runs, qrels = random_runs(seed)
    task = RankingTask(from_runs(runs, qrels), metric, normalisation)

    def score(alpha):
        found = orders(task, [1.0 - alpha, alpha])
        return np.mean([plain_value(metric, names, qrels[q]) for q, names in found.items()])

    mix = best_mix(task)
    best = max(score(alpha) for alpha in between(crossings(task)))
    assert mix.score == pytest.approx(best, abs=1e-10)
    assert score(mix.alpha) == pytest.approx(best, abs=1e-10)
    for alpha in np.linspace(mix.low, mix.high, 9)[1:-1]:
        assert score(alpha) == pytest.approx(best, abs=1e-10)


@given(seeds, st.sampled_from(list(TREC)), normalisations)
def test_no_mix_is_better_by_trec_eval(seed, metric, normalisation):
    trec = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    runs, qrels = random_runs(seed)
    task = RankingTask(from_runs(runs, qrels), metric, normalisation)
    evaluator = trec.RelevanceEvaluator(qrels, {TREC[metric]})
    mix = best_mix(task)
    for alpha in [mix.alpha, *between(crossings(task))]:
        # It keeps scores in single precision, so it is given ranks: small whole numbers.
        run = {
            query: {name: float(-rank) for rank, name in enumerate(names)}
            for query, names in orders(task, [1.0 - alpha, alpha]).items()
        }
        found = evaluator.evaluate(run)
        mean = np.mean([found[query][TREC[metric]] for query in task.rankings.queries])
        assert mean <= mix.score + 1e-10
        if alpha == mix.alpha:
            assert mean == pytest.approx(mix.score, abs=1e-10)


@given(seeds, st.sampled_from([*OTHERS, "ndcg", "ndcg@3", "ap", "rr", "success@1"]), normalisations)
def test_no_mix_of_any_signs_is_better_by_brute_force(seed, metric, normalisation):
    runs, qrels = random_runs(seed)
    task = RankingTask(from_runs(runs, qrels), metric, normalisation)

    def score(weights):
        ranked = orders(task, weights)
        return np.mean([plain_value(metric, names, qrels[q]) for q, names in ranked.items()])

    mix = best_mix(task, allow_negative=True)
    # All directions of a plane: documents tie at right angles to their difference.
    angles = [0.0, np.pi]
    for q in range(task.groups):
        rows = range(task.rankings.start[q], task.rankings.start[q + 1])
        for i, j in itertools.combinations(rows, 2):
            away = task.features.dense[:, i] - task.features.dense[:, j]
            if away.any():
                angle = np.arctan2(away[1], away[0]) + np.pi / 2
                angles += [angle % (2 * np.pi), (angle + np.pi) % (2 * np.pi)]
    angles = sorted({round(angle, 12) for angle in [*angles, *np.arange(4) * np.pi / 2]})
    middles = [0.5 * (a + b) for a, b in itertools.pairwise([*angles, angles[0] + 2 * np.pi])]
    best = max(score([np.cos(angle), np.sin(angle)]) for angle in middles)
    assert mix.score == pytest.approx(best, abs=1e-10)
    assert score(mix.weights) == pytest.approx(best, abs=1e-10)
    assert np.abs(mix.weights).sum() == pytest.approx(1.0)
    assert mix.score >= best_mix(task).score


@given(seeds)
def test_the_curve_has_no_edge_where_nothing_changes(seed):
    runs, qrels = random_runs(seed)
    curve = curve_of(RankingTask(from_runs(runs, qrels), "ndcg@3"))
    assert len(curve.scores) == len(curve.edges) + 1
    assert (np.diff(curve.ends) > 0.0).all()
    assert (np.diff(curve.scores) != 0.0).all()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, 0.5),
        (0.3, 0.4, 0.35),
        (0.63, 0.69, 0.66),
        (0.0, 0.5, 0.2),
        (0.9999, 1.0, 0.99995),
    ],
)
def test_an_alpha_has_few_digits(low, high, expected):
    assert shortest(low, high) == expected


def test_weights_have_the_digits_of_alpha():
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"x": 1.0, "y": 2.0}}}
    mix = best_mix(RankingTask(from_runs(runs, {"q": {"x": 1}}), "rr"))
    # With names as they are y wins a tie; below a half x is first.
    assert (mix.low, mix.high, mix.score) == (0.0, 0.5, 1.0)
    assert mix.weights.tolist() == [0.8, 0.2]
