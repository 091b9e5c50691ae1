"""The n-grams of references, put into tables once and then held against many texts.

Lists count all candidates of a group at once (:mod:`tunesmith.metrics.ngrams.counts`). Where texts
come one by one, or grow word by word as in a forest, the tables stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Ids, Ints, Number, Stats
from tunesmith.data.candidates import References
from tunesmith.data.rows import offsets
from tunesmith.kernels import kernel
from tunesmith.metrics.ngrams.counts import reference_length_of


class NgramTables(NamedTuple):
    """The n-grams of the references of S groups: a trie for each, numbered from its root 0.

    Attributes
    ----------
    slot_start : int64[S + 1], keys : int64[...], child : int32[...]
        A hash table for each group, whose size is a power of two: under a node and a word, the
        node of the longer n-gram. An empty slot has the key -1.
    node_start : int64[S + 1], parent : int32[...], word : int32[...]
        The nodes of each group: an n-gram is its parent's and a word. Parents come first.
    limit : int32[...]
        How often each n-gram is in the reference that has it most often.
    group_start : int64[S + 1], text_start : int64[...]
        The references of each group, and where they begin among all words: their lengths.
    """

    slot_start: Ints
    keys: Ints
    child: Ids
    node_start: Ints
    parent: Ids
    word: Ids
    limit: Ids
    group_start: Ints
    text_start: Ints

    @classmethod
    def of(cls, references: References, first: int, last: int, order: int) -> NgramTables:
        """Put the n-grams of some groups into tables."""
        group_start = references.group_start[first : last + 1]
        text_start = references.texts.start
        words = np.diff(text_start[group_start])
        sizes = np.array([table_size(int(count) * order + 1) for count in words], np.int64)
        slot_start = offsets(sizes)
        node_start = offsets(words * order + 1)
        tables = cls(
            slot_start,
            np.full(slot_start[-1], -1, np.int64),
            np.zeros(slot_start[-1], np.int32),
            node_start,
            np.full(node_start[-1], -1, np.int32),
            np.full(node_start[-1], -1, np.int32),
            np.zeros(node_start[-1], np.int32),
            group_start,
            text_start,
        )
        _fill(tables, references.texts.ids, order)
        return tables


def table_size(nodes: int) -> int:
    """Return the size of a hash table with room for ``nodes`` nodes, and more."""
    return 1 << max(4, (3 * nodes - 1).bit_length())


@kernel
def place_of(keys: Ints, node: int, word: int) -> Number:
    """Return the slot of the n-gram that a word makes longer, or the empty one where it goes."""
    mask = keys.shape[0] - 1
    key = (np.int64(node) << 32) | np.int64(word)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(h >> np.uint64(40)) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def longer(keys: Ints, child: Ids, node: int, word: int) -> Number:
    """Return the node of the n-gram with one word more, or -1 if no reference has it."""
    # As place_of, which is not called: this is what most of the time goes into.
    mask = keys.shape[0] - 1
    key = (np.int64(node) << 32) | np.int64(word)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(h >> np.uint64(40)) & mask
    while keys[slot] >= 0:
        if keys[slot] == key:
            return child[slot]
        slot = (slot + 1) & mask
    return -1


@kernel
def _fill(tables: NgramTables, words: Ids, order: int) -> None:
    count = np.zeros(max(1, tables.node_start.shape[0]), np.int32)
    for g in range(tables.node_start.shape[0] - 1):
        node0 = tables.node_start[g]
        nodes = tables.node_start[g + 1] - node0
        keys = tables.keys[tables.slot_start[g] : tables.slot_start[g + 1]]
        child = tables.child[tables.slot_start[g] : tables.slot_start[g + 1]]
        limit = tables.limit[node0 : node0 + nodes]
        if count.shape[0] < nodes:
            count = np.zeros(2 * nodes, np.int32)
        used = 1
        for r in range(tables.group_start[g], tables.group_start[g + 1]):
            lo, hi = tables.text_start[r], tables.text_start[r + 1]
            for i in range(lo, hi):
                node: Number = 0
                for j in range(i, min(i + order, hi)):
                    slot = place_of(keys, node, words[j])
                    if keys[slot] < 0:
                        keys[slot] = (np.int64(node) << 32) | np.int64(words[j])
                        child[slot] = used
                        tables.parent[node0 + used] = node
                        tables.word[node0 + used] = words[j]
                        used += 1
                    node = child[slot]
                    count[node] += 1
                    limit[node] = max(limit[node], count[node])
            count[:used] = 0


@kernel
def count_text(
    tables: NgramTables, group: int, words: Ids, order: int, mode: int, count: Ids, row: Stats
) -> None:
    """Count clipped matches of one text, and lengths, as for lists.

    Parameters
    ----------
    count : int32[...]
        As many as the group has nodes or more; 0 before and after.
    row : [2 + 2 * order]
        To be filled.
    """
    keys = tables.keys[tables.slot_start[group] : tables.slot_start[group + 1]]
    child = tables.child[tables.slot_start[group] : tables.slot_start[group + 1]]
    limit = tables.limit[tables.node_start[group] : tables.node_start[group + 1]]
    size = words.shape[0]
    row[:] = 0
    row[0] = size
    row[1] = reference_length_of(size, group, tables.group_start, tables.text_start, mode)
    for n in range(order):
        row[2 + order + n] = max(size - n, 0)
    for undo in range(2):
        for i in range(size):
            node: Number = 0
            for j in range(i, min(i + order, size)):
                node = longer(keys, child, node, words[j])
                if node < 0:
                    break
                if undo:
                    count[node] = 0
                else:
                    count[node] += 1
                    if count[node] <= limit[node]:
                        row[2 + j - i] += 1
