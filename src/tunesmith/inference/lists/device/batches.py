"""The arrays of a set on the device, and what is asked of them in batches.

Everything that depends on the set goes there once. Points (scores of all candidates, and winners)
stay there while somebody has them; slopes along directions that are not single dense features are
computed there, and the last ones are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.errors import TunesmithError
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.device import envelopes, intervals, points, sorting
from tunesmith.inference.lists.device.compiling import (
    CHUNK,
    GROUP_THREADS,
    LINE_THREADS,
    MOST_STATS,
    SIMULATED,
)
from tunesmith.metrics.scored import ScoredCandidates

#: Points and directions that there is room for at first; more is made when it is needed.
POINTS, WAYS = (4, 2) if SIMULATED else (32, 48)
#: Lines that are searched in one launch, at most: envelopes of all of them are there at once.
LINES = 128
#: Breakpoints of a line, for each group, that there is room for at first.
ROOM = 8
#: Threads of a block where each has one number.
EACH = 4 if SIMULATED else 256
#: The share of the device's memory that a set may take, with what is computed of it.
SHARE = 0.85


class Best(NamedTuple):
    """The best interval of a line; number −1 if there is none."""

    number: int
    low: float
    high: float
    total: Stats


class Move(NamedTuple):
    """A step from a point along a row of slopes to another place; no row for scores as they are."""

    before: int
    row: int
    step: float
    after: int


class Batches:
    """Candidates on the device.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    """

    def __init__(self, tuning: ScoredCandidates) -> None:
        features, stats = tuning.candidates.features, tuning.stats
        self.size, self.names = features.candidates, len(features.names)
        self.start = tuning.candidates.start
        self.groups = len(self.start) - 1
        self.dense, self.kind = len(features.dense), stats.dtype
        self.statistics = stats.shape[1]
        if self.statistics > MOST_STATS:
            raise TunesmithError(
                f"metric '{tuning.metric.name}' has {self.statistics} statistics, and a GPU takes "
                f"{MOST_STATS}; use --device cpu"
            )
        self._check_room(self.bytes_of(tuning))
        self._start = cuda.to_device(self.start)
        self._stats = cuda.to_device(np.ascontiguousarray(stats))
        # Rows of slopes: the dense features, then others.
        self._ways = self.dense + WAYS
        self._rows = cuda.device_array((self._ways, self.size), np.float64)
        for d in range(self.dense):
            self._rows[d].copy_to_device(features.dense[d])
        by_candidate = features.sparse.tocsr()
        by_candidate.sort_indices()
        self._sparse = tuple(
            cuda.to_device(_filled(array, kind))
            for array, kind in (
                (by_candidate.data, np.float64),
                (by_candidate.indices, np.int32),
                (by_candidate.indptr, np.int64),
            )
        )
        self._scores = cuda.device_array((POINTS, self.size), np.float64)
        self._winners = cuda.device_array((POINTS, self.groups), np.int64)
        self._free = list(range(POINTS))
        self._known: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()
        self._room = _power_of_two(max(ROOM * self.groups, CHUNK))
        self._buffers: tuple[Any, ...] | None = None

    @staticmethod
    def bytes_of(tuning: ScoredCandidates) -> int:
        """Return about how many bytes a set takes on a device."""
        features = tuning.candidates.features
        rows = len(features.dense) + WAYS + POINTS
        return int(8 * rows * features.candidates + tuning.stats.nbytes + 12 * features.sparse.nnz)

    def _check_room(self, needed: int) -> None:
        if SIMULATED:
            return
        free, _ = cuda.current_context().get_memory_info()
        if needed > SHARE * free:
            fits = int(self.size * SHARE * free / needed)
            raise TunesmithError(
                f"{self.size:,} candidates need {needed / 1e9:.1f} GB of the GPU's memory, and "
                f"{free / 1e9:.1f} are free, enough for {fits:,}; use --device cpu or fewer of them"
            )

    # Places of points.

    def take_place(self) -> int:
        """Return a place for a point."""
        if not self._free:
            self._grow()
        return self._free.pop()

    def give_back(self, place: int) -> None:
        """Let others have the place of a point."""
        self._free.append(place)

    def _grow(self) -> None:
        count = self._scores.shape[0]
        self._check_room(8 * 2 * count * self.size)
        scores = cuda.device_array((2 * count, self.size), np.float64)
        winners = cuda.device_array((2 * count, self.groups), np.int64)
        for k in range(count):
            scores[k].copy_to_device(self._scores[k])
            winners[k].copy_to_device(self._winners[k])
        self._scores, self._winners = scores, winners
        self._free += range(count, 2 * count)

    def scores_at(self, place: int) -> Floats:
        """Return the scores of a point, on the processor."""
        scores: Floats = self._scores[place].copy_to_host()
        return scores

    def winners_at(self, place: int) -> Ints:
        """Return the winners of a point, on the processor."""
        winners: Ints = self._winners[place].copy_to_host()
        return winners

    # Points.

    def evaluate(self, weights: Floats, places: Sequence[int]) -> Stats:
        """Score candidates under weights [B, D], and return the sums of the winners' statistics."""
        self._multiply(weights, self._scores, places)
        return self.move([Move(place, -1, 0.0, place) for place in places])

    def move(self, moves: Sequence[Move]) -> Stats:
        """Add steps to scores, and return the sums of the winners' statistics [B, K]."""
        ask = cuda.to_device(np.array(moves, np.float64))
        totals = cuda.device_array((len(moves), self.statistics), np.float64)
        grid = self.groups, len(moves)
        points.shift[grid, GROUP_THREADS](self._scores, self._rows, self._start, ask, self._winners)
        points.add_up[len(moves), LINE_THREADS](self._stats, self._winners, ask, totals)
        return self._whole(totals.copy_to_host())

    def rescale(self, before: int, after: int, factor: float) -> None:
        """Copy a point with all scores times a power of two."""
        points.rescale[-(-self.size // EACH), EACH](
            self._scores, self._winners, before, after, factor
        )

    def _multiply(self, weights: Floats, into: Any, places: Sequence[int]) -> None:
        dense = weights[:, : self.dense]
        used = np.flatnonzero(dense.any(axis=0))
        others = weights[:, self.dense :]
        if not others.any():
            others = others[:, :0]
        values = np.ascontiguousarray(np.concatenate([dense[:, used], others], axis=1))
        if not values.size:  # arrays on the device are not empty
            used, values = np.zeros(1, np.int64), np.zeros((len(weights), 1))
        elif not len(used):
            used, values = np.zeros(1, np.int64), np.pad(values, ((0, 0), (1, 0)))
        points.multiply[(-(-self.size // EACH), len(weights)), EACH](
            self._rows,
            cuda.to_device(used),
            cuda.to_device(values),
            into,
            cuda.to_device(np.array(places, np.int64)),
            *self._sparse,
        )

    def row_of(self, direction: Direction, busy: Sequence[int] = ()) -> int:
        """Return the row of the slopes along a direction; rows that are busy stay as they are."""
        if len(direction.features) == 1 and direction.values[0] == 1.0:
            feature = int(direction.features[0])
            if feature < self.dense:
                return feature
        key = direction.features.tobytes(), direction.values.tobytes()
        row = self._known.get(key)
        if row is not None:
            self._known.move_to_end(key)
            return row
        row = self._spare_row(set(busy))
        self._multiply(direction.vector(self.names)[None], self._rows, [row])
        self._known[key] = row
        return row

    def _spare_row(self, busy: set[int]) -> int:
        if len(self._known) < self._ways - self.dense:
            return self.dense + len(self._known)
        for key, row in self._known.items():
            if row not in busy:
                del self._known[key]
                return row
        raise AssertionError("no batch has so many lines")

    # Lines.

    @property
    def most_lines(self) -> int:
        """How many lines are searched together, at most."""
        return min(LINES, self._ways - self.dense)

    def best(self, ask: Floats, formula: Floats) -> list[Best]:
        """Return the best interval of each line.

        Parameters
        ----------
        ask : float64[L, 5]
            Place of the point, row of the slopes, a step that changes the weights by about their
            size, and the limits of the line.
        formula
            See ``formulas``.
        """
        numbers = cuda.to_device(formula)
        reply = cuda.device_array((len(ask), 4 + self.statistics), np.float64)
        while True:
            sent = cuda.to_device(ask)
            first, count, *sides = self._breakpoints(sent, len(ask))
            intervals.best_intervals[len(ask), LINE_THREADS](
                self._stats, first, count, *sides, sent, numbers, reply
            )
            replies = reply.copy_to_host()
            if not self._enlarge(int(replies[:, 0].max())):
                break
        totals = self._whole(replies[:, 4:])
        return [
            Best(int(r[1]), float(r[2]), float(r[3]), total)
            for r, total in zip(replies, totals, strict=True)
        ]

    def follow(self, ask: Floats) -> list[tuple[Stats, Floats, Stats]]:
        """Return, of each line, the sum at γ = −∞, breakpoints in order, and changes there."""
        while True:
            sent = cuda.to_device(ask)
            first, count, *sides = self._breakpoints(sent, len(ask))
            counts = count.copy_to_host()[: len(ask)]
            if not self._enlarge(int(counts.max())):
                break
        shape = len(ask), max(int(counts.max()), 1), self.statistics
        kind = np.float64 if self.kind.kind == "f" else np.int64
        base = cuda.device_array((len(ask), self.statistics), np.float64)
        change = cuda.device_array(shape, kind)
        at, left, right = sides
        intervals.follow[len(ask), LINE_THREADS](
            self._stats, first, count, left, right, base, change
        )
        totals, changes, edges = self._whole(base.copy_to_host()), change.copy_to_host(), at
        return [
            (totals[k], edges[k, : int(n)].copy_to_host() if n else np.zeros(0), changes[k, :n])
            for k, n in enumerate(counts)
        ]

    def _breakpoints(self, ask: Any, lines: int) -> tuple[Any, ...]:
        """Return winners at γ = −∞, and numbers of breakpoints and breakpoints, sorted."""
        first, count, *sides = self._buffers_for(lines)
        others, sides = sides[3:], sides[:3]
        count.copy_to_device(np.zeros(count.shape[0], np.int32))
        envelopes.find_envelopes[(self.groups, lines), GROUP_THREADS](
            self._scores, self._rows, self._start, self._winners, ask, first, count, *sides
        )
        sorting.sort_chunks[(self._room // CHUNK, lines), CHUNK // 2](count, *sides)
        run = CHUNK
        while run < self._room:
            sorting.merge_runs[(-(-self._room // EACH), lines), EACH](count, run, *sides, *others)
            sides, others = others, sides
            run *= 2
        return first, count, *sides

    def _buffers_for(self, lines: int) -> tuple[Any, ...]:
        if self._buffers is None or self._buffers[0].shape[0] < lines:
            self._buffers = None
            count = _power_of_two(lines)
            first = cuda.device_array((count, self.groups), np.int32)
            counts = cuda.device_array(count, np.int32)
            shape = count, self._room
            kinds = (np.float64, np.int32, np.int32) * 2
            self._buffers = first, counts, *(cuda.device_array(shape, kind) for kind in kinds)
        return self._buffers

    def _enlarge(self, breakpoints: int) -> bool:
        """Make room for that number of breakpoints of a line; tell whether there was less."""
        if breakpoints <= self._room:
            return False
        self._room, self._buffers = _power_of_two(breakpoints), None
        return True

    def _whole(self, totals: Floats) -> Stats:
        """Return sums of whole numbers as such: in double precision they are exact."""
        return totals if self.kind.kind == "f" else np.rint(totals).astype(np.int64)


def _power_of_two(least: int) -> int:
    size = 1
    while size < least:
        size *= 2
    return size


def _filled(array: Any, kind: Any) -> Any:
    """Return an array that is not empty, which arrays on the device cannot be."""
    array = np.ascontiguousarray(array, kind)
    return array if array.size else np.zeros(1, kind)
