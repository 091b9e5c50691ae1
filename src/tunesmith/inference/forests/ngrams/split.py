"""Nodes split so that the words at both ends of their spans are determined.

The n-grams that arise at a hyperedge, and not within one of its tails, depend on the first and the
last words of what the tails stand for: n - 1 on either side. A node whose derivations differ in
them is split, so that each of the new nodes has one *context*: a beginning, an end, and how many
words there are if they are few. Derivations stay what they are, one for one.

Two things keep forests small. A context counts on a side on which something follows further up:
in search graphs and lattices words are added on the right alone. And where only n-grams of the
references count, a beginning that is in no reference may as well be shorter (as language models
minimise their states: Li and Khudanpur 2008, "A scalable decoder for parsing-based machine
translation with equivalent language model state maintenance").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.data.candidates import Texts
from tunesmith.data.forests import ForestArrays
from tunesmith.data.rows import gather_rows, offsets
from tunesmith.inference.forests.derivations import grown, grown_offsets
from tunesmith.inference.forests.ngrams.contexts import (
    LEFT,
    LENGTH,
    ORIGIN,
    RIGHT,
    Trie,
    context_of,
    empty_trie,
    room_of,
)
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows

#: How many times its hyperedges a forest may grow to.
USUAL_LIMIT = 20.0
FINE, TOO_LARGE, NO_ROOM = range(3)


class SplitForest(NamedTuple):
    """One forest as it was split.

    Attributes
    ----------
    nodes : int32[N, 4]
        The node that each of the new ones was, ORIGIN, and its context: beginning and end, LEFT
        and RIGHT, as sequences of the trie; and how many words there are, LENGTH, at most as
        many as the longest context has.
    edge_start : int64[N + 1], origin : int32[E], tails : int32[...]
        The hyperedges into each, which they were, and their tails, all numbered within the
        forest.
    width
        How many words a context has at most; -1 where nothing was split.
    """

    nodes: Ids
    edge_start: Ints
    origin: Ids
    tails: Ids
    width: int


def split_forest(
    arrays: ForestArrays, sides: Texts, forest: int, known: Trie | None, width: int, limit: float
) -> tuple[Trie, SplitForest]:
    """Split one forest, by fewer words where it grows too large.

    Parameters
    ----------
    sides
        The target side of each hyperedge, as the metric sees its words.
    known
        The sequences that count; all where it is None.

    Returns
    -------
    The sequences that contexts are made of, and the forest.
    """
    first, last = (arrays.edge_start[arrays.node_start[s]] for s in (forest, forest + 1))
    allowed = int(limit * (last - first))
    room = 1 << 10
    for shorter in range(width, -2, -1):
        while True:
            trie = empty_trie(room) if known is None else known
            code, split = _split(
                arrays, sides.start, sides.ids, forest, trie, shorter, width, allowed
            )
            if code != NO_ROOM:
                break
            room *= 4
        if code == FINE:
            break
    return trie, split


def rebuilt(arrays: ForestArrays, forest: int, split: SplitForest) -> ForestArrays:
    """Return the arrays of a forest that was split, with the features and words of its own."""
    node0 = arrays.node_start[forest]
    edge0 = arrays.edge_start[node0]
    edges = edge0 + split.origin.astype(np.int64)
    sizes = arrays.tail_start[edges + 1] - arrays.tail_start[edges]
    feature_start, features = gather_rows(arrays.feature_start, edges)
    word_start, words = gather_rows(arrays.word_start, edges)
    return ForestArrays(
        np.array([0, len(split.nodes)]),
        split.edge_start,
        offsets(sizes),
        split.tails,
        feature_start,
        arrays.feature_ids[features],
        arrays.feature_values[features],
        word_start,
        arrays.words[words],
        arrays.covered[node0 + split.nodes[:, ORIGIN]],
        np.zeros((len(edges), 0)),
    )


@kernel
def _open_sides(
    arrays: ForestArrays, word_start: Ints, words: Ids, forest: int
) -> tuple[Flags, Flags]:
    """Tell of each node whether anything may stand before it, and after it, further up."""
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    before, after = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    for n in range(nodes - 1, -1, -1):
        for e in range(arrays.edge_start[node0 + n], arrays.edge_start[node0 + n + 1]):
            lo, hi = word_start[e], word_start[e + 1]
            for k in range(lo, hi):
                if words[k] < 0:
                    tail = arrays.tails[arrays.tail_start[e] - words[k] - 1]
                    before[tail] |= before[n] or k > lo
                    after[tail] |= after[n] or k + 1 < hi
    return before, after


@kernel
def _split(
    arrays: ForestArrays,
    word_start: Ints,
    words: Ids,
    forest: int,
    trie: Trie,
    width: int,
    longest: int,
    allowed: int,
) -> tuple[int, SplitForest]:
    """Split the nodes of a forest by contexts of ``width`` words; -1 splits nothing.

    Hyperedges come in the order of those that they were, and then of their tails, the last of
    which changes fastest. New nodes come in the order in which they are met.
    """
    node0 = arrays.node_start[forest]
    size = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + size + 1]
    edge0 = edge_start[0]
    before, after = _open_sides(arrays, word_start, words, forest)
    room = room_of(word_start, edge0, edge_start[size], longest)
    scratch = np.empty((2, room), np.int32)
    # The new nodes; those of node n start at first[n], and a hash table finds them.
    nodes = np.empty((2 * size, 4), np.int32)
    first = np.zeros(size + 1, np.int32)
    table = np.full(64, -1, np.int32)
    count = 0
    # What is met at a node: the new head, the hyperedge, and where its tails are.
    met, met_tails = np.empty((64, 3), np.int32), np.empty(64, np.int32)
    starts = np.zeros(2 * size + 1, np.int64)
    origin, tails = np.empty(64, np.int32), np.empty(64, np.int32)
    nodes_made = tails_made = 0
    failed = SplitForest(nodes, starts, origin, tails, width)
    for n in range(size):
        combinations = used = 0
        for e in range(edge_start[n], edge_start[n + 1]):
            edge_tails = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]]
            arity = edge_tails.shape[0]
            ways = _ways(edge_tails, first)
            if width >= 0 and nodes_made + combinations + ways > allowed:
                return TOO_LARGE, failed
            met = _grown_rows(met, combinations + int(ways))
            met_tails = grown(met_tails, used + int(ways) * arity)
            side = words[word_start[e] : word_start[e + 1]]
            for way in range(int(ways)):
                pick = met_tails[used : used + arity]
                _pick(pick, met_tails[max(0, used - arity) : used], edge_tails, first, way)
                left, right, length = 0, 0, longest
                if width >= 0 and (before[n] or after[n]):
                    sides = (before[n], after[n])
                    left, right, length = context_of(
                        side, pick, trie, nodes, sides, width, longest, scratch
                    )
                    if left < 0 or right < 0:
                        return NO_ROOM, failed
                at = _slot(table, nodes, n, left, right, length)
                new_node: Number = table[at]
                if new_node < 0:
                    new_node = count
                    table[at] = count
                    nodes = _grown_rows(nodes, count + 1)
                    new = nodes[count]
                    new[ORIGIN], new[LEFT], new[RIGHT], new[LENGTH] = n, left, right, length
                    count += 1
                    if 2 * count > table.shape[0]:
                        table = _larger(table, nodes, count)
                head = met[combinations]
                head[0], head[1], head[2] = new_node, e - edge0, used
                used += arity
                combinations += 1
        first[n + 1] = count
        starts = grown_offsets(starts, count + 1)
        origin, tails = grown(origin, nodes_made + combinations), grown(tails, tails_made + used)
        _place(
            met[:combinations],
            met_tails[:used],
            starts[first[n] : count + 1],
            first[n],
            origin[nodes_made:],
            tails[tails_made:],
            arrays.tail_start[edge0:],
        )
        nodes_made += combinations
        tails_made += used
    whole = SplitForest(
        nodes[:count].copy(),
        starts[: count + 1].copy(),
        origin[:nodes_made].copy(),
        tails[:tails_made].copy(),
        width,
    )
    return FINE, whole


@kernel
def _ways(tails: Ids, first: Ids) -> float:
    """Return how many combinations of new nodes there are for some tails; it may be huge."""
    ways = 1.0
    for tail in tails:
        ways *= first[tail + 1] - first[tail]
    return ways


@kernel
def _pick(pick: Ids, last: Ids, tails: Ids, first: Ids, way: int) -> None:
    """Write the combination of new tails after the last one; the first of all if it is that."""
    k = pick.shape[0] - 1
    for i in range(k + 1):
        pick[i] = last[i] if way > 0 else first[tails[i]]
    if way > 0:
        while pick[k] + 1 == first[tails[k] + 1]:
            pick[k] = first[tails[k]]
            k -= 1
        pick[k] += 1


@kernel
def _slot(table: Ids, nodes: Ids, node: int, left: int, right: int, length: int) -> Number:
    """Return the slot of a new node, or the empty one where it goes."""
    mask = table.shape[0] - 1
    h = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(left)
    h = h * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(right)
    h = (h * np.uint64(0x94D049BB133111EB) + np.uint64(length)) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(h >> np.uint64(32)) & mask
    while table[slot] >= 0:
        entry = nodes[table[slot]]
        same = entry[LEFT] == left and entry[RIGHT] == right and entry[LENGTH] == length
        if same and entry[ORIGIN] == node:
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def _larger(table: Ids, nodes: Ids, count: int) -> Ids:
    larger = np.full(4 * table.shape[0], -1, np.int32)
    for i in range(count):
        node = nodes[i]
        larger[_slot(larger, nodes, node[ORIGIN], node[LEFT], node[RIGHT], node[LENGTH])] = i
    return larger


@kernel
def _place(
    met: Ids,
    met_tails: Ids,
    starts: Ints,
    first: int,
    origin: Ids,
    tails: Ids,
    tail_start: Ints,
) -> None:
    """Write the hyperedges that were met by their new heads; equals stay in their order."""
    heads = starts.shape[0] - 1
    at = np.zeros(heads + 1, np.int64)
    for i in range(met.shape[0]):
        at[met[i, 0] - first + 1] += 1
    for i in range(heads):
        starts[i + 1] = starts[i] + at[i + 1]
        at[i + 1] += at[i]
    order = np.empty(met.shape[0], np.int64)
    for i in range(met.shape[0]):
        head = met[i, 0] - first
        order[at[head]] = i
        at[head] += 1
    written = 0
    for i in range(met.shape[0]):
        edge = met[order[i], 1]
        origin[i] = edge
        begin = met[order[i], 2]
        for k in range(tail_start[edge + 1] - tail_start[edge]):
            tails[written] = met_tails[begin + k]
            written += 1


@kernel
def _grown_rows(array: Ids, room: int) -> Ids:
    if room <= array.shape[0]:
        return array
    larger = np.empty((max(room, 2 * array.shape[0]), array.shape[1]), np.int32)
    copy_rows(larger, 0, array)
    return larger
