"""Weights of three runs or more: the best points of a coarse look, and exact climbs from there.

The absolute values of weights add up to 1. Along a line through a point one looks at all places
where the metric changes and goes to the best within reach. One weight after the other is moved, the
others keeping their ratios, until none can be moved for the better. Many weights of any sign have
too many such ends: there lines in random directions are between those of single weights, and the
better half of the climbs goes on until one is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
#: Climbs, from the best points that differ by more than this in all; walks are of many weights of
#: any sign.
CLIMBS, WALKS, APART = 2, 4, 0.35
#: How far a weight may move in one step, as a share of all.
REACH = 0.1
#: Rounds over all weights, at most: a climb of few runs ends by itself long before.
ROUNDS = 50
#: Lines for each weight until the better half of the climbs goes on.
LINES = 4


def climbed(
    task: RankingTask, seed: int, simple: Sequence[Floats], allow_negative: bool = False
) -> Floats:
    """Return weights whose absolute values add up to 1; never worse than simple ones or the grid.

    They are 0 or more unless others are allowed.
    """
    hypotheses, count = task.hypotheses(), len(task.names)
    points, is_grid = _points(count, seed)
    points = [*simple, *points]
    gains = np.array([hypotheses.point(weights).gain for weights in points])
    is_walk = allow_negative and not is_grid
    starts = _starts(points, gains, WALKS if is_walk else CLIMBS)
    rngs = np.random.default_rng(seed).spawn(len(starts))
    climbs = [
        _Climb(hypotheses, allow_negative, rng, hypotheses.point(weights))
        for weights, rng in zip(starts, rngs, strict=True)
    ]
    if not is_walk:
        for climb in climbs:
            climb.follow_weights()
        return max(climbs, key=_gain).point.weights
    while True:
        for climb in climbs:
            climb.follow_lines(LINES * count)
        climbs.sort(key=_gain, reverse=True)
        if len(climbs) == 1:
            return climbs[0].point.weights
        climbs = climbs[: len(climbs) // 2]


def _starts(points: Sequence[Floats], gains: Floats, count: int) -> list[Floats]:
    """Return the best points, each at some distance from better ones."""
    starts: list[Floats] = []
    for k in np.argsort(-gains, kind="stable"):
        if all(np.abs(points[k] - other).sum() > APART for other in starts):
            starts.append(points[k])
        if len(starts) == count:
            break
    return starts


def _points(count: int, seed: int) -> tuple[list[Floats], bool]:
    """Return points of the simplex, and whether they are all tenths."""
    within = grid(count)
    points = [weights for _, weights in zip(range(POINTS + 1), within, strict=False)]
    if len(points) <= POINTS:
        return points, True
    sample = np.random.default_rng(seed).dirichlet(np.ones(count), POINTS)
    return [weights / weights.sum() for weights in sample], False


@dataclass
class _Climb:
    """A point, and how one goes from there to better ones."""

    hypotheses: RankingHypotheses
    allow_negative: bool
    rng: np.random.Generator
    point: Point

    def follow_weights(self) -> None:
        """Move one weight after the other until none can be moved for the better."""
        count, unmoved = len(self.point.weights), 0
        for k in range(ROUNDS * count):
            unmoved = 0 if self._move_weight(k % count) else unmoved + 1
            if unmoved == count:
                break

    def follow_lines(self, count: int) -> None:
        """Move weights in random order, and all at once in a random direction between them."""
        order: list[int] = []
        for _ in range(count):
            if self.rng.random() < 0.5:
                order = order or self.rng.permutation(len(self.point.weights)).tolist()
                self._move_weight(order.pop())
            else:
                self._move_all()

    def _move_weight(self, run: int) -> bool:
        """Move one weight, the others keeping their ratios; tell whether that is better."""
        vector = np.zeros(len(self.point.weights))
        vector[run] = 1.0
        if not self.allow_negative:  # the sum stays 1
            vector -= self.point.weights
        return self._move(vector, float(np.abs(vector).max()))

    def _move_all(self) -> None:
        vector = self.rng.normal(size=len(self.point.weights))
        self._move(vector, float(np.abs(vector).sum()))

    def _move(self, vector: Floats, size: float) -> bool:
        """Go to the best place of a line within reach; tell whether it is better."""
        check()
        if size == 0.0:
            return False
        weights, most = self.point.weights, REACH / size
        limits = (-most, most)
        if not self.allow_negative:
            with np.errstate(divide="ignore"):
                ends = -weights / np.where(vector == 0.0, np.nan, vector)
            lowest = ends[vector > 0.0].max(initial=-np.inf)
            highest = ends[vector < 0.0].min(initial=np.inf)
            limits = (max(float(lowest), -most), min(float(highest), most))
        direction = Direction.of(vector, "line")
        edges, totals = totals_along(self.hypotheses.envelope(self.point, direction, limits))
        gains = np.asarray(self.hypotheses.metric.gain(totals), np.float64)
        step = best_step(edges, gains, self.point, direction, limits)
        if step.size == 0.0:
            return False
        moved = weights + step.size * vector
        if not self.allow_negative:
            moved = np.maximum(moved, 0.0)
        point = self.hypotheses.point(moved / np.abs(moved).sum())
        is_better = point.gain > self.point.gain
        if is_better:
            self.point = point
        return is_better


def _gain(climb: _Climb) -> float:
    return climb.point.gain
