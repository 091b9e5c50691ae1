"""Counts of matching n-grams: the statistics of BLEU and of all that is made from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tunesmith.arrays import Ids, Ints, Number, Stats
from tunesmith.data.candidates import References, Texts
from tunesmith.errors import TunesmithError
from tunesmith.kernels import inlined, kernel
from tunesmith.parallel.local import map_pieces, pieces_of

ReferenceLength = Literal["closest", "shortest", "average"]
REFERENCE_LENGTHS = ("closest", "shortest", "average")
#: Nobody counts longer n-grams, and statistics grow with the order.
LONGEST = 100
#: Below it a product may soon be too small for a float, and logarithms are added instead.
SMALL = 1e-150


def check_references(name: str, references: Sequence[str]) -> None:
    """Refuse to compare a hypothesis with nothing."""
    if not references:
        raise TunesmithError(f"{name} needs references; give one at least")


def ngram_names(order: int) -> tuple[str, ...]:
    """Return the names of the statistics: lengths, matches and totals."""
    orders = range(1, order + 1)
    return (
        "length",
        "reference_length",
        *(f"matches_{n}" for n in orders),
        *(f"total_{n}" for n in orders),
    )


def count_ngrams(
    start: Ints,
    texts: Texts,
    references: References,
    order: int,
    reference_length: ReferenceLength,
) -> Stats:
    """Count n-grams that match the references, clipped, and lengths.

    Parameters
    ----------
    start : int64[S + 1]
        The texts of each group.
    texts
        N of them.
    references
        Of each group, over the same vocabulary.
    order
        Length of the longest n-gram.
    reference_length
        Which of several references' lengths counts.

    Returns
    -------
    [N, 2 + 2 * order]
        As named by :func:`ngram_names`; whole numbers unless lengths are averages.
    """
    average = reference_length == "average"
    stats = np.zeros((len(texts), 2 + 2 * order), np.float64 if average else np.int32)
    mode = REFERENCE_LENGTHS.index(reference_length)

    def count(groups: slice) -> None:
        _count_groups(
            start,
            groups.start,
            groups.stop,
            texts.start,
            texts.ids,
            references.group_start,
            references.texts.start,
            references.texts.ids,
            mode,
            order,
            stats,
        )

    map_pieces(count, pieces_of(len(start) - 1, weights=np.diff(start)))
    return stats


@inlined
def times(product: float, logarithm: float, factor: float) -> tuple[float, float]:
    """Multiply by a factor what is held as product · exp(logarithm).

    One logarithm at the end is enough for a few factors; many of them need more.
    """
    if product * factor < SMALL and product > 0 and factor > 0:
        return 1.0, logarithm + np.log(product) + np.log(factor)
    return product * factor, logarithm


@kernel
def _count_groups(
    start: Ints,
    first: int,
    last: int,
    text_start: Ints,
    tokens: Ids,
    group_references: Ints,
    reference_start: Ints,
    reference_tokens: Ids,
    mode: int,
    order: int,
    stats: Stats,
) -> None:
    """Count clipped n-gram matches, exactly: no n-gram is ever taken for another.

    The n-grams of a group's references form a trie. Its children stand in a hash table
    under (node, token), so a hypothesis is matched by walking down from each position
    until nothing is found, and most positions end after a step or two.
    """
    most = 0
    for g in range(first, last):
        words = reference_start[group_references[g + 1]] - reference_start[group_references[g]]
        most = max(most, words)
    nodes = most * order + 1
    size = 16
    while size < 3 * nodes:
        size *= 2
    keys = np.full(size, -1, np.int64)
    child = np.empty(size, np.int32)
    limit = np.zeros(nodes, np.int32)  # most often in one reference
    count = np.zeros(nodes, np.int32)
    for g in range(first, last):
        words = reference_start[group_references[g + 1]] - reference_start[group_references[g]]
        size = 16
        while size < 3 * (words * order + 1):
            size *= 2
        mask = size - 1
        keys[:size] = -1
        used = 1
        limit[: words * order + 1] = 0
        for r in range(group_references[g], group_references[g + 1]):
            lo, hi = reference_start[r], reference_start[r + 1]
            for i in range(lo, hi):
                node: Number = 0
                for j in range(i, min(i + order, hi)):
                    key = (np.int64(node) << 32) | np.int64(reference_tokens[j])
                    slot = _slot(key, keys, mask)
                    if keys[slot] < 0:
                        keys[slot] = key
                        child[slot] = used
                        used += 1
                    node = child[slot]
                    count[node] += 1
                    limit[node] = max(limit[node], count[node])
            for node in range(used):
                count[node] = 0
        for c in range(start[g], start[g + 1]):
            lo, hi = text_start[c], text_start[c + 1]
            row = stats[c]
            row[0] = hi - lo
            row[1] = reference_length_of(hi - lo, g, group_references, reference_start, mode)
            for n in range(order):
                row[2 + order + n] = max(hi - lo - n, 0)
            for undo in range(2):
                for i in range(lo, hi):
                    node = 0
                    for j in range(i, min(i + order, hi)):
                        key = (np.int64(node) << 32) | np.int64(tokens[j])
                        slot = _slot(key, keys, mask)
                        if keys[slot] < 0:
                            break
                        node = child[slot]
                        if undo:
                            count[node] = 0
                        else:
                            count[node] += 1
                            if count[node] <= limit[node]:
                                row[2 + j - i] += 1


@kernel
def _slot(key: Number, keys: Ints, mask: int) -> Number:
    """Return where a key is, or the empty place where it would be."""
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(h >> np.uint64(40)) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def reference_length_of(
    length: int, g: int, group_references: Ints, reference_start: Ints, mode: int
) -> Number:
    """Return the length of a group's references that counts for a text of some length."""
    first, last = group_references[g], group_references[g + 1]
    if mode == 2:
        return (reference_start[last] - reference_start[first]) / (last - first)
    best = reference_start[first + 1] - reference_start[first]
    for r in range(first + 1, last):
        other = reference_start[r + 1] - reference_start[r]
        if mode == 1:
            best = min(best, other)
        else:
            nearer = abs(other - length) - abs(best - length)
            if nearer < 0 or (nearer == 0 and other < best):
                best = other
    return float(best)
