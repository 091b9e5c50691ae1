"""When a climb stops: the one place that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tunesmith.inference.hypotheses import Point
from tunesmith.metrics.scored import Scored
from tunesmith.parallel.local import end_if_unwanted

#: A step that gains less (in natural units: BLEU from 0 to 1) is rounding.
TOLERANCE = 1e-9
#: A round under a penalty that gains less than so many times that is the last one.
WORTH_A_ROUND = 1000.0
#: Steps of a climb on a smoothed objective, at most, for each variable: it ends after so many even
#: if a direction finder does not ask whether a round was worth it.
MOST_STEPS = 20


@dataclass(frozen=True)
class StoppingRule:
    """When a step is taken, when a round is followed by another, and when nothing is left to gain.

    - A **step** must gain more than the tolerance. On a smoothed objective, where steps may undo
      each other, there is a greatest number of them.
    - A **round** must have made a step. On a smoothed objective a step that gains along its own
      line may lose along others, and rounds could go in circles forever; so the whole round must
      gain more than the tolerance. Under a penalty rounds could go on forever with less and less,
      and a round must gain a thousand times as much. A direction finder may ask for more.
    - At the **ceiling** there is nothing left to gain.
    - An **interrupt**, or an error elsewhere, ends a climb before its next round or search.

    Attributes
    ----------
    tolerance, ceiling
        In natural units; nothing has a gain above the ceiling.
    smoothed, penalised
        What is climbed on.
    most_steps
        Steps on a smoothed objective.
    """

    tolerance: float = TOLERANCE
    ceiling: float = np.inf
    smoothed: bool = False
    penalised: bool = False
    most_steps: int = 0

    def takes_step(self, before: float, after: float) -> bool:
        """Tell whether a step from one value of the objective to another is more than rounding."""
        return after > before + self.tolerance

    def has_steps_left(self, steps: int) -> bool:
        """Tell whether a step may follow so many."""
        return not self.smoothed or steps < self.most_steps

    def at_top(self, gain: float, least: float = 0.0) -> bool:
        """Tell whether no point can be better, by more than the tolerance or what is worth it."""
        return not self.penalised and gain >= self.ceiling - max(self.tolerance, least)

    def is_worth_a_round(
        self, first: Point, last: Point, value: Callable[[Point], float], least: float | None = None
    ) -> bool:
        """Tell whether a round that led from one point to another gained enough to go on.

        ``value`` is asked only if it matters; ``least`` is what a round must gain where a direction
        finder knows better.
        """
        if last is first:
            return False
        if least is None:
            if not (self.smoothed or self.penalised):
                return True
            least = self.tolerance * (WORTH_A_ROUND if self.penalised else 1.0)
        before = value(first)
        return value(last) > before + least

    def repeat(
        self,
        point: Point,
        value: Callable[[Point], float],
        *rounds: Callable[[Point], Point],
        least: float | None = None,
    ) -> Point:
        """Make rounds until one gains too little; return where that leads.

        Of several kinds of rounds the next one is made where those before it gain too little.
        What a last round did gain counts, unless the objective is smoothed, or ``least`` says
        that so little is worse than nothing.
        """
        counts = least is None and not self.smoothed
        while least is None or not self.at_top(point.gain, least):
            for make_round in rounds:
                end_if_unwanted()
                moved = make_round(point)
                is_worth_it = self.is_worth_a_round(point, moved, value, least)
                if is_worth_it or counts:
                    point = moved
                if is_worth_it:
                    break
            else:
                return point
        return point


def tolerance_on(tuning: Scored) -> float:
    """Return what a step must gain: less where the metric itself is in a small unit."""
    reach = tuning.gain_range() if tuning.metric.scale == 1.0 else None
    return TOLERANCE if reach is None else TOLERANCE * min(1.0, reach) or TOLERANCE
