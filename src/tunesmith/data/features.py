"""Feature values of candidates: a dense block and a sparse one behind one interface."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.errors import TunesmithError
from tunesmith.kernels import kernel

#: Candidates whose running sums stay in the first-level cache.
BLOCK = 1024


@dataclass(frozen=True)
class Features:
    """Values of D features for N candidates, feature-major.

    Attributes
    ----------
    dense_names, sparse_names
        A feature's index counts through the dense names first.
    dense : float64[D_dense, N]
        One contiguous row a feature.
    sparse : csc_array[N, D_sparse]
        One compressed column a feature; no stored zeros, rows ascending.
    """

    dense_names: tuple[str, ...]
    dense: Floats
    sparse_names: tuple[str, ...]
    sparse: csc_array

    def __post_init__(self) -> None:
        # Kernels run along rows; a transposed block would give the same results slowly.
        object.__setattr__(self, "dense", np.ascontiguousarray(self.dense, np.float64))
        if self.dense.shape[0] != len(self.dense_names):
            raise TunesmithError("the dense block needs one row per name; check its shape")
        if self.sparse.shape != (self.dense.shape[1], len(self.sparse_names)):
            raise TunesmithError("the sparse block needs one column per name; check its shape")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, dense before sparse."""
        return self.dense_names + self.sparse_names

    @property
    def candidates(self) -> int:
        """The number N of candidates."""
        return int(self.dense.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all values and their indices."""
        sparse = self.sparse
        return int(
            self.dense.nbytes + sparse.data.nbytes + sparse.indices.nbytes + sparse.indptr.nbytes
        )

    def column(self, index: int) -> tuple[Ints, Floats]:
        """Return the candidates on which a sparse feature fires, and its values there."""
        j = index - len(self.dense_names)
        lo, hi = self.sparse.indptr[j], self.sparse.indptr[j + 1]
        return self.sparse.indices[lo:hi].astype(np.int64), self.sparse.data[lo:hi]

    def dot(self, weights: Floats) -> Floats:
        """Return w·h for every candidate, added up in the order of the features.

        One thread and a fixed order, so that equal feature vectors get equal
        bits and a result does not depend on the machine's load.
        """
        scores = np.zeros(self.candidates)
        split = len(self.dense_names)
        _add_dense(self.dense, weights[:split], scores)
        sparse = self.sparse
        _add_sparse(sparse.data, sparse.indices, sparse.indptr, weights[split:], scores)
        with np.errstate(over="ignore", invalid="ignore"):
            overflow = not np.isfinite(scores.sum()) and not np.isfinite(scores).all()
        if overflow:
            raise TunesmithError("model scores are too large to compare; scale the features down")
        return scores

    def add(self, scores: Floats, index: int, step: float) -> None:
        """Add ``step`` times one feature to the scores in place (footnote 6 of the paper)."""
        if index < len(self.dense_names):
            _add_dense(self.dense[index : index + 1], np.array([step]), scores)
        else:
            rows, values = self.column(index)
            scores[rows] += step * values


@kernel
def _add_dense(dense: Floats, weights: Floats, scores: Floats) -> None:
    n = scores.shape[0]
    for lo in range(0, n, BLOCK):
        out = scores[lo : min(lo + BLOCK, n)]
        for d in range(weights.shape[0]):
            w = weights[d]
            if w != 0.0:
                row = dense[d, lo : min(lo + BLOCK, n)]
                for i in range(out.shape[0]):
                    out[i] += w * row[i]


@kernel
def _add_sparse(data: Floats, rows: Ids, start: Ids, weights: Floats, scores: Floats) -> None:
    for d in range(weights.shape[0]):
        w = weights[d]
        if w != 0.0:
            for k in range(start[d], start[d + 1]):
                scores[rows[k]] += w * data[k]
