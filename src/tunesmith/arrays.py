"""Names for the array types that signatures use, and products of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ids = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
#: A number inside kernels, whose types are numba's to find.
Number = Any
#: Sufficient statistics: integers where the metric counts, floats otherwise.
Stats = NDArray[Any]


def inner(a: Floats, b: Floats) -> float:
    """Multiply two vectors; unlike with BLAS, no bit depends on the number of threads."""
    return float((a * b).sum())


def to_size_of(other: Floats, vector: Floats) -> float:
    """Return the power of two that makes a vector about as long as another.

    Only the direction of weights counts for choices, but decoders prune by the size of scores.
    Times a power of two no digit changes.
    """
    target, now = (float(np.sqrt(inner(each, each))) for each in (other, vector))
    if not (0.0 < target < np.inf and 0.0 < now < np.inf):  # squares of huge values overflow
        return 1.0
    return 2.0 ** int(np.rint(np.log2(target / now)))
