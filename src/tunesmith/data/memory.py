"""Large arrays: on pages of their own, and on disk where memory does not hold them."""

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

__all__ = ["VARIABLE", "budget", "kept", "own_pages", "parsed_size", "set_budget"]

_held = 0


def own_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros whose memory goes back to the system when it is dropped.

    What an allocator frees it often keeps; for large arrays that live while others are
    made from them, that would double the peak. Where the arrays that are there take more than
    :func:`budget`, the pages are those of a temporary file (in ``TMPDIR``), which the system
    writes to disk when it needs the memory: a set may be larger than that.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize  # exact, however large
    if size == 0:
        return np.zeros(shape, kind)
    if _held + size > budget():
        pages = _on_disk(size)
    else:
        pages = _in_memory(size)
        _count(pages, size)
    return np.frombuffer(pages, kind).reshape(shape)


def kept(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is while there is memory for it, on disk otherwise."""
    owner: Any = array
    while isinstance(owner, np.ndarray):  # a view's own base may be a view
        owner = owner.base
    if array.nbytes == 0 or isinstance(owner, mmap.mmap):
        return array
    if _held + array.nbytes <= budget():
        _count(array, array.nbytes)
        return array
    moved = np.frombuffer(_on_disk(array.nbytes), array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def _count(owner: Any, size: int) -> None:
    """Count memory as taken as long as its owner lives."""
    global _held  # noqa: PLW0603  (memory is the process's)
    _held += size
    weakref.finalize(owner, _release, size)


def _release(size: int) -> None:
    global _held  # noqa: PLW0603
    _held -= size


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
            # Reserving the pages would fail too, but only when the disk is full of them.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with tempfile.TemporaryFile(prefix="tunesmith-") as file:
            file.truncate(size)
            if hasattr(os, "posix_fallocate"):
                # Now, or the process is killed when a page finds no place later.
                os.posix_fallocate(file.fileno(), 0, size)
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        raise TunesmithError(
            f"{tempfile.gettempdir()}: {problem}, {size >> 20} MB are wanted; "
            "set TMPDIR to a folder with more room, or TUNESMITH_MEMORY higher"
        ) from None
