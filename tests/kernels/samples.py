"""Kernels that sort with what numba has: the same inner functions, with other meanings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.kernels import kernel


@kernel
def numba_sort(values: Any) -> Any:
    return np.sort(values)


@kernel
def numba_argsort(values: Any) -> Any:
    return np.argsort(values)


@kernel
def numba_stable_argsort(values: Any) -> Any:
    return np.argsort(values, kind="mergesort")


@kernel
def numba_places(values: Any) -> Any:
    return np.searchsorted(np.arange(-4, 5), values)


@kernel
def numba_places_behind(values: Any) -> Any:
    return np.searchsorted(np.arange(-4, 5), values, side="right")


@kernel
def numba_distinct(values: Any) -> Any:
    return np.unique(values)


KERNELS = (
    numba_sort,
    numba_argsort,
    numba_stable_argsort,
    numba_places,
    numba_places_behind,
    numba_distinct,
)
