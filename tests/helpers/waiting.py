"""Waiting for what other processes and threads do, however long a busy machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after which what should have happened at once never will; no test measures less.
PATIENCE = 600.0


def wait_until(is_so: Callable[[], object], problem: str = "it never happens") -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, problem
        time.sleep(0.02)
