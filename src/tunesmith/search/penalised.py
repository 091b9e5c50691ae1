"""Line search on a metric minus a penalty on the weights.

Section 3 of Galley et al. (2013). The metric is constant on each interval of a line, so the
best point of an interval is that of the least penalty on it. A penalty knows it in closed
form: the search stays exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.hypotheses import Direction, Hypotheses, Point
from tunesmith.search.line import EVERYWHERE, FARTHEST, NARROW, Step, reach, surface

#: At the end of an interval the winner ties, so the step is taken inside of it: by this share of
#: the width (footnote 4 of the paper), or of the step and the weights if that is less.
INSIDE_WIDTH, INSIDE_STEP = 1e-3, 1e-6
#: How far an unbounded interval is entered at most, in units of the distance of its end or of
#: the weights, where the penalty falls for ever.
BEYOND = 10.0


@dataclass(frozen=True)
class Choices:
    """Points of a line among which is the best of each interval.

    Attributes
    ----------
    interval : int64[n]
        On which of the intervals asked for each lies.
    at : float64[n]
        Its step γ.
    penalty : float64[n]
        The penalty there.
    zeros
        Index of a point -> the features whose weights are exactly 0 there.
    """

    interval: Ints
    at: Floats
    penalty: Floats
    zeros: Mapping[int, Ints] = field(default_factory=dict)


class Penalty(ABC):
    """What is taken off the gain for weights that are large, many or unusual."""

    name: ClassVar[str]

    @abstractmethod
    def value(self, weights: Floats) -> float:
        """Return the penalty of weights: the strength times R(w)."""

    @abstractmethod
    def gradient(self, weights: Floats) -> Floats:
        """Return its derivative by the weights [D]; 0 where there is none."""

    @abstractmethod
    def curvature(self, weights: Floats) -> Floats:
        """Return about how much the gradient grows with each weight [D], 0 or more."""

    @abstractmethod
    def choices(
        self, weights: Floats, direction: Direction, low: Floats, high: Floats, reach: float
    ) -> Choices:
        """Return the points of the least penalty on each interval of a line.

        Parameters
        ----------
        weights, direction
            The line: weights + γ × direction.
        low, high : float64[n]
            The intervals, ascending, none overlapping; the outermost ends may be infinite.
        reach
            A step that changes the weights by about their own size.
        """


def penalised_search(
    hypotheses: Hypotheses,
    point: Point,
    direction: Direction,
    penalty: Penalty,
    limits: tuple[float, float] = EVERYWHERE,
) -> Step:
    """Return the step on a line with the most gain minus penalty, exactly."""
    along = surface(hypotheses, point, direction)
    far = reach(point.weights, direction)
    low = np.clip(np.concatenate([[-np.inf], along.edges]), *limits)
    high = np.clip(np.concatenate([along.edges, [np.inf]]), *limits)
    near, away = np.sort(np.abs([low, high]), axis=0)
    with np.errstate(invalid="ignore"):
        # Infinite ends make an interval wide.
        counts = (high - low > NARROW * np.where(np.isfinite(away), away, near)) & (
            near <= FARTHEST * far
        )
    kept = np.flatnonzero(counts)
    here = point.gain - penalty.value(point.weights)
    stay = Step(0.0, point.gain, 0.0, 0.0, here, here)
    if len(kept) == 0:
        return stay
    found = penalty.choices(point.weights, direction, low[kept], high[kept], far)
    gains = along.gains[kept[found.interval]]
    values = gains - found.penalty
    best = int(np.argmax(values))
    if not values[best] > here:
        return stay
    interval = kept[found.interval[best]]
    return Step(
        float(found.at[best]),
        float(gains[best]),
        float(low[interval]),
        float(high[interval]),
        float(values[best]),
        here,
        found.zeros.get(best),
    )


def inside(at: Floats, low: Floats, high: Floats, reach: float) -> Floats:
    """Move points that are at an end of their interval, or beyond it, into it."""
    edge = np.clip(at, low, high)
    width = high - low
    step = INSIDE_STEP * np.maximum(np.abs(edge), reach)
    margin = np.minimum(INSIDE_WIDTH * width, step)  # of an infinite width the step alone
    return np.clip(at, low + margin, high - margin)


def bounded(low: Floats, high: Floats, reach: float, beyond: float) -> tuple[Floats, Floats]:
    """Cut unbounded intervals at a multiple of the distance of their ends, or of the weights."""
    first = np.where(
        np.isfinite(low),
        low,
        np.where(
            np.isfinite(high), high - beyond * np.maximum(reach, np.abs(high)), -beyond * reach
        ),
    )
    last = np.where(
        np.isfinite(high),
        high,
        np.where(np.isfinite(low), low + beyond * np.maximum(reach, np.abs(low)), beyond * reach),
    )
    return first, last
