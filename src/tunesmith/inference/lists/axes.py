"""Axes along which model scores vary independently, however features are expressed.

Features that vary together make a narrow valley of the objective, oblique to every feature: a
search along features alone sticks in it. Along these axes it does not. They are the invariant
coordinates of Tyler, Critchley, Dümbgen and Oja (2009): where features are mixed by any invertible
matrix, the axes are the same changes of the model scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.hypotheses import Axes
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces, pieces_of

#: Given a variable and which candidates (what an array is indexed with), returns their scores.
RowOf = Callable[[int, Any], Floats]

#: More variables than this have no axes: each is a line that takes a pass over all features.
MOST_AXES = 50
#: Numbers that are looked at, at most; of larger sets some of the groups.
MOST_NUMBERS = 5_000_000
#: A variance below this share of the largest is that of a combination that says nothing.
NOTHING = 1e-10
#: Differences below this share of the largest value are rounding.
ROUNDING = 1e-12
#: Candidates whose numbers stay in the processor's cache while all variables pass.
BLOCK = 512
#: Sweeps of the method of Jacobi at most; it takes about 6.
SWEEPS = 50


@dataclass(frozen=True)
class GroupSample:
    """The candidates that are looked at: all, or those of every k-th group of a very large set.

    Attributes
    ----------
    candidates
        What an array of all candidates is indexed with.
    start : int64[G + 1]
        Where the groups begin among them.
    """

    candidates: Any
    start: Ints

    @classmethod
    def of(cls, count: int, start: Ints) -> GroupSample:
        """Return those that are looked at for a number of variables."""
        step = step_of_sample(count, int(start[-1]))
        return cls(slice(None), start) if step <= 1 else cls.of_groups(start, 0, step)

    @classmethod
    def of_groups(cls, start: Ints, first: int, step: int) -> GroupSample:
        """Return every k-th group from one of them on."""
        groups = np.arange(first, len(start) - 1, step)
        sizes = np.diff(start)[groups]
        every = [np.arange(start[g], start[g + 1]) for g in groups]
        chosen = np.concatenate([np.zeros(0, np.int64), *every])
        return cls(chosen, np.concatenate([[0], np.cumsum(sizes)]))


def step_of_sample(count: int, candidates: int) -> int:
    """Return k, where every k-th group is looked at."""
    return max(1, -(-count * candidates // MOST_NUMBERS))


def axes_of_rows(row_of: RowOf, count: int, start: Ints) -> Axes:
    """Return the axes of variables, whose rows are made when they are needed.

    Two scatters of the scores within groups are made diagonal together: their covariance, and
    that of their directions alone, whatever the lengths (which outliers cannot spoil).

    What they add up to is the same for any number of threads: there are no products by BLAS of
    anything but small matrices.

    Parameters
    ----------
    row_of
        Given a variable and which candidates, returns what it changes in their model scores.
    count
        How many variables there are.
    start : int64[S + 1]
        Where groups begin.
    """
    sample = GroupSample.of(count, start)
    return axes_of_sample(lambda v: row_of(v, sample.candidates), count, sample.start)


def axes_of_sample(row_of: Callable[[int], Floats], count: int, start: Ints) -> Axes:
    """Return the axes of variables, given their rows in a sample, and where its groups begin."""
    centred, scale = _standardised(row_of, count, start)
    correlation = _scatter(centred, np.ones(centred.shape[1]))
    variances, vectors = eigenvectors(correlation)
    matters = variances > NOTHING * variances.max(initial=0.0)
    whitening = np.ascontiguousarray((vectors[:, matters] / np.sqrt(variances[matters])).T)
    independent, lengths = _whitened(whitening, centred)
    shares = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    _, rotation = eigenvectors(_scatter(independent, shares))
    skews = rotation.T @ np.array(map_pieces(lambda row: (row * lengths).sum(), [*independent]))
    rotation *= np.where(skews < 0.0, -1.0, 1.0)
    axes = rotation.T @ whitening
    with np.errstate(invalid="ignore"):
        duals = np.where(np.isfinite(scale), (axes @ correlation) * scale, 0.0)
    return Axes(axes / scale, duals)


def correlations(rows: Floats, start: Ints) -> Floats:
    """Return the correlations within groups [V, V]; 0 with what is the same in every group."""
    sample = GroupSample.of(len(rows), start)
    return correlations_of_sample(lambda v: rows[v, sample.candidates], len(rows), sample.start)


def correlations_of_sample(row_of: Callable[[int], Floats], count: int, start: Ints) -> Floats:
    """Return the correlations of variables, given their rows in a sample."""
    centred, _ = _standardised(row_of, count, start)
    return _scatter(centred, np.ones(centred.shape[1]))


def _standardised(
    row_of: Callable[[int], Floats], count: int, start: Ints
) -> tuple[Floats, Floats]:
    """Return differences from the groups' means in units of their deviation, and these units.

    What does not vary within groups is 0, and its unit infinite.
    """
    groups = np.diff(start)
    centred = np.empty((count, start[-1]))

    def standardise(v: int) -> float:
        row, out = row_of(v), centred[v]
        means = np.add.reduceat(row, start[:-1]) / groups
        np.subtract(row, np.repeat(means, groups), out=out)
        largest = np.abs(out).max(initial=0.0)
        if largest <= ROUNDING * np.abs(row).max(initial=0.0):
            largest = np.inf
        out /= largest  # first, so that no square overflows
        size = np.sqrt(np.square(out).mean()) or np.inf
        out /= size
        return float(largest * size)

    return centred, np.array(map_pieces(standardise, range(count)))


def _scatter(rows: Floats, weights: Floats) -> Floats:
    """Return the mean over candidates of weight × row × rowᵀ."""
    products = np.empty((len(rows), len(rows)))
    map_pieces(lambda i: _multiply_with(rows, weights, i, products), range(len(rows)))
    return products


def _whitened(whitening: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return whitening × rows, and the sum of squares of each column."""
    independent, lengths = np.empty((len(whitening), rows.shape[1])), np.empty(rows.shape[1])
    map_pieces(
        lambda run: _whiten(whitening, rows, run.start, run.stop, independent, lengths),
        pieces_of(rows.shape[1]),
    )
    return independent, lengths


def eigenvectors(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix, descending, and the vectors as columns.

    The method of Jacobi gives the same bits whatever the number of threads, which that of a
    numerical library need not.
    """
    work, vectors = matrix.copy(), np.eye(len(matrix))
    _rotate_all(work, vectors)
    values = np.diag(work)
    order = np.argsort(-values, kind="stable")
    return values[order], np.ascontiguousarray(vectors[:, order])


@kernel
def _multiply_with(rows: Floats, weights: Floats, i: int, products: Floats) -> None:
    """Fill the elements of the scatter that row i has with itself and the rows before it.

    Each is one sum in the order of the candidates, and the next addition waits for the last one:
    so four are added up side by side.
    """
    count = rows.shape[1]
    for j in range(0, i + 1, 4):
        others = min(j + 1, i), min(j + 2, i), min(j + 3, i)
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for n in range(count):
            value = weights[n] * rows[i, n]
            a += value * rows[j, n]
            b += value * rows[others[0], n]
            c += value * rows[others[1], n]
            d += value * rows[others[2], n]
        products[i, j] = products[j, i] = a / count
        products[i, others[0]] = products[others[0], i] = b / count
        products[i, others[1]] = products[others[1], i] = c / count
        products[i, others[2]] = products[others[2], i] = d / count


@kernel
def _whiten(
    whitening: Floats, rows: Floats, begin: int, end: int, independent: Floats, lengths: Floats
) -> None:
    """Fill some columns of whitening × rows, and their sums of squares."""
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        for n in range(first, last):
            lengths[n] = 0.0
        for a in range(whitening.shape[0]):
            for n in range(first, last):
                independent[a, n] = 0.0
            for v in range(whitening.shape[1]):
                factor = whitening[a, v]
                for n in range(first, last):
                    independent[a, n] += factor * rows[v, n]
            for n in range(first, last):
                lengths[n] += independent[a, n] * independent[a, n]


@kernel
def _rotate_all(matrix: Floats, vectors: Floats) -> None:
    """Make a symmetric matrix diagonal by rotations (Golub and Van Loan, section 8.5)."""
    size = matrix.shape[0]
    for _ in range(SWEEPS):
        off, whole = 0.0, 0.0
        for i in range(size):
            for j in range(size):
                whole += matrix[i, j] * matrix[i, j]
                if i != j:
                    off += matrix[i, j] * matrix[i, j]
        if off <= 1e-30 * whole:
            return
        for p in range(size - 1):
            for q in range(p + 1, size):
                if matrix[p, q] != 0.0:
                    _rotate(matrix, vectors, p, q)


@kernel
def _rotate(matrix: Floats, vectors: Floats, p: int, q: int) -> None:
    """Make one element 0."""
    size = matrix.shape[0]
    ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    sign = 1.0 if ratio >= 0.0 else -1.0
    tangent = sign / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for k in range(size):
        a, b = matrix[k, p], matrix[k, q]
        matrix[k, p], matrix[k, q] = cosine * a - sine * b, sine * a + cosine * b
    for k in range(size):
        a, b = matrix[p, k], matrix[q, k]
        matrix[p, k], matrix[q, k] = cosine * a - sine * b, sine * a + cosine * b
    for k in range(size):
        a, b = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = cosine * a - sine * b, sine * a + cosine * b
