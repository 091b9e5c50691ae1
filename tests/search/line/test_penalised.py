"""The line search with a penalty against a dense scan of the line, in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, tuning_set
from tests.helpers.search.penalties import KINDS, Task, make_penalty, plain_penalty
from tests.helpers.search.single import penalised_search, search
from tests.helpers.tiers import examples
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.directions.base import Climb
from tunesmith.search.line.penalised import bound_interval, intervals_of
from tunesmith.search.line.penalties import NonZero, NormalisedSquare, SquaredDistance
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space

sides = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, np.inf])


def tasks(kinds=KINDS, strengths=(1e-4, 0.01, 0.1, 1.0, 30.0)):
    return st.builds(
        Task,
        st.integers(0, 2**32 - 1),
        st.sampled_from(kinds),
        st.sampled_from(strengths),
        st.booleans(),
        st.tuples(sides.map(lambda x: -x), sides),
        st.sampled_from([Mean(), Loss()]),
    )


def searched(task):
    return penalised_search(task.hypotheses, task.point, task.direction, task.penalty, task.limits)


@settings(max_examples=examples(600))
@given(tasks())
def test_no_point_of_a_dense_scan_is_better(task):
    weights = task.at(task.scan())
    values = task.gains(task.winners(weights)) - task.penalties(weights)
    # What the scan itself rounds, where weights nearly vanish.
    assert searched(task).value >= values.max() - 3e-9 * max(1.0, task.strength)


@settings(max_examples=examples(400))
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 30.0]))
def test_no_point_of_an_unbounded_line_is_better_under_v3(seed, strength):
    task = Task(seed, "l2-normalized", strength, whole=False, metric=Mean())
    weights = task.at(task.scan())
    values = task.gains(task.winners(weights)) - task.penalties(weights)
    assert searched(task).value >= values.max() - 3e-9 * max(1.0, strength)


@settings(max_examples=examples(600))
@given(tasks())
def test_the_value_is_that_of_a_fresh_evaluation(task):
    step = searched(task)
    here, there = task.at([0.0]), task.at([step.size])
    assert step.here == pytest.approx(task.gains(task.winners(here)) - task.penalties(here))
    assert step.value >= step.here
    assert task.limits[0] <= step.low <= step.size <= step.high <= task.limits[1]
    gain = task.gains(task.exact_winners(step.size))
    assert step.gain == pytest.approx(gain, abs=1e-12)
    assert step.value == pytest.approx(gain - task.penalties(there), abs=1e-9)


@settings(max_examples=examples(300))
@given(tasks(strengths=[0.0]))
def test_without_strength_the_gain_is_that_of_a_search_without_a_penalty(task):
    plain = search(task.hypotheses, task.point, task.direction, task.limits)
    step = searched(task)
    assert (step.gain, step.value, step.here) == (plain.gain, plain.gain, task.point.gain)


@settings(max_examples=examples(300))
@given(tasks(["l0"]))
def test_weights_that_count_as_zero_are_exactly_zero(task):
    climb = Climb(task.hypotheses, np.ones(4), np.random.default_rng(0), penalty=task.penalty)
    (step,) = climb.search(task.point, [task.direction])
    moved = climb.take(task.point, task.direction, step)
    if step.zeros is not None:
        assert len(step.zeros) > 0
        assert not moved.weights[step.zeros].any()
    if step.value > step.here + 1e-9:
        count = (step.gain - step.value) / task.strength
        assert np.count_nonzero(moved.weights) == pytest.approx(count, abs=1e-6)
        np.testing.assert_allclose(moved.weights, task.at([step.size])[0], atol=1e-12)
        assert climb.value(moved) == pytest.approx(step.value, abs=1e-9)


@settings(max_examples=examples(150))
@given(tasks(strengths=[0.01]), st.sampled_from(["f0=0:", "f0=:0", "f1=-0.5:0.25"]))
def test_steps_within_bounds_never_lose(task, bound):
    """The value never falls and is that of the weights, which are within their bounds."""
    names, rng = task.hypotheses.names, np.random.default_rng(0)
    space = Space.of(names, task.weights, Constraints.parse(bound=[bound]))
    climb = Climb(task.hypotheses, np.ones(4), rng, space, penalty=task.penalty)
    point = climb.begin(space.exact(task.weights))
    values = [climb.value(point)]
    for direction in climb.coordinates() * 3:
        (step,) = climb.search(point, [direction])
        assert step.here == pytest.approx(values[-1])
        point = climb.take(point, direction, step)
        values.append(climb.value(point))
    assert values == sorted(values)
    np.testing.assert_array_equal(point.weights, space.exact(point.weights))
    penalty = task.strength * plain_penalty(task.kind, point.weights[None], task.centre)[0]
    assert values[-1] == pytest.approx(point.gain - penalty)


# ---------------------------------------------------------------- single lines, by hand


def flat(width=2):
    """Return lists in which nothing ever changes."""
    return ListHypotheses(tuning_set([[[1.0] * width]], [[0.5]]))


def stair():
    """Along f0 with f1 = 1 the second candidate wins beyond 2 (1, not 0), the third beyond 6."""
    lines = [[0.0, 0.0], [1.0, -2.0], [2.0, -8.0]]
    return ListHypotheses(tuning_set([lines], [[0.0, 1.0, 0.0]]))


ALONG = Direction.along(0, "f0")


def test_where_nothing_changes_the_penalty_decides_alone():
    hypotheses = flat()
    point = hypotheses.point(np.array([3.0, 1.0]))
    centre = np.array([-2.0, 0.0])
    step = penalised_search(hypotheses, point, ALONG, SquaredDistance(0.1, centre, np.ones(2)))
    assert (step.size, step.gain, step.value, step.here) == (-5.0, 0.5, 0.4, 0.5 - 0.1 * 26)
    within = penalised_search(
        hypotheses, point, ALONG, SquaredDistance(0.1, centre, np.ones(2)), (-4.0, 0.0)
    )
    assert within.size == -4.0  # a limit is no breakpoint: it may be reached
    step = penalised_search(hypotheses, point, ALONG, NormalisedSquare(1.0))
    assert abs(3.0 + step.size) == pytest.approx(1.0)  # as large as the other
    assert step.value == pytest.approx(0.5 - 0.5)
    step = penalised_search(hypotheses, point, ALONG, NonZero(0.1))
    assert (step.size, step.zeros.tolist(), step.value) == (-3.0, [0], 0.4)


def test_the_vertex_or_just_inside_the_interval():
    hypotheses = stair()
    point = hypotheses.point(np.array([0.0, 1.0]))

    def step_to(centre, strength=0.01):
        penalty = SquaredDistance(strength, np.array([centre, 1.0]), np.ones(2))
        return penalised_search(hypotheses, point, ALONG, penalty)

    assert step_to(5.0).size == 5.0
    assert 2.0 + 1e-6 < step_to(-1.0).size < 2.0 + 3e-6
    assert 6.0 - 7e-6 < step_to(9.0).size < 6.0 - 1e-6
    assert step_to(9.0, strength=1.0).size == 9.0  # worth more than the metric
    assert step_to(0.0, strength=1.0).size == 0.0


def test_a_held_weight_does_not_count():
    hypotheses = stair()
    point = hypotheses.point(np.array([0.0, 1.0]))
    penalty = SquaredDistance(1.0, np.zeros(2), np.array([0.0, 1.0]))
    step = penalised_search(hypotheses, point, ALONG, penalty)
    assert (step.size, step.value) == (4.0, 0.0)  # the middle, as without a penalty


def test_of_equal_intervals_the_widest():
    lines = [[0.0, 0.0], [1.0, -1.0], [2.0, -3.0], [3.0, -13.0]]  # edges at 1, 2 and 10
    hypotheses = ListHypotheses(tuning_set([lines], [[0.0, 2.0, 2.0, 0.0]]))
    point = hypotheses.point(np.array([0.5, 1.0]))
    step = penalised_search(hypotheses, point, ALONG, NonZero(0.01))
    assert step.size == pytest.approx(5.5, abs=1e-5)


def test_a_zero_beyond_the_reach_of_the_weights_is_found():
    hypotheses = flat()
    point = hypotheses.point(np.array([2.0, 1.0]))
    line = Direction(np.array([0, 1]), np.array([0.01, 1.0]), "any")
    step = penalised_search(hypotheses, point, line, NonZero(0.1), (-1000.0, -2.0))
    assert (step.size, step.zeros.tolist()) == (-200.0, [0])


@pytest.mark.parametrize("feature", [0, 1])
def test_a_zero_on_a_limit_is_found(feature):
    space = Space.of(("f0", "f1"), np.ones(2), Constraints.parse(bound=["f0=0:", "f1=:0"]))
    climb = Climb(flat(), np.ones(2), np.random.default_rng(0), space, penalty=NonZero(0.1))
    point = climb.begin(np.array([2.0, -3.0]))
    direction = climb.coordinates()[feature]
    (step,) = climb.search(point, [direction])
    moved = climb.take(point, direction, step).weights
    assert moved.tolist() == [[0.0, -3.0], [2.0, 0.0]][feature]


def test_a_zero_at_which_winners_tie_is_no_choice():
    # They differ in f0 alone: where it is 0 the order would choose.
    hypotheses = ListHypotheses(tuning_set([[[0.0, 1.0], [1.0, 1.0]]], [[1.0, 0.0]]))
    point = hypotheses.point(np.array([0.3, 1.0]))
    step = penalised_search(hypotheses, point, ALONG, NonZero(0.001))
    assert (step.zeros, step.gain) == (None, 1.0)
    assert step.size < -0.3


def test_weights_in_proportion_become_zero_together():
    hypotheses = flat(3)
    start = np.array([0.1, 0.7, -1.3])
    space = Space.of(("f0", "f1", "f2"), start, Constraints.parse(scale_together=["f0,f1,f2"]))
    climb = Climb(hypotheses, np.ones(3), np.random.default_rng(0), space, penalty=NonZero(0.1))
    point = climb.begin(space.exact(5.800000000000004 * start))
    (direction,) = climb.coordinates()
    assert len(set(point.weights / direction.values)) == 3  # but for rounding they are equal
    (step,) = climb.search(point, [direction])
    assert step.zeros.tolist() == [0, 1, 2]
    moved = climb.take(point, direction, step)
    assert moved.weights.tolist() == [0.0, 0.0, 0.0]
    assert climb.value(moved) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [[0.0, 0.0, 0.0], [1.0, 2.0, -3.0], [0.0, 1e-9, 0.0]])
@pytest.mark.parametrize("vector", [[-1.0, -2.0, 3.0], [0.0, 1.0, 0.0], [1e-9, 1.0, 1e9]])
@pytest.mark.parametrize("limits", [(-np.inf, np.inf), (0.0, 0.0), (-1e-12, 1e12)])
def test_no_line_gives_anything_but_numbers(kind, weights, vector, limits):
    hypotheses = ListHypotheses(
        tuning_set([[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]], [[3.0, 3.0, 3.0]]], [[0.0, 1.0], [0.5]])
    )
    point = hypotheses.point(np.array(weights))
    penalty = make_penalty(kind, 0.1, np.ones(3))
    step = penalised_search(
        hypotheses, point, Direction.of(np.array(vector), "any"), penalty, limits
    )
    assert np.isfinite([step.size, step.gain, step.value, step.here]).all()
    assert step.value >= step.here
    if limits == (0.0, 0.0):
        assert step.size == 0.0


# ---------------------------------------------------------------- intervals and their ends


@settings(max_examples=examples(300))
@given(
    st.lists(st.sampled_from([-1e9, -2.0, -1.0, -1e-9, 0.0, 1e-15, 1.0, 1.0 + 1e-9, 3.0, 1e30])),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.tuples(sides.map(lambda x: -x), sides),
)
@example([], 1.0, (-np.inf, np.inf))
@example([-np.inf, np.inf], 1.0, (-np.inf, np.inf))
def test_intervals_are_between_breakpoints_and_within_limits(edges, reach, limits):
    edges = np.sort(np.array(edges, float))
    kept, found = intervals_of(edges, reach, limits)
    padded = np.concatenate([[-np.inf], edges, [np.inf]])
    low, high = np.maximum(padded[kept], limits[0]), np.minimum(padded[kept + 1], limits[1])
    assert (low < high).all()
    assert (low <= found.low).all()
    assert (found.low <= found.first).all()
    assert (found.first <= found.last).all()
    assert (found.last <= found.high).all()
    assert (found.high <= high).all()
    own = padded[kept], padded[kept + 1]
    for edge, ends, inner in zip(own, (low, high), (found.first, found.last), strict=True):
        for at, end, there, width in zip(edge, ends, inner, high - low, strict=True):
            size = max(abs(end), reach)
            if np.isfinite(at) and abs(at - end) <= 1e-10 * size:  # it is left, not by much
                assert 0.0 < abs(there - end) <= max(1.01e-3 * width, 1.01e-10 * size)
            else:
                assert there == end
    # What is left out has hardly a width, or is too far away.
    for j in set(range(len(edges) + 1)) - set(kept.tolist()):
        a, b = max(padded[j], limits[0]), min(padded[j + 1], limits[1])
        rounding = max(1e-11 * max(abs(a), abs(b)), 1e-13 * reach)
        assert not a < b or max(a, -b) > 1e13 * reach or b - a <= rounding


def test_breakpoints_that_rounding_alone_tells_apart_have_nothing_between_them():
    for near, other in [(1e-6, 1e-6 + 1.4e-17), (3.0, 3.0 + 2e-15), (0.0, 1e-17)]:
        kept, _ = intervals_of(np.array([near, other]), 0.5)
        assert kept.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [
        (-np.inf, np.inf, -20.0, 20.0),
        (-np.inf, 5.0, -45.0, 5.0),
        (-np.inf, -5.0, -55.0, -5.0),
        (-np.inf, 0.5, -19.5, 0.5),
        (5.0, np.inf, 5.0, 55.0),
        (-1.0, np.inf, -1.0, 19.0),
        (1e300, np.inf, 1e300, 1.1e301),
        (3.0, 1e13, 3.0, 1e13),
        (1.0, 1.0, 1.0, 1.0),
    ],
)
def test_unbounded_intervals_are_cut(low, high, first, last):
    assert bound_interval(low, high, 2.0, 10.0) == (first, last)
