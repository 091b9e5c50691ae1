"""The winners under given weights, found on a GPU: what reranking and evaluation ask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.inference.lists.device.batches import EACH, SHARE
from tunesmith.inference.lists.device.compiling import GROUP_THREADS, SIMULATED
from tunesmith.inference.lists.device.points import multiply, shift

#: Bytes of a candidate beside its features: its score.
BESIDE = 16
#: Candidates that the simulator takes at once.
FEW = 16


def winners(candidates: CandidateSet, weights: Floats) -> Ints:
    """Return the winner of each group: the highest w·h, the first read among equals.

    Sets that the device does not hold go there in parts, a whole number of groups each.
    """
    start, features = candidates.start, candidates.features
    sparse = features.sparse.tocsr()
    sparse.sort_indices()
    dense = np.flatnonzero(weights[: len(features.dense)])
    bytes_each = 8 * len(dense) + 12 * sparse.nnz / max(features.candidates, 1) + BESIDE
    free = FEW * bytes_each if SIMULATED else cuda.current_context().get_memory_info()[0]
    size = max(int(SHARE * free / bytes_each), 1)
    chosen = np.zeros(len(start) - 1, np.int64)
    begin = 0
    while begin < len(chosen):
        end = max(int(np.searchsorted(start, start[begin] + size, "right")) - 1, begin + 1)
        first, last = start[begin], start[end]
        part = sparse[first:last]
        chosen[begin:end] = first + _winners(
            features.dense[dense, first:last],
            (part.data, part.indices, part.indptr),
            start[begin : end + 1] - first,
            np.concatenate([weights[dense], weights[len(features.dense) :]]),
        )
        begin = end
    return chosen


def _winners(dense: Floats, sparse: tuple[Any, Any, Any], start: Ints, weights: Floats) -> Ints:
    """Return the winners of groups that the device holds."""
    used = np.arange(len(dense))
    if not len(dense):  # arrays on the device are not empty
        dense, used = np.zeros((1, int(start[-1]))), np.zeros(1, np.int64)
        weights = np.concatenate([[0.0], weights])
    data, columns, ends = sparse
    if not len(data):
        data, columns = np.zeros(1), np.zeros(1, np.int32)
    scores = cuda.device_array((1, dense.shape[1]), np.float64)
    chosen = cuda.device_array((1, len(start) - 1), np.int64)
    multiply[(-(-dense.shape[1] // EACH), 1), EACH](
        cuda.to_device(np.ascontiguousarray(dense)),
        cuda.to_device(np.concatenate([[len(used), len(weights), 0], used]).astype(np.int64)),
        cuda.to_device(np.ascontiguousarray(weights)),
        scores,
        cuda.to_device(np.ascontiguousarray(data, np.float64)),
        cuda.to_device(np.ascontiguousarray(columns, np.int32)),
        cuda.to_device(np.ascontiguousarray(ends, np.int64)),
    )
    as_they_are = np.array([[0.0, -1.0, 0.0, 0.0]])
    shift[(len(start) - 1, 1), GROUP_THREADS](
        scores, scores, cuda.to_device(start), cuda.to_device(as_they_are), chosen
    )
    rows: Ints = chosen[0].copy_to_host()
    return rows
