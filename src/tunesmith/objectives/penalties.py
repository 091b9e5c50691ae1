"""The penalties of section 3 of Galley, Quirk, Cherry and Toutanova (EMNLP 2013).

The objective is the metric, in natural units, minus strength × R(w); the strength is the
paper's 1/(2σ²). Each penalty knows where on an interval of a line it is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.hypotheses import Direction
from tunesmith.search.line import FARTHEST
from tunesmith.search.penalised import (
    BEYOND,
    SAME_STEP,
    Choices,
    Intervals,
    Penalty,
    bounded,
    turns_at,
)

#: What is left of a weight is rounding if it is less than this share of it.
LEFT_OVER = 1e-12


@dataclass(frozen=True)
class _Line:
    """A line of vectors, seen from its point nearest to the origin.

    So no term cancels another: ‖v(γ)‖² = square + curve × (γ − nearest)².

    Attributes
    ----------
    nearest
        γ of that point.
    moving : float64[n]
        The components of that point that change along the line.
    still : float64[D]
        Those that do not; 0 in the place of the others.
    square, curve
        ‖v‖² at that point, and the square of the direction.
    """

    nearest: float
    moving: Floats
    still: Floats
    square: float
    curve: float

    @classmethod
    def through(cls, vector: Floats, at: Ints, slope: Floats) -> _Line:
        """Return the line vector + γ × slope; the slope is not 0."""
        curve = float(slope @ slope)
        nearest = -float(slope @ vector[at]) / curve
        moving = vector[at] + nearest * slope
        moving[np.abs(moving) <= LEFT_OVER * np.abs(vector[at])] = 0.0
        still = vector.copy()
        still[at] = 0.0
        square = float(still @ still) + float(moving @ moving)
        return cls(nearest, moving, still, square, curve)


@dataclass(frozen=True)
class SquaredDistance(Penalty):
    """ℓ2: strength × ‖w − w0‖² over the weights that count (v1 and v2 of the paper).

    Attributes
    ----------
    strength
        The paper's 1/(2σ²).
    centre : float64[D]
        w0; 0 for the plain norm, which v2 takes.
    counted : float64[D]
        1, or 0 for the weight that v2 holds constant.
    """

    name: ClassVar[str] = "l2"
    strength: float
    centre: Floats
    counted: Floats

    def value(self, weights: Floats) -> float:
        """Return strength × the squared distance."""
        away = self.counted * (weights - self.centre)
        return self.strength * float(away @ away)

    def gradient(self, weights: Floats) -> Floats:
        """Return 2 × strength × (w − w0)."""
        return 2.0 * self.strength * self.counted * (weights - self.centre)

    def curvature(self, weights: Floats) -> Floats:
        """Return 2 × strength."""
        return 2.0 * self.strength * self.counted

    def choices(self, weights: Floats, direction: Direction, intervals: Intervals) -> Choices:
        """Take the vertex of the parabola, or the end of the interval that is nearest to it."""
        each = np.arange(len(intervals.low))
        away = self.counted * (weights - self.centre)
        slope = self.counted[direction.features] * direction.values
        if slope @ slope == 0.0:
            there = np.full(len(each), self.strength * float(away @ away))
            low, high = bounded(intervals.first, intervals.last, intervals.reach, 1.0)
            return Choices(each, 0.5 * (low + high), there, np.zeros(len(each), bool))
        line = _Line.through(away, direction.features, slope)
        at = np.clip(line.nearest, intervals.first, intervals.last)
        square = line.square + line.curve * np.square(at - line.nearest)
        return Choices(each, at, self.strength * square, np.zeros(len(each), bool))


@dataclass(frozen=True)
class NormalisedSquare(Penalty):
    """ℓ2 of the weights scaled to ℓ1 norm 1: strength × ‖w / ‖w‖₁‖² (v3 of the paper).

    It does not depend on the scale of the weights; it is between 1/D, where all weights are of
    one size, and 1, where all but one are 0 (and where all are).
    """

    name: ClassVar[str] = "l2-normalized"
    scale_free: ClassVar[bool] = True
    strength: float

    def value(self, weights: Floats) -> float:
        """Return strength × ‖w‖² / ‖w‖₁²."""
        largest = float(np.abs(weights).max(initial=0.0))
        if largest == 0.0:
            return self.strength
        size = np.abs(weights / largest)
        return self.strength * float(size @ size) / float(size.sum()) ** 2

    def gradient(self, weights: Floats) -> Floats:
        """Return the derivative; the sign of a weight that is 0 counts as 0."""
        length = float(np.abs(weights).sum())
        if length == 0.0:
            return np.zeros(len(weights))
        share = weights / length
        inner = share - float(share @ share) * np.sign(share)
        return 2.0 * self.strength / length * inner

    def curvature(self, weights: Floats) -> Floats:
        """Return the part of the square alone."""
        length = float(np.abs(weights).sum())
        each = 2.0 * self.strength / length / length if length > 0.0 else 0.0
        return np.full(len(weights), each)

    def choices(self, weights: Floats, direction: Direction, intervals: Intervals) -> Choices:
        """Cut intervals where a weight changes its sign, and take the least point of each part.

        Between two such steps R = Q/L² with Q = a + ct² and L = p + qt, t being the distance
        from the point nearest to the origin. Its derivative has the sign of cpt − qa: where
        p > 0 the least point is t = qa/(cp), or the end of the part that is nearest to it;
        elsewhere R falls as L grows.
        """
        line = _Line.through(weights, direction.features, direction.values)
        low, high = bounded(intervals.first, intervals.last, intervals.reach, BEYOND)
        turns, p, q = _lengths(line, direction.values)
        cell, first, last, interval = _cut(turns, low - line.nearest, high - line.nearest)
        p, q = p[cell], q[cell]
        if line.square > 0.0:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                vertex = q * line.square / (line.curve * p)
            t = np.clip(np.where(p > 0.0, vertex, np.copysign(np.inf, q)), first, last)
        else:  # through the origin, where R leaps: it is the same on either side
            t = 0.5 * (first + last)
        length = p + q * t
        square = line.square + line.curve * np.square(t)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(length > 0.0, square / np.square(length), 1.0)
        at = np.clip(line.nearest + t, low[interval], high[interval])
        penalty = self.strength * np.minimum(ratio, 1.0)
        return Choices(interval, at, penalty, np.zeros(len(at), bool))


def _lengths(line: _Line, slope: Floats) -> tuple[Floats, Floats, Floats]:
    """Return where weights change their signs, and p and q of L = p + qt between these."""
    turns = turns_at(line.moving, slope)
    order = np.argsort(turns, kind="stable")
    # Left of all turns a component has the sign of −slope; each turn adds twice itself.
    signs = np.sign(slope)[order]
    still = float(np.abs(line.still).sum())
    p = _running(still, signs * line.moving[order])
    return turns[order], p, _running(0.0, signs * slope[order])


def _running(still: float, signed: Floats) -> Floats:
    """Return the sum of signed parts in each cell between turns, plus what does not turn."""
    return still - float(signed.sum()) + np.concatenate([[0.0], np.cumsum(2.0 * signed)])


def _cut(turns: Floats, low: Floats, high: Floats) -> tuple[Ints, Floats, Floats, Ints]:
    """Cut intervals at turns; return for each part its cell, its ends and its interval."""
    begin, end = np.searchsorted(turns, low, "right"), np.searchsorted(turns, high, "left")
    counts = np.maximum(end - begin, 0) + 1
    interval = np.repeat(np.arange(len(low)), counts)
    cell = np.arange(len(interval)) - np.repeat(np.cumsum(counts) - counts - begin, counts)
    padded = np.concatenate([[-np.inf], turns, [np.inf]])
    first = np.maximum(padded[cell], low[interval])
    last = np.minimum(padded[cell + 1], high[interval])
    return cell, first, np.maximum(first, last), interval


@dataclass(frozen=True)
class NonZero(Penalty):
    """ℓ0: strength × the number of weights that are not 0.

    Along a line it is the same everywhere but at the steps at which a weight becomes exactly 0,
    and each of these is tried.
    """

    name: ClassVar[str] = "l0"
    scale_free: ClassVar[bool] = True
    strength: float

    def value(self, weights: Floats) -> float:
        """Return strength × the number of weights."""
        return self.strength * int(np.count_nonzero(weights))

    def gradient(self, weights: Floats) -> Floats:
        """Return 0: there is none."""
        return np.zeros(len(weights))

    def curvature(self, weights: Floats) -> Floats:
        """Return 0: there is none."""
        return np.zeros(len(weights))

    def choices(self, weights: Floats, direction: Direction, intervals: Intervals) -> Choices:
        """Take the middle of each interval, and every step that makes a weight 0."""
        now = weights[direction.features]
        most = int(np.count_nonzero(weights)) - int(np.count_nonzero(now)) + len(now)
        turns = np.sort(turns_at(now, direction.values))
        low, high = bounded(intervals.first, intervals.last, intervals.reach, 1.0)
        middles = _off(0.5 * (low + high), turns, high)
        interval = np.searchsorted(intervals.low, turns, "right") - 1
        there = (interval >= 0) & (turns <= intervals.high[interval])
        there &= np.abs(turns) <= FARTHEST * intervals.reach
        steps = turns[there]
        each = np.arange(len(middles))
        counts = np.concatenate([np.full(len(each), most), most - _equal(turns, steps)])
        return Choices(
            np.concatenate([each, interval[there]]),
            np.concatenate([middles, steps]),
            self.strength * counts,
            np.arange(len(counts)) >= len(each),
        )


def _equal(turns: Floats, steps: Floats) -> Ints:
    """Return how many of sorted turns are at each step, but for rounding."""
    near = SAME_STEP * np.abs(steps)
    last = np.searchsorted(turns, steps + near, "right")
    return last - np.searchsorted(turns, steps - near, "left")


def _off(middles: Floats, turns: Floats, high: Floats) -> Floats:
    """Move middles off the steps at which a weight is 0: halfway to the next, or to the end."""
    hit = np.flatnonzero(_equal(turns, middles))
    if len(hit) > 0:
        on = middles[hit]
        after = np.searchsorted(turns, on + SAME_STEP * np.abs(on), "right")
        middles[hit] = 0.5 * (on + np.minimum(np.append(turns, np.inf)[after], high[hit]))
    return middles
