"""Line search on a smoothed objective (Cer, Jurafsky and Manning 2008).

The metric along a line is piecewise constant and jagged: its best interval may be a narrow
peak among bad neighbours, which holds for the tuning sentences alone. Smoothing gives each
interval the mean, or the minimum, of itself and of the nearest intervals on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction, Point
from tunesmith.kernels import kernel
from tunesmith.search.line.search import EVERYWHERE, LineStep, clip_interval, counts, reach

KINDS = ("none", "mean", "min")
#: Intervals farther away than this, in units of the weights, do not count: there one feature
#: alone decides, and with few neighbours left such ends of a line often look smooth.
FARTHEST = 1e6


@dataclass(frozen=True)
class Smoothing:
    """How an interval's objective is smoothed.

    Attributes
    ----------
    kind
        ``mean`` or ``min`` over the window; ``none`` leaves the metric as it is.
    window
        Neighbours on each side; near an end of the line there are fewer.
    """

    kind: Literal["none", "mean", "min"] = "none"
    window: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("smoothing", self.kind, KINDS)
        if self.window < 1:
            raise UsageError(f"window is {self.window}; give 1 or more")

    def __bool__(self) -> bool:
        return self.kind != "none"


def best_smoothed_step(
    edges: Floats,
    gains: Floats,
    point: Point,
    direction: Direction,
    smoothing: Smoothing,
    limits: tuple[float, float] = EVERYWHERE,
) -> LineStep:
    """Return the best step on a line by the smoothed objective: the middle of an interval.

    Intervals without a width (edges that coincide) are no neighbours, nor those that the
    limits forbid. Staying is judged by the smoothed objective of the interval around γ = 0
    on the same line; where two meet there, by the lower one.
    """
    far = reach(point.weights, direction)
    usable, low, high = _intervals(edges, far, *limits)
    if len(usable) == 0:
        return LineStep(0.0, point.gain, 0.0, 0.0, point.gain, point.gain)
    values = smooth(gains[usable], smoothing.window, smoothing.kind == "min")
    current = _value_at_start(values, low, high)
    best = _widest_best(values, low, high)
    value = float(values[best])
    if value <= current:
        return LineStep(0.0, point.gain, 0.0, 0.0, current, current)
    ends = float(low[best]), float(high[best])
    return LineStep(0.5 * sum(ends), float(gains[usable[best]]), *ends, value, current)


@kernel
def _intervals(
    edges: Floats, reach: float, least: float, greatest: float
) -> tuple[Ints, Floats, Floats]:
    """Return the intervals that count, and their ends; one that ends too far away is cut."""
    size = edges.shape[0] + 1
    usable, lows, highs = np.empty(size, np.int64), np.empty(size), np.empty(size)
    farthest = FARTHEST * reach
    count = 0
    for j in range(size):
        low, high = clip_interval(edges, j, reach, least, greatest)
        if counts(low, high, farthest):
            if high > farthest:
                high = min(high, low + max(reach, abs(low)))
            if low < -farthest:
                low = max(low, high - max(reach, abs(high)))
            usable[count], lows[count], highs[count] = j, low, high
            count += 1
    return usable[:count], lows[:count], highs[:count]


@kernel
def smooth(gains: Floats, window: int, minimum: bool) -> Floats:
    """Return the mean, or the minimum, over each interval and its neighbours."""
    smoothed = np.empty(gains.shape[0])
    for j in range(gains.shape[0]):
        part = gains[max(j - window, 0) : j + window + 1]
        total, worst = 0.0, part[0]
        for k in range(part.shape[0]):
            total += part[k]
            worst = min(worst, part[k])
        smoothed[j] = worst if minimum else total / part.shape[0]
    return smoothed


@kernel
def _value_at_start(values: Floats, low: Floats, high: Floats) -> float:
    """Return the lowest value of the intervals that hold 0, or come nearest to it."""
    nearest, lowest = np.inf, np.inf
    for j in range(values.shape[0]):
        distance = max(low[j], -high[j], 0.0)
        if distance < nearest:
            nearest, lowest = distance, values[j]
        elif distance == nearest:
            lowest = min(lowest, values[j])
    return lowest


@kernel
def _widest_best(values: Floats, low: Floats, high: Floats) -> int:
    best = 0
    for j in range(1, values.shape[0]):
        if values[j] > values[best] or (
            values[j] == values[best] and high[j] - low[j] > high[best] - low[best]
        ):
            best = j
    return best
