"""Axes along which model scores vary independently, however features are expressed.

Features that vary together make a narrow valley of the objective, oblique to every feature: a
search along features alone sticks in it. Along these axes it does not. They are the invariant
coordinates of Tyler, Critchley, Dümbgen and Oja (2009): where features are mixed by any invertible
matrix, the axes are the same changes of the model scores.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.hypotheses import Axes
from tunesmith.kernels import kernel

#: More variables than this have no axes: each is a line that takes a pass over all features.
MOST_AXES = 50
#: Numbers that are looked at, at most; of larger sets some of the groups.
MOST_NUMBERS = 5_000_000
#: A variance below this share of the largest is that of a combination that says nothing.
NOTHING = 1e-10
#: Differences below this share of the largest value are rounding.
ROUNDING = 1e-12
#: Sweeps of the method of Jacobi at most; it takes about 6.
SWEEPS = 50


def axes_of(rows: Floats, start: Ints) -> Axes:
    """Return the axes of variables, from the scores that each gives to all candidates.

    Two scatters of the scores within groups are made diagonal together: their covariance, and
    that of their directions alone, whatever the lengths (which outliers cannot spoil).

    What they add up to is the same for any number of threads: there are no products by BLAS of
    anything but small matrices.

    Parameters
    ----------
    rows : float64[V, N]
        What each variable changes in the model scores of the candidates.
    start : int64[S + 1]
        Where groups begin.
    """
    centred, scale = _standardised(rows, start)
    correlation = _scatter(centred, np.ones(centred.shape[1]))
    variances, vectors = eigenvectors(correlation)
    matters = variances > NOTHING * variances.max(initial=0.0)
    whitening = (vectors[:, matters] / np.sqrt(variances[matters])).T
    independent = np.einsum("av,vn->an", whitening, centred)
    lengths = np.square(independent).sum(axis=0)
    shares = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    _, rotation = eigenvectors(_scatter(independent, shares))
    skews = rotation.T @ (independent * lengths).sum(axis=1)
    rotation *= np.where(skews < 0.0, -1.0, 1.0)
    axes = rotation.T @ whitening
    with np.errstate(invalid="ignore"):
        duals = np.where(np.isfinite(scale), (axes @ correlation) * scale, 0.0)
    return Axes(axes / scale, duals)


def correlations(rows: Floats, start: Ints) -> Floats:
    """Return the correlations within groups [V, V]; 0 with what is the same in every group."""
    centred, _ = _standardised(rows, start)
    matrix: Floats = _scatter(centred, np.ones(centred.shape[1]))
    return matrix


def _standardised(rows: Floats, start: Ints) -> tuple[Floats, Floats]:
    """Return differences from the groups' means in units of their deviation, and these units.

    What does not vary within groups is 0, and its unit infinite.
    """
    rows, start = _some(rows, start)
    centred = rows - np.repeat(_means(rows, start), np.diff(start), axis=1)
    largest = np.abs(centred).max(axis=1, initial=0.0)
    scale = np.where(largest > ROUNDING * np.abs(rows).max(axis=1, initial=0.0), largest, np.inf)
    centred /= scale[:, None]  # first, so that no square overflows
    sizes = np.sqrt(np.square(centred).mean(axis=1))
    sizes[sizes == 0.0] = np.inf
    return centred / sizes[:, None], scale * sizes


def _some(rows: Floats, start: Ints) -> tuple[Floats, Ints]:
    """Return all candidates, or those of every k-th group of a very large set."""
    step = -(-rows.size // MOST_NUMBERS)
    if step <= 1:
        return rows, start
    groups = np.arange(0, len(start) - 1, step)
    sizes = np.diff(start)[groups]
    chosen = np.concatenate([np.arange(start[g], start[g + 1]) for g in groups])
    return np.ascontiguousarray(rows[:, chosen]), np.concatenate([[0], np.cumsum(sizes)])


def _means(rows: Floats, start: Ints) -> Floats:
    means: Floats = np.add.reduceat(rows, start[:-1], axis=1) / np.diff(start)
    return means


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
def _scatter(rows: Floats, weights: Floats) -> Floats:
    """Return the mean over candidates of weight × row × rowᵀ."""
    size, count = rows.shape
    products = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for n in range(count):
                total += weights[n] * rows[i, n] * rows[j, n]
            products[i, j] = total / count
            products[j, i] = products[i, j]
    return products


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
