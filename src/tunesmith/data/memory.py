"""Large arrays: on pages of their own, and on disk beyond the memory budget."""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import tempfile
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tunesmith.errors import TunesmithError
from tunesmith.parallel.memory import VARIABLE, budget, parsed_size, set_budget

__all__ = ["VARIABLE", "budget", "own_pages", "parsed_size", "set_budget", "spill"]

#: Bytes of all arrays in memory that this module knows of.
_allocated = 0


def own_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros whose memory goes back to the system when it is freed.

    Allocators often keep freed memory; for large arrays that others are computed from, that
    would double the peak. If arrays would take more than :func:`budget`, the pages are those of
    a temporary file (in ``TMPDIR``), which the system writes to disk when it needs the memory:
    a set may be larger than memory.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize  # exact, however large
    if size == 0:
        return np.zeros(shape, kind)
    if _allocated + size > budget():
        pages = _on_disk(size)
    else:
        pages = _in_memory(size)
        _count(pages, size)
    return np.frombuffer(pages, kind).reshape(shape)


def spill(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array itself if it fits into the budget, otherwise a copy on disk."""
    owner: Any = array
    while isinstance(owner, np.ndarray):  # the base of a view may be a view
        owner = owner.base
    if array.nbytes == 0 or isinstance(owner, mmap.mmap):
        return array
    if _allocated + array.nbytes <= budget():
        _count(array, array.nbytes)
        return array
    copy = np.frombuffer(_on_disk(array.nbytes), array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _count(owner: Any, size: int) -> None:
    """Count memory as allocated as long as its owner lives."""
    global _allocated  # noqa: PLW0603  (memory is the process's)
    _allocated += size
    weakref.finalize(owner, _release, size)


def _release(size: int) -> None:
    global _allocated  # noqa: PLW0603
    _allocated -= size


def _in_memory(size: int) -> mmap.mmap:
    try:
        if hasattr(mmap, "MAP_PRIVATE"):
            pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            pages = mmap.mmap(-1, size)
    except OSError as error:
        raise MemoryError(str(error)) from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def _on_disk(size: int) -> mmap.mmap:
    try:
        if shutil.disk_usage(tempfile.gettempdir()).free < size:
            # Reserving the pages would fail too, but only after filling the disk.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with tempfile.TemporaryFile(prefix="tunesmith-") as file:
            file.truncate(size)
            if hasattr(os, "posix_fallocate"):
                # Reserve now, or the process is killed when a page cannot be written later.
                os.posix_fallocate(file.fileno(), 0, size)
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        raise TunesmithError(
            f"{tempfile.gettempdir()}: {problem}, {size >> 20} MB are needed; "
            "set TMPDIR to a folder with more room, or TUNESMITH_MEMORY higher"
        ) from None
