"""Line search on a metric minus a penalty on the weights.

Section 3 of Galley et al. (2013). The metric is constant on each interval of a line, so the
best point of an interval is that of the least penalty on it. A penalty knows it in closed
form: the search stays exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints
from tunesmith.inference.hypotheses import Direction, Point
from tunesmith.kernels import inlined, kernel
from tunesmith.search.line.search import EVERYWHERE, FARTHEST, NARROW, LineStep, reach

#: At a breakpoint winners tie, so the step is taken inside of the interval: by this share of
#: the width (footnote 4 of the paper), or of the step or the weights if that is less.
INSIDE_WIDTH, INSIDE_STEP = 1e-3, 1e-6
#: Nearer to a breakpoint than this share of the step or the weights, rounding chooses.
ROUNDING = 1e-10
#: Intervals narrower than this share of the weights are rounding too. A penalty leaves weights
#: close to breakpoints, which then are found again at tiny steps.
SLIVER = 1e-13
#: How far an unbounded interval is entered at most, in units of the distance of its end or of
#: the weights, where the penalty falls forever.
BEYOND = 10.0
#: Steps that differ by less than this share make the same weights 0.
SAME_STEP = 1e-14


@dataclass(frozen=True)
class Intervals:
    """The parts of a line on which the metric is constant, ascending.

    The first one may begin at −∞ and the last one end at ∞. Ends belong to the intervals: what
    is left out at breakpoints, where winners tie, is left out already.

    Attributes
    ----------
    low, high : float64[n]
        Between them the winners are certain: for steps that cannot be elsewhere.
    first, last : float64[n]
        The same at a clear distance from breakpoints: for steps that can.
    middle : float64[n]
        What a search without a penalty takes.
    reach
        A step that changes the weights by about their own size.
    """

    low: Floats
    high: Floats
    first: Floats
    last: Floats
    middle: Floats
    reach: float


@dataclass(frozen=True)
class Choices:
    """The best point of each of some intervals of a line.

    Attributes
    ----------
    at : float64[n]
        Its step γ.
    penalty : float64[n]
        The penalty there.
    zero : bool[n]
        Whether weights become 0 there that count as exactly 0: see :func:`zeros_at`.
    """

    at: Floats
    penalty: Floats
    zero: Flags


class Penalty(ABC):
    """What is taken off the gain for weights that are large, many or unusual.

    Attributes
    ----------
    scale_free
        Whether weights times a positive number have the same penalty.
    counts_weights
        Whether every weight that is not 0 costs something, however small it is.
    """

    name: ClassVar[str]
    scale_free: ClassVar[bool] = False
    counts_weights: ClassVar[bool] = False

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
    def choices(self, weights: Floats, direction: Direction, intervals: Intervals) -> Choices:
        """Return where on each interval of the line weights + γ × direction it is least."""


def best_penalised_step(
    edges: Floats,
    gains: Floats,
    point: Point,
    direction: Direction,
    penalty: Penalty,
    limits: tuple[float, float] = EVERYWHERE,
) -> LineStep:
    """Return the step on a line with the most gain minus penalty, exactly.

    Among equals that of the widest interval is taken, as without a penalty. What lies outside
    of the limits is cut off first. Steps on a breakpoint are none of the choices but for γ = 0:
    the winners there are not those of any interval.
    """
    usable, intervals = intervals_of(edges, reach(point.weights, direction), limits)
    objective = point.gain - penalty.value(point.weights)
    stay = LineStep(0.0, point.gain, 0.0, 0.0, objective, objective)
    if len(usable) == 0:
        return stay
    choices = penalty.choices(point.weights, direction, intervals)
    gains = gains[usable]
    values = gains - choices.penalty
    best = int(np.argmax(values))
    if not values[best] > objective:
        return stay
    equal = np.flatnonzero(values == values[best])
    if len(equal) > 1:
        best = int(equal[np.argmax((intervals.high - intervals.low)[equal])])
    size = float(choices.at[best])
    return LineStep(
        size,
        float(gains[best]),
        float(intervals.low[best]),
        float(intervals.high[best]),
        float(values[best]),
        objective,
        zeros_at(point.weights, direction, size) if choices.zero[best] else None,
    )


def intervals_of(
    edges: Floats, reach: float, limits: tuple[float, float] = EVERYWHERE
) -> tuple[Ints, Intervals]:
    """Return which intervals between sorted edges count, and their ends."""
    usable, (low, high, first, last, middle) = _intervals(edges, reach, *limits)
    return usable, Intervals(low, high, first, last, middle, reach)


@inlined
def bound_interval(low: float, high: float, reach: float, beyond: float) -> tuple[float, float]:
    """Cut an unbounded interval at a multiple of the distance of its end, or of the weights."""
    first, last = low, high
    if low == -np.inf:
        end = high if high < np.inf else 0.0
        first = end - beyond * max(reach, abs(end))
    if high == np.inf:
        begin = low if low > -np.inf else 0.0
        last = begin + beyond * max(reach, abs(begin))
    return first, last


@kernel
def _intervals(edges: Floats, reach: float, least: float, greatest: float) -> tuple[Ints, Floats]:
    """Return the intervals that count, and rows: low, high, first, last and middle of each."""
    size = edges.shape[0] + 1
    usable, ends = np.empty(size, np.int64), np.empty((5, size))
    count = 0
    for j in range(size):
        low, high = -np.inf, np.inf
        ties_low, ties_high = False, False
        if j > 0:
            low = edges[j - 1]
            ties_low = np.isfinite(low) and low >= least - ROUNDING * max(abs(low), reach)
        if j < size - 1:
            high = edges[j]
            ties_high = np.isfinite(high) and high <= greatest + ROUNDING * max(abs(high), reach)
        low, high = max(low, least), min(high, greatest)
        if not _counts(low, high, reach):
            continue
        usable[count] = j
        begin, end = bound_interval(low, high, reach, 1.0)
        ends[4, count] = 0.5 * (begin + end)
        ends[0, count], ends[2, count] = low, low
        ends[1, count], ends[3, count] = high, high
        if ties_low:
            ends[0, count] += _margin(low, high - low, reach, 0.0)
            ends[2, count] += _margin(low, high - low, reach, INSIDE_STEP)
        if ties_high:
            ends[1, count] -= _margin(high, high - low, reach, 0.0)
            ends[3, count] -= _margin(high, high - low, reach, INSIDE_STEP)
        count += 1
    return usable[:count], ends[:, :count]


@kernel
def _counts(low: float, high: float, reach: float) -> bool:
    """Tell whether an interval is one: wider than rounding, and not absurdly far away."""
    if not low < high or max(low, -high) > FARTHEST * reach:
        return False
    away = max(abs(low), abs(high))
    return np.isinf(away) or high - low > max(NARROW * away, SLIVER * reach)


@kernel
def _margin(end: float, width: float, reach: float, step: float) -> float:
    """Return how far from an end of an interval a point of it must be, at most half of it."""
    size = max(abs(end), reach)
    clear = max(ROUNDING * size, min(INSIDE_WIDTH * width, step * size))
    # A bit less than half, so that rounding does not make the two ends change places.
    return min(clear, 0.499 * width)


def turns_at(weights: Floats, slopes: Floats) -> Floats:
    """Return the step at which each of some weights becomes 0."""
    with np.errstate(over="ignore"):
        turns: Floats = -weights / slopes
    return turns


def zeros_at(weights: Floats, direction: Direction, step: float) -> Ints:
    """Return the features whose weights a step makes 0, but for rounding."""
    turns = turns_at(weights[direction.features], direction.values)
    return direction.features[np.abs(turns - step) <= SAME_STEP * abs(step)]
