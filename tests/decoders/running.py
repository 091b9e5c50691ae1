"""Processes of others: whether they run, and waiting for them."""

from __future__ import annotations

import time
from pathlib import Path

#: Seconds after which something that should have happened at once has not.
PATIENCE = 60.0


def is_there(process: int) -> bool:
    """Tell whether a process runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def number_in(path: Path) -> int:
    """Return the number that a process writes into a file when it is ready."""
    until = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(path.read_text())


def wait_until_gone(process: int) -> None:
    """Wait until a process has ended."""
    until = time.monotonic() + PATIENCE
    while is_there(process):
        assert time.monotonic() < until, "it is still running"
        time.sleep(0.01)
