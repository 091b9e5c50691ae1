"""Derivations of a forest's nodes that are found or wait: heaps, and tables of their texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.inference.forests.derivations import grown, grown_floats
from tunesmith.inference.forests.kbest.string_hash import PRIME
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.copying import copy_rows

#: No item. As a part of an item it is the best derivation of that tail, by Viterbi.
NONE = -1

# Columns of an item: its node, its hyperedge, where its parts begin, the place that moved on
# last, the item after it in rank, and its child and sibling in the heap.
HEAD, EDGE, PARTS, MOVED, NEXT, CHILD, SIBLING = range(7)
# What is used: items, parts, places of the table.
ITEMS, PARTS_USED, SEEN = range(3)


class Items(NamedTuple):
    """Derivations of nodes: found, or waiting in the heap of their node.

    Attributes
    ----------
    score : float64[M]
    link : int64[M, 7]
        Columns HEAD to SIBLING.
    part : int32[P]
        For each tail of an item's hyperedge the item that is put there, or NONE.
    text : int64[M, 2]
        Hash and power of the words; M is 0 where texts do not matter.
    seen : int64[2^b]
        Table of the items of different texts, by node and hash.
    """

    score: Floats
    link: Ints
    part: Ids
    text: Ints
    seen: Ints


@kernel
def _before(items: Items, item: int, other: int) -> bool:
    """Whether an item comes before another: by score, then hyperedge, then as they were made."""
    if items.score[item] != items.score[other]:
        return bool(items.score[item] > items.score[other])
    edges = items.link[item, EDGE], items.link[other, EDGE]
    return bool(edges[0] < edges[1] or (edges[0] == edges[1] and item < other))


@kernel
def meld(items: Items, heap: int, other: int) -> int:
    """Make one pairing heap of two (Fredman et al. 1986); return its top."""
    if heap == NONE:
        return other
    if other == NONE:
        return heap
    if _before(items, other, heap):
        heap, other = other, heap
    items.link[other, SIBLING] = items.link[heap, CHILD]
    items.link[heap, CHILD] = other
    return heap


@kernel
def without_top(items: Items, top: int) -> int:
    """Take the top off a heap: its children are melded in pairs, then the pairs from the last."""
    link = items.link
    pairs, child = NONE, link[top, CHILD]
    while child != NONE:
        other = link[child, SIBLING]
        rest: Number = NONE if other == NONE else link[other, SIBLING]
        link[child, SIBLING] = NONE
        if other != NONE:
            link[other, SIBLING] = NONE
        pair = meld(items, child, other)
        link[pair, SIBLING] = pairs
        pairs = pair
        child = rest
    left = NONE
    while pairs != NONE:
        rest = link[pairs, SIBLING]
        link[pairs, SIBLING] = NONE
        left = meld(items, left, pairs)
        pairs = rest
    link[top, CHILD] = NONE
    return left


@inlined
def _slot(text: int, node: int, mask: int) -> int:
    """Return where in the table to begin to look."""
    mixed = (text ^ (node * 0x9E3779B97F4A7)) & PRIME
    return (mixed ^ (mixed >> 29)) & mask


@kernel
def is_new_text(items: Items, used: Ints, item: int) -> bool:
    """Whether a node has an item's words for the first time; if so, note them."""
    seen, link, text = items.seen, items.link, items.text
    mask = seen.shape[0] - 1
    at = _slot(text[item, 0], link[item, HEAD], mask)
    while seen[at] != NONE:
        if link[seen[at], HEAD] == link[item, HEAD] and text[seen[at], 0] == text[item, 0]:
            return False
        at = (at + 1) & mask
    seen[at] = item
    used[SEEN] += 1
    return True


@kernel
def with_room_for_text(items: Items, used: Ints) -> Items:
    """Return the same with a table that is at most half full when one more comes."""
    if 2 * (used[SEEN] + 1) <= items.seen.shape[0]:
        return items
    size = 2 * items.seen.shape[0]
    seen = np.full(size, NONE, np.int64)
    for item in items.seen:
        if item != NONE:
            at = _slot(items.text[item, 0], items.link[item, HEAD], size - 1)
            while seen[at] != NONE:
                at = (at + 1) & (size - 1)
            seen[at] = item
    return Items(items.score, items.link, items.part, items.text, seen)


@kernel
def with_room_for(items: Items, count: int, parts: int) -> Items:
    """Return the same with room for ``count`` items and ``parts`` parts."""
    score, link, part, text = items.score, items.link, grown(items.part, parts), items.text
    if count > score.shape[0]:
        score = grown_floats(score, count)
        link = np.empty((score.shape[0], 7), np.int64)
        copy_rows(link, 0, items.link)
        if text.shape[0] > 0:
            text = np.empty((score.shape[0], 2), np.int64)
            copy_rows(text, 0, items.text)
    return Items(score, link, part, text, items.seen)
