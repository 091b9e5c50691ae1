"""The best derivation, words and features, against the enumeration of all derivations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays, forest_set, vector
from tunesmith.data.forests import ForestArrays
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.derivations import (
    Derivations,
    best_derivations,
    features_of,
    texts_of,
)

weights = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3).map(np.array)


@given(st.lists(drawn_forest(whole=True), min_size=1, max_size=3), weights)
def test_the_best_derivation_is_the_first_of_the_best(
    forests: list[ForestArrays], w: np.ndarray
) -> None:
    held = forest_set(forests, 3, 4)
    found = best_derivations(held, w)
    texts, vectors = texts_of(held, found), features_of(held, found)
    for s, arrays in enumerate(forests):
        every = derivations(arrays)
        scores = [w @ vector(arrays, tree, 3) for tree in every]
        own = tuple(found.edges[found.start[s] : found.start[s + 1]].tolist())
        chosen = next(tree for tree in every if tree.edges == own)
        assert scores[every.index(chosen)] == max(scores)
        assert tuple(texts[s].tolist()) == chosen.words
        dense = np.zeros(3)
        row = slice(vectors.start[s], vectors.start[s + 1])
        assert (np.diff(vectors.features[row]) > 0).all()
        dense[vectors.features[row]] = vectors.values[row]
        np.testing.assert_array_equal(dense, vector(arrays, chosen, 3))


@given(drawn_forest())
def test_every_derivation_is_spelled_and_added_up(arrays: ForestArrays) -> None:
    every = derivations(arrays)[:50]
    held = forest_set([arrays], 3, 4)
    given_ones = Derivations(
        np.zeros(len(every), np.int64),
        np.cumsum([0, *(len(tree.edges) for tree in every)]),
        np.array([e for tree in every for e in tree.edges], np.int32),
    )
    texts, vectors = texts_of(held, given_ones), features_of(held, given_ones)
    for i, tree in enumerate(every):
        assert tuple(texts[i].tolist()) == tree.words
        dense = np.zeros(3)
        row = slice(vectors.start[i], vectors.start[i + 1])
        dense[vectors.features[row]] = vectors.values[row]
        np.testing.assert_allclose(dense, vector(arrays, tree, 3), atol=1e-12)


def test_among_equals_the_first_hyperedge_wins() -> None:
    edges = [(0, [], [k], {0: 1.0}) for k in range(3)]
    held = forest_set([forest_arrays([*edges, (1, [0], [-1], {})], 1)], 1, 3)
    assert texts_of(held, best_derivations(held, np.ones(1)))[0].tolist() == [0]


def test_a_derivation_that_grows_with_the_power_of_its_depth_is_refused() -> None:
    edges = [(0, [], [0], {})]
    edges += [(n, [n - 1, n - 1], [-1, -2], {}) for n in range(1, 60)]
    held = forest_set([forest_arrays(edges, 59)], 1, 1)
    with pytest.raises(TunesmithError, match="prune the forest"):
        best_derivations(held, np.ones(1))
