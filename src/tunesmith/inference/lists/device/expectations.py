"""What distributions over the candidates expect, gradients, and covariances of features.

See ``inference/lists/expectation.py``, whose sums are in another order: numbers differ from the
processor's by rounding, and are the same run after run.
"""

from __future__ import annotations

import math
from typing import Any

from numba import cuda, float64, int32

from tunesmith.inference.lists.device.compiling import (
    INFINITY,
    LINE_THREADS,
    SPAN,
    SUM_THREADS,
    device_kernel,
    reduce_first,
)
from tunesmith.inference.lists.device.points import sum_of


@device_kernel
def distribute(
    scores: Any, start: Any, stats: Any, request: Any, least: float, expected: Any
) -> None:
    """Fill a row of scores with probabilities, by a block for each group.

    Parameters
    ----------
    request : float64[4]
        The row of the model scores, the one to fill, and the factor of scores.
    least
        Candidates with more probability are counted.
    expected : float64[S, K + 2]
        Filled with expected statistics, how many candidates count, and 1 where none does.
    """
    g, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(SUM_THREADS, float64)
    index = cuda.shared.array(SUM_THREADS, int32)
    lo, hi = start[g], start[g + 1]
    score, chance, sharpness = scores[int(request[0])], scores[int(request[1])], request[2]
    top = -INFINITY
    for i in range(lo + here, hi, SUM_THREADS):
        top = max(top, score[i])
    part[here], index[here] = top, here
    reduce_first(part, part, index, here, SUM_THREADS)
    top = part[0]
    cuda.syncthreads()
    total = 0.0
    for i in range(lo + here, hi, SUM_THREADS):
        weight = math.exp(sharpness * (score[i] - top))
        chance[i] = weight
        total += weight
    total = sum_of(part, total, here)
    count = 0.0
    for i in range(lo + here, hi, SUM_THREADS):
        chance[i] /= total
        if chance[i] > least:
            count += 1.0
    count = sum_of(part, count, here)
    many = stats.shape[1]
    for k in range(many):
        total = 0.0
        for i in range(lo + here, hi, SUM_THREADS):
            total += chance[i] * stats[i, k]
        total = sum_of(part, total, here)
        if here == 0:
            expected[g, k] = total
    if here == 0:
        expected[g, many] = count
        expected[g, many + 1] = 1.0 if count == 0.0 else 0.0


@device_kernel
def linearise(scores: Any, stats: Any, request: Any, slope: Any) -> None:
    """Fill row ``request[1]`` with gains of statistics, linear in the metric's slope [K]."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < scores.shape[1]:
        gain = 0.0
        for k in range(stats.shape[1]):
            gain += slope[k] * stats[i, k]
        scores[int(request[1]), i] = gain


@device_kernel
def deviate(scores: Any, start: Any, request: Any, expected: Any) -> None:
    """Turn values v_i into f P_i (v_i − E[v]), by a block for each group.

    Parameters
    ----------
    request : float64[4]
        The row of the probabilities, that of the values, the factor f, and what a probability must
        exceed to count; the others are 0, and those that count are normalised again. A negative
        number leaves them as they are.
    expected : float64[S, ...]
        The first column is filled with variances, without the factor.
    """
    g, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(SUM_THREADS, float64)
    index = cuda.shared.array(SUM_THREADS, int32)
    lo, hi = start[g], start[g + 1]
    chance, value, factor, least = (
        scores[int(request[0])],
        scores[int(request[1])],
        request[2],
        request[3],
    )
    best, highest = -1, 0.0
    total = 0.0
    for i in range(lo + here, hi, SUM_THREADS):
        if best < 0 or chance[i] > highest:
            best, highest = i, chance[i]
        if chance[i] > least:
            total += chance[i]
    whole = sum_of(part, total, here) if least >= 0.0 else 1.0
    part[here], index[here] = highest, best
    reduce_first(part, part, index, here, SUM_THREADS)
    origin = value[index[0]]
    cuda.syncthreads()
    mean = 0.0
    for i in range(lo + here, hi, SUM_THREADS):
        if chance[i] > least:
            mean += chance[i] / whole * (value[i] - origin)
    mean = sum_of(part, mean, here)
    total = 0.0
    for i in range(lo + here, hi, SUM_THREADS):
        out = 0.0
        if chance[i] > least:
            away = value[i] - origin - mean
            out = chance[i] / whole * away
            total += out * away
        value[i] = factor * out
    total = sum_of(part, total, here)
    if here == 0:
        expected[g, 0] = total


@device_kernel
def squares_within(scores: Any, start: Any, request: Any, expected: Any) -> None:
    """Fill the first column with sums of squared distances from the groups' means."""
    g, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(SUM_THREADS, float64)
    lo, hi = start[g], start[g + 1]
    score = scores[int(request[0])]
    first = score[lo]
    away, square = 0.0, 0.0
    for i in range(lo + here, hi, SUM_THREADS):
        distance = score[i] - first
        away += distance
        square += distance * distance
    away = sum_of(part, away, here)
    square = sum_of(part, square, here)
    if here == 0:
        expected[g, 0] = max(square - away * away / (hi - lo), 0.0)


@device_kernel
def add_columns(expected: Any, sums: Any) -> None:
    """Add up columns [S, ...]; a block has a column."""
    k, here = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(LINE_THREADS, float64)
    total = 0.0
    for g in range(here, expected.shape[0], LINE_THREADS):
        total += expected[g, k]
    total = sum_of(part, total, here)
    if here == 0:
        sums[k] = total


@device_kernel
def combine(rows: Any, scores: Any, request: Any, pieces: Any) -> None:
    """Multiply each dense feature with row ``request[1]``; a block has a feature and a piece.

    ``pieces`` [D, P] are filled with the sums over ``SPAN`` candidates.
    """
    d, p, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    part = cuda.shared.array(SUM_THREADS, float64)
    row, coefficient = rows[d], scores[int(request[1])]
    total = 0.0
    for i in range(p * SPAN + here, min((p + 1) * SPAN, scores.shape[1]), SUM_THREADS):
        total += row[i] * coefficient[i]
    total = sum_of(part, total, here)
    if here == 0:
        pieces[d, p] = total


@device_kernel
def add_pieces(pieces: Any, result: Any) -> None:
    """Add up the pieces of each dense feature."""
    d = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if d < pieces.shape[0]:
        total = 0.0
        for p in range(pieces.shape[1]):
            total += pieces[d, p]
        result[d] = total


@device_kernel
def combine_sparse(
    values: Any, candidates: Any, ends: Any, scores: Any, request: Any, begin: int, result: Any
) -> None:
    """Multiply each sparse feature, a compressed column, with row ``request[1]``."""
    d = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if d + 1 < ends.shape[0]:
        coefficient = scores[int(request[1])]
        total = 0.0
        for k in range(ends[d], ends[d + 1]):
            total += values[k] * coefficient[candidates[k]]
        result[begin + d] = total
