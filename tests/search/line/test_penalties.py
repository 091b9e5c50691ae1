"""Penalties: values, gradients against differences, and the least point of every interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.search.penalties import KINDS, make_penalty, plain_penalty
from tests.helpers.tiers import examples
from tunesmith.inference.hypotheses import Direction
from tunesmith.parallel.local import threads
from tunesmith.search.line.penalised import intervals_of, zeros_at
from tunesmith.search.line.penalties import (
    LEFT_TO_FALL,
    NonZero,
    NormalisedSquare,
    SquaredDistance,
)

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(KINDS)


def drawn(seed, size, spread=0.0):
    """Draw weights, a direction and a centre; with a spread, of sizes that differ greatly."""
    rng = np.random.default_rng(seed)
    weights, vector, centre = rng.standard_normal((3, size))
    weights *= 10.0 ** rng.uniform(-spread, spread, size)
    weights[rng.random(size) < rng.choice([0.0, 0.3])] = 0.0
    vector[rng.random(size) < rng.choice([0.0, 0.5, 0.95])] = 0.0
    if not vector.any():
        vector[rng.integers(size)] = 1.0
    return weights, vector, centre, rng


@given(seeds, kinds, st.integers(1, 40), st.sampled_from([0.0, 1e-3, 2.0]))
def test_the_value_is_the_formula(seed, kind, size, strength):
    weights, _, centre, _ = drawn(seed, size, 3.0)
    expected = strength * plain_penalty(kind, weights[None], centre)[0]
    found = make_penalty(kind, strength, centre).value(weights)
    assert found == pytest.approx(expected, rel=1e-12)


def test_values_by_hand():
    weights = np.array([3.0, 0.0, -1.0])
    assert SquaredDistance(0.5, np.array([1.0, 1.0, 0.0]), np.ones(3)).value(weights) == 3.0
    held = SquaredDistance(0.5, np.zeros(3), np.array([0.0, 1.0, 1.0]))
    assert held.value(weights) == 0.5
    assert held.gradient(weights).tolist() == [0.0, 0.0, -1.0]
    assert NormalisedSquare(2.0).value(weights) == pytest.approx(2.0 * 10 / 16)
    assert NonZero(0.25).value(weights) == 0.5
    assert NonZero(0.25).value(np.zeros(3)) == 0.0
    # All weights 0 are as far from equal as can be, so that a search leaves them.
    assert NormalisedSquare(2.0).value(np.zeros(3)) == 2.0


@settings(max_examples=examples(200))
@given(
    seeds,
    st.sampled_from(["l2-prior", "l2-fixed", "l2-normalized"]),
    st.integers(2, 30),
    st.sampled_from([1e-4, 1.0, 1e3]),
    st.sampled_from([1e-5, 1.0, 1e5]),
)
def test_gradients_are_those_of_differences(seed, kind, size, strength, scale):
    rng = np.random.default_rng(seed)
    centre = scale * rng.standard_normal(size)
    # Away from 0, where |w| has no derivative.
    weights = scale * rng.uniform(0.3, 3.0, size) * rng.choice([-1.0, 1.0], size)
    penalty = make_penalty(kind, strength, centre)
    step = 1e-3 * np.abs(weights)
    points = weights + np.array([-2, -1, 1, 2])[:, None, None] * np.diag(step)
    values = np.array([[penalty.value(w) for w in row] for row in points])
    differences = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    found = penalty.gradient(weights)
    assert np.abs(found).max() > 0.0
    error = np.abs(found - differences).max()
    # What the values themselves round, divided by the step, beside the share.
    assert error <= 1e-6 * np.abs(found).max() + 1e-12 * penalty.value(weights) / scale


@given(seeds, kinds, st.integers(1, 20))
def test_gradients_and_curvatures_are_numbers_everywhere(seed, kind, size):
    weights, _, centre, _ = drawn(seed, size, 100.0)
    penalty = make_penalty(kind, 0.5, centre)
    for at in (weights, np.zeros(size)):
        assert penalty.gradient(at).shape == penalty.curvature(at).shape == (size,)
        assert np.isfinite(penalty.gradient(at)).all()
        assert (penalty.curvature(at) >= 0.0).all()


@given(seeds, st.integers(1, 20), st.sampled_from([2.0**-40, 0.5, 1024.0]))
def test_what_does_not_depend_on_the_scale(seed, size, factor):
    weights, _, centre, _ = drawn(seed, size)
    for kind in KINDS:
        penalty = make_penalty(kind, 0.5, centre)
        same = penalty.value(factor * weights) == pytest.approx(penalty.value(weights))
        assert same or not penalty.scale_free
    assert [make_penalty(k, 1.0, centre).scale_free for k in KINDS] == [False, False, True, True]


def test_the_curvature_of_a_parabola_is_exact():
    penalty = SquaredDistance(0.25, np.ones(3), np.array([1.0, 0.0, 1.0]))
    weights, change = np.array([2.0, 3.0, 5.0]), np.array([0.5, 7.0, -1.0])
    expected = penalty.gradient(weights + change) - penalty.gradient(weights)
    assert (penalty.curvature(weights) * change).tolist() == expected.tolist()


@settings(max_examples=examples(300))
@given(
    seeds, kinds, st.sampled_from([1, 2, 5, 30]), st.integers(0, 12), st.sampled_from([0.0, 6.0])
)
def test_no_point_of_an_interval_has_less(seed, kind, size, breakpoints, spread):
    """On a line with made-up breakpoints; the scan is of plain values."""
    weights, vector, centre, rng = drawn(seed, size, spread)
    line = Direction.of(vector, "any")
    penalty = make_penalty(kind, 1.0, centre)
    reach = max(np.abs(weights).max(), 1e-3) / np.abs(vector).max()
    edges = np.sort(reach * rng.standard_normal(breakpoints) * 10.0 ** rng.uniform(-2, 1))
    kept, intervals = intervals_of(edges, reach)
    found = penalty.choices(weights, line, intervals)
    assert len(kept) == len(found.at) == len(found.penalty) == len(found.zero)
    turns = -weights[line.features] / line.values
    for k in range(len(kept)):
        low, high = intervals.first[k], intervals.last[k]
        assert intervals.low[k] <= found.at[k] <= intervals.high[k]
        there = weights + found.at[k] * vector
        if found.zero[k]:
            there[zeros_at(weights, line, found.at[k])] = 0.0
        value = plain_penalty(kind, there[None], centre)[0]
        assert found.penalty[k] == pytest.approx(value, rel=1e-7, abs=1e-9)
        near = max(low, min(high, 0.0) - 10 * reach), min(high, max(low, 0.0) + 10 * reach)
        far = reach * np.geomspace(1e-6, 1e12, 400)
        steps = np.concatenate(
            [np.linspace(*near, 300), np.geomspace(1e-9, 1, 30) * (near[1] - near[0]) + near[0]]
            + [turns + s * reach for s in (-1e-6, 0.0, 1e-6)]
            + [end + s * far for end in {*near} for s in (-1, 1)]
        )
        steps = steps[(low <= steps) & (steps <= high)]
        others = plain_penalty(kind, weights + np.multiply.outer(steps, vector), centre)
        # Where v3 falls for ever there is no least point, only one from which little is left.
        left = 2 * LEFT_TO_FALL if np.isinf(low) or np.isinf(high) else 0.0
        assert found.penalty[k] <= others.min() * (1 + 1e-9) + 1e-12 + left


def one_interval(low, high, reach=1.0):
    """Return the interval between two breakpoints, or what is beyond one."""
    edges = np.array([x for x in (low, high) if np.isfinite(x)])
    _, found = intervals_of(edges, reach)
    place = int(np.isfinite(low))
    return type(found)(
        *(getattr(found, name)[place : place + 1] for name in ("low", "high", "first", "last")),
        found.middle[place : place + 1],
        reach,
    )


@given(
    st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6),
    st.sampled_from([1.0, -1.0]),
    st.sampled_from([1.0, -0.5, 3.0]),
)
def test_the_best_size_of_one_weight_beside_others(others, sign, slope):
    """v3 along one weight is least where it is Σw² / Σ|w| of the others, on either side."""
    weights = np.array([*others, sign * 50.0])
    line = Direction(np.array([len(others)]), np.array([slope]), "f")
    reach = np.abs(weights).max() / abs(slope)
    found = NormalisedSquare(1.0).choices(weights, line, one_interval(-np.inf, np.inf, reach))
    best = np.square(others).sum() / np.sum(others)
    assert abs(weights[-1] + found.at[0] * slope) == pytest.approx(best, rel=1e-9)


def test_all_weights_zero():
    line = Direction(np.array([0, 2]), np.array([1.0, -3.0]), "any")
    found = NormalisedSquare(1.0).choices(np.zeros(3), line, one_interval(-np.inf, np.inf))
    assert found.penalty.tolist() == [10 / 16]
    assert found.at[0] != 0.0
    found = NonZero(1.0).choices(np.zeros(3), line, one_interval(0.0, np.inf))
    assert found.penalty.tolist() == [2.0]
    assert found.zero.tolist() == [False]


@pytest.mark.parametrize("weights", [[1.0, 2.0, -3.0], [0.1, 0.7, -1.3], [1e-7, 1e3, 0.3]])
def test_a_line_through_the_origin(weights):
    weights = np.array(weights)
    line = Direction(np.arange(3), -weights / 3, "any")
    ratio = plain_penalty("l2-normalized", weights[None], None)[0]
    penalty = NormalisedSquare(1.0)
    for low, high in [(-np.inf, np.inf), (2.9, 3.1), (3.0, np.inf), (-np.inf, 3.0), (1.0, 2.0)]:
        found = penalty.choices(weights, line, one_interval(low, high))
        assert found.penalty[0] == pytest.approx(ratio, rel=1e-9)
        assert abs(found.at[0] - 3.0) > 1e-7
        if np.isfinite(low) and np.isfinite(high) and high < 3.0:
            assert found.at[0] == pytest.approx(0.5 * (low + high), rel=1e-5)
    found = NonZero(1.0).choices(weights, line, one_interval(2.0, np.inf))
    assert (found.at[0], found.penalty[0], found.zero[0]) == (pytest.approx(3.0), 0.0, True)
    assert zeros_at(weights, line, found.at[0]).tolist() == [0, 1, 2]
    found = SquaredDistance(1.0, np.zeros(3), np.ones(3)).choices(
        weights, line, one_interval(2.0, np.inf)
    )
    assert found.at[0] == pytest.approx(3.0)
    assert found.penalty[0] == pytest.approx(0.0, abs=1e-24)


def test_where_it_falls_for_ever_nearly_all_of_it_is_had():
    # From one large weight into the direction of all: R falls towards 1/3 without reaching it.
    weights = np.array([1.0, 0.0, 0.0])
    line = Direction(np.arange(3), np.array([-1.0, -1.0, -1.0]), "any")
    for interval in (one_interval(2.0, np.inf), one_interval(-np.inf, -2.0)):
        found = NormalisedSquare(1.0).choices(weights, line, interval)
        assert 1 / 3 - 1e-15 < found.penalty[0] <= 1 / 3 + LEFT_TO_FALL
        there = weights + found.at[0] * line.vector(3)
        assert plain_penalty("l2-normalized", there[None], None)[0] <= 1 / 3 + LEFT_TO_FALL
        assert abs(found.at[0]) < 1e6  # and no farther than it takes
    found = NormalisedSquare(1.0).choices(weights, line, one_interval(2.0, 1e3))
    assert found.at[0] == pytest.approx(1e3, rel=1e-5)


def test_a_least_point_far_out_on_an_unbounded_interval_is_reached():
    # Beyond 1 (2 + 1e-6 + 2γ²) / (1e-3 + 2γ)²: its derivative is 0 where 1e-3 γ = 2 + 1e-6.
    weights = np.array([1e-3, 1.0, -1.0])
    line = Direction(np.array([1, 2]), np.array([1.0, 1.0]), "any")
    found = NormalisedSquare(1.0).choices(weights, line, one_interval(2.0, np.inf))
    assert found.at[0] == pytest.approx((2 + 1e-6) / 1e-3, rel=1e-9)
    steps = np.geomspace(2.1, 1e12, 100_000)
    others = plain_penalty("l2-normalized", weights + np.outer(steps, line.vector(3)), None)
    assert found.penalty[0] <= others.min()


@example(0)
@given(seeds)
def test_of_steps_that_make_as_many_zero_the_nearest(seed):
    rng = np.random.default_rng(seed)
    weights, slopes = rng.choice([-3.0, -1.0, 1.0, 2.0, 4.0], 8), rng.choice([-1.0, 1.0, 2.0], 8)
    found = NonZero(1.0).choices(
        weights, Direction(np.arange(8), slopes, "any"), one_interval(-np.inf, np.inf)
    )
    steps, counts = np.unique(-weights / slopes, return_counts=True)
    assert found.penalty[0] == 8 - counts.max()
    assert abs(found.at[0]) == np.abs(steps[counts == counts.max()]).min()


@pytest.mark.parametrize(
    "penalty",
    [SquaredDistance(0.1, np.zeros(30_000), np.ones(30_000)), NormalisedSquare(0.1)],
    ids=["l2", "l2-normalized"],
)
def test_threads_change_no_bit_of_many_weights(penalty):
    weights = np.random.default_rng(1).normal(size=(20, 30_000))
    found = []
    for count in (1, 2):
        with threads(count):
            found.append([(penalty.value(w), penalty.gradient(w).tobytes()) for w in weights])
    assert found[0] == found[1]
