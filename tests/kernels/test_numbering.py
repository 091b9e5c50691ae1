"""Kernels that several processes compiled are right in the process that loads them all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.symbols import clashes, numbers_of
from tunesmith.kernels.cache import SUFFIX

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def compile_apart(folder: Path, *arguments: str) -> tuple[list[str], list[Path]]:
    """Return the kernels that gave something wrong, and the files of all."""
    # Without optimisation a function is the same text in each kernel that holds a copy of it.
    environment = {**os.environ, "TUNESMITH_CACHE_DIR": str(folder), "NUMBA_OPT": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compile_apart", *arguments],
        env={**environment, "NUMBA_DISABLE_JIT": "0"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), sorted(folder.rglob(f"*{SUFFIX}"))


@pytest.mark.long
@pytest.mark.parametrize("order", ["", "--backwards"])
def test_each_compiled_by_a_process_of_its_own(tmp_path: Path, order: str):
    wrong, files = compile_apart(tmp_path, order)
    assert wrong == []
    assert len(files) >= 5
    assert clashes(files) == {}


@pytest.mark.long
def test_what_happens_where_processes_count_alike(tmp_path: Path):
    """What the test above would find: two kernels, and another function under one symbol."""
    names = ["numba_sort", "numba_argsort"]
    _, files = compile_apart(tmp_path / "first", "--only", *(f"{name}=1000" for name in names))
    # How many functions numba compiles before the inner one that both have.
    before = {
        name: min(numbers_of(path, "run_quicksort")) - 1000
        for name in names
        for path in files
        if f".{name}-" in path.name
    }
    starts = [f"{name}={5000 - before[name]}" for name in names]
    _, files = compile_apart(tmp_path / "second", "--only", *starts)
    assert any("run_quicksort" in symbol for symbol in clashes(files))
