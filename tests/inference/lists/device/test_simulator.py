"""The tests of the device run in numba-cuda's simulator where there is no GPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
    ),
    pytest.mark.skipif(
        numba.config.DISABLE_JIT, reason="the simulator interprets kernels of a device anyway"
    ),
]


def test_the_tests_of_the_device_pass_in_the_simulator() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            str(Path(__file__).with_name("test_on_device.py")),
        ],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout
