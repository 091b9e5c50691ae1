"""Kernels: the derivation of a lattice with the fewest edits to a reference.

Where every hyperedge has one tail at most, and all tails stand at the same end of what is made of
them, texts are made word by word, and the edit distance (Levenshtein 1966) can be computed at the
same time: over pairs of a node and a place in the reference. A derivation and the way in which it
is aligned are chosen together, so that model scores and edits may be weighed against each other.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.data.forests import ForestArrays
from tunesmith.inference.forests.derivations import LONGEST, grown
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to

NO_LATTICE, TAIL_FIRST, TAIL_LAST = range(3)


@kernel
def lattice_kind(arrays: ForestArrays, forest: int) -> int:
    """Tell whether tails stand first, or last, in all hyperedges, which have one at most."""
    first, last = arrays.node_start[forest], arrays.node_start[forest + 1]
    is_first = is_last = True
    for e in range(arrays.edge_start[first], arrays.edge_start[last]):
        arity = arrays.tail_start[e + 1] - arrays.tail_start[e]
        if arity > 1:
            return NO_LATTICE
        if arity == 1:
            lo, hi = arrays.word_start[e], arrays.word_start[e + 1]
            is_first &= arrays.words[lo] < 0
            is_last &= arrays.words[hi - 1] < 0
    if is_first:
        return TAIL_FIRST
    return TAIL_LAST if is_last else NO_LATTICE


@kernel
def wer_hope(
    arrays: ForestArrays, forest: int, scores: Floats, reference: Ids, factor: float
) -> Ids:
    """Return the derivation with the highest w·h − factor · edits, exactly.

    Hyperedges are in the order of :class:`tunesmith.inference.forests.derivations.Derivations`;
    there are none if the forest is no lattice (:func:`lattice_kind`). Among equals it takes the
    first hyperedge. For fear, with a negative factor, there is no such programme: edits are a
    minimum over alignments.

    Parameters
    ----------
    scores : float64[edges]
        w·h of each hyperedge.
    factor
        0 or more.
    """
    kind = lattice_kind(arrays, forest)
    if kind == NO_LATTICE or factor < 0.0:
        return np.empty(0, np.int32)
    if kind == TAIL_LAST:
        reference = reference[::-1].copy()
    edge, place = _best_edges(arrays, forest, scores, reference, factor, kind)
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    node, at = edge.shape[0] - 1, reference.shape[0]
    derivation = np.empty(64, np.int32)
    count = 0
    while count < LONGEST:
        e = edge[node, at]
        derivation = grown(derivation, count + 1)
        derivation[count] = e
        count += 1
        at = place[node, at]
        if arrays.tail_start[edge0 + e] == arrays.tail_start[edge0 + e + 1]:
            return derivation[:count]
        node = arrays.tails[arrays.tail_start[edge0 + e]]
    return derivation[:0]


@kernel
def _best_edges(
    arrays: ForestArrays, forest: int, scores: Floats, reference: Ids, factor: float, kind: int
) -> tuple[Ids, Ids]:
    """Return, for each node and each beginning of the reference, the hyperedge that is best.

    Beside it stands how much of the reference its tail is held against.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge0 = arrays.edge_start[node0]
    size = reference.shape[0] + 1
    value = np.full((nodes, size), -np.inf)
    edge, place = np.zeros((nodes, size), np.int32), np.zeros((nodes, size), np.int32)
    now, at = np.empty(size), np.empty(size, np.int32)
    for n in range(nodes):
        best, best_edge, best_place = value[n], edge[n], place[n]
        for e in range(arrays.edge_start[node0 + n], arrays.edge_start[node0 + n + 1]):
            has_tail = arrays.tail_start[e + 1] > arrays.tail_start[e]
            for j in range(size):
                at[j] = j
                now[j] = -factor * j
            if has_tail:
                copy_to(now, 0, value[arrays.tails[arrays.tail_start[e]]])
            lo, hi = arrays.word_start[e], arrays.word_start[e + 1]
            for k in range(lo, hi):
                word = arrays.words[k] if kind == TAIL_FIRST else arrays.words[hi - 1 - (k - lo)]
                if word >= 0:
                    _add_word(word, reference, factor, now, at)
            for j in range(size):
                total = now[j] + scores[e - edge0]
                if total > best[j]:
                    best[j], best_edge[j], best_place[j] = total, e - edge0, at[j]
    return edge, place


@kernel
def _add_word(word: int, reference: Ids, factor: float, now: Floats, at: Ids) -> None:
    """Hold one word more against each beginning of the reference."""
    before, before_at = now[0], at[0]
    now[0] -= factor
    for j in range(1, now.shape[0]):
        # The word stands for one of the reference, is one too many, or one is left out.
        value, place = before, before_at
        if reference[j - 1] != word:
            value -= factor
        before, before_at = now[j], at[j]
        if now[j] - factor > value:
            value, place = now[j] - factor, at[j]
        if now[j - 1] - factor > value:
            value, place = now[j - 1] - factor, at[j - 1]
        now[j], at[j] = value, place
