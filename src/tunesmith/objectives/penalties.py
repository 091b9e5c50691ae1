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
from tunesmith.search.penalised import BEYOND, Choices, Penalty, bounded, inside


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

    def choices(
        self, weights: Floats, direction: Direction, low: Floats, high: Floats, reach: float
    ) -> Choices:
        """Take the vertex of the parabola, or the end of the interval that is nearest to it."""
        at = direction.features
        slope = self.counted[at] * direction.values
        curve = float(slope @ slope)  # R(γ) = a + 2bγ + cγ²
        if curve == 0.0:
            middle = 0.5 * np.sum(bounded(low, high, reach, 1.0), axis=0)
            return Choices(np.arange(len(low)), middle, np.full(len(low), self.value(weights)))
        tilt = float(slope @ (weights[at] - self.centre[at]))
        found = inside(np.full(len(low), -tilt / curve), low, high, reach)
        change = self.strength * found * (2.0 * tilt + curve * found)
        return Choices(np.arange(len(low)), found, self.value(weights) + change)


@dataclass(frozen=True)
class NormalisedSquare(Penalty):
    """ℓ2 of the weights scaled to ℓ1 norm 1: strength × ‖w / ‖w‖₁‖² (v3 of the paper).

    It does not depend on the scale of the weights; it is between 1/D, where all weights are of
    one size, and 1, where all but one are 0 (and where all are).
    """

    name: ClassVar[str] = "l2-normalized"
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
        square = float(weights @ weights)
        return 2.0 * self.strength * (weights - square / length * np.sign(weights)) / length**2

    def curvature(self, weights: Floats) -> Floats:
        """Return the part of the square alone."""
        length = float(np.abs(weights).sum())
        each = 2.0 * self.strength / length**2 if length > 0.0 else 0.0
        return np.full(len(weights), each)

    def choices(
        self, weights: Floats, direction: Direction, low: Floats, high: Floats, reach: float
    ) -> Choices:
        """Cut intervals where a weight changes its sign, and take the least point of each part.

        Between two such steps R = Q/L² with Q = a + 2bγ + cγ² and L = p + qγ, and
        γ = (qa − bp)/(cp − bq) is its only stationary point, a minimum where L > 0.
        """
        low, high = bounded(low, high, reach, BEYOND)
        at, slope = direction.features, direction.values
        still = float(np.abs(weights).sum() - np.abs(weights[at]).sum())
        turns = -weights[at] / slope
        order = np.argsort(turns, kind="stable")
        turns = turns[order]
        # Left of all turns a component has the sign of −slope; each turn adds twice itself.
        signs = np.sign(slope)[order]
        p = _running(still, signs * weights[at][order])
        q = _running(0.0, signs * slope[order])
        part, first, last, interval = _cut(turns, low, high)
        a, b, c = float(weights @ weights), float(weights[at] @ slope), float(slope @ slope)
        p, q = p[part], q[part]
        with np.errstate(divide="ignore", invalid="ignore"):
            stationary = (q * a - b * p) / (c * p - b * q)
        within = (stationary > first) & (stationary < last)
        # A part ends at a turn, where R is continuous, or at the end of its interval.
        points = np.concatenate([first, last, np.where(within, stationary, first)])
        points = inside(points, np.tile(low[interval], 3), np.tile(high[interval], 3), reach)
        length = np.tile(p, 3) + np.tile(q, 3) * points
        square = a + points * (2.0 * b + c * points)
        size = float(np.abs(weights).sum())
        tiny = 1e-12 * max(size, float(np.abs(slope).sum()) * reach)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(length > tiny, square / np.square(length), 1.0)
        return Choices(np.tile(interval, 3), points, self.strength * np.clip(ratio, 0.0, 1.0))


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

    def choices(
        self, weights: Floats, direction: Direction, low: Floats, high: Floats, reach: float
    ) -> Choices:
        """Take the middle of each interval, and every step that makes a weight 0."""
        at = direction.features
        others = int(np.count_nonzero(weights)) - int(np.count_nonzero(weights[at]))
        most = others + len(at)
        low, high = bounded(low, high, reach, 1.0)
        turns = -weights[at] / direction.values
        steps, which = np.unique(turns, return_inverse=True)
        ends = np.searchsorted(low, steps, "right") - 1
        there = (ends >= 0) & (steps > low[ends]) & (steps < high[ends])
        middles = _off(0.5 * (low + high), steps, low, high)
        zeros = {len(low) + k: at[which == step] for k, step in enumerate(np.flatnonzero(there))}
        counts = np.concatenate(
            [np.full(len(low), most), most - np.bincount(which, minlength=len(steps))[there]]
        )
        return Choices(
            np.concatenate([np.arange(len(low)), ends[there]]),
            np.concatenate([middles, steps[there]]),
            self.strength * counts,
            zeros,
        )


def _off(middles: Floats, steps: Floats, low: Floats, high: Floats) -> Floats:
    """Move middles off the steps at which a weight is 0, which count as points of their own."""
    hit = np.isin(middles, steps)
    return np.where(hit, middles + 0.1 * (high - middles), middles)
