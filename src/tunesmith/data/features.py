"""Feature values of candidates: a dense block and a sparse one behind one interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.memory import own_pages
from tunesmith.data.products import add_rows, combinations_of, scores_of
from tunesmith.errors import TunesmithError, UsageError, nearest
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces


@dataclass(frozen=True)
class Gap:
    """That a feature is not given for all candidates; it is 0 for the others.

    Attributes
    ----------
    count
        How many candidates lack it; None where that is not known.
    place
        Where the first of them is: a file and a line.
    """

    count: int | None
    place: str


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
    gaps
        The dense features that some candidates lack, and sparse ones where a place is known.
    """

    dense_names: tuple[str, ...]
    dense: Floats
    sparse_names: tuple[str, ...]
    sparse: csc_array
    gaps: Mapping[str, Gap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Kernels run along rows; a transposed block would give the same results slowly.
        vars(self)["dense"] = np.ascontiguousarray(self.dense, np.float64)
        if self.dense.shape[0] != len(self.dense_names):
            raise TunesmithError("the dense block needs one row per name; check its shape")
        if self.sparse.shape != (self.dense.shape[1], len(self.sparse_names)):
            raise TunesmithError("the sparse block needs one column per name; check its shape")
        if not self.sparse.has_canonical_format:
            vars(self)["sparse"] = self.sparse.copy()
            self.sparse.sum_duplicates()

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

    def only(self, names: Collection[str]) -> Features:
        """Return some of the features, in the order in which they are."""
        wanted = set(names)
        rows = [d for d, name in enumerate(self.dense_names) if name in wanted]
        columns = [d for d, name in enumerate(self.sparse_names) if name in wanted]
        if len(rows) + len(columns) == len(self.names):
            return self
        return Features(
            tuple(self.dense_names[d] for d in rows),
            _rows(self.dense, rows),
            tuple(self.sparse_names[d] for d in columns),
            csc_array(self.sparse[:, columns]),
            {name: gap for name, gap in self.gaps.items() if name in wanted},
        )

    def of(self, rows: Ints) -> Features:
        """Return the features of some candidates, in the order given."""
        dense = np.empty((len(self.dense), len(rows)))
        map_pieces(lambda d: _gather(self.dense[d], rows, dense[d]), list(range(len(dense))))
        # Rows of a block stored by columns are found slowly, even if there are no columns.
        none = csc_array((len(rows), 0))
        sparse = csc_array(self.sparse[rows]) if self.sparse_names else none
        return Features(self.dense_names, dense, self.sparse_names, sparse)

    def column(self, index: int) -> tuple[Ids, Floats]:
        """Return the candidates on which a sparse feature fires, and its values there."""
        j = index - len(self.dense_names)
        lo, hi = self.sparse.indptr[j], self.sparse.indptr[j + 1]
        return self.sparse.indices[lo:hi], self.sparse.data[lo:hi]

    def dot(self, weights: Floats) -> Floats:
        """Return w·h for every candidate, added up in the order of the features.

        Weights [D] give scores [N], several of them [B, D] give [B, N] with the same bits.
        The order is fixed, so that equal feature vectors get equal bits and a result does
        not depend on the number of threads.
        """
        several = self._several(weights, len(self.names), "weight a feature")
        scores = scores_of(self.dense, self.sparse, several)
        with np.errstate(over="ignore", invalid="ignore"):
            overflow = not np.isfinite(scores.sum()) and not np.isfinite(scores).all()
        if overflow:
            raise TunesmithError("model scores are too large to compare; scale the features down")
        return scores.reshape(*weights.shape[:-1], self.candidates)

    def combine(self, coefficients: Floats) -> Floats:
        """Return the sum of all feature vectors, each times the coefficient of its candidate.

        Coefficients [N] give a vector [D], several of them [B, N] give [B, D] with the same
        bits, for any number of threads.
        """
        several = self._several(coefficients, self.candidates, "coefficient a candidate")
        sums = combinations_of(self.dense, self.sparse, several)
        return sums.reshape(*coefficients.shape[:-1], len(self.names))

    @staticmethod
    def _several(given: Floats, size: int, one: str) -> Floats:
        if given.ndim not in (1, 2) or given.shape[-1] != size:
            raise TunesmithError(
                f"an array of {'x'.join(map(str, given.shape))} numbers needs one {one}: {size}; "
                "check its shape"
            )
        return np.ascontiguousarray(np.atleast_2d(given), np.float64)

    def add(self, scores: Floats, index: int, step: float) -> None:
        """Add ``step`` times one feature to the scores in place (footnote 6 of the paper)."""
        if index < len(self.dense_names):
            row = self.dense[index : index + 1]
            add_rows(row, np.array([[step]]), scores[None], 0, len(scores))
        else:
            rows, values = self.column(index)
            scores[rows] += step * values


@dataclass(frozen=True)
class FeatureSelection:
    """Which features take part, by patterns as of file names: ``LM*``, ``TM0_?``.

    Attributes
    ----------
    keep
        Patterns of which a name must match one; without any, all names do.
    drop
        Patterns of which it must match none.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @classmethod
    def of(cls, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> FeatureSelection:
        """Take one pattern or several."""
        one_or_more = [(p,) if isinstance(p, str) else tuple(p) for p in (keep, drop)]
        return cls(*one_or_more)

    def __bool__(self) -> bool:
        return bool(self.keep or self.drop)

    def kept(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names that take part."""
        return tuple(
            name
            for name in names
            if (not self.keep or any(_matches(name, pattern) for pattern in self.keep))
            and not any(_matches(name, pattern) for pattern in self.drop)
        )

    def check(self, names: Sequence[str], keep: str = "keep") -> None:
        """Raise an error if a pattern matches no name, or if no name is left.

        The message calls the patterns to keep what ``keep`` says.
        """
        for option, patterns in ((keep, self.keep), ("drop", self.drop)):
            for pattern in patterns:
                if not any(_matches(name, pattern) for name in names):
                    shown = " or ".join(nearest(pattern.strip("*?"), names, alike=0.4))
                    raise UsageError(
                        f"{option} '{pattern}' matches no feature; did you mean {shown}?"
                    )
        if names and not self.kept(names):
            raise UsageError(f"{keep} and drop leave no feature; drop fewer")


@kernel
def _gather(values: Floats, rows: Ints, found: Floats) -> None:
    for i in range(rows.shape[0]):
        found[i] = values[rows[i]]


def _rows(block: Floats, rows: Sequence[int]) -> Floats:
    """Return some rows, in ascending order; those that stand together are not copied."""
    if rows and rows[-1] - rows[0] == len(rows) - 1:
        return block[rows[0] : rows[-1] + 1]
    taken: Floats = own_pages((len(rows), block.shape[1]), np.float64)
    for target, d in zip(taken, rows, strict=True):
        target[...] = block[d]
    return taken


def _matches(name: str, pattern: str) -> bool:
    # A name with brackets in it matches itself too.
    return name == pattern or fnmatchcase(name, pattern)
