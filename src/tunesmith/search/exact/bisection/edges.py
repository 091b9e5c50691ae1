"""Which edge of a cone is bisected."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel

#: Under a corner where scores vary less, relative to others, all points are equal.
NOTHING = 1e-9
#: Groups that are looked at first, about: more seldom change the choice.
GROUPS = 250


@kernel
def variation(scores: Floats, begin: Ints, count: int, most: int, products: Floats) -> None:
    """Fill in how scores vary within groups: sums of squares and products, by corners.

    Parameters
    ----------
    scores : float64[n, 8]
        One column per corner; points are group after group.
    begin : int64[count + 1]
        Where groups begin.
    most
        How many groups are looked at, about.
    """
    size = products.shape[0]
    mean = np.empty(size)
    products[:] = 0.0
    step = max(count // most, 1)
    for group in range(0, count, step):
        first, last = begin[group], begin[group + 1]
        for c in range(size):
            mean[c] = 0.0
            for k in range(first, last):
                mean[c] += scores[k, c]
            mean[c] /= last - first
        for c in range(size):
            for e in range(c + 1):
                total = 0.0
                for k in range(first, last):
                    total += (scores[k, c] - mean[c]) * (scores[k, e] - mean[e])
                products[c, e] += total
    for c in range(size):
        for e in range(c):
            products[e, c] = products[c, e]


@kernel
def widest_edge(
    corners: Floats, products: Floats, middle: Floats, shares: Floats
) -> tuple[int, int, float]:
    """Return the corners under which the living points score most differently, and how much so.

    ``middle`` becomes a vector between them: the two corners times ``shares``, added up. Scores
    are compared without their size: near to a vector under which all points are equal, as are
    those of as many words, what counts is the direction in which one leaves it. The edges to it
    are not bisected, which would never end.
    """
    size = corners.shape[0]
    lengths = np.empty(size)
    for i in range(size):
        lengths[i] = np.sqrt(max(products[i, i], 0.0))
    least = NOTHING * lengths.max()
    first, second, widest = 0, 0, -1.0
    for i in range(size):
        for j in range(i):
            if lengths[i] <= least or lengths[j] <= least:
                continue
            apart = 2.0 - 2.0 * products[i, j] / (lengths[i] * lengths[j])
            if apart > widest:
                first, second, widest = i, j, apart
    if widest > 0.0:
        length = 0.0
        for d in range(size):
            middle[d] = corners[first, d] / lengths[first] + corners[second, d] / lengths[second]
            length += middle[d] * middle[d]
        length = np.sqrt(length)
        for d in range(size):
            middle[d] /= length
        shares[0] = 1.0 / (lengths[first] * length)
        shares[1] = 1.0 / (lengths[second] * length)
    return first, second, np.sqrt(max(widest, 0.0))
