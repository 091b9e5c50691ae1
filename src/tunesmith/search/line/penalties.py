"""The penalties of section 3 of Galley, Quirk, Cherry and Toutanova (EMNLP 2013).

The objective is the metric, in natural units, minus strength × R(w); the strength is the
paper's 1/(2σ²). Each penalty knows where on an interval of a line it is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints, inner
from tunesmith.inference.hypotheses import Direction
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.search.line.penalised import (
    BEYOND,
    SAME_STEP,
    Choices,
    Intervals,
    Penalty,
    bound_interval,
    turns_at,
)
from tunesmith.search.line.search import FARTHEST

#: What is left of a weight is rounding if it is less than this share of it.
LEFT_OVER = 1e-12
#: Where v3 falls for ever, or nearly, a step ends where at most about so much is left to gain.
LEFT_TO_FALL = 1e-9


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
        Those that do not; 0 in place of the others.
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
        nearest, curve, square, moving = _nearest_point(vector[at], slope)
        still = vector.copy()
        still[at] = 0.0
        return cls(nearest, moving, still, square + inner(still, still), curve)


@kernel
def _nearest_point(vector: Floats, slope: Floats) -> tuple[float, float, float, Floats]:
    """Return where vector + γ × slope is least, the square of the slope, its own, and itself."""
    curve, tilt = 0.0, 0.0
    for i in range(slope.shape[0]):
        curve += slope[i] * slope[i]
        tilt += slope[i] * vector[i]
    nearest, square = -tilt / curve, 0.0
    moving = np.empty(slope.shape[0])
    for i in range(slope.shape[0]):
        left = vector[i] + nearest * slope[i]
        moving[i] = left if abs(left) > LEFT_OVER * abs(vector[i]) else 0.0
        square += moving[i] * moving[i]
    return nearest, curve, square, moving


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
        return self.strength * inner(away, away)

    def gradient(self, weights: Floats) -> Floats:
        """Return 2 × strength × (w − w0)."""
        return 2.0 * self.strength * self.counted * (weights - self.centre)

    def curvature(self, weights: Floats) -> Floats:
        """Return 2 × strength."""
        return 2.0 * self.strength * self.counted

    def choices(self, weights: Floats, direction: Direction, intervals: Intervals) -> Choices:
        """Take the vertex of the parabola, or the end of the interval that is nearest to it."""
        never = np.zeros(len(intervals.low), bool)
        away = self.counted * (weights - self.centre)
        slope = self.counted[direction.features] * direction.values
        if inner(slope, slope) == 0.0:
            distance = np.full(len(never), self.strength * inner(away, away))
            return Choices(intervals.middle, distance, never)
        line = _Line.through(away, direction.features, slope)
        at = np.clip(line.nearest, intervals.first, intervals.last)
        square = line.square + line.curve * np.square(at - line.nearest)
        return Choices(at, self.strength * square, never)


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
        return self.strength * inner(size, size) / float(size.sum()) ** 2

    def gradient(self, weights: Floats) -> Floats:
        """Return the derivative; the sign of a weight that is 0 counts as 0."""
        length = float(np.abs(weights).sum())
        if length == 0.0:
            return np.zeros(len(weights))
        share = weights / length
        along = share - inner(share, share) * np.sign(share)
        return 2.0 * self.strength / length * along

    def curvature(self, weights: Floats) -> Floats:
        """Return the part of the square alone."""
        length = float(np.abs(weights).sum())
        each = 2.0 * self.strength / length / length if length > 0.0 else 0.0
        return np.full(len(weights), each)

    def choices(self, weights: Floats, direction: Direction, intervals: Intervals) -> Choices:
        """Cut intervals where a weight changes its sign, and take the least point of all parts.

        Between two such steps R = Q/L² with Q = a + ct² and L = p + qt, t being the distance
        from the point nearest to the origin. Its derivative has the sign of cpt − qa: where
        p > 0 the least point is t = qa/(cp), or the end of the part that is nearest to it;
        elsewhere R falls as L grows. On an unbounded interval it then falls towards c/q², the
        penalty of the direction itself, for ever: see :func:`_far_enough`.
        """
        line = _Line.through(weights, direction.features, direction.values)
        lengths = _lengths(line.moving, direction.values, float(np.abs(line.still).sum()))
        place = line.nearest, line.square, line.curve
        at, ratios = _least_ratios(
            *lengths, *place, intervals.first, intervals.last, intervals.reach
        )
        return Choices(at, self.strength * ratios, np.zeros(len(at), bool))


@kernel
def _lengths(moving: Floats, slope: Floats, still: float) -> tuple[Floats, Floats, Floats]:
    """Return where weights change their signs, and p and q of L = p + qt between these."""
    size = slope.shape[0]
    turns = -moving / slope
    order = argsort(turns)
    p, q = np.empty(size + 1), np.empty(size + 1)
    # Left of all turns a component has the sign of −slope; each turn adds twice itself.
    p[0], q[0] = still, 0.0
    for i in range(size):
        p[0] -= np.sign(slope[i]) * moving[i]
        q[0] -= abs(slope[i])
    for k in range(size):
        i = order[k]
        p[k + 1] = p[k] + 2.0 * np.sign(slope[i]) * moving[i]
        q[k + 1] = q[k] + 2.0 * abs(slope[i])
    return turns[order], p, q


@kernel
def _least_ratios(
    turns: Floats,
    p: Floats,
    q: Floats,
    nearest: float,
    square: float,
    curve: float,
    low: Floats,
    high: Floats,
    reach: float,
) -> tuple[Floats, Floats]:
    """Return where on each of ascending intervals Q/L² is least, and what it is."""
    at, ratios = np.empty(low.shape[0]), np.empty(low.shape[0])
    next_turn = 0
    for j in range(low.shape[0]):
        beyond = BEYOND if square == 0.0 else FARTHEST
        first, last = bound_interval(low[j], high[j], reach, beyond)
        begin, end = first - nearest, last - nearest
        is_open = low[j] == -np.inf or high[j] == np.inf
        while next_turn < turns.shape[0] and turns[next_turn] <= begin:
            next_turn += 1
        cell, place, least = next_turn, begin, np.inf
        while True:
            inside = cell < turns.shape[0] and turns[cell] < end
            until = turns[cell] if inside else end
            t = _least_point(p[cell], q[cell], square, curve, begin, until, is_open)
            length = p[cell] + q[cell] * t
            # At most 1 but for rounding, and 1 by definition where all weights are 0.
            ratio = min((square + curve * t * t) / (length * length), 1.0) if length > 0.0 else 1.0
            if ratio < least:
                least, place = ratio, t
            if not inside:
                break
            begin, cell = until, cell + 1
        at[j] = min(max(nearest + place, first), last)
        ratios[j] = least
    return at, ratios


@inlined
def _least_point(
    p: float, q: float, square: float, curve: float, begin: float, end: float, is_open: bool
) -> float:
    """Return where between two turns R is least."""
    if square == 0.0:  # Through the origin, at which R leaps: on either side it is the same.
        return 0.5 * (begin + end)
    if p > 0.0:
        at, gain = q * square / (curve * p), curve * p * p
        # Far out R is nearly what it is at infinity, where p may be rounding alone.
        if is_open and curve * gain <= LEFT_TO_FALL * q * q * (gain + square * q * q):
            far = np.sqrt(square / LEFT_TO_FALL) / abs(q)
            at = min(max(at, -far), far)
        return min(max(at, begin), end)
    if q == 0.0:
        return begin
    away = _far_enough(p, q, square, curve)
    return min(max(away, begin), end) if q > 0.0 else max(min(-away, end), begin)


@inlined
def _far_enough(p: float, q: float, square: float, curve: float) -> float:
    """Return the least distance at which R, which falls for ever, is nearly what it falls to.

    With p ≤ 0 and x = |t| − |p/q|, R − c/q² is (a/q² + cp²/q⁴ + 2c|p|/|q|³ x) / x².
    """
    limit, turn = curve / q / q, abs(p / q)
    slow, fixed = limit * turn, square / q / q + limit * turn * turn
    root: float = np.sqrt(slow * slow + LEFT_TO_FALL * fixed)
    return turn + (slow + root) / LEFT_TO_FALL


@dataclass(frozen=True)
class NonZero(Penalty):
    """ℓ0: strength × the number of weights that are not 0.

    Along a line it is the same everywhere but at the steps at which a weight becomes exactly 0,
    and each of these is tried. Not one at which winners tie, as all do where all weights are 0:
    what such weights choose is left to the order of the candidates.
    """

    name: ClassVar[str] = "l0"
    scale_free: ClassVar[bool] = True
    counts_weights: ClassVar[bool] = True
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
        """Take a step that makes as many weights 0 as any, else the middle of an interval."""
        now = weights[direction.features]
        most = int(np.count_nonzero(weights)) - int(np.count_nonzero(now)) + len(now)
        turns = np.sort(turns_at(now, direction.values))
        turns = turns[np.abs(turns) <= FARTHEST * intervals.reach]
        at = intervals.middle.copy()
        zeros = _most_zeros(turns, intervals.low, intervals.high, at)
        return Choices(at, self.strength * (most - zeros).astype(np.float64), zeros > 0)


@kernel
def _most_zeros(turns: Floats, low: Floats, high: Floats, at: Floats) -> Ints:
    """Return the most turns that coincide on each of ascending intervals; ``at`` goes there.

    Where several steps have as many, that nearest to 0 is taken.
    """
    zeros = np.zeros(low.shape[0], np.int64)
    i, j = 0, 0
    while i < turns.shape[0] and j < low.shape[0]:
        step = turns[i]
        if step > high[j]:
            j += 1
            continue
        after = i + 1
        while after < turns.shape[0] and turns[after] - step <= SAME_STEP * abs(step):
            after += 1
        count = after - i
        if step >= low[j] and (count > zeros[j] or (count == zeros[j] and abs(step) < abs(at[j]))):
            zeros[j], at[j] = count, step
        i = after
    return zeros
