"""Compiled kernels of a GPU are loaded by the next process; compiling them needs no GPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest


def can_compile() -> bool:
    """Tell whether NVIDIA's compiler and linker are installed."""
    if importlib.util.find_spec("numba_cuda") is None:
        return False
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        for name in ("nvvm", "nvJitLink"):
            load_nvidia_dynamic_lib(name)
    except DynamicLibNotFoundError:
        return False
    return True


pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_compile(), reason="NVIDIA's compiler is not installed"),
]

# A GPU that is not there.
PROGRAM = """
import sys
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import codegen, dispatcher
there = SimpleNamespace(compute_capability=(int(sys.argv[2]), 0), id=0)
dispatcher.get_current_device = lambda: there
codegen.devices.get_context = lambda *_: SimpleNamespace(device=there)
codegen.runtime.runtime.get_version = lambda: (13, 0)
type(cuda.driver.driver).get_version = lambda _: (13, int(sys.argv[1]))
dispatcher._Kernel.bind = lambda self: self._codelibrary.get_cubin()
from tunesmith.inference.lists.device import points
from tunesmith.kernels.device_cache import DeviceKernelCache
matrix = types.Array(types.float64, 2, "C")
numbers = types.Array(types.int64, 2, "C")
kernel = points.rescale.compile((matrix, numbers, matrix))
code = kernel._codelibrary.get_cubin().code
print(DeviceKernelCache.loaded, len(code), kernel.argument_types == (matrix, numbers, matrix))
"""


def compiled(folder: Path, driver: int = 0, capability: int = 9) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(driver), str(capability)],
        env={**os.environ, "TUNESMITH_CACHE_DIR": str(folder), "NUMBA_ENABLE_CUDASIM": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_kernel_is_compiled_once_for_a_driver_and_a_capability(tmp_path: Path) -> None:
    first = compiled(tmp_path)
    assert first[0] == "0"
    assert compiled(tmp_path) == ["1", *first[1:]]
    assert compiled(tmp_path, driver=1)[0] == "0"
    assert compiled(tmp_path, capability=10)[0] == "0"


def test_a_file_that_is_not_whole_is_not_used(tmp_path: Path) -> None:
    first = compiled(tmp_path)
    (path,) = tmp_path.rglob("*rescale*")
    path.write_bytes(path.read_bytes()[:-100])
    assert compiled(tmp_path) == first
    assert compiled(tmp_path) == ["1", *first[1:]]
