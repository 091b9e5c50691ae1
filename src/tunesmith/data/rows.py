"""Rows of different lengths, one after the other."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Ints


def gathered(start: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the offsets of some rows one after the other, and where their values are.

    Parameters
    ----------
    start : int64[n + 1]
        Row i has the values from ``start[i]`` to ``start[i + 1] - 1``.
    rows : int64[m]
        Those that are wanted, in any order.
    """
    sizes = start[rows + 1] - start[rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, np.repeat(start[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
