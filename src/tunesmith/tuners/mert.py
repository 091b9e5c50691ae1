"""Minimum error rate training (Och 2003), with exact line search.

Section 2 of Galley, Quirk, Cherry and Toutanova, "Regularized minimum error rate
training" (EMNLP 2013), describes the objective (equation 1) and the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Hypotheses, Point
from tunesmith.inference.lists import ListHypotheses
from tunesmith.metrics.tuning import TuningSet
from tunesmith.parallel.local import map_pieces
from tunesmith.progress import progress
from tunesmith.registry import option
from tunesmith.search.climb import DIRECTIONS, Climb
from tunesmith.tuners.base import TUNERS, Outcome, Tuner

#: Restarts that set out together. Fixed, so that the result does not depend on the cores.
ROUND = 4
#: How far a restart begins from the best weights, and a walk from a climb's end, at least and
#: at most, relative to the weights.
RESTART_DISTANCE = (0.05, 1.0)
WALK_DISTANCE = (0.03, 0.3)


@TUNERS.register("mert")
@dataclass(frozen=True)
class MERT(Tuner):
    """Minimum error rate training: exact line searches from many starting points."""

    restarts: int = option(20, "climbs from other starting points beside the first")
    begin: Literal["near", "anywhere"] = option(
        "near", "where restarts begin: around the best weights so far (one in four anywhere)"
    )
    walks: int = option(2, "random walks away from each climb's end, each followed by a climb")
    directions: str = option("coordinate", "lines to search: coordinate, powell or random")

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise UsageError(f"restarts is {self.restarts}; give 0 or more")
        if self.walks < 0:
            raise UsageError(f"walks is {self.walks}; give 0 or more")
        DIRECTIONS.get(self.directions)

    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Climb from the start, then from other points, and keep the best."""
        hypotheses = ListHypotheses(tuning)
        spread = hypotheses.spread()
        first = hypotheses.point(1.0 / spread if start is None else start)
        found = _Best(hypotheses, first)
        generators = rng.spawn(self.restarts + 1)
        done = 0
        while done <= self.restarts:
            # The first climb is alone; the others know what the rounds before them found.
            last = min(done + ROUND, self.restarts + 1) if done else 1
            climbs = [Climb(hypotheses, spread, generators[k]) for k in range(done, last)]
            begins = [
                first if k == 0 else hypotheses.point(self._begin(k, found.point.weights, climb))
                for k, climb in enumerate(climbs, done)
            ]
            ends = map_pieces(self._climb, list(zip(climbs, begins, strict=True)))
            for k, climb, begin, end in zip(range(done, last), climbs, begins, ends, strict=True):
                found.add(k, climb, begin, end)
            done = last
            remark = f"best {tuning.metric.scale * abs(found.point.gain):.2f}"
            progress("tuning", done, self.restarts + 1, remark)
        return Outcome(found.point.weights, found.history, found.searches)

    def _climb(self, task: tuple[Climb, Point]) -> Point:
        """Climb, and go on from the end of it by random walks (Moore and Quirk 2008)."""
        climb, begin = task
        finder = DIRECTIONS.get(self.directions)()
        # Scores were added to step by step; what counts is what fresh ones say.
        end = climb.hypotheses.point(finder.climb(climb, begin).weights)
        for _ in range(self.walks):
            away = climb.hypotheses.point(_around(end.weights, climb, WALK_DISTANCE))
            other = climb.hypotheses.point(finder.climb(climb, away).weights)
            if other.gain > end.gain:
                end = other
        return end

    def _begin(self, restart: int, best: Floats, climb: Climb) -> Floats:
        if self.begin == "anywhere" or restart % ROUND == 0:
            drawn: Floats = climb.rng.standard_normal(len(best)) / climb.spread
            return drawn
        return _around(best, climb, RESTART_DISTANCE)


def _around(weights: Floats, climb: Climb, distance: tuple[float, float]) -> Floats:
    """Draw weights around others.

    Each feature changes the model score by about as much. Near and far are equally
    frequent on a scale of orders of magnitude: how far the next hill is nobody knows.
    """
    size = float(np.sqrt(np.mean(np.square(weights * climb.spread)))) or 1.0
    relative = float(np.exp(climb.rng.uniform(*np.log(distance))))
    drawn: Floats = climb.rng.standard_normal(len(weights)) / climb.spread
    return weights + relative * size * drawn


class _Best:
    """The best point met so far, and the record of all climbs."""

    def __init__(self, hypotheses: Hypotheses, first: Point) -> None:
        self.hypotheses = hypotheses
        self.point = first
        self.history: list[dict[str, object]] = []
        self.searches = 0

    def add(self, restart: int, climb: Climb, begin: Point, end: Point) -> None:
        """Take the end of a climb if it is better than all before."""
        self.history.append({"restart": restart, "gain": begin.gain, "line_searches": 0})
        self.history.extend({"restart": restart, **entry} for entry in climb.history)
        self.searches += climb.searches
        if end.gain > self.point.gain:
            self.point = end
