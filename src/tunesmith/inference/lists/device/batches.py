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
from tunesmith.inference.lists.device import (
    envelopes,
    expectations,
    intervals,
    points,
    sorting,
)
from tunesmith.inference.lists.device.compiling import (
    AS_IT_IS,
    CHUNK,
    GROUP_THREADS,
    LINE_THREADS,
    MOST_STATS,
    PART,
    SIMULATED,
    SPAN,
    SUM_THREADS,
    WARP_THREADS,
)
from tunesmith.inference.lists.device.launching import Launch, Pair
from tunesmith.metrics.scored import ScoredCandidates

#: Points and directions that there is room for at first; more is made when it is needed.
POINTS, WAYS = (4, 2) if SIMULATED else (32, 48)
#: Lines that are searched in one launch, at most: envelopes of all of them are there at once.
LINES = 128
#: Columns of what is asked of a line, and numbers of a formula.
ASKED, FORMULA = 8, 6
#: Blocks that a large GPU works on at once (132 processors with 32 each). Where there are more,
#: others wait for a thread that waits for others: smaller blocks are faster.
BLOCKS = 132 * 32
#: Breakpoints of a line, for each group, that there is room for at first.
ROOM = 8
#: Threads of a block where each has one number.
EACH = 4 if SIMULATED else 256
#: The share of the device's memory that a set may take, with what is computed of it.
SHARE = 0.85


class BestInterval(NamedTuple):
    """The best interval of a line; number −1 if there is none."""

    number: int
    low: float
    high: float
    total: Stats
    #: Sums at the point in the middle of it, if there was a place for that point.
    moved: Stats


class Move(NamedTuple):
    """A step from a point along a row of slopes to another place; see ``points.shift``."""

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
        obstacle = self.obstacle(tuning)
        if obstacle is not None:
            raise TunesmithError(f"{obstacle}; use --device cpu")
        self._start = cuda.to_device(self.start)
        self._stats = cuda.to_device(np.ascontiguousarray(stats))
        # Rows of slopes: the dense features, then others.
        self._ways = self.dense + WAYS
        self._rows = cuda.device_array((self._ways, self.size), np.float64)
        for d in range(self.dense):
            self._rows[d].copy_to_device(features.dense[d])
        by_candidate = features.sparse.tocsr()
        by_candidate.sort_indices()
        self._sparse = self._compressed(by_candidate)
        self._scores = cuda.device_array((POINTS, self.size), np.float64)
        self._winners = cuda.device_array((POINTS, self.groups), np.int64)
        self._free = list(range(POINTS))
        self._known: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()
        self._room = _power_of_two(max(ROOM * self.groups, CHUNK))
        # What is asked and answered; then what searches write down, for some number of lines.
        self._ask = Pair((LINES, ASKED))
        self._reply = Pair((LINES, 4 + 2 * self.statistics))
        self._formula = Pair((FORMULA,))
        self._weights = Pair((1,))
        self._numbers = Pair((1,), np.int64)
        self._count = Pair((LINES,), np.int32)
        self._steps = Pair((LINES, 4))
        # What is asked of distributions, and answered.
        self._about, self._slope = Pair((4,)), Pair((self.statistics,))
        self._sums, self._combined = Pair((self.statistics + 2,)), Pair((self.names,))
        self._expected = cuda.device_array((self.groups, self.statistics + 2), np.float64)
        pieces = max(self.dense, 1), -(-self.size // SPAN)
        self._pieces = cuda.device_array(pieces, np.float64)
        self._columns = self._compressed(features.sparse)
        self._launches: dict[str, Launch] = {}
        self._lines, self._buffers = 0, ()  # type: tuple[int, tuple[Any, ...]]
        self._most_lines = self._lines_that_fit()

    @classmethod
    def obstacle(cls, tuning: ScoredCandidates) -> str | None:
        """Return why a set cannot be searched on the device, or None if it can."""
        if tuning.stats.shape[1] > MOST_STATS:
            return (
                f"metric '{tuning.metric.name}' has {tuning.stats.shape[1]} statistics, and a GPU "
                f"takes {MOST_STATS}"
            )
        return too_large(tuning.candidates.features.candidates, cls.bytes_of(tuning))

    @staticmethod
    def _compressed(sparse: Any) -> tuple[Any, ...]:
        kinds = np.float64, np.int32, np.int64
        arrays = sparse.data, sparse.indices, sparse.indptr
        return tuple(
            cuda.to_device(_filled(array, kind)) for array, kind in zip(arrays, kinds, strict=True)
        )

    @staticmethod
    def bytes_of(tuning: ScoredCandidates) -> int:
        """Return about how many bytes a set takes on a device."""
        features = tuning.candidates.features
        rows = len(features.dense) + WAYS + POINTS
        groups, statistics = len(tuning.candidates.start) - 1, tuning.stats.shape[1]
        room = _power_of_two(max(ROOM * groups, CHUNK))
        return int(
            8 * rows * features.candidates
            + tuning.stats.nbytes
            + 24 * features.sparse.nnz
            + 8 * groups * (POINTS + statistics)
            + bytes_of_line(groups, room, statistics)
        )

    def _lines_that_fit(self) -> int:
        """Return how many lines may be searched at once, a power of two."""
        if SIMULATED:
            return LINES
        fits = int(SHARE * free_bytes() // bytes_of_line(self.groups, self._room, self.statistics))
        return min(LINES, 1 << max(fits.bit_length() - 1, 0))

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
        needed = too_large(self.size, 8 * 2 * count * self.size)
        if needed is not None:
            raise TunesmithError(f"{needed}; use --device cpu")
        scores = cuda.device_array((2 * count, self.size), np.float64)
        winners = cuda.device_array((2 * count, self.groups), np.int64)
        for k in range(count):
            scores[k].copy_to_device(self._scores[k])
            winners[k].copy_to_device(self._winners[k])
        self._scores, self._winners = scores, winners
        self._launches = {}
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
        parts = []
        for k in range(0, len(places), LINES):
            there = places[k : k + LINES]
            self._multiply(weights[k : k + LINES], "points", there)
            parts.append(self.move([Move(place, int(AS_IT_IS), 0.0, place) for place in there]))
        return np.concatenate(parts)

    def move(self, moves: Sequence[Move]) -> Stats:
        """Add steps to scores, and return the sums of the winners' statistics [B, K]."""
        parts = []
        for k in range(0, len(moves), LINES):
            count = len(moves[k : k + LINES])
            self._steps.here[:count] = moves[k : k + LINES]
            self._steps.send(count)
            self._shift(count, 0)
            parts.append(self._reply.fetch(count)[:, : self.statistics])
        return self._whole(np.concatenate(parts))

    def _shift(self, count: int, begin: int) -> None:
        """Take steps, and put sums into a column of the reply and those after it."""
        steps = self._steps.there
        self._launch(
            "shift", points.shift, self._scores, self._rows, self._start, steps, self._winners
        )(self.groups, count, GROUP_THREADS)
        self._launch(
            f"add up {begin}",
            points.add_up,
            self._stats,
            self._winners,
            steps,
            self._reply.there,
            begin,
        )(self.statistics, count, LINE_THREADS)

    def rescale(self, moves: Sequence[Move]) -> None:
        """Copy points with all scores times a power of two, each: its step."""
        for k in range(0, len(moves), LINES):
            count = len(moves[k : k + LINES])
            self._steps.here[:count] = moves[k : k + LINES]
            self._steps.send(count)
            self._launch("rescale", points.rescale, self._scores, self._winners, self._steps.there)(
                -(-self.size // EACH), count, EACH
            )
            self._steps.fetch(1)  # what was sent may be overwritten from here on

    def _multiply(self, weights: Floats, into: str, places: Sequence[int]) -> None:
        dense = weights[:, : self.dense]
        used = np.flatnonzero(dense.any(axis=0))
        others = weights[:, self.dense :]
        if not others.any():
            others = others[:, :0]
        values = np.concatenate([dense[:, used], others], axis=1)
        numbers = np.concatenate([[len(used), values.shape[1]], places, used]).astype(np.int64)
        if values.size > self._weights.here.size:
            self._weights = Pair((_power_of_two(values.size),))
            self._launches = {}
        if numbers.size > self._numbers.here.size:
            self._numbers = Pair((_power_of_two(numbers.size),), np.int64)
            self._launches = {}
        self._weights.here[: values.size] = values.ravel()
        self._numbers.here[: numbers.size] = numbers
        self._numbers.send(numbers.size)
        if values.size:
            self._weights.send(values.size)
        self._launch(
            f"multiply {into}",
            points.multiply,
            self._rows,
            self._numbers.there,
            self._weights.there,
            self._scores if into == "points" else self._rows,
            *self._sparse,
        )(-(-self.size // EACH), len(weights), EACH)
        if into != "points":
            self._numbers.fetch(1)  # what was sent may be overwritten from here on

    def _launch(self, name: str, kernel: Any, *arguments: Any) -> Launch:
        """Return a kernel with arguments that stay the same until arrays grow."""
        launch = self._launches.get(name)
        if launch is None:
            launch = self._launches[name] = Launch(kernel, *arguments)
        return launch

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
        self._multiply(direction.vector(self.names)[None], "rows", [row])
        self._known[key] = row
        return row

    def _spare_row(self, busy: set[int]) -> int:
        in_use = {*self._known.values(), *busy}
        for row in range(self.dense, self._ways):
            if row not in in_use:
                return row
        for key, row in self._known.items():
            if row not in busy:
                del self._known[key]
                return row
        raise AssertionError("a batch has more directions than there is room for")

    # Distributions.

    def distribute(
        self, scores: int, chances: int, sharpness: float, least: float
    ) -> tuple[Floats, int, int]:
        """Fill a place with probabilities exp(sharpness × score), normalised in each group.

        Returns
        -------
        The sum of expected statistics [K], how many candidates have more probability than
        ``least``, and the number of groups in which none has.
        """
        self._ask_about(scores, chances, sharpness, 0.0)
        arrays = self._scores, self._start, self._stats, self._about.there
        self._launch("distribute", expectations.distribute, *arrays, least, self._expected)(
            self.groups, 1, SUM_THREADS
        )
        sums = self._column_sums(self.statistics + 2)
        return sums[: self.statistics], int(sums[-2]), int(sums[-1])

    def moments(
        self, chances: int, values: int, slope: Floats, factor: float
    ) -> tuple[Floats, float]:
        """Return Σ f P_i (v_i − E[v]) h_i [D], and the sum of variances.

        v_i is the gain of the candidate's statistics, linear in ``slope``; it goes into a place.
        """
        self._ask_about(chances, values, factor, -1.0)
        self._slope.here[:] = slope
        self._slope.send(self.statistics)
        request = self._about.there
        self._launch(
            "linearise",
            expectations.linearise,
            self._scores,
            self._stats,
            request,
            self._slope.there,
        )(-(-self.size // EACH), 1, EACH)
        return self._combine(), float(self._column_sums(1)[0])

    def covariance(self, chances: int, values: int, vector: Floats, least: float) -> Floats:
        """Return the covariance of features within groups times a vector [D].

        Parameters
        ----------
        values
            A place for scores.
        least
            What a probability must exceed to count; negative if all do.
        """
        self._multiply(vector[None], "points", [values])
        self._ask_about(chances, values, 1.0, least)
        return self._combine()

    def deviation(self, scores: int) -> float:
        """Return the pooled standard deviation of the scores within groups."""
        self._ask_about(scores, scores, 0.0, 0.0)
        arrays = self._scores, self._start, self._about.there, self._expected
        self._launch("squares", expectations.squares_within, *arrays)(self.groups, 1, SUM_THREADS)
        return float(np.sqrt(self._column_sums(1)[0] / self.size))

    def _ask_about(self, *numbers: float) -> None:
        self._about.here[:] = numbers
        self._about.send(4)

    def _column_sums(self, columns: int) -> Floats:
        self._launch("columns", expectations.add_columns, self._expected, self._sums.there)(
            columns, 1, LINE_THREADS
        )
        sums: Floats = self._sums.fetch(columns)
        return sums

    def _combine(self) -> Floats:
        """Turn values into moments, and return the sum of feature vectors times these."""
        request, result = self._about.there, self._combined
        self._launch(
            "deviate", expectations.deviate, self._scores, self._start, request, self._expected
        )(self.groups, 1, SUM_THREADS)
        if self.dense:
            self._launch(
                "combine", expectations.combine, self._rows, self._scores, request, self._pieces
            )(self.dense, self._pieces.shape[1], SUM_THREADS)
            self._launch("pieces", expectations.add_pieces, self._pieces, result.there)(
                -(-self.dense // EACH), 1, EACH
            )
        if self.names > self.dense:
            self._launch(
                "sparse",
                expectations.combine_sparse,
                *(*self._columns, self._scores, request, self.dense, result.there),
            )(-(-(self.names - self.dense) // EACH), 1, EACH)
        combined: Floats = result.fetch(self.names)
        return combined

    # Lines.

    @property
    def most_lines(self) -> int:
        """How many lines are searched together, at most."""
        return self._most_lines

    def is_full(self, rows: Sequence[int]) -> bool:
        """Tell whether there may be no room for slopes beside some rows."""
        return len({row for row in rows if row >= self.dense}) >= self._ways - self.dense - 2

    def best(self, ask: Floats, formula: Floats) -> list[BestInterval]:
        """Return the best interval of each line, and take the step to its middle where asked to.

        Parameters
        ----------
        ask : float64[L, ASKED]
            Place of the point, row of the slopes, a step that changes the weights by about their
            size, the limits of the line; a place for the point in the middle of the best interval
            (−1: none is wanted), the row of the slopes of the step there, and what the step is
            times.
        formula
            See ``formulas``.
        """
        if not np.array_equal(self._formula.here, formula):
            self._formula.here[:] = formula
            self._formula.send(FORMULA)
        count, moves = len(ask), bool((ask[:, 5] >= 0).any())
        while True:
            self._breakpoints(ask)
            self._judge(count)
            if moves:
                self._shift(count, 4 + self.statistics)
            replies = self._reply.fetch(count)
            if not self._enlarge(int(replies[:, 0].max())):
                break
        k = self.statistics
        # What nobody asked for, or what no interval has, is whatever was in memory.
        replies[replies[:, 1] < 0, 4:] = 0.0
        replies[ask[:, 5] < 0, 4 + k :] = 0.0
        totals, moved = self._whole(replies[:, 4 : 4 + k]), self._whole(replies[:, 4 + k :])
        numbers, ends = replies[:, 1].astype(int).tolist(), replies[:, 2:4].tolist()
        return [
            BestInterval(number, low, high, total, after)
            for number, (low, high), total, after in zip(numbers, ends, totals, moved, strict=True)
        ]

    def _judge(self, count: int) -> None:
        """Find the best interval of each line among its breakpoints."""
        first, *rest, parts, bests = self._buffers
        at, left, right = rest[3:] if self._passes % 2 else rest[:3]
        counts, ask = self._count.there, self._ask.there
        many = self._room // PART
        self._launch("add", intervals.add_parts, self._stats, first, counts, left, right, parts)(
            many, count, PART
        )
        self._launch(
            "judge",
            intervals.judge_parts,
            *(self._stats, first, counts, at, left, right, ask, self._formula.there, parts, bests),
        )(many, count, PART)
        self._launch(
            "pick",
            intervals.pick_best,
            *(counts, self._room, ask, bests, self._reply.there, self._steps.there),
        )(count, 1, PART)

    def follow(self, ask: Floats) -> list[tuple[Stats, Floats, Stats]]:
        """Return, of each line, the sum at γ = −∞, breakpoints in order, and changes there."""
        while True:
            self._breakpoints(ask)
            counts = self._count.fetch(len(ask))
            if not self._enlarge(int(counts.max())):
                break
        shape = len(ask), max(int(counts.max()), 1), self.statistics
        kind = np.float64 if self.kind.kind == "f" else np.int64
        base = cuda.device_array((len(ask), self.statistics), np.float64)
        change = cuda.device_array(shape, kind)
        first, *rest, _, _ = self._buffers
        at, left, right = rest[3:] if self._passes % 2 else rest[:3]
        Launch(intervals.follow, self._stats, first, self._count.there, left, right, base, change)(
            len(ask), 1, LINE_THREADS
        )
        totals, changes, edges = self._whole(base.copy_to_host()), change.copy_to_host(), at
        return [
            (totals[k], edges[k, : int(n)].copy_to_host() if n else np.zeros(0), changes[k, :n])
            for k, n in enumerate(counts)
        ]

    @property
    def _passes(self) -> int:
        """How many passes merge all chunks of a line."""
        return (self._room // CHUNK).bit_length() - 1

    def _breakpoints(self, ask: Floats) -> None:
        """Find winners at γ = −∞, and breakpoints, which are counted and sorted."""
        lines = len(ask)
        self._make_room(lines)
        first, *rest, _, _ = self._buffers
        sides, others, count = rest[:3], rest[3:], self._count.there
        self._ask.here[:lines, : ask.shape[1]] = ask
        self._ask.send(lines)
        self._count.clear(lines)
        are_many = lines * self.groups > BLOCKS
        self._launch(
            "many envelopes" if are_many else "envelopes",
            envelopes.find_many_envelopes if are_many else envelopes.find_envelopes,
            *(self._scores, self._rows, self._start, self._winners, self._ask.there),
            *(first, count, *sides),
        )(self.groups, lines, WARP_THREADS if are_many else GROUP_THREADS)
        chunks = self._room // CHUNK
        self._launch("chunks", sorting.sort_chunks, count, *sides)(chunks, lines, CHUNK // 2)
        for k in range(self._passes):
            run = CHUNK << k
            self._launch(f"merge {k}", sorting.merge_runs, count, run, *sides, *others)(
                -(-self._room // EACH), lines, EACH
            )
            sides, others = others, sides

    def _make_room(self, lines: int) -> None:
        if self._lines >= lines:
            return
        # Should memory be short, or an interrupt come, there is no room rather than half of it.
        self._lines, self._buffers, self._launches = 0, (), {}
        count = min(_power_of_two(lines), LINES)
        shape, parts = (count, self._room), self._room // PART
        kinds = (np.float64, np.int32, np.int32) * 2
        self._buffers = (
            cuda.device_array((count, self.groups), np.int32),
            *(cuda.device_array(shape, kind) for kind in kinds),
            cuda.device_array((count, parts, 2 * self.statistics), np.float64),
            cuda.device_array((count, parts, 5 + self.statistics), np.float64),
        )
        self._lines = count

    def _enlarge(self, breakpoints: int) -> bool:
        """Make room for that number of breakpoints of a line; tell whether there was less."""
        if breakpoints <= self._room:
            return False
        self._room, self._lines, self._buffers = _power_of_two(breakpoints), 0, ()
        self._most_lines = self._lines_that_fit()
        return True

    def _whole(self, totals: Floats) -> Stats:
        """Return sums of whole numbers as such: in double precision they are exact."""
        return totals if self.kind.kind == "f" else np.rint(totals).astype(np.int64)


def bytes_of_line(groups: int, room: int, statistics: int) -> int:
    """Return how many bytes a line takes while it is searched."""
    return 4 * groups + 32 * room + 8 * (room // PART) * (3 * statistics + 5)


def free_bytes() -> int:
    """Return how much memory of the device is free."""
    context = cuda.current_context()
    context.deallocations.clear()  # what nobody has any more is freed late otherwise
    return int(context.get_memory_info()[0])


def too_large(candidates: int, needed: int) -> str | None:
    """Return a message if the device has not that many bytes for so large a set."""
    if SIMULATED:
        return None
    free = free_bytes()
    if needed <= SHARE * free:
        return None
    fits = int(candidates * SHARE * free / needed)
    return (
        f"{candidates:,} candidates need {needed / 1e9:.1f} GB of the GPU's memory, and "
        f"{free / 1e9:.1f} are free, enough for {fits:,}"
    )


def _power_of_two(least: int) -> int:
    size = 1
    while size < least:
        size *= 2
    return size


def _filled(array: Any, kind: Any) -> Any:
    """Return an array that is not empty, which arrays on the device cannot be."""
    array = np.ascontiguousarray(array, kind)
    return array if array.size else np.zeros(1, kind)
