"""Scores, probabilities and counts of a forest's derivations, by plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.helpers.forests import Tree
from tunesmith.data.forests import ForestArrays

WORDS = 3
references = st.lists(st.lists(st.integers(0, WORDS - 1), max_size=6), min_size=1, max_size=2)


def scores_of(arrays: ForestArrays, w: np.ndarray) -> np.ndarray:
    """Return w·h of each hyperedge of arrays with one forest, by plain loops."""
    ends = zip(arrays.feature_start[:-1], arrays.feature_start[1:], strict=True)
    rows = [slice(a, b) for a, b in ends]
    return np.array([w[arrays.feature_ids[r]] @ arrays.feature_values[r] for r in rows])


def probabilities(trees: list[Tree], scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the logarithm of the sum, and the probability, of all derivations."""
    totals = np.array([scores[list(tree.edges)].sum() for tree in trees])
    whole = float(np.logaddexp.reduce(totals))
    return whole, np.exp(totals - whole)


def uses_of(trees: list[Tree], edges: int) -> np.ndarray:
    """Return how often each derivation [n] uses each hyperedge [E]."""
    return np.array([np.bincount(tree.edges, minlength=edges) for tree in trees], float)


def unclipped(words: tuple, held: list[tuple], order: int) -> list[float]:
    """Count all that is in a reference, each time that it comes, by plain loops."""
    known = {r[i : i + n] for r in held for n in range(1, order + 1) for i in range(len(r) - n + 1)}
    grams = [[words[i : i + n] for i in range(len(words) - n + 1)] for n in range(1, order + 1)]
    length = sum(map(len, held)) / len(held)
    matches = [sum(gram in known for gram in own) for own in grams]
    return [len(words), length, *matches, *map(len, grams)]


def drawn_scores(data: st.DataObject, arrays: ForestArrays) -> np.ndarray:
    edges = len(arrays.word_start) - 1
    drawn = st.lists(st.integers(-3, 3), min_size=edges, max_size=edges)
    return np.array(data.draw(drawn), np.float64)
