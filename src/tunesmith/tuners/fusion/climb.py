"""Weights of three runs or more: the best points of a coarse look, and exact climbs from there.

Weights add up to 1. One of them is moved, the others keeping their ratios, to where the metric is
best within reach; the places where it changes are all looked at. Then the next, until no weight
can be moved for the better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Direction, Point
from tunesmith.inference.rankings.hypotheses import RankingHypotheses
from tunesmith.interruption import check
from tunesmith.search.line.search import best_step, totals_along
from tunesmith.tasks.rankings import RankingTask
from tunesmith.tuners.fusion.baselines import grid

#: Points that are looked at before climbs: a grid of tenths where it has no more, else a sample.
POINTS = 300
#: Climbs, from the best of them that differ by more than this in all.
CLIMBS, APART = 2, 0.35
#: How far a weight may move in one step, as a share of all.
REACH = 0.1
#: Rounds over all weights, at most: a climb ends by itself long before.
ROUNDS = 50


def climbed(task: RankingTask, seed: int, simple: Sequence[Floats]) -> Floats:
    """Return weights, 0 or more, that add up to 1; never worse than simple ones or the grid."""
    hypotheses = task.hypotheses()
    points = [*simple, *_points(len(task.names), seed)]
    gains = np.array([hypotheses.point(weights).gain for weights in points])
    ends = [_climb(hypotheses, start) for start in _starts(points, gains)]
    best = max(ends, key=lambda point: point.gain)
    return best.weights


def _starts(points: Sequence[Floats], gains: Floats) -> list[Floats]:
    """Return the best points, each at some distance from better ones."""
    starts: list[Floats] = []
    for k in np.argsort(-gains, kind="stable"):
        if all(np.abs(points[k] - other).sum() > APART for other in starts):
            starts.append(points[k])
        if len(starts) == CLIMBS:
            break
    return starts


def _points(count: int, seed: int) -> list[Floats]:
    """Return points of the simplex."""
    within = grid(count)
    points = [weights for _, weights in zip(range(POINTS + 1), within, strict=False)]
    if len(points) <= POINTS:
        return points
    sample = np.random.default_rng(seed).dirichlet(np.ones(count), POINTS)
    return [weights / weights.sum() for weights in sample]


def _climb(hypotheses: RankingHypotheses, weights: Floats) -> Point:
    """Move one weight after the other until none can be moved for the better."""
    point = hypotheses.point(weights)
    units, unmoved = np.eye(len(weights)), 0
    for k in range(ROUNDS * len(weights)):
        check()
        moved = _moved(hypotheses, point, k % len(weights), units[k % len(weights)])
        unmoved = 0 if moved.gain > point.gain else unmoved + 1
        point = moved
        if unmoved == len(weights):
            break
    return point


def _moved(hypotheses: RankingHypotheses, point: Point, run: int, unit: Floats) -> Point:
    """Return the best point along the way to one run alone, and away from it."""
    share = float(point.weights[run])
    if share >= 1.0:
        return point
    direction = Direction.of(unit - point.weights, hypotheses.names[run])
    # A step of t moves the weight by t (1 - share); 1 makes it all, and the other end nothing.
    most = REACH / (1.0 - share)
    limits = (max(-share / (1.0 - share), -most), min(1.0, most))
    edges, totals = totals_along(hypotheses.envelope(point, direction, limits))
    gains = np.asarray(hypotheses.metric.gain(totals), np.float64)
    step = best_step(edges, gains, point, direction, limits)
    if step.size == 0.0:
        return point
    weights = np.maximum(point.weights + step.size * direction.vector(len(unit)), 0.0)
    moved = hypotheses.point(weights / weights.sum())
    return moved if moved.gain > point.gain else point
