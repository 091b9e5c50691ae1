"""Forests whose nodes are split have the same derivations, and determined contexts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays, whole_block
from tests.helpers.tiers import examples
from tunesmith.arrays import Ids, Ints
from tunesmith.data.candidates import Texts
from tunesmith.data.forests import Block, ForestArrays, joined
from tunesmith.inference.forests.ngrams.split import rebuilt, split_forest

FEW = examples(80, interpreted=10)
forests = drawn_forest(words=3, most_nodes=4)


class Split(NamedTuple):
    """The forests of a block, split.

    Attributes
    ----------
    arrays
        The new forests, without counts.
    origin : int64[E]
        The hyperedge that each of the new ones was, numbered within its forest.
    widths : int32[S]
        How many words of a context each forest was split by: fewer than asked for where it
        would have grown too large, and -1 where it was not split at all.
    """

    arrays: ForestArrays
    origin: Ints
    widths: Ids


def split_block(block: Block, width: int, limit: float) -> Split:
    """Split nodes so that their first and last words are determined.

    Parameters
    ----------
    width
        How many words on either side; all if there are fewer.
    limit
        A forest that would have more than so many times its hyperedges is split by fewer words.
    """
    sides = Texts(block.arrays.word_start, block.arrays.words)
    parts, origins, widths = [], [], []
    for forest in range(block.first, block.last):
        _, found = split_forest(block.arrays, sides, forest, None, width, limit)
        parts.append(rebuilt(block.arrays, forest, found))
        origins.append(found.origin.astype(np.int64))
        widths.append(found.width)
    return Split(joined(parts), np.concatenate(origins), np.array(widths, np.int32))


def as_they_were(arrays: ForestArrays, origin: np.ndarray, forest: int) -> list[tuple]:
    """Return the derivations of a forest that was split, as hyperedges of the first one."""
    edge0 = int(arrays.edge_start[arrays.node_start[forest]])
    return sorted(
        (tuple(int(origin[edge0 + e]) for e in tree.edges), tree.words)
        for tree in derivations(arrays, forest)
    )


@settings(max_examples=FEW)
@given(st.lists(forests, min_size=1, max_size=2), st.integers(0, 3))
def test_derivations_stay_what_they_are(drawn: list[ForestArrays], width: int) -> None:
    before = joined(drawn)
    after, origin, widths = split_block(whole_block(before), width, 1e9)
    assert widths.tolist() == [width] * len(drawn)
    for s in range(len(drawn)):
        trees = derivations(before, s)
        assert as_they_were(after, origin, s) == sorted((t.edges, t.words) for t in trees)
    # What a hyperedge has, it keeps.
    first, last = (a.edge_start[a.node_start] for a in (before, after))
    for s in range(len(drawn)):
        for e in range(last[s], last[s + 1]):
            old = first[s] + origin[e]
            for start, values in (
                ("feature_start", "feature_ids"),
                ("feature_start", "feature_values"),
                ("word_start", "words"),
            ):
                at, was = getattr(after, start), getattr(before, start)
                now = getattr(after, values)[at[e] : at[e + 1]]
                np.testing.assert_array_equal(now, getattr(before, values)[was[old] : was[old + 1]])


@settings(max_examples=FEW)
@given(forests, st.integers(1, 3))
def test_words_beside_others_are_determined(drawn: ForestArrays, width: int) -> None:
    after = split_block(whole_block(drawn), width, 1e9).arrays
    nodes = len(after.covered)
    texts = [
        {tree.words for tree in derivations(after._replace(node_start=np.array([0, n + 1])))}
        for n in range(nodes)
    ]
    for e in range(len(after.word_start) - 1):
        side = after.words[after.word_start[e] : after.word_start[e + 1]].tolist()
        for k, word in enumerate(side):
            if word < 0:
                own = texts[after.tails[after.tail_start[e] - word - 1]]
                if k > 0:
                    assert len({text[:width] for text in own}) == 1
                if k + 1 < len(side):
                    assert (
                        len(
                            {text[len(text) - width :] for text in own if len(text) >= width}
                            | {text for text in own if len(text) < width}
                        )
                        == 1
                    )


@settings(max_examples=FEW)
@given(forests, st.integers(0, 3))
def test_hyperedges_of_a_node_keep_their_order(drawn: ForestArrays, width: int) -> None:
    after, origin, _ = split_block(whole_block(drawn), width, 1e9)
    for n in range(len(after.covered)):
        lo, hi = after.edge_start[n : n + 2]
        assert hi > lo
        assert (np.diff(origin[lo:hi]) >= 0).all()
    assert (np.diff(after.node_start) > 0).all()


def search_graph(beginnings: int) -> ForestArrays:
    """Return a graph of texts that begin in many ways and go on in one."""
    edges = [(0, [], [k], {}) for k in range(beginnings)]
    edges += [(n, [n - 1], [-1, 50 + n], {}) for n in range(1, 6)]
    return forest_arrays(edges, 5)


def test_beginnings_do_not_count_where_nothing_comes_before() -> None:
    after = split_block(whole_block(search_graph(7)), 2, 1e9).arrays
    # Two more words, and the first is out of sight: 7 ways for two nodes, and one from there on.
    assert np.diff(after.edge_start).tolist() == [1] * 7 + [1] * 7 + [7] + [1] * 3


@pytest.mark.parametrize("limit", [1.0, 2.0, 3.0])
def test_a_forest_that_grows_too_large_is_split_by_less(limit: float) -> None:
    # Each node of a pair has many beginnings and ends.
    edges = [(n, [], [k, k + 1, k + 2], {}) for n in range(2) for k in range(9 * n, 9 * n + 9)]
    edges += [(2, [0, 1], [-1, 30, -2], {}), (3, [2, 2], [-2, 31, -1], {})]
    before = forest_arrays(edges, 3)
    after, origin, widths = split_block(Block(before, 0, 1), 3, limit)
    assert -1 <= widths[0] < 3
    assert len(origin) <= limit * len(edges)
    trees = [(tree.edges, tree.words) for tree in derivations(before)]
    assert as_they_were(after, origin, 0) == sorted(trees)
