"""Small forests for tests, and all their derivations by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tunesmith.data.candidates import References, pack_texts
from tunesmith.data.forests import Block, ForestArrays, ForestSet, joined
from tunesmith.data.raw_forest import RawForest

#: Hyperedges as tests write them: head, tails, target side (a word's id, or -k for the k-th
#: tail), features.
Edge = tuple[int, list[int], list[int], dict[int, float]]


def raw_forest(edges: list[Edge], goal: int, nodes: int | None = None, name: int = 0) -> RawForest:
    """Return a forest as a reader would make it; every node covers as many words as is plain."""
    count = 1 + max(max([head, *tails]) for head, tails, _, _ in edges) if nodes is None else nodes

    def offsets(sizes: list[int]) -> np.ndarray:
        return np.cumsum([0, *sizes])

    return RawForest(
        name,
        count,
        goal,
        np.array([head for head, *_ in edges], np.int64),
        offsets([len(tails) for _, tails, _, _ in edges]),
        np.array([tail for _, tails, _, _ in edges for tail in tails], np.int64),
        offsets([len(features) for *_, features in edges]),
        np.array([f for *_, features in edges for f in features], np.int32),
        np.array([v for *_, features in edges for v in features.values()], np.float64),
        offsets([len(words) for _, _, words, _ in edges]),
        np.array([w for _, _, words, _ in edges for w in words], np.int32),
        np.full(count, -1, np.int32),
    )


def forest_arrays(edges: list[Edge], goal: int) -> ForestArrays:
    """Return the arrays of one forest."""
    return raw_forest(edges, goal).ordered()[0]


def forest_set(
    forests: list[ForestArrays],
    features: int,
    words: int,
    references: list[list[list[int]]] | None = None,
) -> ForestSet:
    """Return forests as a set; names are f0, f1 ..., tokens w0, w1 ..."""
    held = None
    if references is not None:
        counts = [len(own) for own in references]
        texts = [np.array(text, np.int32) for own in references for text in own]
        held = References(np.cumsum([0, *counts]), pack_texts(texts))
    return ForestSet(
        tuple(range(len(forests))),
        joined(forests),
        tuple(f"f{k}" for k in range(features)),
        tuple(f"w{k}" for k in range(words)),
        held,
    )


@st.composite
def drawn_forest(
    draw: st.DrawFn,
    features: int = 3,
    words: int = 4,
    most_nodes: int = 5,
    most_edges: int = 3,
    arity: int = 2,
    whole: bool = False,
) -> ForestArrays:
    """Draw a small forest: all nodes but the goal may be shared or in no derivation.

    With ``whole`` feature values are whole numbers, so that sums are exact and ties occur.
    """
    nodes = draw(st.integers(1, most_nodes))
    numbers = st.integers(-3, 3).map(float) if whole else st.floats(-3, 3, width=16)
    edges: list[Edge] = []
    for head in range(nodes):
        for _ in range(draw(st.integers(1, most_edges))):
            count = draw(st.integers(0, min(arity, head)))
            tails = (
                draw(st.lists(st.integers(0, head - 1), min_size=count, max_size=count))
                if head
                else []
            )
            side = [-k - 1 for k in range(len(tails))]
            side += draw(st.lists(st.integers(0, words - 1), max_size=3))
            values = draw(st.dictionaries(st.integers(0, features - 1), numbers, max_size=features))
            edges.append((head, tails, draw(st.permutations(side)), values))
    return forest_arrays(edges, nodes - 1)


@dataclass(frozen=True)
class Tree:
    """A derivation, by enumeration: hyperedges in the order of the target side."""

    edges: tuple[int, ...]
    words: tuple[int, ...]


def derivations(arrays: ForestArrays, forest: int = 0) -> list[Tree]:
    """Return all derivations of a forest."""
    node0 = int(arrays.node_start[forest])
    edge0 = int(arrays.edge_start[node0])

    def of_node(node: int) -> list[Tree]:
        lo, hi = arrays.edge_start[node0 + node : node0 + node + 2].tolist()
        return [tree for e in range(lo, hi) for tree in of_edge(e)]

    def of_edge(e: int) -> Iterator[Tree]:
        side = arrays.words[arrays.word_start[e] : arrays.word_start[e + 1]].tolist()
        tails = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]].tolist()
        slots = [-w - 1 for w in side if w < 0]
        for parts in itertools.product(*(of_node(tails[slot]) for slot in slots)):
            own, edges, words = iter(parts), [e - edge0], []
            for w in side:
                if w >= 0:
                    words.append(w)
                else:
                    part = next(own)
                    edges += part.edges
                    words += part.words
            yield Tree(tuple(edges), tuple(words))

    return of_node(int(arrays.node_start[forest + 1]) - node0 - 1)


def vector(arrays: ForestArrays, tree: Tree, features: int, forest: int = 0) -> np.ndarray:
    """Return the features of a derivation."""
    found = np.zeros(features)
    edge0 = int(arrays.edge_start[arrays.node_start[forest]])
    for e in tree.edges:
        for k in range(arrays.feature_start[edge0 + e], arrays.feature_start[edge0 + e + 1]):
            found[arrays.feature_ids[k]] += arrays.feature_values[k]
    return found


def whole_block(arrays: ForestArrays) -> Block:
    """Return a block of all forests of some arrays."""
    return Block(arrays, 0, len(arrays.node_start) - 1)
