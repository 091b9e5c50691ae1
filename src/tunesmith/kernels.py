"""The one decorator of all compiled loops."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a loop over arrays, without the GIL, and keep the machine code on disk.

    No fast-math: comparisons mean what they say, and a kernel gives the same compiled and
    interpreted (``NUMBA_DISABLE_JIT=1``), up to the last digit of a logarithm.
    """
    return _compile(function, inline="never")


def inlined(function: F) -> F:
    """Compile a few operations on numbers that are copied into other kernels.

    A kernel that comes from the cache on disk is called, which is too much for what runs
    once a byte. Not for arrays: their reference counts would be touched at every copy.
    """
    return _compile(function, inline="always")


def _compile(function: F, inline: str) -> F:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "inline": inline}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        # Neither the package nor the user's cache folder can be written.
        # Elsewhere others could have left code for us: a folder that is new and ours.
        folder = tempfile.mkdtemp(prefix="tunesmith-kernels-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
