"""All n-grams of a text, as a tree: the parent of "a b c" is "b c"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.data.memory import own_pages, spill
from tunesmith.errors import TunesmithError
from tunesmith.hiero.training.lm.ngram_counts import NgramCounts
from tunesmith.hiero.training.lm.ngram_text import BEGIN, UNKNOWN
from tunesmith.kernels import inlined, kernel

#: n-grams of one order that int32 numbers.
MOST = int(np.iinfo(np.int32).max)


class Level(NamedTuple):
    """The n-grams of one order, in suffix order, so that those with the same parent are a run.

    Attributes
    ----------
    words : int32[n]
        The first word of each; the others are its parent's. A unigram's place is its word.
    children : int64[n + 1]
        Where the longer n-grams that end in each begin, in the next level; [0] in the last one.
    counts : int64[n]
        Adjusted counts: how many distinct words come before it. Those that begin with ``<s>``,
        and all of the highest order, have the number of times they occur.
    occurrences : int64[n]
        How often each occurs; not known of unigrams, unless they are the highest order.
    """

    words: Ids
    children: Ints
    counts: Ints
    occurrences: Ints


def tree_of(ranges: Iterable[NgramCounts], order: int) -> list[Level]:
    """Make the tree from the n-grams of the highest order, which come in suffix order.

    Levels that nothing is in are left out: no sentence is so long.
    """
    parts: list[list[tuple[Ids, Ints, Ints]]] = [[] for _ in range(order)]
    # Neither <unk> nor <s> is the last word of anything.
    special = np.array([UNKNOWN, BEGIN], np.int32)
    parts[0].append((special, np.zeros(2, np.int64), np.zeros(2, np.int64)))
    sizes = np.zeros(order, np.int64)
    sizes[0] = 2
    before = np.full(order, -1, np.int64)
    for keys, counts in ranges:
        nodes = np.zeros(order, np.int64)
        count_new(keys, before.copy(), nodes)
        ends = np.cumsum(nodes)
        words = np.empty(ends[-1], np.int32)
        children, occurrences = np.empty(ends[-1], np.int64), np.zeros(ends[-1], np.int64)
        grow(keys, counts, before, ends - nodes, sizes, words, children, occurrences)
        for n, (a, b) in enumerate(zip(ends - nodes, ends, strict=True)):
            copies = (words[a:b].copy(), children[a:b].copy(), occurrences[a:b].copy())
            parts[n].append((spill(copies[0]), spill(copies[1]), spill(copies[2])))
        sizes += nodes
    if sizes.max() > MOST:
        problem = f"there are {sizes.max():,} n-grams of one order, and {MOST:,} is the most"
        raise TunesmithError(f"{problem}; give less text or a lower order")
    order = int((sizes > 0).sum())
    return [_level(parts[n], int(sizes[n + 1]) if n + 1 < order else None) for n in range(order)]


def _level(parts: list[tuple[Ids, Ints, Ints]], below: int | None) -> Level:
    """Join the parts of a level; ``below`` is the size of the next one, if there is one."""
    words = _joined([part[0] for part in parts], np.int32)
    occurrences = _joined([part[2] for part in parts], np.int64)
    if below is None:
        return Level(words, np.zeros(1, np.int64), occurrences, occurrences)
    children = _joined([*(part[1] for part in parts), np.array([below])], np.int64)
    counts = own_pages((len(words),), np.int64)
    adjust(words, children, occurrences, counts)
    return Level(words, children, counts, occurrences)


def _joined(parts: list[NDArray[np.generic]], dtype: type[np.generic]) -> NDArray[Number]:
    joined = own_pages((sum(map(len, parts)),), dtype)
    return np.concatenate(parts, out=joined)


def words_of_ngrams(levels: Sequence[Level], n: int, first: int, last: int) -> Ids:
    """Return the words of n-grams ``first`` to ``last - 1`` of level n (from 0), a row each."""
    rows = np.empty((last - first, n + 1), np.int32)
    places = np.arange(first, last)
    for j in range(n + 1):
        if j > 0:  # on to the parents, the last of those whose children do not begin later
            places = np.searchsorted(levels[n - j].children[:-1], places, side="right") - 1
        rows[:, j] = levels[n - j].words[places]
    return rows


@inlined
def _word(key: Number, j: Number) -> Number:
    return key >> 32 if j % 2 == 0 else key & 0xFFFFFFFF


@kernel
def shared_suffix(keys: Ints, row: int, before: Ints) -> int:
    """Return how many words, from the last on, an n-gram shares with the one before it."""
    same = 0
    while same < before.shape[0] and _word(keys[same // 2, row], same) == before[same]:
        same += 1
    return same


@kernel
def count_new(keys: Ints, before: Ints, nodes: Ints) -> None:
    """Count the n-grams of each order that are new in a range."""
    order = before.shape[0]
    for row in range(keys.shape[1]):
        for j in range(shared_suffix(keys, row, before), order):
            word = _word(keys[j // 2, row], j)
            before[j] = word
            nodes[j] += 1
            if word == BEGIN:  # what follows is padding
                break


@kernel
def grow(
    keys: Ints,
    counts: Ints,
    before: Ints,
    first: Ints,
    sizes: Ints,
    words: Ids,
    children: Ints,
    occurrences: Ints,
) -> None:
    """Write the n-grams of a range, those of each order after those of lower ones.

    ``first`` is where those of an order begin, ``sizes`` how many earlier ranges had.
    """
    order = before.shape[0]
    free = first.copy()
    current = np.full(order, -1, np.int64)
    for row in range(keys.shape[1]):
        same = shared_suffix(keys, row, before)
        for j in range(order):
            word = _word(keys[j // 2, row], j)
            if j >= same:
                before[j] = word
                current[j] = free[j]
                free[j] += 1
                words[current[j]] = word
                children[current[j]] = 0
                if j + 1 < order:
                    children[current[j]] = sizes[j + 1] + free[j + 1] - first[j + 1]
            if current[j] >= 0:  # a unigram may start in an earlier range
                occurrences[current[j]] += counts[row]
            if word == BEGIN:
                break


@kernel
def adjust(words: Ids, children: Ints, occurrences: Ints, counts: Ints) -> None:
    """Write adjusted counts (Heafield et al. 2013, section 3.2)."""
    for i in range(words.shape[0]):
        if words[i] == BEGIN:
            counts[i] = occurrences[i]
        else:
            counts[i] = children[i + 1] - children[i]


@kernel
def find_contexts(
    children: Ints,
    words: Ids,
    parent_contexts: Ids,
    context_children: Ints,
    context_words: Ids,
    contexts: Ids,
) -> None:
    """Write the place of each n-gram without its last word, in the level above.

    The context of "x s", for a parent s, is "x p", where p is the context of s. Both lists of
    children are in the order of x, and that of p has all words that the one of s has.
    """
    for s in range(children.shape[0] - 1):
        at = np.int64(0)
        if children[s] < children[s + 1]:
            at = context_children[parent_contexts[s]]
        for i in range(children[s], children[s + 1]):
            while context_words[at] != words[i]:
                at += 1
            contexts[i] = at
            at += 1


def contexts_of(levels: Sequence[Level], n: int, parent_contexts: Ids) -> Ids:
    """Return the place of each n-gram of level n (from 1) without its last word, in level n - 1.

    ``parent_contexts`` is the same for level n - 1; it is not looked at where n is 1.
    """
    level, parents = levels[n], levels[n - 1]
    if n == 1:
        return level.words
    contexts: Ids = own_pages((len(level.words),), np.int32)
    above = levels[n - 2]
    find_contexts(
        parents.children, level.words, parent_contexts, above.children, parents.words, contexts
    )
    return contexts


def frequent(level: Level, threshold: int) -> Flags:
    """Return which n-grams occur more often than a threshold."""
    flags: Flags = own_pages((len(level.words),), np.bool_)
    np.greater(level.occurrences, threshold, out=flags)
    return flags
