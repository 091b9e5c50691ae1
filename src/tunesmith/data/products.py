"""Products of the feature matrix with weights and with coefficients, on all cores.

Which elements a thread computes depends on the number of threads; the order in which the terms
of one element are added does not, nor does it depend on the size of the batch. So the same
vector gets the same bits everywhere.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Number
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import first_not_below
from tunesmith.parallel.local import map_pieces, pieces_of, thread_count

#: Candidates whose running sums stay in the first-level cache.
BLOCK = 1024
#: The number of running sums of one product over candidates: candidate i is added to sum i % LANES.
LANES = 256
#: Rows of a batch of products whose running sums stay in the second-level cache, and how many
#: candidates of a row are summed before the next row, so that coefficients stay there too.
ROWS, STRETCH = 16, 4096
#: Multiplications that are done before another thread has even started.
SMALL = 1 << 16


def scores_of(dense: Floats, sparse: csc_array, weights: Floats) -> Floats:
    """Return ``weights @ matrix`` [B, N] for weights [B, D]; added in the order of features."""
    batch, split = len(weights), len(dense)
    scores = np.zeros((batch, dense.shape[1]))
    if split:
        dense_weights = np.ascontiguousarray(weights[:, :split])
        map_pieces(
            lambda part: add_rows(dense, dense_weights, scores, part.start, part.stop),
            _pieces(dense.shape[1], batch * split),
        )
    if sparse.nnz:
        # Each part searches all columns for its candidates: no more parts than needed.
        parts = [slice(0, dense.shape[1])]
        if batch < thread_count() and sparse.nnz > SMALL:
            parts = pieces_of(dense.shape[1], per_thread=1)

        def add(piece: tuple[int, slice]) -> None:
            b, part = piece
            matrix = (sparse.data, sparse.indices, sparse.indptr)
            _add_columns(*matrix, weights[b, split:], scores[b], part.start, part.stop)

        map_pieces(add, [(b, part) for b in range(batch) for part in parts])
    return scores


def combinations_of(dense: Floats, sparse: csc_array, coefficients: Floats) -> Floats:
    """Return ``coefficients @ matrix.T`` [B, D] for coefficients [B, N]."""
    batch, split = len(coefficients), len(dense)
    sums = np.zeros((batch, split + sparse.shape[1]))
    map_pieces(
        lambda part: _sum_rows(dense, coefficients, sums, part.start, part.stop),
        _pieces(split, batch * dense.shape[1]),
    )
    if sparse.nnz:
        matrix = (sparse.data, sparse.indices, sparse.indptr)
        parts = [slice(0, sparse.shape[1])]
        if batch * sparse.nnz > SMALL:
            parts = pieces_of(sparse.shape[1], weights=np.diff(sparse.indptr))
        map_pieces(
            lambda part: _sum_columns(*matrix, coefficients, sums, split, part.start, part.stop),
            parts,
        )
    return sums


def _pieces(items: int, each: int) -> list[slice]:
    if not items:
        return []
    # Small pieces, so that a core that other processes use too delays the rest only briefly.
    return pieces_of(items, per_thread=16) if items * each > SMALL else [slice(0, items)]


@kernel
def add_rows(dense: Floats, weights: Floats, scores: Floats, begin: int, end: int) -> None:
    """Add weights [B, D] times rows [D, N] to scores [B, N], for a range of the candidates.

    Rows whose weights are all 0 are not read. Four others at a time are added one after the
    other: the same sums as with single rows, with a quarter of the memory traffic.
    """
    used = np.empty(weights.shape[1], np.int64)
    count = 0
    for d in range(weights.shape[1]):
        for b in range(weights.shape[0]):
            if weights[b, d] != 0.0:
                used[count] = d
                count += 1
                break
    fours = count - count % 4
    for lo in range(begin, end, BLOCK):
        hi = min(lo + BLOCK, end)
        for k in range(0, fours, 4):
            d0, d1, d2, d3 = used[k], used[k + 1], used[k + 2], used[k + 3]
            r0, r1, r2, r3 = dense[d0, lo:hi], dense[d1, lo:hi], dense[d2, lo:hi], dense[d3, lo:hi]
            for b in range(weights.shape[0]):
                w = weights[b]
                w0, w1, w2, w3 = w[d0], w[d1], w[d2], w[d3]
                out = scores[b, lo:hi]
                for i in range(out.shape[0]):
                    out[i] = (((out[i] + w0 * r0[i]) + w1 * r1[i]) + w2 * r2[i]) + w3 * r3[i]
        for k in range(fours, count):
            row = dense[used[k], lo:hi]
            for b in range(weights.shape[0]):
                w0, out = weights[b, used[k]], scores[b, lo:hi]
                for i in range(out.shape[0]):
                    out[i] += w0 * row[i]


@kernel
def _add_columns(
    data: Floats, rows: Ids, start: Ids, weights: Floats, scores: Floats, begin: int, end: int
) -> None:
    for d in range(weights.shape[0]):
        w = weights[d]
        if w != 0.0:
            first, last = start[d], start[d + 1]
            if begin > 0:
                first = first_not_below(rows, first, last, begin)
            if end < scores.shape[0]:
                last = first_not_below(rows, first, last, end)
            for k in range(first, last):
                scores[rows[k]] += w * data[k]


@kernel
def _sum_rows(dense: Floats, coefficients: Floats, sums: Floats, begin: int, end: int) -> None:
    batch, n = coefficients.shape
    # A single product streams whole rows: nothing is read twice, so nothing need stay cached.
    together = ROWS if batch > 1 else 1
    stretch = STRETCH if batch > 1 else n
    lanes = np.empty((together, batch, LANES))
    for first in range(begin, end, together):
        last = min(first + together, end)
        lanes[:] = 0.0
        for lo in range(0, n, stretch):
            hi = min(lo + stretch, n)
            for d in range(first, last):
                for b in range(batch):
                    _add_products(dense[d, lo:hi], coefficients[b, lo:hi], lanes[d - first, b])
        for d in range(first, last):
            for b in range(batch):
                sums[b, d] = _fold(lanes[d - first, b])


@kernel
def _add_products(row: Floats, factors: Floats, lanes: Floats) -> None:
    for lo in range(0, row.shape[0], LANES):
        x, y = row[lo : lo + LANES], factors[lo : lo + LANES]
        for i in range(x.shape[0]):
            lanes[i] += x[i] * y[i]


@kernel
def _fold(lanes: Floats) -> Number:
    """Add up the running sums pairwise, for accuracy; they are overwritten."""
    half = lanes.shape[0] // 2
    while half > 0:
        for i in range(half):
            lanes[i] += lanes[half + i]
        half //= 2
    return lanes[0]


@kernel
def _sum_columns(
    data: Floats,
    rows: Ids,
    start: Ids,
    coefficients: Floats,
    sums: Floats,
    split: int,
    begin: int,
    end: int,
) -> None:
    for b in range(coefficients.shape[0]):
        factors = coefficients[b]
        for d in range(begin, end):
            total = 0.0
            for k in range(start[d], start[d + 1]):
                total += data[k] * factors[rows[k]]
            sums[b, split + d] = total
