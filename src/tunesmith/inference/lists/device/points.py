"""Model scores and winners at points, and products with the features."""

from __future__ import annotations

from typing import Any

from numba import cuda, float64, int32

from tunesmith.inference.lists.device.compiling import (
    GROUP_THREADS,
    INFINITY,
    LINE_THREADS,
    device_kernel,
    on_device,
    reduce_first,
    times,
)


@device_kernel
def multiply(
    rows: Any, used: Any, weights: Any, into: Any, places: Any, values: Any, columns: Any, ends: Any
) -> None:
    """Fill rows of ``into`` with w·h of all candidates, added in the order of the features.

    Parameters
    ----------
    rows : float64[R, N]
        Of which ``used`` [U] are the dense features with weights.
    weights : float64[B, U + sparse features]
        For the used dense features, then for all sparse ones.
    into, places
        The array [P, N] and which of its rows [B] are filled.
    values, columns, ends
        The sparse block by candidates: compressed rows.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    b = cuda.blockIdx.y
    if i >= into.shape[1]:
        return
    total = 0.0
    many = used.shape[0]
    for k in range(many):
        total = total + times(weights[b, k], rows[used[k], i])
    if weights.shape[1] > many:
        for k in range(ends[i], ends[i + 1]):
            w = weights[b, many + columns[k]]
            if w != 0.0:
                total = total + times(w, values[k])
    into[places[b], i] = total


@device_kernel
def shift(scores: Any, rows: Any, start: Any, ask: Any, winners: Any) -> None:
    """Add a step along a direction to scores, and find who wins; a block has a group of a step.

    Parameters
    ----------
    ask : float64[B, 4]
        The point from, the row of slopes, the step, the point to. With a negative row the scores
        are there already.
    """
    g, b, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    key = cuda.shared.array(GROUP_THREADS, float64)
    second = cuda.shared.array(GROUP_THREADS, float64)
    index = cuda.shared.array(GROUP_THREADS, int32)
    row, step = int(ask[b, 1]), ask[b, 2]
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
def total_of(stats: Any, chosen: Any, k: int, part: Any, here: int) -> float:
    """Add up a statistic of some candidates; in an order that is always the same."""
    total = 0.0
    for g in range(here, chosen.shape[0], LINE_THREADS):
        total += stats[chosen[g], k]
    part[here] = total
    cuda.syncthreads()
    half = LINE_THREADS // 2
    while half > 0:
        if here < half:
            part[here] += part[here + half]
        cuda.syncthreads()
        half //= 2
    whole: float = part[0]
    cuda.syncthreads()
    return whole


@device_kernel
def add_up(stats: Any, winners: Any, ask: Any, totals: Any) -> None:
    """Add up the winners' statistics at points ``ask[:, 3]``; a block has a point."""
    b, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(LINE_THREADS, float64)
    chosen = winners[int(ask[b, 3])]
    for k in range(stats.shape[1]):
        total = total_of(stats, chosen, k, part, here)
        if here == 0:
            totals[b, k] = total


@device_kernel
def rescale(scores: Any, winners: Any, before: int, after: int, factor: float) -> None:
    """Copy a point with all scores times a power of two, which changes no winner."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < scores.shape[1]:
        scores[after, i] = factor * scores[before, i]
    if i < winners.shape[1]:
        winners[after, i] = winners[before, i]
