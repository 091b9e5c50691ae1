"""What waits while a vertex is searched: a queue by priority, and what was met before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Number
from tunesmith.hiero.tables import Singles
from tunesmith.inference.forests.derivations import grown, grown_floats
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import STEP, spread_bits
from tunesmith.kernels.copying import copy_rows

# Columns of a waiting entry: its bundle, the rank of its rule among those of its option, where its
# evaluation is (-1 before it has one); then a rank for each tail.
BUNDLE, RULE, PLACE, RANKS = range(4)
NONE = -1


class Queue(NamedTuple):
    """Entries, and those that wait in a binary heap.

    Attributes
    ----------
    rows : int32[n, 3 + arity]
        Columns BUNDLE to RANKS.
    priorities : float64[n]
        What they are worth, or are estimated at.
    heap : int32[n]
        Entries that wait; the first is the one to come next.
    """

    rows: Ids
    priorities: Floats
    heap: Ids


class CubeItem(NamedTuple):
    """What language models said of entries.

    Attributes
    ----------
    values : float64[n]
        What the derivation is worth.
    probabilities : float64[n, M]
        What each language model adds: log10.
    ints : int32[n, M * (3 + 2K)], floats : float32[n, M * K]
        The new states.
    """

    values: Floats
    probabilities: Floats
    ints: Ids
    floats: Singles


@kernel
def empty_queue(arity: int, count: int, context: int) -> tuple[Queue, CubeItem]:
    """Return room for entries of an arity, and for the states of ``count`` language models."""
    size = 256
    return (
        Queue(np.empty((size, RANKS + arity), np.int32), np.empty(size), np.empty(size, np.int32)),
        CubeItem(
            np.empty(size),
            np.empty((size, count)),
            np.empty((size, count * (3 + 2 * context)), np.int32),
            np.empty((size, count * context), np.float32),
        ),
    )


@kernel
def with_entries(queue: Queue, room: int) -> Queue:
    """Return the queue with room for ``room`` entries."""
    if room <= queue.rows.shape[0]:
        return queue
    rows = np.empty((2 * room, queue.rows.shape[1]), np.int32)
    copy_rows(rows, 0, queue.rows)
    return Queue(rows, grown_floats(queue.priorities, 2 * room), grown(queue.heap, 2 * room))


@kernel
def with_rows(evaluated: CubeItem, room: int) -> CubeItem:
    """Return evaluations with room for ``room`` of them."""
    before = evaluated.values.shape[0]
    if room <= before:
        return evaluated
    probabilities = np.empty((2 * room, evaluated.probabilities.shape[1]))
    ints = np.empty((2 * room, evaluated.ints.shape[1]), np.int32)
    floats = np.empty((2 * room, evaluated.floats.shape[1]), np.float32)
    copy_rows(probabilities, 0, evaluated.probabilities)
    copy_rows(ints, 0, evaluated.ints)
    copy_rows(floats, 0, evaluated.floats)
    return CubeItem(grown_floats(evaluated.values, 2 * room), probabilities, ints, floats)


@inlined
def _goes_before(cube: Number, other: Number, priorities: Number) -> Number:
    """Whether an entry comes first: by priority, then as they were made."""
    return priorities[cube] > priorities[other] or (
        priorities[cube] == priorities[other] and cube < other
    )


@kernel
def push(queue: Queue, size: int, entry: int) -> int:
    """Add an entry to a heap of ``size``; return the new size."""
    heap, priorities = queue.heap, queue.priorities
    at = size
    while at > 0:
        above = (at - 1) // 2
        if not _goes_before(entry, heap[above], priorities):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = entry
    return size + 1


@kernel
def pop(queue: Queue, size: int) -> tuple[int, int]:
    """Take out the entry that comes next; return it, and how many still wait."""
    heap, priorities = queue.heap, queue.priorities
    top = heap[0]
    size -= 1
    moved = heap[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _goes_before(heap[below + 1], heap[below], priorities):
            below += 1
        if not _goes_before(heap[below], moved, priorities):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moved
    return top, size


@kernel
def row_hash(row: Ids) -> Number:
    """Return a hash of numbers that are 0 or above."""
    total = np.uint64(row.shape[0])
    for value in row:
        total = spread_bits(total ^ np.uint64(value)) + STEP
    return total


@kernel
def same_rows(row: Ids, other: Ids) -> bool:
    """Whether two rows are equal."""
    k = 0
    while k < row.shape[0] and row[k] == other[k]:
        k += 1
    return bool(k == row.shape[0])


@kernel
def is_new(rows: Ids, entry: int, table: Ids) -> bool:
    """Enter an entry into the table of those that were met; whether it was not there."""
    row = rows[entry]
    mask = np.uint64(table.shape[0] - 1)
    ranks = row[RANKS:]
    at = row_hash(ranks) ^ spread_bits(np.uint64(row[BUNDLE]) * STEP + np.uint64(row[RULE]))
    at &= mask
    while table[at] != NONE:
        other = rows[table[at]]
        alike = other[BUNDLE] == row[BUNDLE] and other[RULE] == row[RULE]
        if alike and same_rows(other[RANKS:], ranks):
            return False
        at = (at + np.uint64(1)) & mask
    table[at] = entry
    return True
