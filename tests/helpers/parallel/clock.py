"""The clock by which engines see that a worker takes too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tunesmith.parallel.remote import engine as remote


def let_time_pass(patch: pytest.MonkeyPatch, ahead: Callable[[], float]) -> None:
    """Put it forward by so many seconds, however busy the machine is."""
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead())
    patch.setattr(remote, "time", clock)
    patch.setattr(remote, "LONGEST", 0.05)  # look at it again and again


def flying(seconds: float, when: Callable[[], object]) -> Callable[[], float]:
    """Return what puts it forward whenever somebody looks at it while something is so."""
    ahead = 0.0

    def passed() -> float:
        nonlocal ahead
        ahead += seconds if when() else 0.0
        return ahead

    return passed
