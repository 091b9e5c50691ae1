"""Kernels that other kernels call are linked into them; Python can call them all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@kernel
def half_of(value: int) -> int:
    """Raise from the depth, as numba's own functions do."""
    if value % 2:
        raise ValueError("odd")
    return value // 2


@kernel
def halves_of(values: Ints) -> Ints:
    halves = np.empty(values.shape[0], np.int64)
    for i in range(values.shape[0]):
        halves[i] = half_of(values[i])
    return halves


@kernel
def sum_of_halves(values: Ints) -> int:
    total = 0
    for half in halves_of(values):
        total += half
    return total


@kernel
def norm_of(values: Floats) -> float:
    return float(np.sqrt((values * values).sum()))


@kernel
def larger_norm(values: Floats, other: Floats) -> float:
    return max(norm_of(values), norm_of(other))


PROGRAM = """
import sys
import numpy as np
from tests.kernels.test_linking import sum_of_halves
from tunesmith.kernels.cache import KernelCache
assert sum_of_halves(np.array([4, 8])) == 6
try:
    sum_of_halves(np.array([4, 3]))
except ValueError as error:
    print(error, KernelCache.loaded)
"""


def test_what_is_linked_can_be_called() -> None:
    assert larger_norm(np.array([3.0, 4.0]), np.array([12.0, 5.0])) == 13.0
    linked: Any = norm_of
    assert not linked.overloads  # it has no machine code of its own
    assert norm_of(np.array([3.0, 4.0])) == 5.0
    assert half_of(6) == 3  # first by itself, then in others
    assert halves_of(np.array([2, 6])).tolist() == [1, 3]
    assert sum_of_halves(np.array([2, 6])) == 4


def test_errors_come_out_of_linked_kernels(tmp_path: Path) -> None:
    """In the process that compiles a kernel, and in one that loads it."""
    environment = {**os.environ, "TUNESMITH_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert printed == ["odd 0\n", "odd 1\n"]
