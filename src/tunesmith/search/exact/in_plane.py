"""Up to three features: all regions of the weights, where bisection leaves something open."""

from __future__ import annotations

import dataclasses

import numpy as np

from tunesmith.kernels.compiling import working_seconds
from tunesmith.search.exact.certificate import ExactResult, SearchLimits
from tunesmith.search.exact.incumbent import assessed
from tunesmith.search.exact.problem import PRECISION, Problem
from tunesmith.search.plane.search import TOLERANCE, Slice, search_slice
from tunesmith.tasks.lists import TuningSet

#: Features whose weights are a sphere or less.
MOST_FEATURES = 3


def completed(
    tuning: TuningSet,
    problem: Problem,
    result: ExactResult,
    limits: SearchLimits,
    tolerance: float,
) -> ExactResult:
    """Return what was found, or the optimum of all regions where that was not proven.

    Whole-numbered features have many ties in one vector. Around it cones are small without end;
    the regions of the weights are few.
    """
    if result.optimal or problem.dimensions > MOST_FEATURES or limits.left <= 0:
        return result
    longest = _longest(problem)
    # Where a lead of τ over a point at distance d > 1 counts, the tie is an angle of τ/d away.
    narrowest = min(TOLERANCE, tolerance / longest)
    if narrowest < PRECISION * longest:
        return result  # rounding would decide which regions there are
    hypotheses = tuning.hypotheses()
    where = Slice.whole(problem.spread)
    until = working_seconds() + limits.left
    plane = search_slice(hypotheses, where, narrowest, until)
    if not plane.complete or plane.point is None:
        return result
    ends = assessed(problem, 0.0, [problem.vector(plane.point.weights)])
    if not ends or ends[0].loss > result.loss:
        return result
    best = ends[0]
    # No region is better; what is below its loss is no loss of any region.
    return dataclasses.replace(result, vector=best.vector, loss=best.loss, bound=best.loss)


def _longest(problem: Problem) -> float:
    """Return a distance that no two points of a group are beyond, at least 1."""
    longest = 1.0
    for group in range(problem.size):
        points = problem.block(group)
        away = points - points.mean(axis=1, keepdims=True)
        longest = max(longest, 2.0 * float(np.sqrt((away**2).sum(axis=0).max())))
    return longest
