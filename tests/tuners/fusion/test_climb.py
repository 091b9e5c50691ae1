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
