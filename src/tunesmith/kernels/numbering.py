"""Symbols of compiled functions that no two processes share.

numba puts a number into the symbol of each function that it compiles, to tell closures of the
same name and types from each other: ``np.sort`` and ``np.argsort`` both call an inner function
``run_quicksort``. It counts from 1 in every process. Code from the cache on disk keeps its
symbols, so that two kernels that were compiled by two processes can hold different functions
under one symbol. A process that loads both keeps the first of them for both, and the second
kernel silently calls the wrong function (numba issue 10486).
"""

from __future__ import annotations

import itertools
import os
import secrets

from numba.core.bytecode import FunctionIdentity

#: Numbers are drawn from this many bits; a process uses a few thousand in a row.
BITS = 60


def number_uniquely() -> None:
    """Let this process, and those that it forks, count from a random number each."""
    _renumber()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_renumber)


def _renumber() -> None:
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(BITS))
