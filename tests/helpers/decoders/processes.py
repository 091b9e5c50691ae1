"""Processes of others: whether they run, and waiting for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.waiting import wait_until
from tunesmith.decoders import processes


def let_time_pass(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Put the clock forward: a limit ends when a process is ready, however slow it is."""
    ahead = SimpleNamespace(monotonic=lambda: time.monotonic() + seconds, sleep=time.sleep)
    patch.setattr(processes, "time", ahead)


def let_time_fly(patch: pytest.MonkeyPatch, seconds: float, when: Callable[[], object]) -> None:
    """Put the clock forward whenever somebody looks at it, once something is so."""
    ahead = 0.0

    def clock() -> float:
        nonlocal ahead
        ahead += seconds if when() else 0.0
        return time.monotonic() + ahead

    patch.setattr(processes, "time", SimpleNamespace(monotonic=clock, sleep=time.sleep))
    patch.setattr(processes, "_descriptor", lambda _: None)  # it is looked at now and then


def is_there(process: int) -> bool:
    """Tell whether a process runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def number_in(path: Path) -> int:
    """Return the number that a process writes into a file when it is ready."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def wait_until_gone(process: int) -> None:
    """Wait until a process has ended."""
    wait_until(lambda: not is_there(process), "it is still running")
