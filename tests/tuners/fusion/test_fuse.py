from __future__ import annotations

import json

import numpy as np
import pytest

from tests.helpers.rankings.builders import orders, plain_value, random_runs
from tunesmith.data.rankings.building import from_runs
from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.errors import TunesmithError
from tunesmith.tasks.rankings import RankingTask
from tunesmith.tuners.fitting.folds import Folds
from tunesmith.tuners.fusion.baselines import grid, makers
from tunesmith.tuners.fusion.fuse import fuse
from tunesmith.tuners.fusion.mix import best_mix

pytestmark = pytest.mark.filterwarnings("ignore:.* count:UserWarning")


def some(seed=3, queries=40, runs=2, **size):
    found, qrels = random_runs(seed, queries=queries, runs=runs, values=30, **size)
    return from_runs(found, qrels), found, qrels


def mean(metric, order, qrels):
    return np.mean([plain_value(metric, names, qrels[q]) for q, names in order.items()])


def test_what_is_held_out_is_scored_with_weights_of_the_other_queries():
    found, _, qrels = some()
    fused = fuse(found, "ap", folds=4)
    folds = Folds.of(found.groups, 4)
    values = np.zeros(found.groups)
    for k in range(4):
        mix = best_mix(RankingTask(found.with_queries(folds.rest(k)), "ap"))
        part = RankingTask(found.with_queries(folds.held_out(k)), "ap")
        order = orders(part, mix.weights)
        values[folds.held_out(k)] = [plain_value("ap", order[q], qrels[q]) for q in order]
        entry = fused.tuned_in_folds[k]
        assert entry["weights"] == dict(zip(found.names, mix.weights.tolist(), strict=True))
    assert fused.held_out == pytest.approx(values.mean(), abs=1e-10)
    assert fused.verdict.on == "folds"
    equal = next(one for one in fused.baselines if one.name == "equal weights")
    assert fused.verdict.gain == pytest.approx(values.mean() - equal.held_out, abs=1e-10)


def test_baselines_are_what_their_names_say():
    found, runs, qrels = some(seed=5)
    fused = fuse(found, "ndcg@3")
    scores = {one.name: one for one in fused.baselines}
    union = orders(RankingTask(found, "ap"), [0.5, 0.5])

    def by(score):
        return {
            q: sorted(names, key=lambda name: (score(q, name), name), reverse=True)
            for q, names in union.items()
        }

    def reciprocal(q, name):
        total = 0.0
        for run in runs.values():
            ranked = sorted(run[q].items(), key=lambda pair: pair[::-1], reverse=True)
            rank = {other: r for r, (other, _) in enumerate(ranked, 1)}
            total += 1.0 / (60 + rank[name]) if name in rank else 0.0
        return round(total, 12)

    def minmax(run, q, name):
        values = run[q].values()
        if name not in run[q]:
            return 0.0
        low, high = min(values), max(values)
        return (run[q][name] - low) / (high - low) if high > low else 1.0

    expected = mean("ndcg@3", by(reciprocal), qrels)
    assert scores["reciprocal ranks"].score == pytest.approx(expected, abs=1e-10)
    total = by(lambda q, name: round(sum(minmax(run, q, name) for run in runs.values()), 12))
    assert scores["equal weights"].score == pytest.approx(mean("ndcg@3", total, qrels), abs=1e-10)
    alone = {
        name: np.mean(
            [
                plain_value(
                    "ndcg@3", sorted(run[q], key=lambda d: (run[q][d], d), reverse=True), qrels[q]
                )
                for q in found.queries
            ]
        )
        for name, run in runs.items()
    }
    assert scores["best run"].score == pytest.approx(max(alone.values()), abs=1e-10)
    assert scores["best run"].about == max(alone, key=alone.get)
    task = RankingTask(found, "ndcg@3")
    points = [np.array([1.0 - k / 10, k / 10]) for k in range(11)]
    assert scores["grid"].score == max(map(task.score_at, points))


@pytest.mark.long
def test_tuned_weights_are_the_best_of_all_on_the_queries_they_were_tuned_on():
    for count in (2, 3):
        found, _, _ = some(seed=9, runs=count)
        fused = fuse(found, "ndcg@3", folds=0)
        assert fused.held_out is None
        assert fused.verdict.recommendation == "no-held-out-data"
        others = [one.score for one in fused.baselines if one.name in {"equal weights", "grid"}]
        assert fused.score >= max(others)
        assert sum(fused.weights.values()) == pytest.approx(1.0)
        assert min(fused.weights.values()) >= 0.0


def test_a_grid_has_all_tenths_that_add_up_to_one():
    points = {tuple((10 * point).round().astype(int)) for point in grid(3)}
    assert len(points) == 66
    assert all(sum(point) == 10 and min(point) >= 0 for point in points)
    assert "grid" not in makers([*"abcd"])


def test_folds_choose_the_normalisation_on_other_queries_than_they_are_scored_on():
    # One run's scores are of another size in every query: as they are they are of no use.
    rng = np.random.default_rng(4)
    runs, qrels = {"a": {}, "b": {}}, {}
    for q in range(40):
        names = [f"d{k}" for k in range(15)]
        qrels[f"q{q}"] = {name: int(k < 3) for k, name in enumerate(names)}
        good = np.array([float(k < 3) for k in range(15)])
        runs["a"][f"q{q}"] = dict(zip(names, good + rng.normal(size=15), strict=True))
        size = 10.0 ** rng.uniform(-3, 3)
        other = size * (good + rng.normal(size=15))
        runs["b"][f"q{q}"] = dict(zip(names, other, strict=True))
    found = from_runs(runs, qrels)
    fused = fuse(found, "ap", ["none", "z"])
    assert fused.normalisation == Normalisation("z")
    assert {entry["normalisation"]["kind"] for entry in fused.tuned_in_folds} == {"z"}
    alone = fuse(found, "ap", "z")
    assert fused.held_out == alone.held_out


def test_a_test_set_has_no_influence_and_gives_the_verdict():
    found, _, _ = some(seed=11, queries=80)
    train, test = found.with_queries(range(40)), found.with_queries(range(40, 80))
    fused = fuse(train, "ap", test=test)
    assert fused.weights == fuse(train, "ap").weights
    assert fused.verdict.on == "test"
    assert fused.verdict.sentences == 40
    model = RankingTask(test, "ap", fused.normalisation)
    assert fused.held_out == model.score_at(fused.weights.vector)


@pytest.mark.long
def test_the_result_is_json_and_the_same_every_time():
    found, _, _ = some(runs=3)
    fused, again = fuse(found, "rr"), fuse(found, "rr")
    first, second = (one.to_dict() for one in (fused, again))
    assert first.pop("seconds") > 0
    second.pop("seconds")
    assert json.loads(json.dumps(first, allow_nan=False)) == json.loads(json.dumps(second))
    assert first["schema"] == "tunesmith.fuse/1"
    assert first["mix"] is None
    assert "equal weights" in str(fused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 1}, "folds is 1; give 2 or more"),
        ({"normalisation": []}, "there is no normalisation; give one"),
        ({"normalisation": "median"}, "unknown normalisation 'median'"),
        ({"metric": "bleu"}, "unknown metric of rankings 'bleu'"),
        ({"test": "same"}, "queries are tuned on and tested on"),
        ({"test": "others"}, "the test queries are of other runs"),
        ({"runs": 1}, "there is one run, and nothing to mix it with; give two or more"),
    ],
)
def test_wrong_options_are_errors_of_one_line(change, message):
    found, _, _ = some(runs=change.pop("runs", 2))
    if change.get("test") == "same":
        change["test"] = found.with_queries([0])
    elif change.get("test") == "others":
        change["test"] = found.with_features(drop="r0")
    with pytest.raises(TunesmithError, match=message) as error:
        fuse(found, **{"metric": "ap", **change})
    assert "\n" not in str(error.value)


def test_few_queries_are_not_enough_to_tell():
    found, _, _ = some(queries=6)
    assert fuse(found, "ap").verdict.recommendation == "not-enough-data"
    assert fuse(found.with_queries([0, 1]), "ap").verdict.recommendation == "no-held-out-data"
