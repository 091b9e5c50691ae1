"""Along a line, rankings are worth what they are worth from scratch, everywhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.rankings.builders import OTHERS, TREC, orders, plain_value, random_runs
from tunesmith.data.rankings.building import from_runs
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.rankings.layers import first_layers
from tunesmith.inference.rankings.places import FEW, counts_above
from tunesmith.search.line.search import totals_along
from tunesmith.tasks.rankings import RankingTask

pytestmark = pytest.mark.filterwarnings("ignore:.* count:UserWarning")

seeds = st.integers(0, 2**31)
normalisations = st.sampled_from(["none", "min-max", "z", "rank", "reciprocal-rank:k=3"])
#: Slopes that differ by rounding alone cross beyond it.
FAR = 1e6


def task_of(seed, metric, normalisation="none", **size):
    runs, qrels = random_runs(seed, **size)
    return RankingTask(from_runs(runs, qrels), metric, normalisation), qrels


def intervals(task, weights, direction):
    """Yield a point of each interval of the line, and the sum there."""
    hypotheses = task.hypotheses()
    point = hypotheses.point(weights)
    edges, totals = totals_along(hypotheses.envelope(point, Direction.of(direction, "line")))
    ends = [-FAR, *edges, FAR]
    for low, high, total in zip(ends[:-1], ends[1:], totals, strict=True):
        middle = 0.5 * (low + high)
        if high - low > 1e-9 and abs(middle) < FAR:
            yield weights + middle * direction, total


@given(seeds, st.sampled_from([*TREC, *OTHERS]), normalisations)
def test_the_curve_is_what_rankings_from_scratch_say_to_the_last_bit(seed, metric, normalisation):
    task, _ = task_of(seed, metric, normalisation)
    rng = np.random.default_rng(seed)
    weights, direction = rng.integers(-3, 4, 2).astype(float), rng.normal(size=2)
    hypotheses = task.hypotheses()
    for at, total in intervals(task, weights, direction):
        assert np.array_equal(hypotheses.point(at).total, total)


@given(seeds, st.sampled_from(list(TREC)), normalisations)
def test_the_curve_is_a_dense_scan_scored_by_trec_eval(seed, metric, normalisation):
    trec = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    task, qrels = task_of(seed, metric, normalisation)
    rng = np.random.default_rng(seed)
    weights, direction = rng.integers(-3, 4, 2).astype(float), rng.normal(size=2)
    evaluator = trec.RelevanceEvaluator(qrels, {TREC[metric]})
    for at, total in intervals(task, weights, direction):
        # It keeps scores in single precision, so it is given ranks: small whole numbers.
        run = {
            query: {name: float(-rank) for rank, name in enumerate(names)}
            for query, names in orders(task, at).items()
        }
        found = evaluator.evaluate(run)
        mean = np.mean([found[query][TREC[metric]] for query in task.rankings.queries])
        assert task.metric.score(total) == pytest.approx(mean, abs=1e-11)


@given(seeds, st.sampled_from([*OTHERS, "ndcg", "ndcg@3", "ap", "ap@4", "rr", "success@1"]))
def test_the_curve_is_a_dense_scan_by_the_definitions(seed, metric):
    task, qrels = task_of(seed, metric)
    rng = np.random.default_rng(seed)
    for at, total in intervals(task, rng.normal(size=2), rng.normal(size=2)):
        values = [plain_value(metric, names, qrels[q]) for q, names in orders(task, at).items()]
        assert task.metric.score(total) == pytest.approx(np.mean(values), abs=1e-11)


@given(seeds, st.sampled_from([*TREC, *OTHERS]), normalisations)
def test_between_two_limits_the_curve_is_the_same(seed, metric, normalisation):
    task, _ = task_of(seed, metric, normalisation)
    rng = np.random.default_rng(seed)
    weights, direction = rng.integers(-3, 4, 2).astype(float), rng.normal(size=2)
    low, high = sorted(rng.normal(size=2))
    hypotheses = task.hypotheses()
    envelope = hypotheses.envelope(
        hypotheses.point(weights), Direction.of(direction, "line"), (low, high)
    )
    edges, totals = totals_along(envelope)
    assert ((edges >= low) & (edges <= high)).all()
    for left, right, total in zip([low, *edges], [*edges, high], totals, strict=True):
        if right - left > 1e-9:
            at = hypotheses.point(weights + 0.5 * (left + right) * direction)
            assert np.array_equal(at.total, total)


@given(seeds, st.sampled_from(["ndcg@2", "rr@3", "p@2", "success@1", "err@4", "ap@3", "rr"]))
def test_documents_that_cannot_reach_the_top_may_be_left_out(seed, metric):
    # So many documents that layers are looked for.
    task, _ = task_of(seed, metric, "none", queries=2, documents=60, values=9)
    rng = np.random.default_rng(seed)
    hypotheses = task.hypotheses()
    for at, total in intervals(task, rng.normal(size=2), rng.normal(size=2)):
        assert np.array_equal(hypotheses.point(at).total, total)


@given(seeds, st.integers(1, 4), st.integers(1, 25))
def test_layers_have_all_that_is_on_top_somewhere(seed, k, size):
    rng = np.random.default_rng(seed)
    slopes, scores = (rng.integers(0, 6, size).astype(float) for _ in range(2))
    kept = set(first_layers(slopes, scores, np.arange(size), k).tolist())
    for gamma in np.append(rng.normal(size=30), rng.normal(scale=100.0, size=10)):
        values = scores + gamma * slopes
        assert set(np.argsort(-values, kind="stable")[:k].tolist()) <= kept


def test_few_documents_are_in_the_first_layers():
    # Otherwise the search for them would be of no use.
    rng = np.random.default_rng(1)
    slopes, scores = rng.normal(size=(2, 1000))
    assert len(first_layers(slopes, scores, np.arange(1000), 10)) < 250


@given(seeds, st.sampled_from(["ap", "ap@4", "ndcg", "rr@2"]))
def test_many_relevant_documents_are_searched_level_by_level(seed, metric):
    # More of them than are compared with each document one by one.
    rng = np.random.default_rng(seed)
    names = [f"d{k}" for k in range(2 * FEW)]
    runs = {
        run: {"q0": {name: float(rng.integers(0, 40)) for name in names}} for run in ("r0", "r1")
    }
    qrels = {"q0": {name: int(rng.integers(0, 9)) for name in names}}
    task = RankingTask(from_runs(runs, qrels), metric, "none")
    assert (task.terms.level > 0).sum() > FEW
    weights, direction = rng.normal(size=2), rng.normal(size=2)
    value = plain_value(metric, orders(task, weights)["q0"], qrels["q0"])
    assert task.values(weights) == pytest.approx([value], abs=1e-12)
    hypotheses = task.hypotheses()
    for at, total in itertools.islice(intervals(task, weights, direction), 0, None, 97):
        assert np.array_equal(hypotheses.point(at).total, total)


@given(seeds, st.integers(1, 200))
def test_counts_above_are_what_a_comparison_with_each_says(seed, size):
    rng = np.random.default_rng(seed)
    best_first = -np.sort(rng.integers(0, 30, size).astype(float))
    keys = -rng.integers(-1, 32, 50).astype(float)
    expected = (best_first[None, :] > keys[:, None]).sum(axis=1)
    assert np.array_equal(counts_above(best_first, keys), expected)


def test_a_step_and_a_scale_evaluate_the_same():
    task, _ = task_of(7, "ndcg@3")
    hypotheses = task.hypotheses()
    point = hypotheses.point(np.array([1.0, 0.5]))
    moved = hypotheses.move(point, Direction.along(1, "r1"), 0.75)
    assert np.array_equal(moved.weights, [1.0, 1.25])
    assert np.array_equal(moved.total, hypotheses.point(moved.weights).total)
    scaled = hypotheses.scaled(point, 4.0)
    assert np.array_equal(scaled.weights, [4.0, 2.0])
    assert np.array_equal(hypotheses.point(scaled.weights).total, point.total)
