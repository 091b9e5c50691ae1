"""Climbs of MERT, of which several set out together.

What a climb needs is small, but for the hypotheses: so whoever works may make it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Axes, Hypotheses
from tunesmith.search.directions.base import DIRECTIONS, Climb
from tunesmith.search.line.penalised import Penalty
from tunesmith.search.line.smooth import Smoothing
from tunesmith.search.space.space import Space

#: How far a walk begins from a climb's end, at least and at most, relative to the weights.
WALK_DISTANCE = (0.03, 0.3)


@dataclass(frozen=True)
class End:
    """Where a climb ended, and how it went; without what a point keeps for its next step."""

    weights: Floats
    value: float
    is_top: bool = False
    history: tuple[dict[str, Any], ...] = ()
    searches: int = 0


@dataclass(frozen=True)
class Climbs:
    """What all climbs of a search have in common, beside the hypotheses."""

    directions: str
    walks: int
    spread: Floats
    space: Space
    smoothing: Smoothing
    tolerance: float
    penalty: Penalty | None
    ceiling: float
    axes: Axes | None

    def on(self, hypotheses: Hypotheses, rng: np.random.Generator) -> Climb:
        """Return a climb that has not begun."""
        options = self.smoothing, self.tolerance, self.penalty, self.ceiling, self.axes
        return Climb(hypotheses, self.spread, rng, self.space, *options)

    def ascend(self, climb: Climb, begin: Floats) -> End:
        """Go from a point to the local optimum; never to one that is worse."""
        first = climb.begin(begin)
        end = DIRECTIONS.create(self.directions).climb(climb, first)
        # Scores were added to step by step; what counts is what fresh ones say.
        end = climb.hypotheses.point(end.weights)
        ends = [End(p.weights, climb.value(p), climb.at_top(p)) for p in (first, end)]
        return max(ends, key=lambda end: end.value)


def climb_and_walk(
    hypotheses: Hypotheses, task: tuple[Floats, float, np.random.Generator], climbs: Climbs
) -> End:
    """Climb, and go on from the end of it by random walks (Moore and Quirk 2008)."""
    begin, floor, rng = task
    climb = climbs.on(hypotheses, rng)
    end = climbs.ascend(climb, begin)
    for _ in range(climbs.walks if end.value > floor else 0):
        if end.is_top:
            break
        other = climbs.ascend(climb, around(end.weights, climb, WALK_DISTANCE))
        if other.value > end.value:
            end = other
    return dataclasses.replace(end, history=tuple(climb.history), searches=climb.searches)


def around(weights: Floats, climb: Climb, distance: tuple[float, float]) -> Floats:
    """Draw weights around others.

    Each feature changes the model score by about as much. Near and far are equally
    frequent on a scale of orders of magnitude: how far the next hill is nobody knows.
    """
    relative = float(np.exp(climb.rng.uniform(*np.log(distance))))
    return climb.space.inside(weights + relative * climb.size_of(weights) * climb.change())
