"""Lazy search: the kernels.

A range of groups combines the results of its two halves. A cell (m, n) is the m-th result of the
left half with the n-th of the right one. Cells wait in a heap, by the loss of the two together;
what a half has not found yet counts with the least that it can come to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows, copy_to
from tunesmith.search.exact.active_set import (
    FEASIBLE,
    INFEASIBLE,
    LEAST_CHANGES,
    UNDECIDED,
    add_row,
    best_other,
    closest_rival,
    difference,
    reset,
    scores_in,
)
from tunesmith.search.exact.extreme import PointLists, accuse, examine
from tunesmith.search.exact.lazy.conflicts import Conflicts, excluded, insert

#: More than any loss.
NEVER = 2**60
#: Why no more cells are taken: there are enough; a half has to find more; there are none.
ENOUGH, LEFT, RIGHT, NONE = 0, 1, 2, 3
#: Which number of ``Work.numbers`` is what: the least loss met; tests; cells that a vector of a
#: half settled, and that a known conflict did.
LEAST, TESTED, SHOWN, EXCLUDED = 0, 1, 2, 3


class Results(NamedTuple):
    """Attainable choices of a range, in the order of their loss.

    Attributes
    ----------
    points : int64[n, length]
        The point of each group of the range.
    loss : int64[n]
        Their loss.
    vectors : float64[n, D]
        A vector under which they win.
    rows : int64[n, D, 2]
        The rows that were active when it was found, ``counts`` int64[n] of them.
    """

    points: Ints
    loss: Ints
    vectors: Floats
    rows: Ints
    counts: Ints


class CellWork(NamedTuple):
    """What the tests of one share of the cells write, apart from results.

    Attributes
    ----------
    vector, basis, factor, forces, rows, active, scores, witness, blame
        What :func:`examine` works on.
    chosen : int64[S]
        The choice that is tested.
    nowhere : float64[D]
        Zeros.
    best : float64[D]
        The vector of least loss met, over all groups.
    conflicts
        Those found with the cells at hand.
    numbers : int64[4]
        See above.
    """

    vector: Floats
    basis: Floats
    factor: Floats
    forces: Floats
    rows: Ints
    active: Ints
    scores: Floats
    witness: Floats
    blame: Bytes
    chosen: Ints
    nowhere: Floats
    best: Floats
    conflicts: Conflicts
    numbers: Ints


@kernel
def _before(heap: Ints, a: int, b: int) -> bool:
    for k in range(3):
        if heap[a, k] != heap[b, k]:
            return bool(heap[a, k] < heap[b, k])
    return False


@kernel
def _swap(heap: Ints, a: int, b: int) -> None:
    for k in range(3):
        heap[a, k], heap[b, k] = heap[b, k], heap[a, k]


@kernel
def _push(heap: Ints, size: int, key: int, m: int, n: int) -> None:
    heap[size, 0], heap[size, 1], heap[size, 2] = key, m, n
    at = size
    while at > 0 and _before(heap, at, (at - 1) // 2):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@kernel
def _sink(heap: Ints, size: int) -> None:
    """Bring the first entry to its place."""
    at = 0
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _before(heap, child, least):
                least = child
        if least == at:
            return
        _swap(heap, at, least)
        at = least


@kernel
def _part(loss: Ints, known: int, bound: int, at: int) -> int:
    """Return the loss of a half's result, or the least that it can come to."""
    return int(loss[at]) if at < known else bound


@kernel
def _sum(left: int, right: int) -> int:
    return min(left + right, NEVER)


@kernel
def take_cells(
    heap: Ints,
    size: int,
    left: Results,
    left_known: int,
    left_bound: int,
    right: Results,
    right_known: int,
    right_bound: int,
    below: int,
    cells: Ints,
) -> tuple[int, int, int]:
    """Take the next cells in the order of their loss.

    Row m is opened by its first cell, and each cell opens the next one of its row, so none comes
    twice and all that are still to come lose at least as much as the first of the heap.

    Returns
    -------
    How many cells there are; how many entries the heap has now; why there are no more.
    """
    count = 0
    while count < cells.shape[0]:
        if size == 0:
            return count, size, NONE
        key, m, n = heap[0]
        now = _sum(
            _part(left.loss, left_known, left_bound, m),
            _part(right.loss, right_known, right_bound, n),
        )
        if now > key:
            heap[0, 0] = now
            _sink(heap, size)
            continue
        if key >= below:
            return count, size, NONE
        if m >= left_known:
            return count, size, LEFT
        if n >= right_known:
            return count, size, RIGHT
        cells[count, 0], cells[count, 1] = m, n
        count += 1
        # The next of the row takes the place of this one.
        after = _part(right.loss, right_known, right_bound, n + 1)
        heap[0, 0], heap[0, 2] = _sum(left.loss[m], after), n + 1
        _sink(heap, size)
        if n == 0:
            after = _part(left.loss, left_known, left_bound, m + 1)
            _push(heap, size, _sum(right.loss[0], after), m + 1, 0)
            size += 1
    return count, size, ENOUGH


@kernel
def _remember(lists: PointLists, work: CellWork, order: Ints) -> None:
    """Keep the points that are to blame."""
    members = np.full(work.conflicts.sets.shape[1], -1, np.int64)
    count = 0
    for group in order:
        if work.blame[group]:
            if count == members.shape[0]:
                return
            members[count] = work.chosen[group]
            count += 1
    if count > 0:
        insert(work.conflicts, members, lists.start[order[0]])


@kernel
def _wins(lists: PointLists, work: CellWork, order: Ints, vector: Floats) -> bool:
    """Tell whether a vector of length 1 chooses some groups' points by the tolerance."""
    size, tolerance = vector.shape[0], lists.tolerance
    for group in order:
        lo, many = lists.start[group], lists.start[group + 1] - lists.start[group]
        point = work.chosen[group] - lo
        scores_in(lists.points, lists.start, group, vector, work.scores)
        if many > 1:
            lead, _ = closest_rival(
                lists.points, lists.start, lists.kin, group, point, size, tolerance, work.scores
            )
            if lead < tolerance:
                return False
    return True


@kernel
def _row(lists: PointLists, point: int, other: int, row: Floats) -> None:
    group = lists.owner[point]
    lo = lists.start[group]
    difference(lists.points, lists.start, group, point - lo, other - lo, row)


@kernel
def _holds(lists: PointLists, half: Results, at: int, vector: Floats, row: Floats) -> bool:
    """Tell whether a vector satisfies the rows that were active in a half: a quick no."""
    for i in range(half.counts[at]):
        _row(lists, half.rows[at, i, 0], half.rows[at, i, 1], row)
        gap = 0.0
        for d in range(row.shape[0]):
            gap += row[d] * vector[d]
        if gap < lists.tolerance:
            return False
    return True


@kernel
def _shows(
    lists: PointLists,
    work: CellWork,
    first: Results,
    i: int,
    second: Results,
    j: int,
    order: Ints,
    row: Floats,
) -> bool:
    """Tell whether the vector known from one half chooses the points of the other."""
    if first.counts[i] == 0 or not _holds(lists, second, j, first.vectors[i], row):
        return False
    return _wins(lists, work, order, first.vectors[i])


@kernel
def _begin(lists: PointLists, work: CellWork, rows: Ints, count: int, row: Floats) -> int:
    """Add rows that were active in a half, as far as they do not hold; INFEASIBLE if they cannot.

    Rows that matter in a half matter in the whole: this saves looking for them.
    """
    size = row.shape[0]
    longest = 1.0 / (lists.tolerance * lists.tolerance)
    for i in range(count):
        _row(lists, rows[i, 0], rows[i, 1], row)
        gap, square = 0.0, 0.0
        for d in range(size):
            gap += row[d] * work.vector[d]
            square += work.vector[d] * work.vector[d]
        if square > 0.0 and gap >= lists.tolerance * np.sqrt(square):
            continue
        changes = add_row(
            row, rows[i, 0], rows[i, 1], work.vector, work.nowhere, work.basis, work.factor,
            work.forces, work.rows, work.active, LEAST_CHANGES,
        )  # fmt: skip
        if changes < 0:
            return INFEASIBLE
        square = 0.0
        for d in range(size):
            square += work.vector[d] * work.vector[d]
        if changes > LEAST_CHANGES:
            reset(work.vector, work.nowhere, work.basis, work.active)
            return UNDECIDED
        if square > longest:
            work.forces[work.active[0]] = 0.0
            return INFEASIBLE
    return UNDECIDED


@kernel
def _test(
    lists: PointLists,
    work: CellWork,
    order: Ints,
    left: Results,
    m: int,
    right: Results,
    n: int,
    row: Floats,
) -> int:
    """Test the choice from the active rows of both halves on; blamed points are remembered."""
    work.numbers[TESTED] += 1
    reset(work.vector, work.nowhere, work.basis, work.active)
    verdict = _begin(lists, work, left.rows[m], left.counts[m], row)
    if verdict != INFEASIBLE:
        verdict = _begin(lists, work, right.rows[n], right.counts[n], row)
    if verdict == INFEASIBLE:
        accuse(lists.owner, work.forces, work.rows, work.active, work.blame)
    else:
        verdict = examine(
            lists.points, lists.start, lists.kin, lists.owner, order, work.chosen,
            lists.tolerance, lists.aim, lists.cosine, work.vector, work.basis, work.factor,
            work.forces, work.rows, work.active, work.scores, work.witness, work.blame,
        )  # fmt: skip
    if verdict == INFEASIBLE:
        _remember(lists, work, order)
    return verdict


@kernel
def _elsewhere(
    lists: PointLists, work: CellWork, lo: int, hi: int, lost: int, vector: Floats
) -> int:
    """Return the loss over all groups of a vector whose loss within a range is known.

    It is not less than the least one known if it cannot be, or where nobody wins clearly.
    """
    start, scores = lists.start, work.scores
    size, tolerance = vector.shape[0], lists.tolerance
    for group in range(start.shape[0] - 1):
        if lo <= group < hi:
            continue
        many = start[group + 1] - start[group]
        scores_in(lists.points, start, group, vector, scores)
        point = best_other(scores, many, -1)
        if many > 1:
            lead, _ = closest_rival(
                lists.points, start, lists.kin, group, point, size, tolerance, scores
            )
            if lead < tolerance:
                return NEVER
        lost += lists.loss[start[group] + point]
        if lost >= work.numbers[LEAST]:
            break
    return lost


@kernel
def test_cells(
    lists: PointLists,
    work: CellWork,
    conflicts: Conflicts,
    lo: int,
    middle: int,
    hi: int,
    left: Results,
    right: Results,
    cells: Ints,
    results: Results,
    verdicts: Ints,
    hits: Ints,
) -> None:
    """Test cells of a range, the groups from ``lo`` to ``hi``, and fill in what was found.

    ``conflicts`` are only read; ``hits`` says which of them settled a cell.
    """
    order, lefts, rights = np.arange(lo, hi), np.arange(lo, middle), np.arange(middle, hi)
    chosen, witness = work.chosen, work.witness
    row = np.empty(witness.shape[0])
    for c in range(cells.shape[0]):
        m, n = cells[c, 0], cells[c, 1]
        for group in lefts:
            chosen[group] = left.points[m, group - lo]
        for group in rights:
            chosen[group] = right.points[n, group - middle]
        results.points[c] = chosen[lo:hi]
        results.loss[c] = left.loss[m] + right.loss[n]
        hits[c, 0], hits[c, 1] = excluded(lists, conflicts, chosen, order)
        if hits[c, 0] >= 0 or excluded(lists, work.conflicts, chosen, order)[0] >= 0:
            work.numbers[EXCLUDED] += 1
            verdicts[c] = INFEASIBLE
            continue
        if _shows(lists, work, left, m, right, n, rights, row):
            copy_to(witness, 0, left.vectors[m])
            work.numbers[SHOWN] += 1
            copy_rows(results.rows[c], 0, left.rows[m])
            results.counts[c] = left.counts[m]
        elif _shows(lists, work, right, n, left, m, lefts, row):
            copy_to(witness, 0, right.vectors[n])
            work.numbers[SHOWN] += 1
            copy_rows(results.rows[c], 0, right.rows[n])
            results.counts[c] = right.counts[n]
        else:
            verdicts[c] = _test(lists, work, order, left, m, right, n, row)
            if verdicts[c] != FEASIBLE:
                continue
            square = 0.0
            for value in witness:
                square += value * value
            witness /= np.sqrt(square)
            copy_rows(results.rows[c], 0, work.rows[: witness.shape[0]])
            results.counts[c] = work.active[0]
        verdicts[c] = FEASIBLE
        copy_to(results.vectors[c], 0, witness)
        lost = _elsewhere(lists, work, lo, hi, results.loss[c], witness)
        if lost < work.numbers[LEAST]:
            work.numbers[LEAST] = lost
            copy_to(work.best, 0, witness)
