"""Products of the feature matrix with weights and with coefficients, on all cores.

What one thread computes depends on the number of threads; the order in which the terms of
one element of a result are added does not, and neither does it depend on how many vectors
come at once. So the same vector gets the same bits everywhere.
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
#: Running sums of one product over candidates: candidate i goes to sum i modulo so many.
LANES = 256
#: Rows of a batch of products whose running sums stay in the second-level cache, and the
#: candidates of each before the next row has its turn, so that coefficients stay there too.
ROWS, STRETCH = 16, 4096
#: So many multiplications are done before another thread has begun.
SMALL = 1 << 16


def scores_of(dense: Floats, sparse: csc_array, weights: Floats) -> Floats:
    """Return ``weights @ matrix`` [B, N] for weights [B, D]; added in the order of features."""
    batch, split = len(weights), len(dense)
    scores = np.zeros((batch, dense.shape[1]))
    if split:
        ours = np.ascontiguousarray(weights[:, :split])
        map_pieces(
            lambda part: add_rows(dense, ours, scores, part.start, part.stop),
            _pieces(dense.shape[1], batch * split),
        )
    if sparse.nnz:
        # A column is searched for its part of the candidates: not more parts than needed.
        parts = [slice(0, dense.shape[1])]
        if batch < thread_count() and sparse.nnz > SMALL:
            parts = pieces_of(dense.shape[1], per_thread=1)

        def add(piece: tuple[int, slice]) -> None:
            b, part = piece
            held = (sparse.data, sparse.indices, sparse.indptr)
            _add_columns(*held, weights[b, split:], scores[b], part.start, part.stop)

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
        held = (sparse.data, sparse.indices, sparse.indptr)
        parts = [slice(0, sparse.shape[1])]
        if batch * sparse.nnz > SMALL:
            parts = pieces_of(sparse.shape[1], weights=np.diff(sparse.indptr))
        map_pieces(
            lambda part: _sum_columns(*held, coefficients, sums, split, part.start, part.stop),
            parts,
        )
    return sums


def _pieces(items: int, each: int) -> list[slice]:
    if not items:
        return []
    # Small pieces: a core that others use too keeps nobody waiting for long.
    return pieces_of(items, per_thread=16) if items * each > SMALL else [slice(0, items)]


@kernel
def add_rows(dense: Floats, weights: Floats, scores: Floats, begin: int, end: int) -> None:
    """Add weights [B, D] times rows [D, N] to scores [B, N], for some of the candidates.

    Rows that no vector weighs are not read. Four others at a time are added one after the
    other: the same sums as of single rows, with a quarter of the traffic to the scores.
    """
    some = np.empty(weights.shape[1], np.int64)
    count = 0
    for d in range(weights.shape[1]):
        for v in range(weights.shape[0]):
            if weights[v, d] != 0.0:
                some[count] = d
                count += 1
                break
    fours = count - count % 4
    for lo in range(begin, end, BLOCK):
        hi = min(lo + BLOCK, end)
        for k in range(0, fours, 4):
            d0, d1, d2, d3 = some[k], some[k + 1], some[k + 2], some[k + 3]
            r0, r1, r2, r3 = dense[d0, lo:hi], dense[d1, lo:hi], dense[d2, lo:hi], dense[d3, lo:hi]
            for b in range(weights.shape[0]):
                w = weights[b]
                w0, w1, w2, w3 = w[d0], w[d1], w[d2], w[d3]
                out = scores[b, lo:hi]
                for i in range(out.shape[0]):
                    out[i] = (((out[i] + w0 * r0[i]) + w1 * r1[i]) + w2 * r2[i]) + w3 * r3[i]
        for k in range(fours, count):
            row = dense[some[k], lo:hi]
            for b in range(weights.shape[0]):
                w0, out = weights[b, some[k]], scores[b, lo:hi]
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
    # A single product streams whole rows, which is quicker where nothing needs to stay.
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
                sums[b, d] = _folded(lanes[d - first, b])


@kernel
def _add_products(row: Floats, factors: Floats, lanes: Floats) -> None:
    for lo in range(0, row.shape[0], LANES):
        x, y = row[lo : lo + LANES], factors[lo : lo + LANES]
        for i in range(x.shape[0]):
            lanes[i] += x[i] * y[i]


@kernel
def _folded(lanes: Floats) -> Number:
    """Add up the running sums, in halves for accuracy; they are lost."""
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
        held = coefficients[b]
        for d in range(begin, end):
            total = 0.0
            for k in range(start[d], start[d + 1]):
                total += data[k] * held[rows[k]]
            sums[b, split + d] = total
