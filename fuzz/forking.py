"""Forking, which is safe only where there is one thread."""

from __future__ import annotations

import gc
import os
import threading
import time

from tunesmith.parallel import local

#: Seconds that threads have to end.
PATIENCE = 10.0


def fork() -> int:
    """Fork, once threads that wait for work have ended; raise an error if some do not."""
    for pools in local._idle.values():
        while pools:
            pools.pop().shutdown()
    end = time.monotonic() + PATIENCE
    while threading.active_count() > 1:
        gc.collect()  # sources that nobody reads to their end
        if time.monotonic() > end:
            raise RuntimeError(f"there are other threads: {threading.enumerate()}")
        time.sleep(0.01)
    return os.fork()
