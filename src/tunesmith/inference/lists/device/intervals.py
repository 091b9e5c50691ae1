"""The metric along many lines, and the best interval of each.

What :func:`tunesmith.search.line.search.best_step` does on the processor, by the same rules: among
the intervals that count the one of the greatest gain, among equals the widest, then the first.
"""

from __future__ import annotations

import math
from typing import Any

from numba import cuda, float64, int32

from tunesmith.inference.lists.device.compiling import (
    LINE_THREADS,
    MOST_STATS,
    NO_MOVE,
    PART,
    device_kernel,
    on_device,
    reduce_first,
    times,
)
from tunesmith.inference.lists.device.points import sum_of, total_of
from tunesmith.metrics.ngrams.counts import SMALL

#: What a metric's formula is; its numbers follow in the same array.
NO_FORMULA, BLEU, RATE, MEAN = range(4)
NOTHING = 1e-100
NARROW = 1e-11
FARTHEST = 1e13
FLOOR, ADD_K, EXP = 1, 2, 3


@on_device
def bleu_of(stats: Any, formula: Any) -> float:
    """Return BLEU in [0, 1]: see ``score_rows`` of ``metrics/bleu.py``."""
    order, smoothing, value = int(formula[1]), int(formula[2]), formula[3]
    length, reference = stats[0], formula[4] * stats[1]
    most, product, logarithm, stand_in = 0.0, 1.0, 0.0, value
    for n in range(order):
        match, total = stats[2 + n], stats[2 + order + n]
        most = max(most, match)
        lacks = 0.0
        if smoothing == ADD_K and n > 0 and stand_in > 0:
            match, total = match + stand_in, total + stand_in
        elif total > 0:
            if match < 1 and match < total and smoothing in (FLOOR, EXP):
                lacks = min(total, 1.0) - match
                match += stand_in * lacks
            total = max(total, 1.0)
        if smoothing == EXP and lacks > 0:
            stand_in *= 1.0 - 0.5 * lacks
        if match <= 0 or total <= 0:
            return 0.0
        factor = match / total
        if product * factor < SMALL:
            product, logarithm = 1.0, logarithm + math.log(product) + math.log(factor)
        else:
            product = product * factor
    if most <= 0 or (length < reference and length <= 0):
        return 0.0
    penalty = 0.0 if length >= reference else 1.0 - reference / length
    whole = math.exp(penalty + (math.log(product) + logarithm) / order)
    if most < 1 and smoothing in (FLOOR, EXP):
        whole *= most
    return whole


@on_device
def gain_of(stats: Any, formula: Any) -> float:
    """Return the gain of summed statistics."""
    kind = int(formula[0])
    if kind == BLEU:
        return bleu_of(stats, formula)  # type: ignore[no-any-return]
    if kind == RATE:
        return -(stats[0] / stats[1] if stats[1] > NOTHING else min(stats[0], 1.0))  # type: ignore[no-any-return]
    return formula[1] * (stats[0] / stats[1] if stats[1] > 0 else stats[0])  # type: ignore[no-any-return]


@on_device
def counts(low: float, high: float, farthest: float) -> bool:
    """Tell whether an interval is one: wider than rounding, and not absurdly far away."""
    if min(abs(low), abs(high)) > farthest:
        return False
    return high - low > NARROW * max(abs(low), abs(high))


@device_kernel
def add_parts(stats: Any, first: Any, count: Any, left: Any, right: Any, parts: Any) -> None:
    """Add up statistics of parts of lines: what follows needs the sums before each part.

    Parameters
    ----------
    parts : float64[L, P, 2 K]
        A block has one of P parts of a line: as many breakpoints as it has threads, and as many
        groups, or more if P parts would not have all. Filled with the sum of the groups' winners
        at γ = −∞, and of the changes at the breakpoints.
    """
    p, line, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    part = cuda.shared.array(PART, float64)
    size, many = min(count[line], left.shape[1]), stats.shape[1]
    groups = first.shape[1]
    if p * PART >= size and p * PART >= groups:
        return
    j = p * PART + here
    before, after = 0, 0
    if j < size:
        before, after = left[line, j], right[line, j]
    for k in range(many):
        total = 0.0
        for g in range(j, groups, parts.shape[1] * PART):
            total += stats[first[line, g], k]
        total = sum_of(part, total, here)
        if here == 0:
            parts[line, p, k] = total
        if p * PART < size:
            change = 0.0
            if j < size:
                change = float64(stats[after, k]) - float64(stats[before, k])
            change = sum_of(part, change, here)
            if here == 0:
                parts[line, p, many + k] = change


@device_kernel
def judge_parts(
    stats: Any,
    first: Any,
    count: Any,
    at: Any,
    left: Any,
    right: Any,
    ask: Any,
    formula: Any,
    parts: Any,
    bests: Any,
) -> None:
    """Follow the statistics along lines, whose breakpoints are sorted; a block has a part.

    Parameters
    ----------
    ask : float64[L, 8]
        From column 2 on: how far a step is that changes the weights by their size, and limits.
    formula
        Which metric, and its numbers.
    parts
        See :func:`add_parts`.
    bests : float64[L, P, 5 + K]
        Filled with the best interval of a part: its number (−1 if there is none), gain, width,
        ends, and the statistics on it.
    """
    p, line, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    part = cuda.shared.array(PART, float64)
    second = cuda.shared.array(PART, float64)
    index = cuda.shared.array(PART, int32)
    base = cuda.shared.array(MOST_STATS, float64)
    now = cuda.local.array(MOST_STATS, float64)
    size, many = min(count[line], at.shape[1]), stats.shape[1]
    if p > 0 and p * PART >= size:
        if here == 0:
            bests[line, p, 0] = -1.0
        return

    # What the part begins with: the sum at γ = −∞ and all changes before it.
    for k in range(here, many, PART):
        total = 0.0
        for q in range(min(parts.shape[1], (first.shape[1] + PART - 1) // PART)):
            total += parts[line, q, k]
        for q in range(p):
            total += parts[line, q, many + k]
        base[k] = total
    # And each thread: the changes up to its own breakpoint.
    t = p * PART + here
    before, after = 0, 0
    if t < size:
        before, after = left[line, t], right[line, t]
    for k in range(many):
        cuda.syncthreads()
        change = 0.0
        if t < size:
            change = float64(stats[after, k]) - float64(stats[before, k])
        part[here] = change
        cuda.syncthreads()
        gap = 1
        while gap < PART:
            more = part[here - gap] if here >= gap else 0.0
            cuda.syncthreads()
            part[here] += more
            cuda.syncthreads()
            gap *= 2
        now[k] = base[k] + part[here]
    cuda.syncthreads()

    # Interval j follows breakpoint j − 1. The first thread of all has the one before them too.
    reach, least, greatest = ask[line, 2], ask[line, 3], ask[line, 4]
    best, gain, widest, best_low, best_high = -1, 0.0, 0.0, 0.0, 0.0
    if t == 0:
        low, high = -reach, reach
        if size > 0:
            high = at[line, 0]
            low = high - max(reach, abs(high))
        low, high = max(low, least), min(high, greatest)
        if counts(low, high, FARTHEST * reach):
            best, gain, widest = 0, gain_of(base, formula), high - low
            best_low, best_high = low, high
    if t < size:
        low = at[line, t]
        high = low + max(reach, abs(low))
        if t + 1 < size:
            high = at[line, t + 1]
        low, high = max(low, least), min(high, greatest)
        if counts(low, high, FARTHEST * reach):
            value = gain_of(now, formula)
            if best < 0 or value > gain or (value == gain and high - low > widest):
                best, gain, widest, best_low, best_high = t + 1, value, high - low, low, high
    part[here], second[here], index[here] = gain, widest, best
    reduce_first(part, second, index, here, PART)
    if here == 0:
        bests[line, p, 0] = index[0]
    if best >= 0 and best == index[0]:
        bests[line, p, 1], bests[line, p, 2] = gain, widest
        bests[line, p, 3], bests[line, p, 4] = best_low, best_high
        for k in range(many):
            bests[line, p, 5 + k] = base[k] if best == 0 else now[k]


@device_kernel
def pick_best(count: Any, room: int, ask: Any, bests: Any, reply: Any, moves: Any) -> None:
    """Pick the best interval of each line among those of its parts; a block has a line.

    Parameters
    ----------
    ask : float64[L, 8]
        From column 5 on: where to put the point in the middle of the interval (−1: nowhere), the
        row of the step that leads there, and what the step is times.
    reply : float64[L, 4 + ...]
        Filled with the number of breakpoints, the best interval (−1 if there is none), its ends,
        and the statistics on it.
    moves : float64[L, 4]
        Filled with the steps there, for ``points.shift``.
    """
    line, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(PART, float64)
    second = cuda.shared.array(PART, float64)
    index = cuda.shared.array(PART, int32)
    best, gain, widest, mine = -1, 0.0, 0.0, 0
    size = min(count[line], room)
    for p in range(here, max((size + PART - 1) // PART, 1), PART):
        number = int(bests[line, p, 0])
        if number >= 0:
            value, width = bests[line, p, 1], bests[line, p, 2]
            if best < 0 or value > gain or (value == gain and width > widest):
                best, gain, widest, mine = number, value, width, p
    part[here], second[here], index[here] = gain, widest, best
    reduce_first(part, second, index, here, PART)
    chosen = index[0]
    if here == 0:
        reply[line, 0], reply[line, 1] = count[line], chosen
        moves[line, 0], moves[line, 1] = ask[line, 0], NO_MOVE
        moves[line, 2], moves[line, 3] = 0.0, ask[line, 5]
    cuda.syncthreads()
    if best >= 0 and best == chosen:
        low, high = bests[line, mine, 3], bests[line, mine, 4]
        reply[line, 2], reply[line, 3] = low, high
        for k in range(bests.shape[2] - 5):
            reply[line, 4 + k] = bests[line, mine, 5 + k]
        if ask[line, 5] >= 0.0:
            moves[line, 1] = ask[line, 6]
            moves[line, 2] = times(times(0.5, low + high), ask[line, 7])


@device_kernel
def follow(
    stats: Any, first: Any, count: Any, left: Any, right: Any, base: Any, change: Any
) -> None:
    """Return the sum at γ = −∞ [L, K] and the change at each breakpoint [L, room, K]."""
    line, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(LINE_THREADS, float64)
    for k in range(stats.shape[1]):
        total = total_of(stats, first[line], k, part, here)
        if here == 0:
            base[line, k] = total
    for t in range(here, min(count[line], left.shape[1]), LINE_THREADS):
        for k in range(stats.shape[1]):
            change[line, t, k] = stats[right[line, t], k] - stats[left[line, t], k]
