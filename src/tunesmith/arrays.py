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
