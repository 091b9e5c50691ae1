"""Climbs over three runs or more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.rankings.builders import random_runs
from tunesmith.data.rankings.building import from_runs
from tunesmith.tasks.rankings import RankingTask
from tunesmith.tuners.fusion.baselines import grid
from tunesmith.tuners.fusion.weights import best_weights

pytestmark = pytest.mark.filterwarnings("ignore:.* count:UserWarning")

seeds = st.integers(0, 2**31)


def task_of(seed, runs, metric):
    found, qrels = random_runs(seed, queries=4, runs=runs)
    return RankingTask(from_runs(found, qrels), metric)


@given(seeds, st.sampled_from(["ap", "ndcg@3", "rr"]))
def test_no_point_of_the_grid_is_better(seed, metric):
    task = task_of(seed, 3, metric)
    weights, mix = best_weights(task, 1)
    assert mix is None
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert task.score_at(weights) >= max(task.score_at(point) for point in grid(3))


@given(seeds)
def test_no_run_alone_and_no_equal_weights_are_better(seed):
    task = task_of(seed, 6, "ndcg")
    weights, _ = best_weights(task, 1)
    others = [np.full(6, 1 / 6), *np.eye(6)]
    assert task.score_at(weights) >= max(map(task.score_at, others))
    assert np.array_equal(weights, best_weights(task, 1)[0])


def test_a_climb_goes_beyond_the_grid():
    # The best weights of few decimals are between its points.
    gains = []
    for seed in range(10):
        task = task_of(seed, 3, "ap")
        best = max(task.score_at(point) for point in grid(3))
        gains.append(task.score_at(best_weights(task, 1)[0]) - best)
    assert max(gains) > 0.0


@given(seeds, st.sampled_from([3, 6]))
def test_weights_of_any_sign_are_no_worse_than_simple_ones(seed, count):
    task = task_of(seed, count, "ap")
    weights, _ = best_weights(task, 1, allow_negative=True)
    assert np.abs(weights).sum() == pytest.approx(1.0)
    others = [np.full(count, 1 / count), *np.eye(count)]
    assert task.score_at(weights) >= max(map(task.score_at, others))
    assert np.array_equal(weights, best_weights(task, 1, allow_negative=True)[0])


@pytest.mark.parametrize("count", [3, 6])
def test_a_run_that_is_wrong_gets_a_weight_below_zero(count):
    # All runs but one are noise, and that one has the relevant documents at its end.
    rng = np.random.default_rng(3)
    runs, qrels = {f"r{d}": {} for d in range(count)}, {}
    for q in range(20):
        qrels[f"q{q}"] = {f"d{k}": int(k < 3) for k in range(12)}
        for d in range(count):
            scores = rng.normal(size=12) - (5.0 * (np.arange(12) < 3) if d == 0 else 0.0)
            runs[f"r{d}"][f"q{q}"] = {f"d{k}": float(score) for k, score in enumerate(scores)}
    task = RankingTask(from_runs(runs, qrels), "ap", "z")
    weights, _ = best_weights(task, 1, allow_negative=True)
    assert weights[0] < -0.5
    assert task.score_at(weights) > 0.99
    assert task.score_at(best_weights(task, 1)[0]) < 0.6
