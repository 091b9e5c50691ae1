"""Rows of different lengths in one array, one after the other, as in compressed sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Ints


def offsets(sizes: Sequence[int] | NDArray[Any]) -> Ints:
    """Return where rows of the given sizes begin; the last entry is where the last one ends."""
    start = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=start[1:])
    return start


def gather_rows(start: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the offsets of selected rows, one after the other, and the indices of their values.

    Parameters
    ----------
    start : int64[n + 1]
        Row i has the values from ``start[i]`` to ``start[i + 1] - 1``.
    rows : int64[m]
        The selected rows, in any order.
    """
    sizes = start[rows + 1] - start[rows]
    new_start = offsets(sizes)
    return new_start, np.repeat(start[rows] - new_start[:-1], sizes) + np.arange(new_start[-1])
