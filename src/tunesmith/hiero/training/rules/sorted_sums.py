"""Rows with counts, sorted on disk, the counts of equal rows added up.

Rows are whole numbers and so are counts: what comes out depends neither on the order in which rows
come nor on how many fit into memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.errors import TunesmithError
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to

#: Rows that are sorted by insertion before they are merged.
SHORT = 12
#: Rows that are gathered and written at a time.
WRITTEN = 1 << 16
#: Rows that are yielded, and read of each run, at a time, however little memory there is.
LEAST_OUT, LEAST_READ = 256, 64
#: What the merging kernel returns besides the number of a run whose buffer is used up.
DONE, FULL = -1, -2


class SortedSums:
    """Rows ``int32[width]`` with counts ``int64[sums]`` in runs, each sorted, in two files.

    Rows may be added by several threads.
    """

    def __init__(self, width: int, sums: int, folder: Path, name: str) -> None:
        self.width, self.sums = width, sums
        self._rows, self._sums = folder / f"{name}.rows", folder / f"{name}.sums"
        self._runs: list[tuple[int, int]] = []
        self.written = 0
        self._lock = threading.Lock()
        for path in (self._rows, self._sums):
            path.touch()

    def add(self, rows: Ids, counts: Ints) -> None:
        """Add rows; they can be changed afterwards."""
        order = sorted_order(rows)
        keep = np.empty(len(rows), np.bool_)
        totals = np.empty((len(rows), self.sums), np.int64)
        distinct = _add_up(rows, counts, order, keep, totals)
        order = order[keep]
        with self._lock, written_to(self._rows) as file, written_to(self._sums) as other:
            for first in range(0, distinct, WRITTEN):
                file.write(rows[order[first : first + WRITTEN]].data)
            other.write(totals[:distinct].data)
            self._runs.append((self.written, self.written + distinct))
            self.written += distinct

    def merged(self, prefix: int, memory: int) -> Iterator[tuple[Ids, Ints]]:
        """Yield distinct rows in order; rows that agree in ``prefix`` columns come together.

        Half of the memory is for what is read, half for what is yielded.
        """
        runs = [run for run in self._runs if run[0] < run[1]]
        size = 4 * self.width + 8 * self.sums
        room = max(LEAST_OUT, memory // (2 * size))
        merging = _Merging(self, runs, max(LEAST_READ, room // max(1, len(runs))))
        rows, counts = np.empty((room, self.width), np.int32), np.empty((room, self.sums), np.int64)
        used = 0
        while True:
            used, is_done = merging.filled(rows, counts, used)
            if is_done:
                if used:
                    yield rows[:used], counts[:used]
                return
            cut = int(_last_boundary(rows, used, prefix))
            if cut == 0:  # all of it agrees: a larger buffer is needed
                rows = np.concatenate([rows, np.empty_like(rows)])
                counts = np.concatenate([counts, np.empty_like(counts)])
                continue
            yield rows[:cut], counts[:cut]
            rows[: used - cut] = rows[cut:used].copy()
            counts[: used - cut] = counts[cut:used].copy()
            used -= cut

    def delete(self) -> None:
        """Remove the files."""
        for path in (self._rows, self._sums):
            path.unlink(missing_ok=True)

    def read(self, first: int, last: int, rows: Ids, counts: Ints) -> None:
        """Read some rows of the files."""
        for path, out in ((self._rows, rows), (self._sums, counts)):
            with open(path, "rb") as file:
                file.seek(first * out[0].nbytes)
                size = (last - first) * out[0].nbytes
                if file.readinto(out[: last - first].data) != size:
                    raise TunesmithError(f"{path}: the file was cut short; leave it alone")


class _Merging:
    """Runs that are read a piece at a time, and the heap of their first rows."""

    def __init__(self, sums: SortedSums, runs: list[tuple[int, int]], room: int) -> None:
        self.sums = sums
        self.next = [first for first, _ in runs]
        self.last = [last for _, last in runs]
        self.rows = np.empty((len(runs), room, sums.width), np.int32)
        self.counts = np.empty((len(runs), room, sums.sums), np.int64)
        self.heads = np.zeros(len(runs), np.int64)
        self.sizes = np.zeros(len(runs), np.int64)
        self.heap = np.arange(len(runs), dtype=np.int64)
        self.state = np.array([len(runs), 0], np.int64)
        for run in range(len(runs)):
            self.refill(run)
        _heapify(self.rows, self.heads, self.heap)

    def refill(self, run: int) -> None:
        first = self.next[run]
        last = min(self.last[run], first + self.rows.shape[1])
        if last > first:
            self.sums.read(first, last, self.rows[run], self.counts[run])
        self.next[run], self.heads[run], self.sizes[run] = last, 0, last - first

    def filled(self, rows: Ids, counts: Ints, used: int) -> tuple[int, bool]:
        """Go on until the room is used up or all is read."""
        self.state[1] = used
        while True:
            status = _merge(
                self.rows, self.counts, self.heads, self.sizes, self.heap, self.state, rows, counts
            )
            if status in (DONE, FULL):
                return int(self.state[1]), status == DONE
            self.refill(int(status))


class written_to:  # noqa: N801  (used as a function)
    """Open a temporary file to append to it; that the disk is full is said in one line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "ab")  # noqa: SIM115

    def __enter__(self) -> written_to:
        return self

    def write(self, data: memoryview) -> None:
        """Append bytes."""
        try:
            self._file.write(data)
        except OSError as error:
            raise self._problem(error) from None

    def _problem(self, error: OSError) -> TunesmithError:
        problem = (error.strerror or "it cannot be written").lower()
        return TunesmithError(
            f"{self._path.parent}: {problem}; set TMPDIR to a folder with more room"
        )

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._problem(error) from None


def sorted_order(rows: Ids) -> Ints:
    """Return the order in which rows ascend, by their first column, then the second and so on."""
    order = np.arange(len(rows))
    _sort(rows, order, np.empty_like(order))
    return order


@kernel
def _sort(rows: Ids, order: Ints, other: Ints) -> None:
    """Merge sort from below; short runs by insertion."""
    n = order.shape[0]
    for first in range(0, n, SHORT):
        for k in range(first + 1, min(first + SHORT, n)):
            moved = order[k]
            at = k
            while at > first and compare_rows(rows[moved], rows[order[at - 1]]) < 0:
                order[at] = order[at - 1]
                at -= 1
            order[at] = moved
    size = SHORT
    run, target = order, other
    swapped = False
    while size < n:
        for first in range(0, n, 2 * size):
            middle, last = min(first + size, n), min(first + 2 * size, n)
            a, b = first, middle
            for k in range(first, last):
                if b == last or (a < middle and compare_rows(rows[run[a]], rows[run[b]]) <= 0):
                    target[k] = run[a]
                    a += 1
                else:
                    target[k] = run[b]
                    b += 1
        run, target = target, run
        swapped = not swapped
        size *= 2
    if swapped:
        copy_to(order, 0, other)


@kernel
def compare_rows(a: Ids, b: Ids) -> Number:
    """Return -1, 0 or 1 as one row is less than, equal to or greater than another."""
    for k in range(a.shape[0]):
        if a[k] != b[k]:
            return -1 if a[k] < b[k] else 1
    return 0


@kernel
def _add_up(rows: Ids, counts: Ints, order: Ints, keep: Flags, totals: Ints) -> int:
    """Mark the first of equal rows, and add up the counts of all."""
    used = 0
    for k in range(order.shape[0]):
        keep[k] = k == 0 or compare_rows(rows[order[k - 1]], rows[order[k]]) != 0
        if keep[k]:
            totals[used] = counts[order[k]]
            used += 1
        else:
            for c in range(counts.shape[1]):
                totals[used - 1, c] += counts[order[k], c]
    return used


@kernel
def _last_boundary(rows: Ids, used: int, prefix: int) -> int:
    """Return where the rows begin that agree with the last one in some columns."""
    at = used - 1
    while at > 0 and compare_rows(rows[at - 1, :prefix], rows[used - 1, :prefix]) == 0:
        at -= 1
    return at


@kernel
def _heapify(rows: Ids, heads: Ints, heap: Ints) -> None:
    for place in range(heap.shape[0] // 2 - 1, -1, -1):
        _sift(rows, heads, heap, heap.shape[0], place)


@kernel
def _sift(rows: Ids, heads: Ints, heap: Ints, size: int, place: int) -> None:
    """Let the run at a place of the heap sink to where it belongs."""
    run = heap[place]
    row = rows[run, heads[run]]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size:
            left, right = heap[child], heap[child + 1]
            if compare_rows(rows[right, heads[right]], rows[left, heads[left]]) < 0:
                child += 1
        below = heap[child]
        if compare_rows(row, rows[below, heads[below]]) <= 0:
            break
        heap[place] = below
        place = child
    heap[place] = run


@kernel
def _merge(
    rows: Ids,
    counts: Ints,
    heads: Ints,
    sizes: Ints,
    heap: Ints,
    state: Ints,
    out: Ids,
    out_counts: Ints,
) -> Number:
    """Move rows from runs to ``out``; ``state`` has the runs left and the rows written.

    A run whose buffer is used up is returned to be refilled; it stays first in the heap. If it
    has nothing more then, it leaves the heap.
    """
    while state[0] > 0:
        run = heap[0]
        if heads[run] == sizes[run]:
            if sizes[run] == 0:
                state[0] -= 1
                heap[0] = heap[state[0]]
                if state[0] > 0:
                    _sift(rows, heads, heap, state[0], 0)
                continue
            return run
        if heads[run] == 0 and state[0] > 1:
            _sift(rows, heads, heap, state[0], 0)
            run = heap[0]
        row, used = rows[run, heads[run]], state[1]
        if used > 0 and compare_rows(row, out[used - 1]) == 0:
            for c in range(counts.shape[2]):
                out_counts[used - 1, c] += counts[run, heads[run], c]
        elif used == out.shape[0]:
            return FULL
        else:
            out[used] = row
            out_counts[used] = counts[run, heads[run]]
            state[1] += 1
        heads[run] += 1
        if heads[run] < sizes[run]:
            _sift(rows, heads, heap, state[0], 0)
    return DONE
