"""Kernels: copying arrays.

numba compiles ``target[a:b] = source`` together with the texts of its errors about shapes: two
seconds in every command that does so, and code that is optimised again in each kernel.
"""

from __future__ import annotations

from typing import Any

from tunesmith.kernels import kernel


@kernel
def copy_to(target: Any, begin: int, source: Any) -> None:
    """Copy a vector into another, from a place on, where there is room for it."""
    for i in range(source.shape[0]):
        target[begin + i] = source[i]


@kernel
def copy_rows(target: Any, begin: int, source: Any) -> None:
    """Copy the rows of a matrix into another with as many columns, from a row on."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[begin + i, k] = source[i, k]
