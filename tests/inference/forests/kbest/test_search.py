"""The best derivations against the enumeration of all, and against a decoder's own lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import Tree, derivations, drawn_forest, forest_arrays, forest_set, vector
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.forests.derivations import Derivations, best_derivations, texts_of
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.inference.forests.kbest.string_hash import PRIME, times
from tunesmith.parallel.local import threads

weights = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3).map(np.array)
sizes = st.integers(1, 40)


def edges_of(found: Derivations, forest: int) -> list[tuple[int, ...]]:
    """Return the derivations of one forest."""
    return [
        tuple(found.edges[found.start[i] : found.start[i + 1]].tolist())
        for i in np.flatnonzero(found.forest == forest)
    ]


def every(arrays: ForestArrays, w: np.ndarray) -> dict[tuple[int, ...], tuple[float, Tree]]:
    """Return all derivations by their hyperedges, with their scores."""
    return {tree.edges: (float(w @ vector(arrays, tree, 3)), tree) for tree in derivations(arrays)}


@settings(max_examples=examples(200))
@given(st.lists(drawn_forest(whole=True), min_size=1, max_size=2), weights, sizes)
def test_order_and_number_are_those_of_the_enumeration(
    forests: list[ForestArrays], w: np.ndarray, size: int
) -> None:
    held = forest_set(forests, 3, 4)
    found, scores = kbest_derivations(held, w, size, unique=False)
    best = best_derivations(held, w)
    assert (np.diff(found.forest) >= 0).all()
    for s, arrays in enumerate(forests):
        known = every(arrays, w)
        own = edges_of(found, s)
        assert len(set(own)) == len(own) == min(size, len(known))
        ranked = sorted((score for score, _ in known.values()), reverse=True)
        assert scores[found.forest == s].tolist() == ranked[:size]
        assert [known[edges][0] for edges in own] == ranked[:size]
        assert own[0] == edges_of(best, s)[0]


@settings(max_examples=examples(200))
@given(drawn_forest(whole=True, words=2, arity=3), weights, sizes)
def test_texts_that_differ_are_those_of_the_enumeration(
    arrays: ForestArrays, w: np.ndarray, size: int
) -> None:
    held = forest_set([arrays], 3, 2)
    found, scores = kbest_derivations(held, w, size, unique=True)
    known = every(arrays, w)
    top: dict[tuple[int, ...], float] = {}
    for score, tree in known.values():
        top[tree.words] = max(score, top.get(tree.words, -np.inf))
    own = [known[edges] for edges in edges_of(found, 0)]
    assert len({tree.words for _, tree in own}) == len(own) == min(size, len(top))
    ranked = sorted(top.values(), reverse=True)[:size]
    assert scores.tolist() == [score for score, _ in own] == ranked
    assert all(score == top[tree.words] for score, tree in own)
    assert edges_of(found, 0)[0] == edges_of(best_derivations(held, w), 0)[0]


@given(drawn_forest(), st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array), sizes)
def test_real_numbers_up_to_rounding(arrays: ForestArrays, w: np.ndarray, size: int) -> None:
    _, scores = kbest_derivations(forest_set([arrays], 3, 4), w, size, unique=False)
    ranked = sorted((score for score, _ in every(arrays, w).values()), reverse=True)
    assert (np.diff(scores) <= 0.0).all()
    np.testing.assert_allclose(scores, ranked[:size], rtol=0, atol=1e-12)


def test_the_number_of_threads_changes_nothing() -> None:
    edges = [(0, [], [k], {0: float(k % 5)}) for k in range(9)]
    arrays = forest_arrays([*edges, (1, [0, 0], [-1, -2], {}), (1, [0], [-1, 3], {0: 2.0})], 1)
    held = forest_set([arrays] * 7, 1, 9)
    results = []
    for count in (1, 2):
        with threads(count):
            results.append(kbest_derivations(held, np.ones(1), 50, unique=False))
    for one, other in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_a_node_that_is_used_twice_is_chosen_twice() -> None:
    edges = [(0, [], [k], {0: float(k)}) for k in range(3)]
    held = forest_set([forest_arrays([*edges, (1, [0, 0], [-1, -2], {})], 1)], 1, 3)
    found, scores = kbest_derivations(held, np.ones(1), 100, unique=False)
    assert scores.tolist() == [4.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.0]
    texts = texts_of(held, found)
    pairs = {tuple(texts[i].tolist()) for i in range(9)}
    assert pairs == set(itertools.product(range(3), repeat=2))


def test_many_more_than_there_is_room_for_at_first() -> None:
    edges = [(n, [], [2 * n + k], {n: float(k)}) for n in range(11) for k in range(2)]
    goal = (11, list(range(11)), [-k - 1 for k in range(11)], {})
    held = forest_set([forest_arrays([*edges, goal], 11)], 11, 22)
    powers = 2.0 ** np.arange(11)
    for unique in (False, True):
        _, scores = kbest_derivations(held, powers, 10_000, unique=unique)
        assert scores.tolist() == list(range(2047, -1, -1))


def test_what_cannot_be_asked_for() -> None:
    edges = [(0, [], [0], {})]
    edges += [(n, [n - 1, n - 1], [-1, -2], {}) for n in range(1, 60)]
    held = forest_set([forest_arrays(edges, 59)], 1, 1)
    with pytest.raises(TunesmithError, match="prune the forest"):
        kbest_derivations(held, np.ones(1), 2, unique=True)
    with pytest.raises(UsageError, match="give 1 or more"):
        kbest_derivations(held, np.ones(1), 0, unique=True)


@given(st.integers(0, PRIME - 1), st.integers(0, PRIME - 1))
def test_products_modulo_the_prime(a: int, b: int) -> None:
    assert times(a, b) == a * b % PRIME
