"""Stand-ins for decoders run with the Python that the tests run with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="package", autouse=True)
def our_python_first() -> Iterator[None]:
    """Let ``env python3`` find it: another may be old, or a script that is slow to find one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        yield
