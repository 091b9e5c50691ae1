"""The exact optimum of few features on many groups: which cones are bisected next.

Cones wait by what is lost in them at least. Those of the least bound are bisected until all are
above a target, a little higher each time (``simplices``). So the bound of the whole rises steadily;
it holds for all vectors, those on ties apart.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact.bisection.cones import (
    CONES,
    LEAST,
    LIVING,
    SEEN,
    Cones,
    Sample,
    room,
)
from tunesmith.search.exact.bisection.dominance import work
from tunesmith.search.exact.bisection.simplices import DEPTH, dive
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones.search import ConeSearch
from tunesmith.search.exact.extreme import aimed, owners
from tunesmith.search.exact.incumbent import Incumbent, assessed, climbed
from tunesmith.search.exact.problem import Problem

#: With more features cones are too many.
MOST_FEATURES = 6
#: Pieces that are searched at the same time, and cones of each. Fixed, so that the result does not
#: depend on the cores.
PIECES, CONES_EACH = 8, 32
#: Points of cones that a piece bisects in a row, in all: some hundredths of a second, whatever the
#: clock says, so that the result does not depend on it. By what share of the gap the target rises.
POINTS_EACH, RAISE = 2**16, 0.04
#: As many tests as no search reaches.
UNLIMITED = 2**62
#: Living points and cones that a piece has room for.
POINTS_ROOM, CONES_ROOM = 2**22, 2**15
#: In one of so many rounds the middle of the cone of least bound is tried as a vector.
TRIED = 8
#: Cones too small to bisect that are searched by choices together, and tests in each.
RESOLVED, TESTS = 64, 3000
#: How long the rows of a cone's facets are: the longer, the less of it is outside by the tolerance.
FACETS = 1e4
#: So far a corner of a cone may be from a facet that it lies on.
OFF = 1e-12
#: Bytes that a waiting cone takes beside its arrays.
OVERHEAD = 560

_Left = tuple[int, Floats, Ids, int, Floats]
_Entry = tuple[int, int, Floats, Ids, int, Floats]


class Bisection:
    """A search that can be stopped and taken up again.

    Parameters
    ----------
    problem
        Points and losses.
    known
        Vectors to begin with; the best of them is the one to beat.
    towards, cosine
        Which vectors count: see ``Tester``.
    """

    def __init__(
        self,
        problem: Problem,
        tolerance: float,
        towards: Floats | None = None,
        cosine: float = -1.0,
        known: Sequence[Incumbent] = (),
    ) -> None:
        self.problem, self.tolerance = problem, tolerance
        aim, threshold = aimed(problem, towards, cosine)
        self._aim, self._cosine = aim, threshold
        angle = float(np.arccos(min(threshold, 1.0))) if threshold > 0.0 else -1.0
        blocks = [problem.block(group).T for group in range(problem.size)]
        points = np.ascontiguousarray(np.concatenate(blocks))
        owner = owners(problem).astype(np.int32)
        self._sample = Sample(points, problem.loss, owner, aim, angle, _errors(problem))
        #: Cones bisected so far; the greatest bound that was known before a round.
        self.seen, self.proven = 0, 0
        self.best: Incumbent | None = None
        #: Vectors met that lose less than was proven: on ties, or in regions narrower than the
        #: tolerance, of which nothing is proven where cones are searched by choices.
        self.unclear: list[Incumbent] = []
        for incumbent in known:
            self._offer(incumbent)
        self._numbers = itertools.count()
        self._rng = np.random.default_rng(1)
        self._bytes, self._rounds, self._is_stuck = 0, 0, False
        # The least that a dive found to be lost in a whole cone, if its middle loses more: rounding
        # decides who wins there. What loses more was no longer looked at.
        self._claimed = self.to_beat
        self._waiting: list[_Entry] = []
        every, width = np.arange(len(points), dtype=np.int32), problem.dimensions
        for signs in itertools.product((1.0, -1.0), repeat=problem.dimensions):
            self._push(0, np.diag(signs), every, 0, np.full(width, 1.0 / width))

    def _offer(self, incumbent: Incumbent) -> None:
        if self._cosine > 0.0 and float((incumbent.vector * self._aim).sum()) < self._cosine:
            return
        if incumbent.loss < self.proven:
            self.unclear.append(incumbent)
        elif self.best is None or incumbent.loss < self.best.loss:
            self.best = incumbent

    @property
    def to_beat(self) -> int:
        """The least loss known; more than any if there is none."""
        starts, loss = self.problem.start, self.problem.loss
        return int(loss[starts[1:] - 1].sum()) + 1 if self.best is None else self.best.loss

    @property
    def bound(self) -> int:
        """What every vector loses at least."""
        least = self._waiting[0][0] if self._waiting else self.to_beat
        return min(least, self.to_beat, self._claimed)

    @property
    def done(self) -> bool:
        """Whether nothing is left that could be better."""
        return self.bound >= self.to_beat

    @property
    def megabytes(self) -> float:
        """Memory of the cones that wait, about."""
        return self._bytes / 1e6

    def _push(self, bound: int, corners: Floats, living: Ids, settled: int, where: Floats) -> None:
        number, steps = next(self._numbers), _steps(living)
        heapq.heappush(self._waiting, (bound, number, corners, steps, settled, where))
        self._bytes += corners.nbytes + steps.nbytes + OVERHEAD

    def _pop(self) -> _Entry:
        """Take the cone of least bound."""
        bound, number, corners, steps, settled, where = heapq.heappop(self._waiting)
        self._bytes -= corners.nbytes + steps.nbytes + OVERHEAD
        return bound, number, corners, np.cumsum(steps, dtype=np.int32), settled, where

    def run(self, limits: SearchLimits, tell: Callable[[], None] | None = None) -> None:
        """Search until it is done, or a limit is reached."""
        buffers: list[_Buffers] = []
        while self._waiting and not self.done and limits.left > 0:
            if limits.tests is not None and self.seen >= limits.tests:
                break
            if limits.megabytes is not None and self.megabytes > limits.megabytes:
                break
            if self._waiting[0][0] >= self._claimed:
                break  # the bound would rise no more
            before = self.bound
            self.proven = max(self.proven, before)
            self._round(buffers, limits)
            if tell is not None:
                tell()
            if self.bound == before and self._is_stuck and not self._resolve(limits):
                break

    def _round(self, buffers: list[_Buffers], limits: SearchLimits) -> None:
        """Bisect the cones of least bound.

        ``buffers`` are those that no piece uses, and become as many as there are threads.
        """
        bound = self.bound
        target = bound + max(1, int(RAISE * (self.to_beat - bound)))
        taken: list[_Entry] = []
        while self._waiting and self._waiting[0][0] < target and len(taken) < PIECES * CONES_EACH:
            taken.append(self._pop())
        tasks = [taken[k::PIECES] for k in range(PIECES) if taken[k::PIECES]]
        least = self.to_beat
        tests = UNLIMITED if limits.tests is None else limits.tests
        share = max((tests - self.seen) // len(tasks), 1)

        def bisect(entries: list[_Entry]) -> tuple[list[_Left], Floats | None, int, int]:
            try:
                room = buffers.pop()
            except IndexError:
                room = _Buffers(self._sample)
            results = room.dive(self._sample, entries, target, least, share)
            buffers.append(room)
            return results

        pieces = map_pieces(bisect, tasks)
        vectors: list[Floats] = []
        is_new, claimed = False, least
        for entries, best, lost, seen in pieces:
            self.seen += seen
            is_new = is_new or seen > 0
            if best is not None:
                vectors.append(best)
                claimed = min(claimed, lost)
            for below, corners, living, settled, where in entries:
                if below < self.to_beat:
                    self._push(below, corners, living, settled, where)
        self._is_stuck = not is_new
        self._learn(vectors, limits)
        if claimed < self.to_beat:
            self._claimed = min(self._claimed, claimed)

    def _resolve(self, limits: SearchLimits) -> bool:
        """Search cones that are too small to bisect by choices; tell if there were any.

        Around a vector in which more ties meet than there are features, points live that cannot
        win together.
        """
        taken: list[_Entry] = []
        while self._waiting and self._waiting[0][0] < self.to_beat and len(taken) < RESOLVED:
            taken.append(self._pop())
        before, least = self.bound, self.to_beat
        is_open = [len(entry[3]) > 0 and limits.left > 0 for entry in taken]
        searched = map_pieces(
            lambda entry: self._searched(entry, least, limits),
            [entry for entry, yes in zip(taken, is_open, strict=True) if yes],
        )
        nothing = np.zeros(0, np.int32)
        for entry, yes in zip(taken, is_open, strict=True):
            if not yes:
                self._push(entry[0], *entry[2:])
        for bound, entry, vector, tested in searched:
            self.seen += tested
            if vector is not None:
                for incumbent in assessed(self.problem, self.tolerance, [vector]):
                    self._offer(incumbent)
            if bound < self.to_beat:
                self._push(bound, entry[2], nothing, bound, entry[5])
        return any(is_open) and self.bound >= min(before, least)

    def _searched(
        self, entry: _Entry, least: int, limits: SearchLimits
    ) -> tuple[int, _Entry, Floats | None, int]:
        """Return a bound for a cone, a better vector in it, and the tests that this took."""
        problem = self.problem
        known, _, corners, living, settled, _ = entry
        numbers, first = np.unique(self._sample.owner[living], return_index=True)
        groups = numbers.astype(np.int64)
        bound = settled + int(problem.loss[living[first]].sum())
        alive = np.zeros(len(problem.loss), np.uint8)
        alive[living] = 1
        inside = [alive[problem.start[g] : problem.start[g + 1]] for g in groups]
        part = problem.part(groups).among(np.concatenate(inside))
        rows = _facets(corners)
        if rows is not None:
            part = part.bounded(FACETS * rows)
        beaten = Incumbent(corners.sum(axis=0), least - bound)
        aim = self._aim if self._cosine > 0.0 else None
        search = ConeSearch(part, self.tolerance, aim, self._cosine, [beaten])
        left = None if limits.seconds is None else max(limits.left, 0.0)
        search.run(SearchLimits(left, TESTS))
        is_better = search.best is not None and search.best.loss < least - bound
        vector = search.best.vector if is_better and search.best is not None else None
        return min(max(bound + search.bound, known), least), entry, vector, search.tested

    def _learn(self, vectors: list[Floats], limits: SearchLimits) -> None:
        """Try middles of cones as vectors, and go up from the best if it is new."""
        before = self.to_beat
        self._rounds += 1
        is_tried = self._rounds % TRIED == 1
        middles = [entry[2].sum(axis=0) for entry in self._waiting[: int(is_tried)]]
        for incumbent in assessed(self.problem, self.tolerance, [*vectors, *middles]):
            self._offer(incumbent)
        if self.best is not None and self.to_beat < before:
            ends = climbed(self.problem, self.tolerance, self._rng, self.best.vector, limits)
            for incumbent in ends:
                self._offer(incumbent)


def _facets(corners: Floats) -> Floats | None:
    """Return what is 0 or more inside of a cone, in rows of length 1; None of one that is flat."""
    try:
        rows: Floats = np.asarray(np.linalg.inv(corners.T))
    except np.linalg.LinAlgError:
        return None
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    heights = rows @ corners.T
    above = heights.diagonal().copy()
    np.fill_diagonal(heights, 0.0)
    holds = (np.abs(heights) <= OFF).all() and (above > OFF).all()  # no number is neither
    return rows if holds else None


class _Buffers:
    """Room for the dives of one piece."""

    def __init__(self, sample: Sample) -> None:
        points, size = sample.points.shape
        self._output = room(CONES_ROOM, POINTS_ROOM + 8 * points, size)
        self._stack = room(DEPTH, POINTS_ROOM // 4 + 8 * points, size)
        self._spare = room(1, points + 1, size)
        self._work = work(sample)

    def dive(
        self, sample: Sample, entries: Sequence[_Entry], target: int, least: int, tests: int
    ) -> tuple[list[_Left], Floats | None, int, int]:
        """Bisect some cones.

        Returns
        -------
        What is left of them, the best vector and what it loses, and the bisections.
        """
        output = self._output
        output.numbers[:] = 0
        output.numbers[LEAST] = least
        given = _packed(entries)
        rooms = self._stack, output, self._spare, self._work
        taken = dive(sample, given, *rooms, target, POINTS_EACH, tests)
        left = [(e[0], *e[2:]) for e in entries[taken:]]
        for k in range(int(output.numbers[CONES])):
            lo, hi = int(output.start[k]), int(output.start[k + 1])
            cone = output.corners[k].copy(), output.living[lo:hi].copy()
            more = int(output.settled[k]), output.where[k].copy()
            left.append((int(output.bound[k]), *cone, *more))
        best = output.best.copy() if output.numbers[LEAST] < least else None
        return left, best, int(output.numbers[LEAST]), int(output.numbers[SEEN])


def _steps(living: Ids) -> Ids:
    """Return by how much each number is above the one before it, in half the memory if it may."""
    steps = np.diff(living, prepend=np.int32(0))
    return steps.astype(np.uint16) if steps.max(initial=0) < 2**16 else steps


def _errors(problem: Problem) -> Floats:
    """Return how far a difference of scores of each group may be off, by rounding."""
    blocks = [problem.block(group) for group in range(problem.size)]
    lengths = np.array([np.sqrt((block**2).sum(axis=0).max()) for block in blocks])
    return 8.0 * problem.dimensions * np.finfo(np.float64).eps * lengths


def _packed(entries: Sequence[_Entry]) -> Cones:
    """Return cones as arrays."""
    size = entries[0][2].shape[0]
    cones = room(len(entries), 0, size)
    cones.corners[:] = [entry[2] for entry in entries]
    cones.start[1:] = np.cumsum([len(entry[3]) for entry in entries])
    cones.settled[:] = [entry[4] for entry in entries]
    cones.where[:] = [entry[5] for entry in entries]
    cones.bound[:] = [entry[0] for entry in entries]
    cones.numbers[CONES], cones.numbers[LIVING] = len(entries), cones.start[-1]
    return cones._replace(living=np.concatenate([entry[3] for entry in entries]))
