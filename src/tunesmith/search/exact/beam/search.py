"""LP-MERT with a beam: good vectors for many groups, without a proof.

Galley and Quirk, "Optimal search for minimum error rate training" (EMNLP 2011), section 3.2. As
in :mod:`tunesmith.search.exact.lazy.search`, a range of groups combines the results of its halves.
But of the points that a combination is tested against (the paper's Combine) only those are kept
that score highest under the best vector so far; a combination that is not among them itself is
dropped. Each vector that a test finds is scored on all groups, and the best one is used from then
on.

The ranges of one length are searched at the same time, all with the same best vector, so nothing
depends on the cores. A range stops after so many tests and then gives what the best vector
chooses, which never is lost; so no range holds up the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.lists.envelope import winners_of
from tunesmith.parallel.local import map_pieces
from tunesmith.progress import progress
from tunesmith.search.exact.active_set import FEASIBLE
from tunesmith.search.exact.beam.rows import examine_rows, leads, within_beam
from tunesmith.search.exact.certificate import ExactResult, SearchLimits
from tunesmith.search.exact.extreme import TOLERANCE, new_state, owners
from tunesmith.search.exact.incumbent import Incumbent, all_scores, climbed, reassessed
from tunesmith.search.exact.lazy.cells import LEFT, NEVER, NONE, RIGHT, Results, take_cells
from tunesmith.search.exact.problem import Problem

#: Points that a combination is tested against.
BEAM = 1000
#: Tests of a range; cells looked at for each of them, at most.
TRIES, LOOKS = 100, 50
#: Times that all ranges are searched, at most; it ends when the best vector stays.
ROUNDS = 3
#: Vectors of each length of ranges from which a way up is tried.
POLISHED = 24
#: Vectors are sought near to the best one times this: so much shorter is the lead they must have.
REACH = 100.0
#: Cells taken at once.
BATCH = 16
#: Vectors count if no winner is ahead by less than this, which rounding could undo. It is less
#: than the tolerance of the tests: what a usual search finds is held to no tolerance either.
CLEAR = 1e-9


@dataclass(frozen=True)
class BeamResult(ExactResult):
    """What beam search found; its bound is 0, which says nothing.

    Attributes
    ----------
    rounds
        Times that all ranges were searched.
    """

    rounds: int = 0


@dataclass
class _BeamChoice:
    """A choice of a range: its points, and the others that it is against.

    ``ahead`` says by how much these are ahead of the chosen ones under the best vector, as far
    as it is that of the time ``when``.
    """

    points: Ints
    loss: int
    others: Ints
    ahead: Floats
    when: int


class _BeamRange:
    """The choices of the groups ``lo`` to ``hi - 1``, as far as they were asked for."""

    def __init__(self, search: _BeamSearch, lo: int, hi: int) -> None:
        self.search, self.lo, self.hi = search, lo, hi
        self.halves: list[_BeamRange] = []
        self.choices: list[_BeamChoice] = []
        self.tests, self.looks = 0, 0
        self.new: list[Floats] = []
        if hi - lo > 1:
            middle = (lo + hi) // 2
            self.halves = [_BeamRange(search, lo, middle), _BeamRange(search, middle, hi)]
        self._next = 0
        self._heap = np.zeros((8, 3), np.int64)
        self._size = 1

    @property
    def ranges(self) -> list[_BeamRange]:
        """The range itself and all within it."""
        return [self, *(inner for half in self.halves for inner in half.ranges)]

    @property
    def bound(self) -> int:
        """The least loss of what is still to be found."""
        return NEVER if self.done else int(self._heap[0, 0])

    @property
    def done(self) -> bool:
        """Whether it gives no more."""
        return self._size == 0

    @property
    def losses(self) -> Results:
        """What was found, as the kernel for cells wants it."""
        nothing = np.zeros((0, 0), np.int64)
        loss = np.array([choice.loss for choice in self.choices], np.int64)
        vectors, rows = np.zeros((0, 0)), np.zeros((0, 0, 2), np.int64)
        return Results(nothing, loss, vectors, rows, loss)

    def first(self) -> None:
        """Look until there is a choice."""
        while not self.choices and not self.done:
            self.advance()

    def advance(self) -> None:
        """Go on for a while: test a few choices, or have a half do so."""
        search = self.search
        if self.tests >= search.tries or self.looks >= LOOKS * search.tries or search.is_late:
            self._give_up()
        elif not self.halves:
            self._next_point()
        else:
            self._next_cells()

    def _give_up(self) -> None:
        """End with what the best vector chooses."""
        search = self.search
        points = search.winners[self.lo : self.hi]
        if not any((choice.points == points).all() for choice in self.choices):
            self._add(points, self._all_others())
        self._size = 0

    def _all_others(self) -> Ints:
        """Return the points within the beam, beside those that the best vector chooses."""
        search = self.search
        start = search.problem.start
        every = np.arange(start[self.lo], start[self.hi])
        others = every[search.winners[search.owner[every]] != every]
        ahead = leads(search.scores, search.owner, search.winners, others)
        inside: Ints = others[within_beam(ahead, search.beam - 1)]
        return inside

    def _next_point(self) -> None:
        search, group = self.search, self.lo
        start = search.problem.start
        point = int(start[group]) + self._next
        self._next += 1
        if point + 1 == start[group + 1]:
            self._size = 0
        else:
            self._heap[0, 0] = search.problem.loss[point + 1]
        every = np.arange(start[group], start[group + 1])
        self._test(np.array([point]), every[every != point])

    def _next_cells(self) -> None:
        left, right = self.halves
        cells = np.empty((BATCH, 2), np.int64)
        if self._size + BATCH + 1 > len(self._heap):
            room = np.zeros((len(self._heap) + BATCH, 3), np.int64)
            self._heap = np.concatenate([self._heap, room])
        count, self._size, why = take_cells(
            self._heap, self._size, left.losses, len(left.choices), left.bound,
            right.losses, len(right.choices), right.bound, NEVER, cells,
        )  # fmt: skip
        for m, n in cells[:count]:
            self._combine(left.choices[m], right.choices[n])
        if not count and why in (LEFT, RIGHT):
            (left if why == LEFT else right).advance()
        elif not count and why == NONE:
            self._give_up()

    def _combine(self, left: _BeamChoice, right: _BeamChoice) -> None:
        """Test two choices together, against the points within the beam."""
        search = self.search
        self.looks += 1
        search.refresh(left)
        search.refresh(right)
        ahead = np.concatenate([left.ahead, right.ahead])
        if int((ahead > 0.0).sum()) >= search.beam:
            return  # the combination itself is not within the beam
        inside = within_beam(ahead, search.beam - 1)
        others = np.concatenate([left.others, right.others])[inside]
        self._test(np.concatenate([left.points, right.points]), others)

    def _test(self, points: Ints, others: Ints) -> None:
        search = self.search
        self.tests += 1
        state = new_state(search.problem.dimensions)
        chosen = np.zeros(search.problem.size, np.int64)
        chosen[self.lo : self.hi] = points
        verdict = examine_rows(
            search.problem.points, search.problem.start, search.owner, chosen, others,
            search.goal, search.longest, *state,
        )  # fmt: skip
        # Where rounding prevents an answer, it is no: nothing is proven here.
        if verdict == FEASIBLE:
            self.new.append(state[0])
            self._add(points, others)

    def _add(self, points: Ints, others: Ints) -> None:
        loss = int(self.search.problem.loss[points].sum())
        self.choices.append(_BeamChoice(points, loss, others, np.zeros(0), -1))


class _BeamSearch:
    """What all ranges share: the best vector, and what it says about points."""

    def __init__(
        self,
        problem: Problem,
        best: Incumbent,
        beam: int,
        tolerance: float,
        tries: int,
        limits: SearchLimits,
    ) -> None:
        self.problem, self.beam, self.tries = problem, beam, tries
        self.tolerance, self.limits = tolerance, limits
        self.owner = owners(problem)
        self.scores = np.empty(len(problem.loss))
        self.winners = problem.start[:-1].copy()
        self.longest = 1.0 / tolerance + 2.0 * REACH
        self.when = -1
        self.best = best
        self.take(best)

    @property
    def is_late(self) -> bool:
        """Whether time is up."""
        return self.limits.left <= 0

    def take(self, best: Incumbent) -> None:
        """Have another best vector."""
        self.best = best
        self.when += 1
        start = self.problem.start
        self.goal = best.vector * min(REACH, 1.0 / self.tolerance)
        all_scores(self.problem.points, start, best.vector, self.scores)
        self.winners = winners_of(self.scores, start)

    def refresh(self, choice: _BeamChoice) -> None:
        """Have a choice know by how much the others are ahead of it."""
        if choice.when != self.when:
            chosen = self.winners.copy()
            chosen[self.owner[choice.points]] = choice.points
            choice.ahead = leads(self.scores, self.owner, chosen, choice.others)
            choice.when = self.when

    def round(self, before: int, rng: np.random.Generator) -> int:
        """Search all ranges, the short ones first; return how many tests that took.

        A limit of tests, ``before`` of which have been, is looked at after each length.
        """
        top = _BeamRange(self, 0, self.problem.size)
        levels: dict[int, list[_BeamRange]] = {}
        for part in top.ranges:
            levels.setdefault((part.hi - part.lo - 1).bit_length(), []).append(part)
        tests = 0
        for level in sorted(levels):
            if self.limits.tests is not None and before + tests >= self.limits.tests:
                break
            map_pieces(_BeamRange.first, levels[level])
            vectors = [vector for part in top.ranges for vector in part.new]
            for part in top.ranges:
                part.new = []
            self._look_at(vectors, rng)
            tests = sum(part.tests for part in top.ranges)
            progress("beam search", tests, None, f"best {self.problem.score(self.best.loss):.6g}")
        return tests

    def _look_at(self, vectors: list[Floats], rng: np.random.Generator) -> None:
        """Score vectors on all groups, go up from the best of them, and keep the best."""
        if self.is_late or not vectors:
            return
        scored = [
            incumbent for results in map_pieces(self._scored, vectors) for incumbent in results
        ]
        scored.sort(key=lambda incumbent: incumbent.loss)
        # Of those that lose the same one is enough; the best itself is at the top of its hill.
        apart = {
            incumbent.loss: incumbent
            for incumbent in reversed(scored)
            if incumbent.loss != self.best.loss
        }
        good = [apart[loss].vector for loss in sorted(apart)[:POLISHED]]
        tasks = list(zip(good, rng.spawn(len(good)), strict=True))
        ends = [incumbent for results in map_pieces(self._climb, tasks) for incumbent in results]
        best = min([*scored[:1], *ends], key=lambda incumbent: incumbent.loss, default=self.best)
        if best.loss < self.best.loss:
            self.take(best)

    def _scored(self, vector: Floats) -> list[Incumbent]:
        """Score a vector, if there is time."""
        return [] if self.is_late else reassessed(self.problem, CLEAR, [vector])

    def _climb(self, task: tuple[Floats, np.random.Generator]) -> list[Incumbent]:
        """Go up from a vector, if there is time."""
        return [] if self.is_late else climbed(self.problem, CLEAR, task[1], task[0])


def beam_search(
    problem: Problem,
    vector: Floats,
    *,
    beam: int = BEAM,
    tolerance: float = TOLERANCE,
    limits: SearchLimits | None = None,
    rng: np.random.Generator | None = None,
    tries: int = TRIES,
    rounds: int = ROUNDS,
) -> BeamResult:
    """Find a vector that loses less than a given one, or return that.

    Parameters
    ----------
    vector : float64[D]
        Where to begin: what a usual search has found.
    beam
        Points that a combination is tested against.
    tries
        Tests of a range before it is given up.
    rounds
        Times that all ranges are searched, at most.
    """
    limits = limits or SearchLimits()
    rng = rng or np.random.default_rng(1)
    # Without a tolerance: the result is to be no worse than what was given, ties or not.
    first = reassessed(problem, 0.0, [vector])
    best = first[0] if first else Incumbent(vector, int(problem.loss.sum()))
    if not problem.size:
        return BeamResult(best.vector, 0, 0, 0)
    tested, done, order = 0, 0, np.arange(problem.size)
    while done < rounds:
        done += 1
        search = _BeamSearch(problem.part(order), best, beam, tolerance, tries, limits)
        tested += search.round(tested, rng)
        is_same = search.best.loss >= best.loss
        best = search.best
        if is_same or limits.left <= 0:
            break
        order = rng.permutation(problem.size)
    return BeamResult(best.vector, best.loss, 0, tested, rounds=done)
