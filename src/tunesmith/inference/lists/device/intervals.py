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
    device_kernel,
    on_device,
    reduce_first,
)
from tunesmith.inference.lists.device.points import total_of
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
def best_intervals(
    stats: Any,
    first: Any,
    count: Any,
    at: Any,
    left: Any,
    right: Any,
    ask: Any,
    formula: Any,
    reply: Any,
) -> None:
    """Follow the statistics along lines, whose breakpoints are sorted; a block has a line.

    Parameters
    ----------
    ask : float64[L, 5]
        From column 2 on: how far a step is that changes the weights by their size, and limits.
    formula
        Which metric, and its numbers.
    reply : float64[L, 4 + K]
        Filled with the number of breakpoints, the best interval (−1 if there is none), its ends,
        and the statistics on it.
    """
    line, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(LINE_THREADS, float64)
    second = cuda.shared.array(LINE_THREADS, float64)
    index = cuda.shared.array(LINE_THREADS, int32)
    now = cuda.local.array(MOST_STATS, float64)
    at_best = cuda.local.array(MOST_STATS, float64)
    size, many = min(count[line], at.shape[1]), stats.shape[1]
    each = (size + LINE_THREADS - 1) // LINE_THREADS
    begin, end = min(here * each, size), min((here + 1) * each, size)

    # What each thread begins with: the sum at γ = −∞ and all changes before its own.
    for k in range(many):
        total = total_of(stats, first[line], k, part, here)
        change = 0.0
        for t in range(begin, end):
            change += stats[right[line, t], k] - stats[left[line, t], k]
        part[here] = change
        cuda.syncthreads()
        gap = 1
        while gap < LINE_THREADS:
            more = part[here - gap] if here >= gap else 0.0
            cuda.syncthreads()
            part[here] += more
            cuda.syncthreads()
            gap *= 2
        now[k] = total + (part[here - 1] if here > 0 else 0.0)
        cuda.syncthreads()

    reach, least, greatest = ask[line, 2], ask[line, 3], ask[line, 4]
    best, gain, widest, best_low, best_high = -1, 0.0, 0.0, 0.0, 0.0
    # Interval j follows breakpoint j − 1; the first thread has the one before all of them too.
    for j in range(0 if here == 0 else begin + 1, end + 1):
        if j > begin:
            for k in range(many):
                now[k] += stats[right[line, j - 1], k] - stats[left[line, j - 1], k]
        low, high = -reach, reach
        if size > 0:
            if j > 0:
                low = at[line, j - 1]
            if j < size:
                high = at[line, j]
            if j == 0:
                low = high - max(reach, abs(high))
            if j == size:
                high = low + max(reach, abs(low))
        low, high = max(low, least), min(high, greatest)
        if counts(low, high, FARTHEST * reach):
            value = gain_of(now, formula)
            if best < 0 or value > gain or (value == gain and high - low > widest):
                best, gain, widest, best_low, best_high = j, value, high - low, low, high
                for k in range(many):
                    at_best[k] = now[k]
    part[here], second[here], index[here] = gain, widest, best
    reduce_first(part, second, index, here, LINE_THREADS)
    if here == 0:
        reply[line, 0], reply[line, 1] = count[line], index[0]
    if best >= 0 and best == index[0]:
        reply[line, 2], reply[line, 3] = best_low, best_high
        for k in range(many):
            reply[line, 4 + k] = at_best[k]


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
