"""Feature values of candidates: a dense block and a sparse one behind one interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.memory import own_pages
from tunesmith.data.products import add_rows, combinations_of, scores_of
from tunesmith.errors import TunesmithError, UsageError, nearest
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces

if TYPE_CHECKING:
    from tunesmith.data.assembly import Piece

#: A feature that is not 0 on at least one candidate in this many is stored as dense.
DENSE_SHARE = 4


@dataclass(frozen=True)
class Gap:
    """A feature that some candidates lack; it counts as 0 for them.

    Attributes
    ----------
    count
        How many candidates lack it; None if unknown.
    place
        File and line of the first of them.
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
        One contiguous row per feature.
    sparse : csc_array[N, D_sparse]
        One compressed column per feature; no stored zeros, rows ascending.
    gaps
        The dense features that some candidates lack, and sparse ones if a place is known.
    """

    dense_names: tuple[str, ...]
    dense: Floats
    sparse_names: tuple[str, ...]
    sparse: csc_array
    gaps: Mapping[str, Gap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Kernels run along rows; with a transposed block they would be slow.
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
        arrays = (self.dense, sparse.data, sparse.indices, sparse.indptr)
        return sum(array.nbytes for array in arrays)

    def only(self, names: Collection[str]) -> Features:
        """Return the features with the given names, in the order of this object."""
        selected = set(names)
        rows = [d for d, name in enumerate(self.dense_names) if name in selected]
        columns = [d for d, name in enumerate(self.sparse_names) if name in selected]
        if len(rows) + len(columns) == len(self.names):
            return self
        return Features(
            tuple(self.dense_names[d] for d in rows),
            _rows(self.dense, rows),
            tuple(self.sparse_names[d] for d in columns),
            csc_array(self.sparse[:, columns]),
            {name: gap for name, gap in self.gaps.items() if name in selected},
        )

    def arranged(self, dense_names: Sequence[str], sparse_names: Sequence[str]) -> Features:
        """Return the same values with these names, some of which may be 0 everywhere here.

        Sets that are parts of one have the same features as that one, stored alike.
        """
        if (*dense_names,) == self.dense_names and (*sparse_names,) == self.sparse_names:
            return self
        index = {name: d for d, name in enumerate(self.names)}
        dense = own_pages((len(dense_names), self.candidates), np.float64)
        for row, name in zip(dense, dense_names, strict=True):
            if name in index:
                row[...] = self.values(index[name])
        columns = [self._nonzeros(index.get(name)) for name in sparse_names]
        start = np.cumsum([0, *(len(rows) for rows, _ in columns)])
        rows = np.concatenate([np.zeros(0, np.int32), *(rows for rows, _ in columns)])
        values = np.concatenate([np.zeros(0), *(values for _, values in columns)])
        shape = (self.candidates, len(sparse_names))
        sparse = csc_array((values, rows, start), shape=shape)
        return Features(tuple(dense_names), dense, tuple(sparse_names), sparse, self.gaps)

    def _nonzeros(self, index: int | None) -> tuple[Ids, Floats]:
        """Return where a feature is not 0, and its values there; nowhere where there is none."""
        if index is None:
            return np.zeros(0, np.int32), np.zeros(0)
        if index >= len(self.dense_names):
            return self.column(index)
        rows = np.flatnonzero(self.dense[index]).astype(np.int32)
        return rows, self.dense[index][rows]

    def of(self, rows: Ints) -> Features:
        """Return the features of the given candidates, in that order."""
        dense = np.empty((len(self.dense), len(rows)))
        map_pieces(lambda d: _gather(self.dense[d], rows, dense[d]), list(range(len(dense))))
        # Selecting rows of a block stored by columns is slow, even if there are no columns.
        empty = csc_array((len(rows), 0))
        sparse = csc_array(self.sparse[rows]) if self.sparse_names else empty
        return Features(self.dense_names, dense, self.sparse_names, sparse)

    def column(self, index: int) -> tuple[Ids, Floats]:
        """Return the candidates on which a sparse feature fires, and its values there."""
        j = index - len(self.dense_names)
        lo, hi = self.sparse.indptr[j], self.sparse.indptr[j + 1]
        return self.sparse.indices[lo:hi], self.sparse.data[lo:hi]

    def values(self, index: int) -> Floats:
        """Return the values [N] of a feature; those of a dense one are not copied."""
        values: Floats
        if index < len(self.dense_names):
            values = self.dense[index]
            return values
        values = np.zeros(self.candidates)
        rows, nonzero = self.column(index)
        values[rows] = nonzero
        return values

    def dot(self, weights: Floats) -> Floats:
        """Return w·h for every candidate, added up in the order of the features.

        Weights [D] give scores [N]; a batch [B, D] gives [B, N] with the same bits.
        The order is fixed, so that equal feature vectors get equal bits and a result does
        not depend on the number of threads.
        """
        batch = self._batch(weights, len(self.names), "weight per feature")
        scores = scores_of(self.dense, self.sparse, batch)
        with np.errstate(over="ignore", invalid="ignore"):
            overflow = not np.isfinite(scores.sum()) and not np.isfinite(scores).all()
        if overflow:
            raise TunesmithError("model scores are too large to compare; scale the features down")
        return scores.reshape(*weights.shape[:-1], self.candidates)

    def combine(self, coefficients: Floats) -> Floats:
        """Return the sum of all feature vectors, each times the coefficient of its candidate.

        Coefficients [N] give a vector [D]; a batch [B, N] gives [B, D] with the same
        bits, for any number of threads.
        """
        batch = self._batch(coefficients, self.candidates, "coefficient per candidate")
        sums = combinations_of(self.dense, self.sparse, batch)
        return sums.reshape(*coefficients.shape[:-1], len(self.names))

    @staticmethod
    def _batch(vectors: Floats, size: int, entry: str) -> Floats:
        """Return one vector or several as rows; raise an error if their size is wrong."""
        if vectors.ndim not in (1, 2) or vectors.shape[-1] != size:
            shape = "x".join(map(str, vectors.shape))
            raise TunesmithError(
                f"an array of {shape} numbers needs one {entry}: {size}; check its shape"
            )
        return np.ascontiguousarray(np.atleast_2d(vectors), np.float64)

    def add(self, scores: Floats, index: int, step: float) -> None:
        """Add ``step`` times one feature to the scores in place (footnote 6 of the paper)."""
        if index < len(self.dense_names):
            row = self.dense[index : index + 1]
            add_rows(row, np.array([[step]]), scores[None], 0, len(scores))
        else:
            rows, values = self.column(index)
            scores[rows] += step * values


@dataclass(frozen=True)
class FeatureCounts:
    """What decides which features of a set are stored as dense.

    Attributes
    ----------
    names
        All features, in the order in which they were first read.
    given, nonzero : int64[D]
        How many candidates give each, and on how many it is not 0.
    candidates
        How many candidates were read, duplicates counted.
    """

    names: tuple[str, ...]
    given: Ints
    nonzero: Ints
    candidates: int

    @classmethod
    def of_pieces(cls, pieces: Sequence[Piece], names: Sequence[str]) -> FeatureCounts:
        """Count in pieces, whose columns are indices into the names."""
        given, nonzero = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
        for piece in pieces:
            given[piece.given_columns] += piece.given_counts
            np.add.at(nonzero, piece.sparse_columns, 1)
            for column, row in zip(piece.dense_columns, piece.dense, strict=True):
                nonzero[column] += np.count_nonzero(row)  # row by row: it makes flags
        return cls(tuple(names), given, nonzero, sum(map(len, pieces)))

    @classmethod
    def of_features(cls, features: Features) -> FeatureCounts:
        """Count in those of a complete set, as if it were to be merged with others."""
        full = [features.candidates - lacking(features, name) for name in features.dense_names]
        given = full + [0] * len(features.sparse_names)
        dense = [np.count_nonzero(row) for row in features.dense]
        nonzero = np.concatenate([np.array(dense, np.int64), np.diff(features.sparse.indptr)])
        return cls(features.names, np.array(given, np.int64), nonzero, features.candidates)

    @classmethod
    def merged(cls, parts: Sequence[FeatureCounts]) -> FeatureCounts:
        """Add up those of several parts, in the order in which they are read."""
        names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        index = {name: d for d, name in enumerate(names)}
        given, nonzero = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
        for part in parts:
            columns = np.array([index[name] for name in part.names], np.int64)
            given[columns] += part.given
            nonzero[columns] += part.nonzero
        return cls(names, given, nonzero, sum(part.candidates for part in parts))

    @property
    def is_dense(self) -> Flags:
        """Which features all candidates give, or are not 0 on many of them."""
        flags: Flags = (self.given == self.candidates) | (
            self.nonzero * DENSE_SHARE >= self.candidates
        )
        return flags

    def only(self, names: Collection[str]) -> FeatureCounts:
        """Return those of some features."""
        chosen = np.array([name in names for name in self.names], bool)
        left = tuple(name for name in self.names if name in names)
        return FeatureCounts(left, self.given[chosen], self.nonzero[chosen], self.candidates)


def lacking(features: Features, name: str) -> int:
    """Return how many candidates lack a dense feature."""
    gap = features.gaps.get(name)
    return 0 if gap is None else gap.count or 0


@dataclass(frozen=True)
class FeatureSelection:
    """Which features take part, by shell-style patterns: ``LM*``, ``TM0_?``.

    Attributes
    ----------
    keep
        A name must match one of these patterns; if there are none, all names do.
    drop
        A name must match none of these patterns.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @classmethod
    def of(cls, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> FeatureSelection:
        """Return a selection by one pattern or several."""
        return cls(*((p,) if isinstance(p, str) else tuple(p) for p in (keep, drop)))

    def __bool__(self) -> bool:
        return bool(self.keep or self.drop)

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names that take part."""
        return tuple(
            name
            for name in names
            if (not self.keep or any(_matches(name, pattern) for pattern in self.keep))
            and not any(_matches(name, pattern) for pattern in self.drop)
        )

    def check(self, names: Sequence[str], keep: str = "keep", others: Collection[str] = ()) -> None:
        """Raise an error if a pattern matches no name, or if no name is left.

        ``keep`` is what the message calls the patterns to keep. Patterns to drop may match
        ``others``, which are no features anyway.
        """
        for option, patterns in ((keep, self.keep), ("drop", self.drop)):
            for pattern in patterns:
                known = (*names, *others) if option == "drop" else names
                if not any(_matches(name, pattern) for name in known):
                    shown = " or ".join(nearest(pattern.strip("*?"), names, alike=0.4))
                    raise UsageError(
                        f"{option} '{pattern}' matches no feature; did you mean {shown}?"
                    )
        if names and not self.select(names):
            raise UsageError(f"{keep} and drop leave no feature; drop fewer")


@kernel
def _gather(values: Floats, rows: Ints, out: Floats) -> None:
    for i in range(rows.shape[0]):
        out[i] = values[rows[i]]


def _rows(block: Floats, rows: Sequence[int]) -> Floats:
    """Return the given rows, which ascend; adjacent ones are not copied."""
    if rows and rows[-1] - rows[0] == len(rows) - 1:
        return block[rows[0] : rows[-1] + 1]
    selected: Floats = own_pages((len(rows), block.shape[1]), np.float64)
    for target, d in zip(selected, rows, strict=True):
        target[...] = block[d]
    return selected


def _matches(name: str, pattern: str) -> bool:
    # A name with brackets in it matches itself too.
    return name == pattern or fnmatchcase(name, pattern)
