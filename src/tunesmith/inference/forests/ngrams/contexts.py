"""The context of a node of a forest: the words at both ends of its span.

A context is a beginning and an end, as sequences of words, and how many words there are if they
are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Ids, Ints, Number
from tunesmith.kernels import kernel
from tunesmith.metrics.ngrams.tables import NgramTables, longer, place_of, table_size

#: Stands between the beginning and the end of a tail whose middle is not known.
GAP = -1

#: The columns of new nodes: see SplitForest.
ORIGIN, LEFT, RIGHT, LENGTH = range(4)


class Trie(NamedTuple):
    """Sequences of words, from the empty one, 0, on.

    Attributes
    ----------
    keys : int64[...], child : int32[...]
        As in :class:`tunesmith.metrics.ngrams.tables.NgramTables`.
    sequences : int32[..., 3]
        Each is a shorter one and a word, and has a length: PARENT, WORD and DEPTH.
    state : int64[2]
        How many there are, and whether new ones are added: 0 where only those count that are
        there, 1 where all do.
    """

    keys: Ints
    child: Ids
    sequences: Ids
    state: Ints


PARENT, WORD, DEPTH = range(3)


def trie_of(tables: NgramTables, group: int) -> Trie:
    """Return the sequences of the references of a group."""
    slots = slice(tables.slot_start[group], tables.slot_start[group + 1])
    nodes = slice(tables.node_start[group], tables.node_start[group + 1])
    sequences = _sequences(tables.parent[nodes], tables.word[nodes])
    state = np.array([len(sequences), 0])
    return Trie(tables.keys[slots], tables.child[slots], sequences, state)


def empty_trie(room: int) -> Trie:
    """Return an empty trie with room for ``room`` sequences."""
    size = table_size(room)
    return Trie(
        np.full(size, -1, np.int64),
        np.zeros(size, np.int32),
        np.zeros((room, 3), np.int32),
        np.array([1, 1]),
    )


@kernel
def _sequences(parent: Ids, word: Ids) -> Ids:
    sequences = np.zeros((parent.shape[0], 3), np.int32)
    for node in range(1, parent.shape[0]):
        sequences[node, PARENT], sequences[node, WORD] = parent[node], word[node]
        if parent[node] >= 0:
            sequences[node, DEPTH] = sequences[parent[node], DEPTH] + 1
    return sequences


@kernel
def context_of(
    side: Ids,
    tails: Ids,
    trie: Trie,
    nodes: Ids,
    open_sides: tuple[bool, bool],
    width: int,
    longest: int,
    scratch: Ids,
) -> tuple[int, int, int]:
    """Return beginning, end and length of what a hyperedge stands for; -1 if there is no room."""
    laid = scratch[0]
    count, length = lay_out(side, tails, trie.sequences, nodes, longest, laid, scratch[1])
    left = _beginning(trie, laid, count, width) if open_sides[0] else 0
    right = _end(trie, laid, count, width) if open_sides[1] else 0
    return left, right, min(length, longest)


@kernel
def lay_out(
    side: Ids,
    tails: Ids,
    sequences: Ids,
    nodes: Ids,
    longest: int,
    laid: Ids,
    ends: Ids,
) -> tuple[int, int]:
    """Write what is known of the words that a hyperedge stands for.

    Parameters
    ----------
    side, tails
        Its target side and its tails, as new nodes.
    sequences, nodes
        Of :class:`Trie` and :class:`SplitForest`.
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
        tail = nodes[tails[-side[k] - 1]]
        own_length = tail[LENGTH]
        length += own_length
        begin = count
        count = _spell(sequences, tail[LEFT], laid, count)
        if own_length >= longest or count - begin < own_length:
            # Not all of it is known, or has to be.
            laid[count] = GAP
            count += 1
            ends[begin:count] = -1
            begin = count
            count = _spell(sequences, tail[RIGHT], laid, count)
        ends[begin:count] = count
    return count, length


@kernel
def _spell(sequences: Ids, which: int, laid: Ids, at: int) -> Number:
    """Write the words of a sequence; return where the next goes."""
    end = at + sequences[which, DEPTH]
    for k in range(end - 1, at - 1, -1):
        laid[k] = sequences[which, WORD]
        which = sequences[which, PARENT]
    return end


@kernel
def _add_sequence(trie: Trie, node: int, word: int) -> Number:
    """Return a sequence with a word more, which is not there yet; -1 if there is no room."""
    new = trie.state[0]
    if new == trie.sequences.shape[0]:
        return -1
    slot = place_of(trie.keys, node, word)
    trie.keys[slot] = (np.int64(node) << 32) | np.int64(word)
    trie.child[slot] = new
    sequence = trie.sequences[new]
    sequence[PARENT], sequence[WORD] = node, word
    sequence[DEPTH] = trie.sequences[node, DEPTH] + 1
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
        child_node = longer(keys, child, node, laid[i])
        if child_node < 0:
            if trie.state[1] == 0:
                break
            child_node = _add_sequence(trie, node, laid[i])
            if child_node < 0:
                return child_node
        node = child_node
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
            child_node = longer(keys, child, node, laid[i])
            if child_node < 0 and trie.state[1] == 1:
                child_node = _add_sequence(trie, node, laid[i])
                if child_node < 0:
                    return child_node
            node = child_node
            if node < 0:
                break
        if node >= 0:
            return node
    return 0


@kernel
def room_of(word_start: Ints, first: int, last: int, longest: int) -> int:
    """Return how long what is laid out of a hyperedge may be."""
    most = 0
    for e in range(first, last):
        most = max(most, word_start[e + 1] - word_start[e])
    return most * (2 * longest + 1)
