"""Minimum error rate training (Och 2003), with exact line search.

Section 2 of Galley, Quirk, Cherry and Toutanova, "Regularized minimum error rate
training" (EMNLP 2013), describes the objective (equation 1) and the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.inference.lists import ListHypotheses
from tunesmith.metrics.tuning import TuningSet
from tunesmith.parallel.local import map_pieces
from tunesmith.progress import progress
from tunesmith.registry import option
from tunesmith.search.climb import DIRECTIONS, TOLERANCE, Climb
from tunesmith.search.smooth import Smoothing
from tunesmith.tuners.base import TUNERS, Outcome, Tuner, score_of
from tunesmith.tuners.constrained import Constrained

#: Restarts that set out together. Fixed, so that the result does not depend on the cores.
ROUND = 4
#: How far a restart begins from the best weights, and a walk from a climb's end, at least and
#: at most, relative to the weights.
RESTART_DISTANCE = (0.05, 1.0)
WALK_DISTANCE = (0.03, 0.3)


@TUNERS.register("mert")
@dataclass(frozen=True)
class MERT(Constrained, Tuner):
    """Minimum error rate training: exact line searches from many starting points.

    Restrictions on weights keep the line search exact: it looks at the part of a line that
    they allow, and moves weights that belong together along one line.

    With ``smoothing`` (Cer et al. 2008) a step is judged by the smoothed objective of the
    interval that it leads to, against that of the interval around the weights on the same
    line. The metric itself may fall on the way: a plateau is worth more than a peak among
    bad neighbours. As a step on one line may undo one on another, a climb ends after a fixed
    number of them at the latest. Ends of climbs are compared by the mean, over the lines of
    all features, of the smoothed objective there, since that of one line alone says little.
    """

    restarts: int = option(20, "climbs from other starting points beside the first")
    begin: Literal["near", "anywhere"] = option(
        "near", "where restarts begin: near the best weights so far, one in four anywhere; or all"
    )
    walks: int = option(2, "random walks away from each climb's end, each followed by a climb")
    directions: str = option("coordinate", "lines to search: coordinate, powell or random")
    smoothing: Literal["none", "mean", "min"] = option(
        "none",
        "what counts of an interval and its neighbours on a line: none (itself), mean or min",
    )
    window: int = option(3, "neighbours on each side that smoothing takes in")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts < 0:
            raise UsageError(f"restarts is {self.restarts}; give 0 or more")
        if self.walks < 0:
            raise UsageError(f"walks is {self.walks}; give 0 or more")
        DIRECTIONS.get(self.directions)
        self._smoothing()

    def _smoothing(self) -> Smoothing:
        return Smoothing(self.smoothing, self.window)

    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Climb from the start, then from other points, and keep the best."""
        hypotheses = ListHypotheses(tuning)
        spread = hypotheses.spread()
        own = 1.0 / spread
        space = self.space(hypotheses.names, own if start is None else start)
        best = _End(space.inside(own) if start is None else space.exact(start), -np.inf)
        tolerance = _tolerance(tuning)
        history: list[dict[str, Any]] = []
        searches = 0
        generators = rng.spawn(self.restarts + 1)
        done = 0
        while done <= self.restarts:
            # The first climb is alone; the others know what the rounds before them found.
            last = min(done + ROUND, self.restarts + 1) if done else 1
            climbs = [
                Climb(hypotheses, spread, generators[k], space, self._smoothing(), tolerance)
                for k in range(done, last)
            ]
            begins = [
                best.weights if k == 0 else self._begin(k, best.weights, climb)
                for k, climb in enumerate(climbs, done)
            ]
            # From where a far-off climb ended it is worth walking only if that is the best yet.
            floors = [best.value if self._is_far(k) else -np.inf for k in range(done, last)]
            ends = map_pieces(self._climb, list(zip(climbs, begins, floors, strict=True)))
            for k, climb, end in zip(range(done, last), climbs, ends, strict=True):
                history += [{"restart": k, **entry} for entry in climb.history]
                searches += climb.searches
                if end.value > best.value:
                    best = end
            done = last
            remark = f"best {score_of(tuning.metric, best.value):.2f}"
            progress("tuning", done, self.restarts + 1, remark)
        return Outcome(best.weights, history, searches, objective=best.value)

    def _climb(self, task: tuple[Climb, Floats, float]) -> _End:
        """Climb, and go on from the end of it by random walks (Moore and Quirk 2008)."""
        climb, begin, floor = task
        end = self._ascend(climb, begin)
        for _ in range(self.walks if end.value > floor else 0):
            other = self._ascend(climb, _around(end.weights, climb, WALK_DISTANCE))
            if other.value > end.value:
                end = other
        return end

    def _ascend(self, climb: Climb, begin: Floats) -> _End:
        """Go from a point to the local optimum; never to one that is worse."""
        first = climb.begin(begin)
        end = DIRECTIONS.get(self.directions)().climb(climb, first)
        # Scores were added to step by step; what counts is what fresh ones say.
        end = climb.hypotheses.point(end.weights)
        ends = [_End(point.weights, climb.value(point)) for point in (first, end)]
        return max(ends, key=lambda end: end.value)

    def _is_far(self, restart: int) -> bool:
        """Tell whether a restart begins anywhere; the first climb begins at the start."""
        return restart > 0 and (self.begin == "anywhere" or restart % ROUND == 0)

    def _begin(self, restart: int, best: Floats, climb: Climb) -> Floats:
        if self._is_far(restart):
            # Of the weights' size only where their size matters.
            size = _size(best, climb) if climb.space.pins_scale else 1.0
            return climb.space.inside(size * climb.change())
        return _around(best, climb, RESTART_DISTANCE)


def _around(weights: Floats, climb: Climb, distance: tuple[float, float]) -> Floats:
    """Draw weights around others.

    Each feature changes the model score by about as much. Near and far are equally
    frequent on a scale of orders of magnitude: how far the next hill is nobody knows.
    """
    relative = float(np.exp(climb.rng.uniform(*np.log(distance))))
    return climb.space.inside(weights + relative * _size(weights, climb) * climb.change())


def _tolerance(tuning: TuningSet) -> float:
    """Return what a step must gain: less where the metric itself is in a small unit."""
    if tuning.metric.scale != 1.0:
        return TOLERANCE
    values = tuning.metric.gain(tuning.stats)
    return TOLERANCE * min(1.0, float(values.max() - values.min())) or TOLERANCE


def _size(weights: Floats, climb: Climb) -> float:
    return float(np.sqrt(np.mean(np.square(weights * climb.spread)))) or 1.0


@dataclass(frozen=True)
class _End:
    """Where a climb ended; without what a point keeps for its next step."""

    weights: Floats
    value: float
