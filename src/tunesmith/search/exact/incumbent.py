"""A good vector to begin with: line searches in random directions from many starts.

What an exact search excludes, it excludes by comparison with the best vector known, so a good
one at the start is worth many tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.lists.envelope import envelope, extremes_of, winners_of
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact.active_set import best_other, closest_rival, scores_in
from tunesmith.search.exact.certificate import ContradictionError, SearchLimits
from tunesmith.search.exact.problem import Problem
from tunesmith.search.line.search import NARROW

#: How much more than the tolerance a lead must be, relative to it, to count in spite of rounding,
#: and how much more than the threshold a cosine.
BEYOND, CLOSE = 2e-3, 1e-9
#: Starts, and directions tried from each before it counts as an optimum.
STARTS, PATIENCE = 12, 40
#: Lines that are searched between two looks at the clock.
LINES = 4


@dataclass(frozen=True)
class Incumbent:
    """A vector of length 1 and what it loses.

    ``clear`` tells whether the winner leads by the tolerance in every group; only then it counts.
    """

    vector: Floats
    loss: int
    clear: bool = True


@kernel
def assess(
    points: Floats,
    start: Ints,
    kin: Ints,
    loss: Ints,
    vector: Floats,
    tolerance: float,
    scores: Floats,
    winners: Ints,
) -> int:
    """Return what a vector loses, and fill in who wins; -1 where nobody does clearly.

    In a group without a clear winner the winner is -1: some other is behind by less than the
    tolerance, or that times the distance where it is less than 1. If there is such a group, so
    is the loss.
    """
    square, size = 0.0, vector.shape[0]
    for d in range(size):
        square += vector[d] * vector[d]
    need = tolerance * np.sqrt(square)
    total, clear = 0, square > 0.0
    for group in range(start.shape[0] - 1):
        lo, many = start[group], start[group + 1] - start[group]
        scores_in(points, start, group, vector, scores)
        point = best_other(scores, many, -1)
        ahead = True
        if many > 1:
            lead, _ = closest_rival(points, start, kin, group, point, size, need, scores)
            ahead = lead >= need
        if ahead and square > 0.0:
            winners[group] = lo + point
            total += loss[lo + point]
        else:
            winners[group] = -1
            clear = False
    return total if clear else -1


@kernel
def improve(
    points: Floats, start: Ints, loss: Ints, vector: Floats, directions: Floats, patience: int
) -> int:
    """Go up from a vector, changing it, along given directions; return what it then loses.

    Each line is searched exactly. It ends when as many directions in a row as ``patience`` gain
    nothing, or when there are none left.
    """
    size, many = vector.shape[0], loss.shape[0]
    groups = np.arange(start.shape[0] - 1)
    scores, slopes = np.empty(many), np.empty(many)
    losses = loss.reshape(many, 1)
    at = np.empty(many)
    left, right = np.empty(many, np.int64), np.empty(many, np.int64)
    total = np.zeros(1, np.int64)
    all_scores(points, start, vector, scores)
    winners = winners_of(scores, start)
    now = 0
    for group in groups:
        now += loss[winners[group]]
    failures = 0
    for k in range(directions.shape[0]):
        if failures >= patience or now == 0:
            break
        direction = directions[k]
        all_scores(points, start, direction, slopes)
        ends = extremes_of(slopes, start, groups)
        total[0] = now
        count = envelope(
            slopes, scores, winners, start, groups, ends, losses, total, at, left, right
        )
        step, least = _best_step(at, left, right, count, loss, total[0], now)
        failures += 1
        if least >= now:
            continue
        failures = 0
        length = 0.0
        for d in range(size):
            vector[d] += step * direction[d]
            length += vector[d] * vector[d]
        length = np.sqrt(length)
        for d in range(size):
            vector[d] /= length
        all_scores(points, start, vector, scores)
        winners = winners_of(scores, start)
        now = 0
        for group in groups:
            now += loss[winners[group]]
    return now


@kernel
def all_scores(points: Floats, start: Ints, vector: Floats, scores: Floats) -> None:
    """Fill in the score of every point."""
    for group in range(start.shape[0] - 1):
        scores_in(points, start, group, vector, scores[start[group] : start[group + 1]])


@kernel
def _best_step(
    at: Floats, left: Ints, right: Ints, count: int, loss: Ints, first: int, now: int
) -> tuple[float, int]:
    """Return the middle of the widest interval of least loss, and that loss."""
    order = argsort(at[:count])
    least, widest, step = now, 0.0, 0.0
    total = first
    for k in range(count + 1):
        low = at[order[k - 1]] if k > 0 else min(at[order[0]] * 2.0, -2.0) if count else -1.0
        high = at[order[k]] if k < count else max(low * 2.0, 2.0)
        width = high - low
        if total <= least and width > NARROW * max(abs(low), abs(high)):
            # Far out intervals are wide without being better: what counts is their angle.
            angle = np.arctan(high) - np.arctan(low)
            if total < least or (least < now and angle > widest):
                least, widest, step = total, angle, 0.5 * (low + high)
        if k < count:
            total += loss[right[order[k]]] - loss[left[order[k]]]
    return step, least


def incumbents(
    problem: Problem,
    tolerance: float,
    rng: np.random.Generator,
    first: Sequence[Floats] = (),
    starts: int = STARTS,
    limits: SearchLimits | None = None,
) -> list[Incumbent]:
    """Return local optima, the best first, those too that do not win clearly.

    Beside random vectors, ``first`` are begun from, and are among them themselves. With a limit
    on time the later ones may not be begun from.
    """
    limits = limits or SearchLimits()
    begins = [*first, *rng.standard_normal((starts, problem.dimensions))]
    tasks = list(zip(begins, rng.spawn(len(begins)), strict=True))

    def climb(task: tuple[Floats, np.random.Generator]) -> list[Incumbent]:
        if limits.left <= 0:
            return []
        return climbed(problem, tolerance, task[1], task[0], limits)

    climbed_to = [incumbent for end in map_pieces(climb, tasks) for incumbent in end]
    return sorted(
        climbed_to + assessed(problem, tolerance, first), key=lambda incumbent: incumbent.loss
    )


def climbed(
    problem: Problem,
    tolerance: float,
    rng: np.random.Generator,
    vector: Floats,
    limits: SearchLimits | None = None,
    patience: int = PATIENCE,
) -> list[Incumbent]:
    """Go up from a vector; return where that ends, or nothing if that is 0 everywhere.

    A limit on time ends it earlier, and as many lines in a row as ``patience`` that gain nothing.
    """
    size = problem.dimensions
    directions = np.concatenate([np.eye(size), rng.standard_normal((25 * PATIENCE, size))])
    end = vector / (np.sqrt((vector**2).sum()) or 1.0)
    arrays = problem.points, problem.start, problem.loss
    if limits is None or limits.seconds is None:
        improve(*arrays, end, directions, patience)
        return assessed(problem, tolerance, [end])
    failures, before = 0, -1
    for k in range(0, len(directions), LINES):
        if failures >= patience or limits.left <= 0:
            break
        lines = directions[k : k + LINES]
        now = improve(*arrays, end, lines, LINES)
        failures = failures + LINES if now == before else 0
        before = now
    return assessed(problem, tolerance, [end])


def reassessed(problem: Problem, tolerance: float, vectors: Iterable[Floats]) -> list[Incumbent]:
    """Return those of some vectors that win clearly, the best first."""
    return [incumbent for incumbent in assessed(problem, tolerance, vectors) if incumbent.clear]


def assessed(problem: Problem, tolerance: float, vectors: Iterable[Floats]) -> list[Incumbent]:
    """Return what vectors lose, the best first; of equal points the better one wins."""
    winners = np.empty(problem.size, np.int64)
    scores = np.empty(int(np.diff(problem.start).max(initial=0)))
    arrays = problem.points, problem.start, problem.kin, problem.loss
    results = []
    for vector in vectors:
        lost = assess(*arrays, vector, tolerance, scores, winners)
        clear = lost >= 0
        if not clear:
            lost = assess(*arrays, vector, 0.0, scores, winners)
        if lost >= 0:
            results.append(Incumbent(vector / np.sqrt((vector**2).sum()), int(lost), clear))
    return sorted(results, key=lambda incumbent: incumbent.loss)


def unclear_among(
    problem: Problem,
    met: Iterable[Incumbent],
    bound: int,
    tolerance: float,
    towards: Floats | None = None,
    cosine: float = -1.0,
) -> Floats | None:
    """Hold vectors against a bound: return the best that beats it without being clear.

    Raises
    ------
    ContradictionError
        One that counts beats the bound.
    """
    better = []
    for incumbent in met:
        if towards is not None and cosine > 0.0:
            length = float(np.sqrt((towards**2).sum()))
            if float((incumbent.vector * towards).sum()) < (cosine + CLOSE) * length:
                continue
        if incumbent.loss < bound:
            if reassessed(problem, tolerance * (1.0 + BEYOND), [incumbent.vector]):
                raise ContradictionError(problem, incumbent.loss, bound)
            better.append(incumbent)
    return min(better, key=lambda incumbent: incumbent.loss).vector if better else None
