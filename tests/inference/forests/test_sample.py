"""Sampled derivations: their distribution, and that nothing but the seed decides them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays, forest_set
from tests.helpers.inference.derivations import probabilities, scores_of
from tests.helpers.inference.forest_sets import Loaded
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.forests.derivations import Derivations, best_derivations
from tunesmith.inference.forests.sample import sampled_derivations
from tunesmith.parallel.local import threads

weights = st.lists(st.floats(-2, 2, width=16), min_size=3, max_size=3).map(np.array)


def rows(found: Derivations) -> list[tuple[int, ...]]:
    """Return the hyperedges of every derivation."""
    ends = zip(found.start[:-1], found.start[1:], strict=True)
    return [tuple(found.edges[a:b].tolist()) for a, b in ends]


@settings(max_examples=examples(25))
@given(drawn_forest(most_nodes=4), weights, st.sampled_from([0.0, 0.7]))
def test_derivations_come_as_often_as_they_should(
    arrays: ForestArrays, w: np.ndarray, sharpness: float
) -> None:
    size = 400
    trees = derivations(arrays)
    _, chances = probabilities(trees, sharpness * scores_of(arrays, w))
    found = sampled_derivations(forest_set([arrays], 3, 4), w, sharpness, size, 5)
    assert found.forest.tolist() == [0] * size
    seen = Counter(rows(found))
    assert set(seen) <= {tree.edges for tree in trees}
    # Pearson's statistic over derivations, rare ones together: its mean is the number of kinds
    # less one, its deviation √2 of the root of that.
    expected = size * chances
    rare = expected < 5
    kinds = [
        (seen[tree.edges], e) for tree, e, r in zip(trees, expected, rare, strict=True) if not r
    ]
    if rare.any():
        rest = sum(seen[tree.edges] for tree, r in zip(trees, rare, strict=True) if r)
        kinds.append((rest, max(expected[rare].sum(), 1.0)))
    statistic = sum((n - e) ** 2 / e for n, e in kinds)
    assert statistic < len(kinds) + 6 * np.sqrt(2 * len(kinds)) + 6


def choices(count: int) -> ForestArrays:
    """Return a chain of three choices between ``count`` words each."""
    edges = [
        (n, [n - 1] if n else [], [-1, w] if n else [w], {0: float(w), 1: 1.0})
        for n in range(3)
        for w in range(count)
    ]
    return forest_arrays(edges, 2)


def test_decisions_are_independent_and_uniform_within_a_sample_and_across() -> None:
    many = forest_set([choices(4)] * 20, 2, 4)
    found = sampled_derivations(many, np.zeros(2), 0.0, 500, 1)
    drawn = np.array(rows(found)) % 4
    for forest in range(20):  # each decision, and each pair of neighbours, of every forest
        own = drawn[500 * forest : 500 * forest + 500]
        for at in range(3):
            assert (abs(np.bincount(own[:, at], minlength=4) - 125) < 50).all()
        for at in range(2):
            pairs = np.bincount(4 * own[:, at] + own[:, at + 1], minlength=16)
            assert (abs(pairs - 31.25) < 28).all()
        later = np.bincount(4 * own[:-1, 0] + own[1:, 0], minlength=16)
        assert (abs(later - 31.25) < 28).all()
    assert len({tuple(drawn[500 * f : 500 * f + 500].ravel()) for f in range(20)}) == 20


@pytest.mark.long
@settings(max_examples=examples(25))
@given(st.lists(drawn_forest(), min_size=3, max_size=6), weights)
def test_neither_threads_nor_pieces_nor_size_change_what_is_drawn(
    forests: list[ForestArrays], w: np.ndarray
) -> None:
    whole = forest_set(forests, 3, 4)
    with threads(1):
        wanted = sampled_derivations(whole, w, 1.0, 5, 3)
    with threads(3):
        for other in (whole, Loaded(whole, 1), Loaded(whole, 2)):
            found = sampled_derivations(other, w, 1.0, 5, 3)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)
    more = rows(sampled_derivations(whole, w, 1.0, 8, 3))
    of_first = [row for s in range(len(forests)) for row in more[8 * s : 8 * s + 5]]
    assert of_first == rows(wanted)


def test_seeds_differ_and_may_be_long() -> None:
    one = forest_set([choices(50)], 2, 50)
    found = [rows(sampled_derivations(one, np.zeros(2), 0.0, 4, s)) for s in (0, 1, 2**70, 2**70)]
    assert found[2] == found[3]
    assert found[0] != found[1] != found[2] != found[0]


def test_a_sharp_distribution_draws_the_best_only() -> None:
    one = forest_set([choices(5)], 2, 5)
    w = np.array([0.7, 0.0])
    wanted = rows(best_derivations(one, w)) * 50
    assert rows(sampled_derivations(one, w, 1e6, 50, 0)) == wanted


def test_what_cannot_be_drawn_is_told() -> None:
    one = forest_set([choices(2)], 2, 2)
    with pytest.raises(UsageError, match="size is 0"):
        sampled_derivations(one, np.zeros(2), 0.0, 0, 0)
    with pytest.raises(UsageError, match="seed is -1"):
        sampled_derivations(one, np.zeros(2), 0.0, 1, -1)
    named = replace(one, ids=("a7",))
    with pytest.raises(TunesmithError, match=r"forest a7: .*too large"):
        sampled_derivations(named, np.array([1e308, 1e308]), 1e10, 1, 0)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a million steps take long interpreted")
def test_a_derivation_that_grows_with_the_power_of_its_depth_is_told() -> None:
    edges = [(0, [], [0], {})]
    edges += [(n, [n - 1, n - 1], [-1, -2], {}) for n in range(1, 60)]
    deep = forest_set([forest_arrays(edges, 59)], 1, 1)
    with pytest.raises(TunesmithError, match="prune the forest"):
        sampled_derivations(deep, np.ones(1), 0.0, 1, 0)
