"""Kernels: how many relevant documents are above each document of a query."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel

#: Up to this number of relevant documents all are compared with each document.
FEW = 64


@kernel
def counts_above(best_first: Floats, keys: Floats) -> Ints:
    """Return how many of some keys, which are sorted, are greater than each of others.

    Every loop is over all of the others: a binary search for each of them by itself would take
    several times as long, because which way it goes cannot be predicted.
    """
    count, size = keys.shape[0], best_first.shape[0]
    above = np.zeros(count, np.int64)
    if size <= FEW:
        for key in best_first:
            for k in range(count):
                above[k] += key > keys[k]
        return above
    while size > 1:
        half = size >> 1
        for k in range(count):
            above[k] += half * (best_first[above[k] + half - 1] > keys[k])
        size -= half
    for k in range(count):
        above[k] += best_first[above[k]] > keys[k]
    return above
