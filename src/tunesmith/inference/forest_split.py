"""Nodes split so that the words at the ends of what they stand for are determined.

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
from tunesmith.data.forests import Block, ForestArrays, joined
from tunesmith.inference.derivations import grown, grown_offsets
from tunesmith.kernels import kernel
from tunesmith.metrics.ngram_tables import NgramTables, longer, place_of, table_size

#: A forest may grow to so many times its hyperedges.
USUAL_LIMIT = 20.0
FINE, TOO_LARGE, NO_ROOM = range(3)
#: Stands between the beginning and the end of a tail whose middle is not known.
GAP = -1


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


class Trie(NamedTuple):
    """Sequences of words, from the empty one, 0, on.

    Attributes
    ----------
    keys : int64[...], child : int32[...]
        As in :class:`tunesmith.metrics.ngram_tables.NgramTables`.
    parent : int32[...], word : int32[...], depth : int32[...]
        Each but the first is a shorter one and a word.
    state : int64[2]
        How many there are, and whether new ones are added: 0 where only those count that are
        there, 1 where all do.
    """

    keys: Ints
    child: Ids
    parent: Ids
    word: Ids
    depth: Ids
    state: Ints


class Contexts(NamedTuple):
    """The contexts of the nodes of a forest.

    Attributes
    ----------
    left, right : int32[N]
        The beginning and the end, as nodes of the trie.
    length : int32[N]
        How many words there are, at most as many as the longest context has.
    """

    left: Ids
    right: Ids
    length: Ids


class SplitForest(NamedTuple):
    """One forest as it was split.

    Attributes
    ----------
    node_origin : int32[N], contexts
        The node that each of the new ones was, and its context.
    edge_start : int64[N + 1], origin : int32[E], tails : int32[...]
        The hyperedges into each, which they were, and their tails, all numbered within the
        forest.
    width
        How many words a context has at most; -1 where nothing was split.
    """

    node_origin: Ids
    contexts: Contexts
    edge_start: Ints
    origin: Ids
    tails: Ids
    width: int


def split_block(block: Block, width: int, limit: float = USUAL_LIMIT) -> Split:
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
            code, *found = _split(
                arrays, sides.start, sides.ids, forest, trie, shorter, width, allowed
            )
            if code != NO_ROOM:
                break
            room *= 4
        if code == FINE:
            break
    nodes, left, right, length, edge_start, origin, tails = found
    contexts = Contexts(left, right, length)
    return trie, SplitForest(nodes, contexts, edge_start, origin, tails, shorter)


def trie_of(tables: NgramTables, group: int) -> Trie:
    """Return the sequences of the references of a group."""
    slots = slice(tables.slot_start[group], tables.slot_start[group + 1])
    nodes = slice(tables.node_start[group], tables.node_start[group + 1])
    parent = tables.parent[nodes]
    return Trie(
        tables.keys[slots],
        tables.child[slots],
        parent,
        tables.word[nodes],
        _depths(parent),
        np.array([len(parent), 0]),
    )


def empty_trie(room: int) -> Trie:
    """Return a trie that grows, to so many sequences."""
    size = table_size(room)
    return Trie(
        np.full(size, -1, np.int64),
        np.zeros(size, np.int32),
        np.full(room, -1, np.int32),
        np.full(room, -1, np.int32),
        np.zeros(room, np.int32),
        np.array([1, 1]),
    )


def rebuilt(arrays: ForestArrays, forest: int, split: SplitForest) -> ForestArrays:
    """Return the arrays of a forest that was split, with the features and words of its own."""
    node0 = arrays.node_start[forest]
    edge0 = arrays.edge_start[node0]
    edges = edge0 + split.origin.astype(np.int64)
    sizes = arrays.tail_start[edges + 1] - arrays.tail_start[edges]
    feature_start, features = _rows(arrays.feature_start, edges)
    word_start, words = _rows(arrays.word_start, edges)
    return ForestArrays(
        np.array([0, len(split.node_origin)]),
        split.edge_start,
        np.concatenate([[0], np.cumsum(sizes)]),
        split.tails,
        feature_start,
        arrays.feature_ids[features],
        arrays.feature_values[features],
        word_start,
        arrays.words[words],
        arrays.covered[node0 + split.node_origin],
        np.zeros((len(edges), 0)),
    )


@kernel
def _rows(start: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the offsets of some rows one after the other, and where their values are."""
    offsets = np.zeros(rows.shape[0] + 1, np.int64)
    for i in range(rows.shape[0]):
        offsets[i + 1] = offsets[i] + start[rows[i] + 1] - start[rows[i]]
    places = np.empty(offsets[-1], np.int64)
    for i in range(rows.shape[0]):
        begin = start[rows[i]] - offsets[i]
        for k in range(offsets[i], offsets[i + 1]):
            places[k] = begin + k
    return offsets, places


@kernel
def _depths(parent: Ids) -> Ids:
    depth = np.zeros(parent.shape[0], np.int32)
    for node in range(1, parent.shape[0]):
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + 1
    return depth


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
def lay_out(
    side: Ids,
    tails: Ids,
    trie: Trie,
    contexts: Contexts,
    longest: int,
    laid: Ids,
    ends: Ids,
) -> tuple[int, int]:
    """Write what is known of the words that a hyperedge stands for.

    Parameters
    ----------
    side, tails
        Its target side and its tails, as nodes that have contexts.
    longest
        The length of a context that stands for more words.
    laid, ends : int32[...]
        To be filled: words, and gaps in tails; and where an n-gram that begins there must end
        at the earliest to be new: behind the tail, or anywhere for a word of the hyperedge. -1
        stands where none can begin: before a gap.

    Returns
    -------
    How much was written, and the number of words, or of more than ``longest``.
    """
    count = length = 0
    for k in range(side.shape[0]):
        if side[k] >= 0:
            laid[count] = side[k]
            ends[count] = count
            count += 1
            length += 1
            continue
        tail = tails[-side[k] - 1]
        left, right = contexts.left[tail], contexts.right[tail]
        own = contexts.length[tail]
        length += own
        begin = count
        count = _spell(trie, left, laid, count)
        if own >= longest or count - begin < own:
            # Not all of it is known, or has to be.
            laid[count] = GAP
            count += 1
            ends[begin:count] = -1
            begin = count
            count = _spell(trie, right, laid, count)
        ends[begin:count] = count
    return count, length


@kernel
def _spell(trie: Trie, node: int, laid: Ids, at: int) -> Number:
    """Write the words of a sequence; return where the next goes."""
    end = at + trie.depth[node]
    for k in range(end - 1, at - 1, -1):
        laid[k] = trie.word[node]
        node = trie.parent[node]
    return end


@kernel
def _added(trie: Trie, node: int, word: int) -> Number:
    """Return a sequence with a word more, which is not there yet; -1 if there is no room."""
    new = trie.state[0]
    if new == trie.parent.shape[0]:
        return -1
    slot = place_of(trie.keys, node, word)
    trie.keys[slot] = (np.int64(node) << 32) | np.int64(word)
    trie.child[slot] = new
    trie.parent[new], trie.word[new] = node, word
    trie.depth[new] = trie.depth[node] + 1
    trie.state[0] = new + 1
    return new


@kernel
def _beginning(trie: Trie, laid: Ids, count: int, width: int) -> Number:
    """Return the longest beginning that counts; -1 if there is no room for it."""
    keys, child = trie.keys, trie.child
    node: Number = 0
    for i in range(min(count, width)):
        if laid[i] == GAP:
            break
        found = longer(keys, child, node, laid[i])
        if found < 0:
            if trie.state[1] == 0:
                break
            found = _added(trie, node, laid[i])
            if found < 0:
                return found
        node = found
    return node


@kernel
def _end(trie: Trie, laid: Ids, count: int, width: int) -> Number:
    """Return the longest end that counts; -1 if there is no room for it."""
    keys, child = trie.keys, trie.child
    begin = count
    while begin > 0 and count - begin < width and laid[begin - 1] != GAP:
        begin -= 1
    for first in range(begin, count):
        node: Number = 0
        for i in range(first, count):
            found = longer(keys, child, node, laid[i])
            if found < 0 and trie.state[1] == 1:
                found = _added(trie, node, laid[i])
                if found < 0:
                    return found
            node = found
            if node < 0:
                break
        if node >= 0:
            return node
    return 0


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
) -> tuple[int, Ids, Ids, Ids, Ids, Ints, Ids, Ids]:
    """Split the nodes of a forest by contexts of so many words; -1 splits nothing.

    Hyperedges come in the order of those that they were, and then of their tails, the last of
    which changes fastest. New nodes come in the order in which they are met.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    before, after = _open_sides(arrays, word_start, words, forest)
    room = room_of(word_start, edge0, edge_start[nodes], longest)
    laid, ends = np.empty(room, np.int32), np.empty(room, np.int32)
    # The new nodes: of which node, and their contexts; those of node n come from new_start[n] on.
    new_start = np.zeros(nodes + 1, np.int32)
    origins = np.empty(2 * nodes, np.int32)
    left, right = np.empty(2 * nodes, np.int32), np.empty(2 * nodes, np.int32)
    length = np.empty(2 * nodes, np.int32)
    table = np.full(64, -1, np.int32)
    count = 0
    # What is found at a node: the new node, the hyperedge, and its tails in a row.
    met, met_edge = np.empty(64, np.int32), np.empty(64, np.int32)
    met_at, met_tails = np.empty(64, np.int32), np.empty(64, np.int32)
    # The new hyperedges.
    new_edge_start = np.zeros(2 * nodes + 1, np.int64)
    origin = np.empty(2 * (edge_start[nodes] - edge0), np.int32)
    tails = np.empty(64, np.int32)
    made = tails_made = 0
    failed = (origins, left, right, length, new_edge_start, origin, tails)
    for n in range(nodes):
        found = used = 0
        for e in range(edge_start[n], edge_start[n + 1]):
            own = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]]
            arity = own.shape[0]
            ways = 1.0
            for k in range(arity):
                ways *= new_start[own[k] + 1] - new_start[own[k]]
            if width >= 0 and made + found + ways > allowed:
                return TOO_LARGE, *failed
            side = words[word_start[e] : word_start[e + 1]]
            met, met_edge = grown(met, found + int(ways)), grown(met_edge, found + int(ways))
            met_at = grown(met_at, found + int(ways))
            met_tails = grown(met_tails, used + int(ways) * arity)
            contexts = Contexts(left, right, length)
            pick = met_tails[used : used + arity]
            for k in range(arity):
                pick[k] = new_start[own[k]]
            for way in range(int(ways)):
                # The context of what this way stands for.
                begin, end, size = 0, 0, longest
                if width >= 0 and (before[n] or after[n]):
                    laid_out, size = lay_out(side, pick, trie, contexts, longest, laid, ends)
                    size = min(size, longest)
                    if before[n]:
                        begin = _beginning(trie, laid, laid_out, width)
                    if after[n]:
                        end = _end(trie, laid, laid_out, width)
                    if begin < 0 or end < 0:
                        return NO_ROOM, *failed
                at = _slot(table, origins, left, right, length, n, begin, end, size)
                if table[at] < 0:
                    table[at] = count
                    origins, left = grown(origins, count + 1), grown(left, count + 1)
                    right, length = grown(right, count + 1), grown(length, count + 1)
                    contexts = Contexts(left, right, length)
                    origins[count], left[count] = n, begin
                    right[count], length[count] = end, size
                    count += 1
                    met[found] = count - 1
                    if 2 * count > table.shape[0]:
                        table = _larger(table, origins, left, right, length, count)
                else:
                    met[found] = table[at]
                met_edge[found], met_at[found] = e - edge0, used
                used += arity
                found += 1
                if way + 1 < int(ways):
                    pick = _next_pick(met_tails, used, arity, own, new_start)
        new_start[n + 1] = count
        # Hyperedges stand together by their new heads.
        new_edge_start = grown_offsets(new_edge_start, count + 1)
        new_edge_start[new_start[n] + 1 : count + 1] = 0
        for i in range(found):
            new_edge_start[met[i] + 1] += 1
        for i in range(new_start[n], count):
            new_edge_start[i + 1] += new_edge_start[i]
        origin = grown(origin, made + found)
        tails = grown(tails, tails_made + used)
        for i in _by_head(met[:found], new_start[n], count):
            origin[made] = met_edge[i]
            made += 1
            arity = _arity(arrays, edge0 + met_edge[i])
            for k in range(arity):
                tails[tails_made + k] = met_tails[met_at[i] + k]
            tails_made += arity
        failed = (origins, left, right, length, new_edge_start, origin, tails)
    return (
        FINE,
        origins[:count].copy(),
        left[:count].copy(),
        right[:count].copy(),
        length[:count].copy(),
        new_edge_start[: count + 1].copy(),
        origin[:made].copy(),
        tails[:tails_made].copy(),
    )


@kernel
def _arity(arrays: ForestArrays, edge: int) -> Number:
    return arrays.tail_start[edge + 1] - arrays.tail_start[edge]


@kernel
def room_of(word_start: Ints, first: int, last: int, longest: int) -> int:
    """Return how long what is laid out of a hyperedge may be."""
    most = 0
    for e in range(first, last):
        most = max(most, word_start[e + 1] - word_start[e])
    return most * (2 * longest + 1)


@kernel
def _next_pick(met_tails: Ids, used: int, arity: int, own: Ids, new_start: Ids) -> Ids:
    """Return the next combination of new tails, made of the one that stands before."""
    pick = met_tails[used : used + arity]
    pick[:] = met_tails[used - arity : used]
    k = arity - 1
    while pick[k] + 1 == new_start[own[k] + 1]:
        pick[k] = new_start[own[k]]
        k -= 1
    pick[k] += 1
    return pick


@kernel
def _slot(
    table: Ids,
    origins: Ids,
    left: Ids,
    right: Ids,
    length: Ids,
    node: int,
    begin: int,
    end: int,
    size: int,
) -> Number:
    """Return the slot of a new node, or the empty one where it goes."""
    mask = table.shape[0] - 1
    h = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(begin)
    h = h * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(end)
    h = (h * np.uint64(0x94D049BB133111EB) + np.uint64(size)) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(h >> np.uint64(32)) & mask
    while True:
        at = table[slot]
        if at < 0:
            return slot
        if origins[at] == node and left[at] == begin and right[at] == end and length[at] == size:
            return slot
        slot = (slot + 1) & mask


@kernel
def _larger(table: Ids, origins: Ids, left: Ids, right: Ids, length: Ids, count: int) -> Ids:
    larger = np.full(4 * table.shape[0], -1, np.int32)
    for i in range(count):
        at = _slot(larger, origins, left, right, length, origins[i], left[i], right[i], length[i])
        larger[at] = i
    return larger


@kernel
def _by_head(heads: Ids, first: int, last: int) -> Ints:
    """Return the order of some heads, first to last - 1, in which equals stay as they are."""
    at = np.zeros(last - first + 1, np.int64)
    for i in range(heads.shape[0]):
        at[heads[i] - first + 1] += 1
    for i in range(last - first):
        at[i + 1] += at[i]
    order = np.empty(heads.shape[0], np.int64)
    for i in range(heads.shape[0]):
        order[at[heads[i] - first]] = i
        at[heads[i] - first] += 1
    return order
