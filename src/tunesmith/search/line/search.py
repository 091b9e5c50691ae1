"""The exact objective along a line, and the best step on it.

Och (2003), and section 2 of Galley et al. (2013): the winners' statistics are constant
between two breakpoints, so scoring one sum per interval gives the whole objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.inference.hypotheses import Direction, Hypotheses, Point
from tunesmith.kernels import kernel

#: Steps of any size.
EVERYWHERE = (-np.inf, np.inf)
#: Intervals narrower than this, relative to their distance from 0, are rounding.
NARROW = 1e-11
#: Breakpoints farther away than this, in units of the weights, come from slopes that differ
#: by rounding alone.
FARTHEST = 1e13


@dataclass(frozen=True)
class Surface:
    """A piecewise constant objective.

    Attributes
    ----------
    edges : float64[T]
        Sorted steps γ at which it may change; edges may coincide.
    totals : [T + 1, K]
        Summed statistics from one edge to the next; the first and the last interval are
        unbounded.
    gains : float64[T + 1]
        The metric's gain of each.
    """

    edges: Floats
    totals: Stats
    gains: Floats


@dataclass(frozen=True)
class Step:
    """A choice on a line.

    Attributes
    ----------
    size
        γ; 0 where staying is best.
    gain
        The metric's gain there.
    low, high
        The interval around it.
    value, here
        What the choice is judged by, there and at γ = 0: the gain, a smoothed one, or one
        minus a penalty.
    zeros : int64[n]
        Features whose weights are exactly 0 there, where that matters.
    """

    size: float
    gain: float
    low: float
    high: float
    value: float
    here: float
    zeros: Ints | None = None


def surface(hypotheses: Hypotheses, point: Point, direction: Direction) -> Surface:
    """Return the objective along a line, exactly."""
    envelope = hypotheses.envelope(point, direction)
    order = np.argsort(envelope.at, kind="stable")
    totals = np.empty((len(order) + 1, len(envelope.total)), envelope.total.dtype)
    _accumulate(envelope.total, envelope.change, order, totals)
    return Surface(envelope.at[order], totals, hypotheses.metric.gain(totals))


def search(
    hypotheses: Hypotheses,
    point: Point,
    direction: Direction,
    limits: tuple[float, float] = EVERYWHERE,
) -> Step:
    """Return the best step on a line: the middle of the best interval, or none.

    Among intervals of equal gain the widest is taken. An unbounded interval is entered by
    half the distance of its edge, or of the weights, whichever is more. What lies outside
    of the limits is cut off first, so the step is the best of those that they allow.
    """
    along = surface(hypotheses, point, direction)
    far = reach(point.weights, direction)
    found = _best_interval(along.edges, along.gains, far, *limits)
    if found < 0 or along.gains[found] <= point.gain:
        return Step(0.0, point.gain, 0.0, 0.0, point.gain, point.gain)
    low, high = clipped(along.edges, found, far, *limits)
    gain = float(along.gains[found])
    return Step(0.5 * (low + high), gain, low, high, gain, point.gain)


def reach(weights: Floats, direction: Direction) -> float:
    """Return how far a step is that changes the weights by about their own size."""
    size = float(np.abs(weights).max(initial=0.0))
    return size / float(np.abs(direction.values).max()) if size > 0 else 1.0


@kernel
def bounds(edges: Floats, interval: int, reach: float) -> tuple[float, float]:
    """Return both ends of an interval; an unbounded one is cut."""
    count = edges.shape[0]
    if count == 0:
        return -reach, reach
    if interval == 0:
        return edges[0] - max(reach, abs(edges[0])), edges[0]
    if interval == count:
        return edges[count - 1], edges[count - 1] + max(reach, abs(edges[count - 1]))
    return edges[interval - 1], edges[interval]


@kernel
def clipped(
    edges: Floats, interval: int, reach: float, least: float, greatest: float
) -> tuple[float, float]:
    """Return both ends of the part of an interval that the limits allow."""
    low, high = bounds(edges, interval, reach)
    return max(low, least), min(high, greatest)


@kernel
def counts(low: float, high: float, farthest: float) -> bool:
    """Tell whether an interval is one: wider than rounding, and not absurdly far away."""
    if min(abs(low), abs(high)) > farthest:
        return False
    return high - low > NARROW * max(abs(low), abs(high))


@kernel
def _best_interval(
    edges: Floats, gains: Floats, reach: float, least: float, greatest: float
) -> int:
    found = -1
    widest = 0.0
    for j in range(gains.shape[0]):
        if found < 0 or gains[j] >= gains[found]:
            low, high = clipped(edges, j, reach, least, greatest)
            width = high - low
            if counts(low, high, FARTHEST * reach) and (
                found < 0 or gains[j] > gains[found] or width > widest
            ):
                found, widest = j, width
    return found


@kernel
def _accumulate(total: Stats, change: Stats, order: Ints, totals: Stats) -> None:
    for k in range(total.shape[0]):
        totals[0, k] = total[k]
    for t in range(order.shape[0]):
        for k in range(total.shape[0]):
            totals[t + 1, k] = totals[t, k] + change[order[t], k]
