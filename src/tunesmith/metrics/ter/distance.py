"""The edit distance within TER, and the alignment that goes with it: kernels on word ids.

A row belongs to a word of the hypothesis, a column to a word of the reference. Rows are
computed in the bits of a few numbers (Myers 1999, in the form of Hyyrö 2003), and only from
the first that a shift changes to where they are again those without it.

sacrebleu looks for the distance only in a beam around the diagonal. Where every path outside
is longer than the distance, this changes nothing; otherwise the beam is kept, cell by cell.
"""

from __future__ import annotations

import math

import numpy as np

from tunesmith.arrays import Ids, Ints, Number
from tunesmith.kernels import inlined, kernel

#: Columns to either side of the diagonal that the edit distance looks at.
BEAM = 25
#: Columns in one number: the sum of two such numbers must not overflow.
BITS = 62
FULL = (1 << BITS) - 1
#: More than any distance.
FAR = 1 << 30


@kernel
def fill(
    words: Ids, a: int, b: int, c: int, width: int, masks: Ints, known: Ints, rows: Ints
) -> Number:
    """Return the edit distance once the blocks [a, b) and [b, c) have been swapped.

    The rows after a are computed, until they are again the ``known`` ones without the swap;
    where a equals b, nothing is swapped and all are computed.
    A row holds the distance in its last column, and for each block of columns in bits: those
    one above their left neighbour, those one below it, and those that equal their left
    neighbour in the row before.
    """
    n, blocks = len(words), masks.shape[1]
    shift = (width - 1) % BITS
    if b == 0:
        known[0, 0] = width
        for w in range(blocks):
            known[0, 1 + w], known[0, 1 + blocks + w] = FULL, 0
    row = known[a]
    for k in range(a, n):
        if k >= c:
            w = 1
            while w <= 2 * blocks and row[w] == known[k, w]:
                w += 1
            if w > 2 * blocks:
                return known[n, 0]
        after, mask = rows[k + 1], masks[words[_source(k, a, b, c)]]
        rise, fall, rises, falls = 1, 0, 0, 0
        for w in range(blocks):
            above, below, match = row[1 + w], row[1 + blocks + w], mask[w] | fall
            equal = ((((match & above) + above) ^ above) | match | below) & FULL
            # One above or below the row before; rise and fall: left of this block.
            rises = ~(equal | above) & FULL | below
            falls = equal & above
            left = ((rises << 1) | rise) & FULL
            after[1 + w] = ((falls << 1) | fall | ~(equal | left)) & FULL
            after[1 + blocks + w] = left & equal
            after[1 + 2 * blocks + w] = equal
            rise, fall = rises >> (BITS - 1), falls >> (BITS - 1)
        after[0] = row[0] + ((rises >> shift) & 1) - ((falls >> shift) & 1)
        row = after
    return row[0]


@inlined
def _source(k: int, a: int, b: int, c: int) -> Number:
    """Return where word k was before the blocks [a, b) and [b, c) were swapped."""
    if k < a or k >= c:
        return k
    return k + b - a if k < a + c - b else k - (c - b)


@kernel
def fill_beam(
    words: Ids, a: int, b: int, c: int, reference: Ids, beam: int, known: Ids, rows: Ids
) -> Number:
    """Do the same within the beam; of the cells outside only those next to it are set."""
    n, width = len(words), len(reference)
    if b == 0:
        for j in range(width + 1):
            known[0, j] = j
    row = known[a]
    first, end = _window(a + 1, n, width, beam)
    for k in range(a, n):
        after, word = rows[k + 1], words[_source(k, a, b, c)]
        if first > 0:
            after[first - 1] = FAR
        for j in range(first, end):
            least = row[j] + 1
            if j > 0:
                least = min(least, after[j - 1] + 1, row[j - 1] + (word != reference[j - 1]))
            after[j] = min(least, FAR)
        row = after
        if k + 1 >= c:
            j = first
            while j < end and row[j] == known[k + 1, j]:
                j += 1
            if j == end:
                return np.int64(known[n, width])
        first, last = _window(k + 2, n, width, beam)
        for j in range(end, last):
            row[j] = FAR
        end = last
    return np.int64(row[width])


@kernel
def trace(
    words: Ids, reference: Ids, rows: Ints, beam: int, cells: Ids, align: Ints, wrong: Ints
) -> None:
    """Align the reference with the hypothesis, and count errors from the start of each.

    Among equals a match or substitution goes before a deletion, that before an insertion.
    """
    i, j = len(words), len(reference)
    blocks = (rows.shape[1] - 1) // 3
    while i > 0 or j > 0:
        same, deletes = False, j == 0
        replaces = i > 0 and j > 0
        if replaces:
            same = words[i - 1] == reference[j - 1]
            if beam > 0:
                replaces = cells[i, j] == cells[i - 1, j - 1] + (not same)
                deletes = cells[i, j] == cells[i - 1, j] + 1
            else:
                w, bit = (j - 1) // BITS, (j - 1) % BITS
                replaces = same or not (rows[i, 1 + 2 * blocks + w] >> bit) & 1
                deletes = bool((rows[i - 1, 1 + blocks + w] >> bit) & 1)
        error = not (replaces and same)
        if replaces or not deletes:
            align[j - 1] = i - 1
            wrong[1, j] = error
            j -= 1
        if replaces or deletes:
            wrong[0, i] = error
            i -= 1
    for side, length in enumerate((len(words), len(reference))):
        wrong[side, 0] = 0
        for k in range(length):
            wrong[side, k + 1] += wrong[side, k]


@kernel
def _window(i: int, n: int, width: int, beam: int) -> tuple[Number, Number]:
    """Return the first column of row i that the beam holds, and the one after its last."""
    middle = math.floor(i * (width / n))
    return max(0, middle - beam), width + 1 if i == n else min(width + 1, middle + beam)


@kernel
def beam_width(n: int, width: int) -> Number:
    """Return how far the beam goes to either side: further where rows are few."""
    ratio = width / n if n > 0 else 1.0
    return math.ceil(ratio / 2 + BEAM) if ratio / 2 > BEAM else BEAM


@kernel
def shortest_outside(n: int, width: int) -> Number:
    """Return a length that no path of edits through a cell outside of the beam is below.

    A path through column j of row i is at least |j - i| + |(width - j) - (n - i)| long.
    """
    shortest = FAR
    beam = beam_width(n, width)
    low, high = min(0, width - n), max(0, width - n)
    for i in range(1, n + 1):
        first, end = _window(i, n, width, beam)
        if first > 0:
            shortest = min(shortest, high - low + 2 * max(0, low - (first - 1 - i)))
        if end <= width:
            shortest = min(shortest, high - low + 2 * max(0, end - i - high))
    return shortest
