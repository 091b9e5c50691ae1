"""The line search within limits, and under restrictions, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, tuning_set
from tests.helpers.search.line import best_within, drawn_task, random_task
from tests.helpers.search.restrictions import one_factor
from tests.helpers.search.single import search
from tests.helpers.tiers import examples
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.directions.base import Climb
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space

side = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, np.inf])


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1), side, side, st.sampled_from([Mean(), Loss()]), st.booleans())
def test_the_best_step_within_limits_is_that_of_brute_force(seed, below, above, metric, ties):
    if ties:
        tuning, rng = random_task(seed, metric)
        weights = rng.integers(-2, 3, 2).astype(float)
        direction = Direction.along(int(rng.integers(2)), "one")
    else:
        groups, values, rng = drawn_task(seed, 2)
        tuning = tuning_set([g.tolist() for g in groups], values, metric=metric)
        weights = rng.standard_normal(2)
        direction = Direction.of(rng.standard_normal(2), "any")
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(weights)
    step = search(hypotheses, point, direction, (-below, above))
    assert step.gain == best_within(tuning, point.weights, direction.vector(2), -below, above)
    assert -below <= step.low <= step.size <= step.high <= above
    assert hypotheses.move(point, direction, step.size).gain == step.gain


@settings(max_examples=examples(200))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["0:", ":0", "-1:1", "0.5:2", ":-0.5"]))
def test_one_bounded_weight_beside_a_fixed_one(seed, limits):
    """With one variable the search is global: it finds the best that the range allows."""
    tuning, _ = random_task(seed)
    hypotheses = ListHypotheses(tuning)
    held = Constraints.parse(fix=["f1=1"], bound=[f"f0={limits}"])
    space = Space.of(("f0", "f1"), np.zeros(2), held)
    climb = Climb(hypotheses, hypotheses.spread(), np.random.default_rng(seed), space)
    point = climb.begin(space.exact(np.zeros(2)))
    (direction,) = climb.coordinates()
    step = climb.search(point, [direction])[0]
    low, high = (float(x or s) for x, s in zip(limits.split(":"), ("-inf", "inf"), strict=True))
    at = point.weights[0]
    expected = best_within(tuning, point.weights, np.array([1.0, 0.0]), low - at, high - at)
    assert step.gain == expected
    moved = climb.take(point, direction, step)
    assert moved.gain == pytest.approx(expected, abs=1e-9)
    assert low <= moved.weights[0] <= high
    assert moved.weights[1] == 1.0


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["tie", "group"]))
def test_weights_that_move_together_are_one_line(seed, kind):
    groups, values, rng = drawn_task(seed, 3)
    tuning = tuning_set([g.tolist() for g in groups], values)
    start = np.array([1.0, 0.7, -1.0])
    held = {"tie": {"tie": ["f0=f1"]}, "group": {"scale_together": ["f0,f1"]}}[kind]
    space = Space.of(("f0", "f1", "f2"), start, Constraints.parse(**held))
    hypotheses = ListHypotheses(tuning)
    climb = Climb(hypotheses, hypotheses.spread(), rng, space)
    point = climb.begin(space.exact(start))
    way = np.array([1.0, 1.0, 0.0]) if kind == "tie" else np.array([1.0, 0.7, 0.0])
    direction = climb.coordinates()[0]
    step = climb.search(point, [direction])[0]
    assert step.gain == best_within(tuning, point.weights, way, -np.inf, np.inf)
    moved = climb.take(point, direction, step).weights
    assert one_factor([(moved[0], way[0]), (moved[1], way[1])])
    if step.size != 0.0:
        assert moved == pytest.approx(point.weights + step.size * way, rel=1e-12)


def test_a_sign_that_cuts_off_the_optimum_gives_the_best_of_what_is_left():
    # Along f0 with f1 = 1: the first wins up to -2 (gain 3), the second to 1, the third to 4.
    lines = [[-2.0, -2.0], [-1.0, 0.0], [0.0, -1.0], [1.0, -5.0]]
    tuning = tuning_set([lines], [[3.0, 0.0, 2.0, 1.0]])
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([0.0, 1.0]))
    assert point.gain == 0.0
    free = search(hypotheses, point, Direction.along(0, "f0"))
    assert (free.gain, free.high) == (3.0, -2.0)
    positive = search(hypotheses, point, Direction.along(0, "f0"), (0.0, np.inf))
    assert (positive.gain, positive.size) == (2.0, 2.5)  # the middle of 1 to 4
    narrow = search(hypotheses, point, Direction.along(0, "f0"), (0.0, 2.0))
    assert (narrow.gain, narrow.size) == (2.0, 1.5)  # the middle of what is left of it
    closed = search(hypotheses, point, Direction.along(0, "f0"), (0.0, 1.0))
    assert (closed.gain, closed.size) == (0.0, 0.0)


def test_an_interval_that_the_limits_leave_no_width_does_not_count():
    tuning = tuning_set([[[0.0, 0.0], [1.0, -2.0]]], [[0.0, 1.0]])  # better beyond 2
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([0.0, 1.0]))
    along = Direction.along(0, "f0")
    assert search(hypotheses, point, along, (-5.0, 2.0)).size == 0.0
    assert search(hypotheses, point, along, (-5.0, 2.0 + 1e-13)).size == 0.0
    assert search(hypotheses, point, along, (-5.0, 2.5)).size == 2.25
    assert search(hypotheses, point, along, (0.0, 0.0)).size == 0.0


def test_from_its_limit_a_weight_can_leave():
    tuning = tuning_set([[[0.0, 0.0], [1.0, -2.0]]], [[0.0, 1.0]])
    hypotheses = ListHypotheses(tuning)
    space = Space.of(("f0", "f1"), np.ones(2), Constraints.parse(bound=["f0=0:"], fix=["f1=1"]))
    climb = Climb(hypotheses, hypotheses.spread(), np.random.default_rng(1), space)
    point = climb.begin(space.exact(np.array([-1.0, 0.0])))
    assert point.weights.tolist() == [0.0, 1.0]
    step = climb.search(point, climb.coordinates())[0]
    assert (step.gain, step.size > 2) == (1.0, True)
