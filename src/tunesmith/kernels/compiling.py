"""How long kernels take to compile, so that no step counts it as its own."""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
from typing import Any

from numba.core import event

from tunesmith.progress import compiling

OURS = __name__.partition(".")[0]


class _Watch(event.Listener):  # type: ignore[misc]
    """Adds up the time during which any kernel is compiled; numba compiles one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._begin = 0.0
        self._seconds = 0.0
        self._collects = False
        self.compiled = 0

    def on_start(self, event: Any) -> None:
        """Take the time when the outermost kernel begins to be compiled."""
        is_ours = _is_ours(event)
        with self._lock:
            self._depth += 1
            is_first = self._depth == 1
            if is_first:
                self._begin = time.perf_counter()
                # The compiler makes millions of objects that live until it ends.
                self._collects = gc.isenabled()
                gc.disable()
        if is_first and is_ours:
            if not self.compiled:
                logging.getLogger(__name__).info("compiling kernels, once per installation")
            compiling(self.compiled, True)

    def on_end(self, event: Any) -> None:
        """Add the time when the outermost kernel is compiled."""
        is_ours = _is_ours(event)
        with self._lock:
            self.compiled += is_ours
            self._depth -= 1
            is_busy = self._depth > 0
            if not is_busy:
                self._seconds += time.perf_counter() - self._begin
                if self._collects:
                    gc.enable()
        if is_ours:
            compiling(self.compiled, is_busy)

    def forget(self) -> None:
        """Begin anew, in a process that was forked while another thread compiled."""
        if self._depth and self._collects:
            gc.enable()
        self._lock = threading.Lock()
        self._depth = 0

    def seconds(self) -> float:
        """Return the time so far, that of a kernel in work included."""
        with self._lock:
            running = time.perf_counter() - self._begin if self._depth else 0.0
            return self._seconds + running


def _is_ours(event: Any) -> bool:
    module = event.data["dispatcher"].py_func.__module__ or ""
    return str(module).partition(".")[0] == OURS


_watch = _Watch()


def watch_compiler() -> None:
    """Begin to measure; called once, before the first kernel is compiled."""
    event.register("numba:compile", _watch)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_watch.forget)


def working_seconds() -> float:
    """Return a clock that stands still while kernels are compiled.

    Differences of it are what a step took, whether or not it was the first of its kind.
    """
    return time.perf_counter() - _watch.seconds()
