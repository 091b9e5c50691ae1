"""Model scores and winners at points, and products with the features."""

from __future__ import annotations

from typing import Any

from numba import cuda, float64, int32

from tunesmith.inference.lists.device.compiling import (
    GROUP_THREADS,
    INFINITY,
    LINE_THREADS,
    NO_MOVE,
    device_kernel,
    on_device,
    reduce_first,
    times,
)


@device_kernel
def multiply(
    rows: Any, numbers: Any, weights: Any, into: Any, values: Any, columns: Any, ends: Any
) -> None:
    """Fill rows of ``into`` with w·h of all candidates, added in the order of the features.

    Parameters
    ----------
    rows : float64[R, N]
        Slopes along dense features, and others.
    numbers : int64[...]
        How many dense features have weights (U), how many weights there are of a point (for the U
        features, then for all sparse ones), which rows of ``into`` [B] are filled; and from B + 2
        on the U features.
    weights : float64[...]
        The weights of all points, one after the other.
    into
        The array [P, N].
    values, columns, ends
        The sparse block by candidates: compressed rows.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    b = cuda.blockIdx.y
    if i >= into.shape[1]:
        return
    total = 0.0
    many, width = numbers[0], numbers[1]
    first = b * width
    used = 2 + cuda.gridDim.y
    for k in range(many):
        total = total + times(weights[first + k], rows[numbers[used + k], i])
    if width > many:
        for k in range(ends[i], ends[i + 1]):
            w = weights[first + many + columns[k]]
            if w != 0.0:
                total = total + times(w, values[k])
    into[numbers[2 + b], i] = total


@device_kernel
def shift(scores: Any, rows: Any, start: Any, ask: Any, winners: Any) -> None:
    """Add a step along a direction to scores, and find who wins; a block has a group of a step.

    Parameters
    ----------
    ask : float64[B, 4]
        The point from, the row of slopes, the step, the point to. Instead of a row, ``AS_IT_IS``
        says that the scores are there already, and ``NO_MOVE`` that there is nothing to do.
    """
    g, b, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    key = cuda.shared.array(GROUP_THREADS, float64)
    second = cuda.shared.array(GROUP_THREADS, float64)
    index = cuda.shared.array(GROUP_THREADS, int32)
    row, step = int(ask[b, 1]), ask[b, 2]
    if row == int(NO_MOVE):
        return
    before, after = int(ask[b, 0]), int(ask[b, 3])
    best, highest = -1, -INFINITY
    for i in range(start[g] + here, start[g + 1], GROUP_THREADS):
        score = scores[before, i]
        if row >= 0:
            score = score + times(step, rows[row, i])
            scores[after, i] = score
        if best < 0 or score > highest:
            best, highest = i, score
    key[here], second[here], index[here] = highest, 0.0, best
    reduce_first(key, second, index, here, GROUP_THREADS)
    if here == 0:
        winners[after, g] = index[0]


@on_device
def sum_of(part: Any, number: float, here: int) -> float:
    """Add up one number of each thread of ``part``; in an order that is always the same."""
    part[here] = number
    cuda.syncthreads()
    half = part.shape[0] // 2
    while half > 0:
        if here < half:
            part[here] += part[here + half]
        cuda.syncthreads()
        half //= 2
    whole: float = part[0]
    cuda.syncthreads()
    return whole


@on_device
def total_of(stats: Any, chosen: Any, k: int, part: Any, here: int) -> float:
    """Add up a statistic of some candidates; in an order that is always the same."""
    total = 0.0
    for g in range(here, chosen.shape[0], LINE_THREADS):
        total += stats[chosen[g], k]
    return sum_of(part, total, here)  # type: ignore[no-any-return]


@device_kernel
def add_up(stats: Any, winners: Any, ask: Any, totals: Any, begin: int) -> None:
    """Add up the winners' statistics at points ``ask[:, 3]``, for each; a block has a statistic.

    The sums go to ``totals[:, begin:]``. Where nothing moved nothing is done.
    """
    k, b, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    part = cuda.shared.array(LINE_THREADS, float64)
    if int(ask[b, 1]) == int(NO_MOVE):
        return
    total = total_of(stats, winners[int(ask[b, 3])], k, part, here)
    if here == 0:
        totals[b, begin + k] = total


@device_kernel
def rescale(scores: Any, winners: Any, ask: Any) -> None:
    """Copy a point with all scores times a power of two, which changes no winner.

    ``ask`` [B, 4] has the point, nothing, the factor, and the point to.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    b = cuda.blockIdx.y
    before, factor, after = int(ask[b, 0]), ask[b, 2], int(ask[b, 3])
    if i < scores.shape[1]:
        scores[after, i] = factor * scores[before, i]
    if i < winners.shape[1]:
        winners[after, i] = winners[before, i]
