"""The exact objective along a line, and the best step on it.

Och (2003), and section 2 of Galley et al. (2013): the winners' statistics are constant
between two breakpoints, so scoring one sum per interval gives the whole objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints, Stats
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.kernels import kernel
from tunesmith.metrics.base import Metric, running_totals

#: Steps of any size.
EVERYWHERE = (-np.inf, np.inf)
#: Intervals narrower than this, relative to their distance from 0, are rounding.
NARROW = 1e-11
#: Breakpoints farther away than this, in units of the weights, come from slopes that differ
#: by rounding alone.
FARTHEST = 1e13
#: Up to this number equal edges are sorted by insertion, more by a sort that keeps their order.
FEW_EQUAL = 32


@dataclass(frozen=True)
class LineStep:
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


def totals_along(envelope: Envelope) -> tuple[Floats, Stats]:
    """Return where winners change, sorted [T], and their summed statistics between [T + 1, K].

    Edges may coincide; the first and the last interval are unbounded.
    """
    edges, order = _sorted(envelope.at)
    return edges, running_totals(envelope.total, envelope.change, order)


def best_step_along(
    metric: Metric,
    envelope: Envelope,
    point: Point,
    direction: Direction,
    limits: tuple[float, float] = EVERYWHERE,
) -> LineStep:
    """Return the best step on a line, as :func:`best_step` does if it is given all gains."""
    edges, order = _sorted(envelope.at)
    far = reach(point.weights, direction)
    counted = np.empty(len(edges) + 1, np.bool_)
    _mark_intervals(edges, far, *limits, counted)
    gains = metric.gains_along(envelope.total, envelope.change, order, counted, point.gain)
    return _step_of(edges, gains, point, far, limits)


def _sorted(at: Floats) -> tuple[Floats, Ints]:
    """Return edges in their order, and which is where; equal ones stay as they come."""
    if ascends(at):  # as rankings have them
        return at, np.arange(len(at))
    # Several times as fast as a stable sort, but for the order of equal edges.
    order = np.argsort(at)
    edges = at[order]
    if not _order_equals(edges, order):
        order = np.argsort(at, kind="stable")
        edges = at[order]
    return edges, order


def best_step(
    edges: Floats,
    gains: Floats,
    point: Point,
    direction: Direction,
    limits: tuple[float, float] = EVERYWHERE,
) -> LineStep:
    """Return the best step on a line: the middle of the best interval, or none.

    ``edges`` are those of :func:`totals_along`, ``gains`` the metric's gains between them.
    Among intervals of equal gain the widest is taken. An unbounded interval is entered by
    half the distance of its edge, or of the weights, whichever is more. What lies outside
    of the limits is cut off first, so the step is the best of those that they allow.
    """
    return _step_of(edges, gains, point, reach(point.weights, direction), limits)


def _step_of(
    edges: Floats, gains: Floats, point: Point, far: float, limits: tuple[float, float]
) -> LineStep:
    best = _best_interval(edges, gains, far, *limits)
    if best < 0 or gains[best] <= point.gain:
        return LineStep(0.0, point.gain, 0.0, 0.0, point.gain, point.gain)
    low, high = clip_interval(edges, best, far, *limits)
    gain = float(gains[best])
    return LineStep(0.5 * (low + high), gain, low, high, gain, point.gain)


def step_into(number: int, low: float, high: float, gain: float, point: Point) -> LineStep:
    """Return the step into an interval that is the best of a line, or none if it gains nothing."""
    if number < 0 or gain <= point.gain:
        return LineStep(0.0, point.gain, 0.0, 0.0, point.gain, point.gain)
    return LineStep(0.5 * (low + high), gain, low, high, gain, point.gain)


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
def clip_interval(
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
    best = -1
    widest = 0.0
    for j in range(gains.shape[0]):
        if best < 0 or gains[j] >= gains[best]:
            low, high = clip_interval(edges, j, reach, least, greatest)
            width = high - low
            if counts(low, high, FARTHEST * reach) and (
                best < 0 or gains[j] > gains[best] or width > widest
            ):
                best, widest = j, width
    return best


@kernel
def _mark_intervals(
    edges: Floats, reach: float, least: float, greatest: float, counted: Flags
) -> None:
    for j in range(counted.shape[0]):
        low, high = clip_interval(edges, j, reach, least, greatest)
        counted[j] = counts(low, high, FARTHEST * reach)


@kernel
def ascends(edges: Floats) -> bool:
    """Tell whether edges are in order."""
    t = 1
    while t < edges.shape[0] and edges[t - 1] <= edges[t]:
        t += 1
    return bool(t >= edges.shape[0])


@kernel
def _order_equals(edges: Floats, order: Ints) -> bool:
    """Sort the places of equal edges, as a stable sort would; False where too many are equal."""
    t = 0
    while t < order.shape[0]:
        end = t + 1
        while end < order.shape[0] and edges[end] == edges[t]:
            end += 1
        if end - t > FEW_EQUAL:
            return False
        for k in range(t + 1, end):
            now, edge, at = order[k], edges[k], k  # -0.0 equals 0.0
            while at > t and order[at - 1] > now:
                order[at], edges[at] = order[at - 1], edges[at - 1]
                at -= 1
            order[at], edges[at] = now, edge
        t = end
    return True
