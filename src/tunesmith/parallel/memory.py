"""How much memory large arrays may take, in this process and in workers."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from pathlib import Path

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.parallel.local import sharers

#: How much memory large arrays may take before further ones go to disk: ``4G``, ``500M``.
VARIABLE = "TUNESMITH_MEMORY"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parsed_size(text: str, name: str) -> int:
    """Return the bytes that a text names: 4G, 500M, 1GiB; K is 1024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(f"{name} is '{text}'; give bytes, as 4G or 500M")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def set_budget(size: str) -> None:
    """Limit the memory of large arrays, in this process and those that it starts."""
    parsed_size(size, "--memory")
    os.environ[VARIABLE] = size
    budget.cache_clear()


@functools.cache
def budget() -> int:
    """Return the bytes that large arrays may take: what is set, or half of what is free.

    Either is divided among the processes that share this machine's memory.
    """
    limit = os.environ.get(VARIABLE)
    if limit is not None:
        return parsed_size(limit, VARIABLE) // sharers()
    free = [int(np.iinfo(np.int64).max)]
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free.append(int(next(x for x in lines if x.startswith("MemAvailable")).split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):
        free.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(free) // 2 // sharers()
