"""The exact optimum by lazy divide and conquer: Algorithms 1 and 2 of LP-MERT.

Galley and Quirk, "Optimal search for minimum error rate training" (EMNLP 2011), section 3. A
range of groups is cut into halves. Each half gives its attainable choices in the order of their
loss, as far as they are asked for; the range combines them in the order of the sum, and gives
those that are attainable together. The first that the range of all groups gives is the optimum.
With a single group this is Algorithm 1.

Beyond the paper: a half is asked for more only when the least that it can come to is needed, so
the frontier bounds the optimum at any time; many combinations are settled without a test, by a
vector known from a half or by points known to exclude each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.parallel.local import map_pieces
from tunesmith.progress import progress
from tunesmith.search.exact.active_set import FEASIBLE, UNDECIDED
from tunesmith.search.exact.certificate import ExactResult, SearchLimits
from tunesmith.search.exact.extreme import TOLERANCE, lists_of, new_state, undecided
from tunesmith.search.exact.incumbent import Incumbent
from tunesmith.search.exact.lazy.cells import (
    EXCLUDED,
    LEAST,
    LEFT,
    NEVER,
    NONE,
    RIGHT,
    SHOWN,
    TESTED,
    CellWork,
    Results,
    take_cells,
    test_cells,
)
from tunesmith.search.exact.lazy.conflicts import Conflicts, learn
from tunesmith.search.exact.lazy.order import conflict_order, conflict_shares
from tunesmith.search.exact.problem import Problem

#: Shares of the cells that are tested at the same time.
#: Fixed, so that nothing depends on the cores.
LANES = 4
#: Cells taken at once: at least, at most, and as a share of those taken before.
FEWEST, MOST, SHARE = 8, 4096, 0.25
#: From so many cells on it pays to hand them to threads.
WORTH_THREADS = 64
#: Sets of points that exclude each other: in a range, and that one point leads to, at most and at
#: least. They have this share of the memory.
SETS, WATCHED, FEWEST_SETS, FEWEST_WATCHED, CONFLICTS = 65536, 128, 64, 2, 0.25
#: Room for results grows by this factor.
GROWTH = 1.5


@dataclass(frozen=True)
class LazyResult(ExactResult):
    """What lazy search found.

    Attributes
    ----------
    counts
        For each length of a range, from all groups down to one: how many combinations were
        looked at, and how many there are (the paper's Table 1).
    shown, excluded
        How many of them needed no test: a vector was known, or a conflict was.
    """

    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    shown: int = 0
    excluded: int = 0


class _GroupPoints:
    """What a range of one group combines: its points, and nothing."""

    def __init__(self, results: Results) -> None:
        self.results, self.known, self.bound = results, len(results.loss), NEVER

    def advance(self, least: int) -> None:
        """Find nothing more."""


class _Range:
    """The attainable choices of the groups ``lo`` to ``hi - 1``, as far as they were asked for."""

    def __init__(self, search: LazySearch, lo: int, hi: int) -> None:
        self.search, self.lo, self.hi = search, lo, hi
        self.middle = (lo + hi) // 2
        self.left: _Range | _GroupPoints
        self.right: _Range | _GroupPoints
        if hi - lo == 1:
            self.middle = hi
            self.left, self.right = search.points_of(lo), search.nothing
        else:
            self.left, self.right = _Range(search, lo, self.middle), _Range(search, self.middle, hi)
        self.results = search.room(0, hi - lo)
        self.known, self.taken = 0, 0
        self._heap = np.zeros((1, 3), np.int64)
        self._size = 1
        self._known_conflicts: Conflicts | None = None

    @property
    def bound(self) -> int:
        """The least loss of what is still to be found; ``NEVER`` if there is no more."""
        return int(self._heap[0, 0]) if self._size else NEVER

    @property
    def ranges(self) -> list[_Range]:
        """The range itself and all within it."""
        halves = [half for half in (self.left, self.right) if isinstance(half, _Range)]
        return [self, *(inner for half in halves for inner in half.ranges)]

    @property
    def bytes(self) -> int:
        """Memory of what was found and what waits."""
        parts = [self._heap, *self.results, *(self._known_conflicts or ())]
        return sum(part.nbytes for part in parts)

    @property
    def bytes_of_conflicts(self) -> int:
        """Memory that what excludes each other will take at the first test; 0 after it."""
        if self._known_conflicts is not None:
            return 0
        return self.search.bytes_of_conflicts(self.lo, self.hi)

    @property
    def _conflicts(self) -> Conflicts:
        """What excludes each other here; there is no room for it before the first test."""
        if self._known_conflicts is None:
            self._known_conflicts = self.search.conflicts(self.lo, self.hi)
        return self._known_conflicts

    def advance(self, least: int) -> None:
        """Look at the next cells; or have a half look at its next, if there is none before.

        Parameters
        ----------
        least
            The least loss known: what does not lose less is of no use.
        """
        want = self.search.batch or int(min(max(FEWEST, SHARE * self.taken), MOST))
        cells = np.empty((want, 2), np.int64)
        self._heap = _with_room(self._heap, self._size, want)
        left, right = self.left, self.right
        count, self._size, why = take_cells(
            self._heap, self._size, left.results, left.known, left.bound,
            right.results, right.known, right.bound, least, cells,
        )  # fmt: skip
        if count:
            self._test(cells[:count], least)
        elif why == LEFT:
            left.advance(least)
        elif why == RIGHT:
            right.advance(least)
        elif why == NONE:
            self._size = 0

    def _test(self, cells: Ints, least: int) -> None:
        # A row's cells have much in common, and so have their conflicts.
        lane = cells[:, 0] % LANES
        shares = [np.flatnonzero(lane == k) for k in range(LANES)]
        results = [self.search.room(len(share), self.hi - self.lo) for share in shares]
        verdicts = [np.zeros(len(share), np.int64) for share in shares]
        hits = np.zeros((LANES, len(cells), 2), np.int64)
        conflicts = self._conflicts

        def run(k: int) -> None:
            work = self.search.lanes[k]
            work.numbers[LEAST] = least
            test_cells(
                self.search.lists, work, conflicts, self.lo, self.middle, self.hi,
                self.left.results, self.right.results, cells[shares[k]], results[k], verdicts[k],
                hits[k],
            )  # fmt: skip

        busy = [k for k in range(LANES) if len(shares[k])]
        if len(cells) < WORTH_THREADS:
            for k in busy:
                run(k)
        else:
            map_pieces(run, busy)
        first = int(self.search.problem.start[self.lo])
        for k in busy:
            learn(conflicts, self.search.lanes[k].conflicts, first, hits[k, : len(shares[k])])
            self.search.offer(self.search.lanes[k])
        self.taken += len(cells)
        self._keep(np.concatenate(shares), np.concatenate(verdicts), results)

    def _keep(self, place: Ints, verdicts: Ints, results: list[Results]) -> None:
        """Add what is attainable to the results, in the order of the cells."""
        if (verdicts == UNDECIDED).any():
            raise undecided()
        good = np.flatnonzero(verdicts == FEASIBLE)
        good = good[np.argsort(place[good])]
        if self.lo == 0 and self.hi == self.search.problem.size and len(good):
            # The first is the optimum. Cells after it were not asked for.
            self.taken -= len(place) - 1 - int(place[good[0]])
            good = good[:1]
        known = self.known + len(good)
        if known > len(self.results.loss):
            grown = [_longer(part, int(GROWTH * known)) for part in self.results]
            self.results = Results(*grown)
        for part, pieces in zip(self.results, zip(*results, strict=True), strict=True):
            part[self.known : known] = np.concatenate(pieces)[good]
        self.known = known


class LazySearch:
    """A search that goes on step by step.

    Parameters
    ----------
    problem
        Points and losses; halves are those of its order of groups.
    tolerance, towards, cosine
        What counts as a win, and which vectors count: see ``Tester``.
    incumbent
        A vector that counts, and its loss.
    batch
        Combinations that are taken at once; by default ever more.
    megabytes
        The memory for what is found and what excludes each other; None is no limit.
    """

    def __init__(
        self,
        problem: Problem,
        tolerance: float = TOLERANCE,
        towards: Floats | None = None,
        cosine: float = -1.0,
        incumbent: Incumbent | None = None,
        batch: int | None = None,
        megabytes: float | None = None,
    ) -> None:
        self.problem, self.batch = problem, batch
        self._sets, self._watched = _room_for_conflicts(problem, megabytes)
        self.lists = lists_of(problem, tolerance, towards, cosine)
        aim = self.lists.aim
        self.best = incumbent
        if not problem.size and incumbent is None:
            self.best = Incumbent(aim if aim.any() else np.eye(1, len(aim))[0], 0)
        self.nothing = _GroupPoints(self.room(1, 0))
        self._top = _Range(self, 0, problem.size) if problem.size else None
        self.lanes = [self._work() for _ in range(LANES)] if problem.size else []

    def points_of(self, group: int) -> _GroupPoints:
        """Return a group's points as what a range may combine."""
        points = np.arange(self.problem.start[group], self.problem.start[group + 1])
        results = self.room(len(points), 1)
        results.points[:, 0] = points
        results.loss[:] = self.problem.loss[points]
        return _GroupPoints(results)

    def room(self, count: int, length: int) -> Results:
        """Return room for so many results of a range of so many groups."""
        size = self.problem.dimensions
        return Results(
            np.zeros((count, length), np.int64),
            np.zeros(count, np.int64),
            np.zeros((count, size)),
            np.zeros((count, size, 2), np.int64),
            np.zeros(count, np.int64),
        )

    def _work(self) -> CellWork:
        """Return room for the tests of any range."""
        size = self.problem.dimensions
        return CellWork(
            *new_state(size),
            np.empty(int(np.diff(self.problem.start).max())),
            np.empty(size),
            np.zeros(self.problem.size, np.uint8),
            np.zeros(self.problem.size, np.int64),
            np.zeros(size),
            np.zeros(size),
            self.conflicts(0, self.problem.size, MOST),
            np.zeros(4, np.int64),
        )

    def conflicts(self, lo: int, hi: int, sets: int | None = None) -> Conflicts:
        """Return room for what excludes each other in a range."""
        inside = int(self.problem.start[hi] - self.problem.start[lo])
        return Conflicts(
            np.zeros((sets or self._sets, self.problem.dimensions + 1), np.int64),
            np.zeros(1, np.int64),
            np.zeros((inside, self._watched), np.int64),
            np.zeros(inside, np.int64),
        )

    def bytes_of_conflicts(self, lo: int, hi: int) -> int:
        """Return the memory of room for what excludes each other in a range."""
        inside = int(self.problem.start[hi] - self.problem.start[lo])
        return 8 * (self._sets * (self.problem.dimensions + 1) + inside * (self._watched + 1))

    def offer(self, work: CellWork) -> None:
        """Take over the best vector that tests met, if it is better."""
        if work.numbers[LEAST] < self.least:
            self.best = Incumbent(work.best.copy(), int(work.numbers[LEAST]))

    @property
    def least(self) -> int:
        """The least loss known."""
        return NEVER if self.best is None else self.best.loss

    @property
    def bound(self) -> int:
        """What every vector loses at least, among those that count."""
        return self.least if self._top is None else min(self._top.bound, self.least)

    @property
    def done(self) -> bool:
        """Whether the best is the optimum, or there is none."""
        return self.bound >= self.least or self.bound >= NEVER

    @property
    def tested(self) -> int:
        """Tests so far."""
        return self.number(TESTED)

    @property
    def megabytes(self) -> float:
        """Memory of what was found and what waits, about."""
        lanes = sum(part.nbytes for work in self.lanes for part in work.conflicts)
        return (lanes + sum(span.bytes for span in self._ranges)) / 1e6

    @property
    def megabytes_next(self) -> float:
        """Memory that it may take after one more step: room for results may grow."""
        parts = (part.nbytes for span in self._ranges for part in span.results)
        size = 16 + 8 * self.problem.size + 24 * self.problem.dimensions
        unseen = max((span.bytes_of_conflicts for span in self._ranges), default=0)
        return self.megabytes + (GROWTH * max(parts, default=0) + 2 * MOST * size + unseen) / 1e6

    @property
    def _ranges(self) -> list[_Range]:
        return [] if self._top is None else self._top.ranges

    def number(self, index: int) -> int:
        """Return one of the numbers of all ranges together."""
        return sum(int(work.numbers[index]) for work in self.lanes)

    def counts(self) -> dict[int, tuple[int, int]]:
        """Return how many combinations were looked at and how many there are, by length."""
        many = [int(n) for n in np.diff(self.problem.start)]
        by_length: dict[int, tuple[int, int]] = {}
        for span in sorted(self._ranges, key=lambda span: span.lo - span.hi):
            tested, total = by_length.get(span.hi - span.lo, (0, 0))
            inside = math.prod(many[span.lo : span.hi])
            by_length[span.hi - span.lo] = tested + span.taken, total + inside
        return by_length

    def step(self) -> None:
        """Go on for a while."""
        if self._top is not None:
            self._top.advance(self.least)


def _room_for_conflicts(problem: Problem, megabytes: float | None) -> tuple[int, int]:
    """Return how many sets a range remembers, and to how many of them a point leads."""
    if megabytes is None or not problem.size:
        return SETS, WATCHED
    each = 1e6 * CONFLICTS * megabytes / 2
    sets = each / (16 * problem.size * (problem.dimensions + 1))
    levels = LANES + 1 + (problem.size - 1).bit_length()
    watched = each / (8 * len(problem.loss) * levels)
    return int(np.clip(sets, FEWEST_SETS, SETS)), int(np.clip(watched, FEWEST_WATCHED, WATCHED))


def _with_room(heap: Ints, size: int, more: int) -> Ints:
    return heap if size + more + 1 <= len(heap) else _longer(heap, 2 * (size + more + 1))


def _longer(part: np.ndarray, length: int) -> np.ndarray:
    grown = np.zeros((length, *part.shape[1:]), part.dtype)
    grown[: len(part)] = part
    return grown


def lazy_search(
    problem: Problem,
    *,
    tolerance: float = TOLERANCE,
    towards: Floats | None = None,
    cosine: float = -1.0,
    limits: SearchLimits | None = None,
    order: Sequence[int] | Ints | None = None,
    incumbent: Incumbent | None = None,
    batch: int | None = None,
) -> LazyResult:
    """Find the vector that loses least of all, or the best within limits.

    Parameters
    ----------
    order : int64[S]
        The groups in the order in which they are halved; by default groups that exclude much of
        each other come together.
    incumbent
        A vector to beat; it must win clearly in every group, and count.
    batch
        Combinations that are taken at once; by default ever more.
    """
    limits = limits or SearchLimits()
    if order is None:
        order = conflict_order(conflict_shares(problem, tolerance, towards, cosine))
    problem = problem.part(order)
    search = LazySearch(problem, tolerance, towards, cosine, incumbent, batch, limits.megabytes)
    while not search.done:
        if limits.left <= 0 or (limits.tests is not None and search.tested >= limits.tests):
            break
        if limits.megabytes is not None and search.megabytes_next > limits.megabytes:
            break
        search.step()
        least = "none" if search.best is None else f"{problem.score(search.least):.6g}"
        progress("lazy search", search.tested, None, f"best {least}")
    best = search.best
    return LazyResult(
        None if best is None else best.vector,
        NEVER if best is None else best.loss,
        search.bound,
        search.tested,
        counts=search.counts(),
        shown=search.number(SHOWN),
        excluded=search.number(EXCLUDED),
    )
