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
#: How far a restart goes from where it begins, relative to the weights.
NEAREST, FARTHEST = 0.05, 1.0


@TUNERS.register("mert")
@dataclass(frozen=True)
class MERT(Tuner):
    """Minimum error rate training: exact line searches from many starting points."""

    restarts: int = option(20, "climbs beside the first one")
    restart: Literal["walk", "random"] = option(
        "walk",
        "where restarts begin: a random walk away from the best weights so far, or anywhere",
    )
    directions: str = option(
        "coordinate", "which lines are searched: coordinate, powell, random"
    )

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise UsageError(f"restarts is {self.restarts}; give 0 or more")
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
                first if k == 0 else hypotheses.point(self._begin(found.point.weights, climb))
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
        climb, begin = task
        end = DIRECTIONS.get(self.directions)().climb(climb, begin)
        # Scores were added to step by step; what counts is what fresh ones say.
        return climb.hypotheses.point(end.weights)

    def _begin(self, best: Floats, climb: Climb) -> Floats:
        """Draw a starting point.

        A walk (Moore and Quirk 2008) stays near weights that are known to be good, at a
        random distance, near and far equally often on a scale of orders of magnitude.
        """
        drawn = climb.rng.standard_normal(len(best)) / climb.spread
        if self.restart == "random":
            return drawn
        size = np.sqrt(np.mean(np.square(best * climb.spread)))
        distance = np.exp(climb.rng.uniform(np.log(NEAREST), np.log(FARTHEST)))
        return best + distance * (size if size > 0 else 1.0) * drawn


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
