"""Which candidate wins where along an exponent: s_i / l_i^α + b_i, for fixed s and b.

The difference of two candidates, s_i exp(-α log l_i) - s_j exp(-α log l_j) + b_i - b_j, has one
stationary point at most, which is known in closed form. Between it and the ends it is monotone, so
each crossing is found by bisection down to neighbouring numbers, and none is missed.
"""

from __future__ import annotations

import math

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.inference.hypotheses import Envelope
from tunesmith.kernels import kernel


def envelope_of_exponents(
    scores: Floats,
    others: Floats,
    lengths: Floats,
    start: Ints,
    stats: Stats,
    span: tuple[float, float],
) -> Envelope:
    """Follow the winners of all groups from one exponent to another.

    Parameters
    ----------
    scores, others, lengths : float64[N]
        What is divided, what is not, and by which length, 1 or more.
    start
        The groups.
    stats : [N, K]
        Statistics of the candidates.
    span
        The least exponent and the greatest.

    Returns
    -------
    The statistics of the winners at the least exponent, and how they change.
    """
    logs = np.log(lengths)
    first, at, left, right = _walk(scores, others, logs, start, *span)
    total: Stats = stats[first].sum(axis=0)
    return Envelope(total, at, stats[right] - stats[left])


@kernel
def _walk(
    scores: Floats, others: Floats, logs: Floats, start: Ints, low: float, high: float
) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the first winners, where winners change, and those before and after."""
    groups = start.shape[0] - 1
    first = np.empty(groups, np.int64)
    room, count = 4 * groups + 8, 0
    at, left, right = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    for g in range(groups):
        winner = _best_at(scores, others, logs, start[g], start[g + 1], low)
        first[g] = winner
        now = low
        while now < high:
            next_at = high
            overtaken = False
            for j in range(start[g], start[g + 1]):
                crossing = _overtakes(scores, others, logs, winner, j, now, next_at)
                if crossing <= next_at:
                    next_at, overtaken = crossing, True
            if not overtaken:
                break
            before = winner
            winner = _best_at(scores, others, logs, start[g], start[g + 1], next_at)
            now = next_at
            if count == room:
                room *= 2
                at, left, right = _longer(at, left, right, room)
            at[count], left[count], right[count] = now, before, winner
            count += 1
    return first, at[:count].copy(), left[:count].copy(), right[:count].copy()


@kernel
def _longer(at: Floats, left: Ints, right: Ints, room: int) -> tuple[Floats, Ints, Ints]:
    more_at = np.empty(room)
    more_left, more_right = np.empty(room, np.int64), np.empty(room, np.int64)
    for k in range(at.shape[0]):
        more_at[k], more_left[k], more_right[k] = at[k], left[k], right[k]
    return more_at, more_left, more_right


@kernel
def _value(scores: Floats, others: Floats, logs: Floats, i: int, exponent: float) -> float:
    value: float = scores[i] * math.exp(-exponent * logs[i]) + others[i]
    return value


@kernel
def _best_at(
    scores: Floats, others: Floats, logs: Floats, lo: int, hi: int, exponent: float
) -> int:
    """Return the winner at an exponent, the first among equals."""
    best, at = _value(scores, others, logs, lo, exponent), lo
    for i in range(lo + 1, hi):
        value = _value(scores, others, logs, i, exponent)
        if value > best:
            best, at = value, i
    return at


@kernel
def _overtakes(
    scores: Floats, others: Floats, logs: Floats, i: int, j: int, low: float, high: float
) -> float:
    """Return the least exponent up to ``high`` at which j is above i, which is not so at ``low``.

    It is infinite where there is none.
    """
    middle = high
    above, below = scores[i] * logs[i], scores[j] * logs[j]
    if logs[i] != logs[j] and above * below > 0.0:
        stationary = math.log(above / below) / (logs[i] - logs[j])
        if low < stationary < high:
            middle = stationary
    crossing = _crosses(scores, others, logs, i, j, low, middle)
    if crossing == np.inf and middle < high:
        crossing = _crosses(scores, others, logs, i, j, middle, high)
    return crossing


@kernel
def _crosses(
    scores: Floats, others: Floats, logs: Floats, i: int, j: int, low: float, high: float
) -> float:
    """Bisect where the difference is monotone, until no number is left between both ends."""
    if _value(scores, others, logs, j, high) <= _value(scores, others, logs, i, high):
        return np.inf
    while True:
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            return high
        if _value(scores, others, logs, j, middle) > _value(scores, others, logs, i, middle):
            high = middle
        else:
            low = middle
