"""Candidates that win under none of the weights near to given ones, found without a test.

Where another point of the group scores at least as much under every vector of a region, a point
wins nowhere in it. Over vectors within an angle of one, and over those between limits, the least
difference of two scores has a closed form.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.search.exact.active_set import scores_in
from tunesmith.search.exact.extreme import aimed
from tunesmith.search.exact.problem import Problem

#: Points that are compared with each, those that score highest in the middle of the region.
COMPARED = 64


def within_angle(problem: Problem, towards: Floats, cosine: float) -> Problem:
    """Return the problem without what wins under no vector of at least a cosine to one."""
    middle, threshold = aimed(problem, towards, cosine)
    if threshold <= 0.0:
        return problem
    sine = float(np.sqrt(max(1.0 - threshold * threshold, 0.0)))
    nothing = np.zeros(0)
    return _screened(problem, middle, sine, nothing, nothing)


def between_limits(problem: Problem, low: Floats, high: Floats) -> Problem:
    """Return the problem without what wins under no vector between two, value by value."""
    return _screened(problem, 0.5 * (low + high), 0.0, low, high)


def _screened(problem: Problem, middle: Floats, sine: float, low: Floats, high: Floats) -> Problem:
    alive = np.ones(len(problem.loss), np.uint8)
    longest = int(np.diff(problem.start).max(initial=0))
    scores = np.empty(longest)
    _screen(problem.points, problem.start, middle, sine, low, high, scores, alive)
    for group in np.flatnonzero(problem.groups < 0):
        alive[problem.start[group] : problem.start[group + 1]] = 1
    return problem.among(alive)


@kernel
def _screen(
    points: Floats,
    start: Ints,
    middle: Floats,
    sine: float,
    low: Floats,
    high: Floats,
    scores: Floats,
    alive: Bytes,
) -> None:
    """Clear the points that another is at least as good as, everywhere in a region."""
    size = middle.shape[0]
    for group in range(start.shape[0] - 1):
        lo, many = start[group], start[group + 1] - start[group]
        scores_in(points, start, group, middle, scores)
        order = argsort(-scores[:many])
        base = points[lo * size : (lo + many) * size]
        for place in range(1, many):
            point = order[place]
            for k in range(min(place, COMPARED)):
                least = _least_difference(base, many, order[k], point, middle, sine, low, high)
                if least >= 0.0:
                    alive[lo + point] = 0
                    break


@kernel
def _least_difference(
    base: Floats,
    many: int,
    other: int,
    point: int,
    middle: Floats,
    sine: float,
    low: Floats,
    high: Floats,
) -> float:
    """Return a number of the sign of the least by which another point of a group is ahead.

    At an angle of at most θ from the middle g, n·w/‖w‖ is 0 or more everywhere if
    g·n ≥ sin θ ‖n‖.
    """
    size = middle.shape[0]
    total, square = 0.0, 0.0
    for d in range(size):
        apart = base[d * many + other] - base[d * many + point]
        if low.shape[0]:
            total += min(low[d] * apart, high[d] * apart)
        else:
            total += middle[d] * apart
            square += apart * apart
    return float(total - sine * np.sqrt(square))
