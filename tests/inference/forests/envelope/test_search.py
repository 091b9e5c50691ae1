"""Envelopes of forests against all derivations, list envelopes, Minkowski sums and Viterbi."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import Edge, derivations, drawn_forest, forest_arrays, forest_set, vector
from tests.helpers.inference.envelopes import envelope_by_hand, list_envelope
from tests.helpers.tiers import examples
from tests.inference.forests.envelope.minkowski import minkowski
from tunesmith.data.forests import ForestArrays
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.derivations import best_derivations, features_of
from tunesmith.inference.forests.envelope.search import Lines, forest_envelopes
from tunesmith.parallel.local import threads

whole = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3).map(np.array)
real = st.lists(st.floats(-3, 3, width=16), min_size=3, max_size=3).map(np.array)


def follow(arrays: ForestArrays, w: np.ndarray, d: np.ndarray) -> Lines:
    """Return the lines of one forest."""
    found = forest_envelopes(forest_set([arrays], 3, 4), w, d)
    assert (np.diff(found.slope) > 0.0).all()
    assert (np.diff(found.at) > 0.0).all()
    assert found.at[0] == -np.inf
    return found


def edges_of(found: Lines, i: int) -> tuple[int, ...]:
    """Return the hyperedges of one of the derivations."""
    start = found.derivations.start
    return tuple(found.derivations.edges[start[i] : start[i + 1]].tolist())


def lines_of(arrays: ForestArrays, w: np.ndarray, d: np.ndarray) -> dict[tuple[int, ...], tuple]:
    """Return slope and score of every derivation, by its hyperedges."""
    found = {}
    for tree in derivations(arrays):
        features = vector(arrays, tree, 3)
        found[tree.edges] = (float(d @ features), float(w @ features))
    return found


def inside(lo: float, hi: float) -> Fraction:
    """Return a number between two with as few binary digits as possible."""
    if np.isinf(lo) and np.isinf(hi):
        return Fraction(0)
    if np.isinf(lo) or np.isinf(hi):
        return Fraction(int(np.floor(hi)) - 1 if np.isinf(lo) else int(np.ceil(lo)) + 1)
    for digits in itertools.count():
        number = Fraction(int(np.floor((lo + hi) / 2 * 2**digits)), 2**digits)
        if lo < number < hi:
            return number
    raise AssertionError


@settings(max_examples=examples(200))
@given(drawn_forest(whole=True), whole, whole)
def test_breakpoints_and_winners_are_those_of_exact_arithmetic(
    arrays: ForestArrays, w: np.ndarray, d: np.ndarray
) -> None:
    found = follow(arrays, w, d)
    known = lines_of(arrays, w, d)
    lines = list(known.values())
    first, changes = envelope_by_hand([(int(s), int(b)) for s, b in lines])
    winners = [lines[first], *(lines[after] for _, _, after in changes)]
    assert list(zip(found.slope.tolist(), found.score.tolist(), strict=True)) == winners
    np.testing.assert_allclose(found.at[1:], [float(x) for x, _, _ in changes], rtol=1e-9)
    assert [known[edges_of(found, i)] for i in range(len(found.at))] == winners


@settings(max_examples=examples(200))
@given(drawn_forest(whole=True), whole, whole)
def test_among_equals_wins_what_viterbi_takes(
    arrays: ForestArrays, w: np.ndarray, d: np.ndarray
) -> None:
    found = follow(arrays, w, d)
    held = forest_set([arrays], 3, 4)
    for i, (lo, hi) in enumerate(itertools.pairwise([*found.at.tolist(), np.inf])):
        # With few digits all of Viterbi's sums are exact.
        best = best_derivations(held, w + float(inside(lo, hi)) * d)
        assert edges_of(found, i) == tuple(best.edges.tolist())


@given(drawn_forest(most_nodes=4, arity=3), real, real)
def test_lines_are_those_of_a_list_of_all_derivations(
    arrays: ForestArrays, w: np.ndarray, d: np.ndarray
) -> None:
    known = lines_of(arrays, w, d)
    lines = list(known.values())
    _, total, changes = list_envelope([lines])
    order = [int(np.flatnonzero(total)[0]), *(after for _, _, after in changes)]
    found = follow(arrays, w, d)
    near = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(found.at[1:], [x for x, _, _ in changes], **near)
    np.testing.assert_allclose(found.slope, [lines[i][0] for i in order], **near)
    np.testing.assert_allclose(found.score, [lines[i][1] for i in order], **near)
    for i in range(len(found.at)):
        own = known[edges_of(found, i)]
        np.testing.assert_allclose(own, (found.slope[i], found.score[i]), **near)


def large_forest(seed: int, nodes: int, features: int) -> ForestArrays:
    """Return a forest with as many derivations as nobody can count."""
    rng = np.random.default_rng(seed)
    edges: list[Edge] = []
    for n in range(nodes):
        for _ in range(int(rng.integers(1, 6))):
            arity = 2 if n == nodes - 1 else int(rng.integers(0, 3))
            tails = rng.integers(max(0, n - 9), n, arity).tolist() if n > 3 else []
            # With few digits all sums are exact.
            values = dict(enumerate((rng.integers(-99, 100, features) / 32).tolist()))
            edges.append((n, tails, [-k - 1 for k in range(len(tails))], values))
    return forest_arrays(edges, nodes - 1)


@pytest.mark.parametrize("seed", range(6))
def test_minkowski_sums_give_the_same(seed: int) -> None:
    arrays = large_forest(seed, 60, 3)
    w, d = np.random.default_rng(seed).integers(-9, 10, (2, 3)).astype(float)
    found = follow(arrays, w, d)
    at, score, slope = minkowski(arrays, w, d)
    assert len(found.at) > 3
    np.testing.assert_allclose(found.at, at, rtol=1e-9)
    np.testing.assert_allclose(found.score, score, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.slope, slope, rtol=1e-9, atol=1e-12)


def nearly_parallel(seed: int) -> ForestArrays:
    """Return a forest whose goal joins nodes with choices of one kind each.

    Slopes and scores differ by much or by a hair: lines cross at millions, or near zero.
    """
    rng = np.random.default_rng(seed)
    edges: list[Edge] = []
    for n in range(9):
        much_slope, much_score = [(1.0, 1.0), (1e-9, 1e-9), (1e-9, 0.1)][n % 3]
        slope, score = rng.standard_normal(2)
        for _ in range(4):
            own = slope + much_slope * rng.integers(-9, 10), score + much_score * rng.normal()
            edges.append((n, [], [0], dict(enumerate(map(float, own)))))
    edges.append((9, list(range(9)), [-k - 1 for k in range(9)], {}))
    return forest_arrays(edges, 9)


@pytest.mark.parametrize("seed", range(40))
def test_lines_that_cross_at_millions_and_near_zero(seed: int) -> None:
    """Heights far out are so large that what they lose by rounding would be much near zero."""
    arrays = nearly_parallel(seed)
    w, d = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    found = follow(arrays, w, d)
    at, score, slope = minkowski(arrays, w, d)
    points = np.concatenate([found.at[1:], at[1:], (at[1:-1] + at[2:]) / 2, [-1e9, 1e9]])
    highest = (score + points[:, None] * slope).max(axis=1)
    ours = (found.score + points[:, None] * found.slope).max(axis=1)
    size = abs(score).max() + abs(points) * abs(slope).max()
    np.testing.assert_array_less(abs(highest - ours) / size, 1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_viterbi_finds_nothing_better_anywhere(seed: int) -> None:
    arrays = large_forest(seed, 40, 3)
    held = forest_set([arrays], 3, 4)
    rng = np.random.default_rng(seed)
    w, d = rng.standard_normal((2, 3))
    found = follow(arrays, w, d)
    for gamma in np.tan(rng.uniform(-1.55, 1.55, 50)):
        best = features_of(held, best_derivations(held, w + gamma * d))
        i = int(np.searchsorted(found.at, gamma)) - 1
        assert found.score[i] + gamma * found.slope[i] == pytest.approx(
            (w + gamma * d)[best.features] @ best.values, rel=1e-9, abs=1e-9
        )


def test_slopes_that_are_equal_up_to_rounding_are_one_line() -> None:
    # Three tenths, added up in several ways, with scores that differ.
    edges = [(n, [], [n], {0: 0.1, 1: 0.1 * n}) for n in range(3)]
    edges += [(3, [0, 1, 2], [-1, -2, -3], {})]
    edges += [(3, [2, 1, 0], [-1, -2, -3], {})]
    edges += [(4, [0, 0], [-1, -2], {}), (5, [4, 1], [-1, -2], {1: 1e-3})]
    edges += [(6, [3], [-1], {}), (6, [5], [-1], {}), (6, [], [7], {0: 0.3, 1: -1.0})]
    found = follow(forest_arrays(edges, 6), np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    assert len(found.at) == 1
    assert found.score.tolist() == pytest.approx([0.3])


@pytest.mark.parametrize("step", [1e-7, 1.0, 1e7])
def test_many_lines_that_meet_at_a_point_leave_two(step: float) -> None:
    """What wins at a single point is left out, whatever the scale."""
    edges = [(0, [], [0], {0: 0.1 * k * step, 1: -0.1 * k * step * 0.7}) for k in range(-8, 9)]
    edges += [(1, [0, 0], [-1, -2], {})]
    found = follow(forest_arrays(edges, 1), np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(found.at, [-np.inf, 0.7], rtol=1e-12)
    np.testing.assert_allclose(found.slope, [-1.6 * step, 1.6 * step])


def test_several_forests_and_any_number_of_threads() -> None:
    forests = [large_forest(seed, 30, 3) for seed in range(9)]
    rng = np.random.default_rng(0)
    w, d = rng.standard_normal((2, 3))
    held = forest_set(forests, 3, 4)
    results = []
    for count in (1, 2):
        with threads(count):
            results.append(forest_envelopes(held, w, d))
    found, other = results
    for name in ("forest", "at", "score", "slope"):
        np.testing.assert_array_equal(getattr(found, name), getattr(other, name))
    for one, two in zip(found.derivations, other.derivations, strict=True):
        np.testing.assert_array_equal(one, two)
    assert found.forest.tolist() == sorted(found.forest.tolist())
    for s, arrays in enumerate(forests):
        own = follow(arrays, w, d)
        rows = found.forest == s
        np.testing.assert_array_equal(found.at[rows], own.at)
        np.testing.assert_array_equal(found.score[rows], own.score)
        begin = np.flatnonzero(rows)[0]
        assert [edges_of(found, int(begin) + i) for i in range(len(own.at))] == [
            edges_of(own, i) for i in range(len(own.at))
        ]


def test_a_forest_that_no_choice_changes_has_one_line() -> None:
    edges = [(0, [], [k], {0: float(k)}) for k in range(3)]
    held = forest_set([forest_arrays([*edges, (1, [0], [-1], {})], 1)], 3, 3)
    found = forest_envelopes(held, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    assert found.at.tolist() == [-np.inf]
    assert (found.score.tolist(), found.slope.tolist()) == ([2.0], [0.0])


def test_a_derivation_that_grows_with_the_power_of_its_depth_is_refused() -> None:
    edges = [(0, [], [0], {})]
    edges += [(n, [n - 1, n - 1], [-1, -2], {0: 1.0}) for n in range(1, 60)]
    edges += [(60, [], [0], {}), (60, [59], [-1], {})]
    held = forest_set([forest_arrays([(0, [], [0], {})], 0), forest_arrays(edges, 60)], 3, 1)
    with pytest.raises(TunesmithError, match="forest 1 has a derivation of more than"):
        forest_envelopes(held, np.zeros(3), np.ones(3))
