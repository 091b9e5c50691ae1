"""Sizes and axes of variables, as lists in one place and in several compute them alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Axes, Direction

#: A variance below this share of the mean square is rounding.
ROUNDING = 1e-13


def spread_of(squares: Floats, sizes: Floats, factors: Floats, candidates: int) -> Floats:
    """Return deviations within groups, given sums of squares in units of factors [D].

    Parameters
    ----------
    squares, sizes : float64[D]
        Of distances from the groups' means, and of the values themselves. Where the former are
        rounding, a feature is constant within groups, and has the deviation 1.
    """
    varies = squares > ROUNDING * sizes
    spread = factors * np.sqrt(np.where(varies, squares, 1.0) / candidates)
    return np.where(varies, spread, 1.0)


def dense_variables(directions: Sequence[Direction], count: int) -> list[int]:
    """Return which directions have features among the first ``count`` alone."""
    return [k for k, direction in enumerate(directions) if (direction.features < count).all()]


def variable_row(dense: Floats, direction: Floats, chosen: Any) -> Floats:
    """Return what a variable changes in the scores of some candidates.

    Products with one feature at a time: no bit depends on the number of threads.
    """
    first, *others = np.flatnonzero(direction)
    row: Floats = direction[first] * dense[first][chosen]
    for d in others:
        row += direction[d] * dense[d][chosen]
    return row


def among_all(axes: Axes, some: Sequence[int], count: int) -> Axes | None:
    """Return axes of some variables as those of all; None if there are none."""
    if not len(axes.vectors):
        return None
    vectors, duals = (np.zeros((len(axes.vectors), count)) for _ in range(2))
    vectors[:, some], duals[:, some] = axes.vectors, axes.duals
    return Axes(vectors, duals, len(some) == count)
