"""How long compiling kernels took, and who is told when it begins."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from numba.core import event

#: Called with the number of our kernels that this process has compiled so far, and with
#: whether compiling has just paused: True when the outermost kernel is done.
Listener = Callable[[int, bool], None]


class _Compiler(event.Listener):  # type: ignore[misc]
    """Adds up the time during which any kernel is compiled; numba compiles one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._begin = 0.0
        self._seconds = 0.0
        self.compiled = 0
        self.listener: Listener | None = None

    def on_start(self, event: Any) -> None:
        with self._lock:
            if self._depth == 0:
                self._begin = time.perf_counter()
            self._depth += 1
        if self.listener is not None:
            self.listener(self.compiled, False)

    def on_end(self, event: Any) -> None:
        with self._lock:
            self._depth -= 1
            is_done = self._depth == 0
            if is_done:
                self._seconds += time.perf_counter() - self._begin
            module = event.data["dispatcher"].py_func.__module__ or ""
            self.compiled += module.partition(".")[0] == "tunesmith"
        if self.listener is not None:
            self.listener(self.compiled, is_done)

    def seconds(self) -> float:
        with self._lock:
            running = time.perf_counter() - self._begin if self._depth else 0.0
            return self._seconds + running


_compiler = _Compiler()


def watch_compiler() -> None:
    """Begin to measure; called once, before the first kernel is compiled."""
    event.register("numba:compile", _compiler)


def tell_of_compiling(listener: Listener | None) -> None:
    """Have a function told whenever a kernel begins or ends to be compiled, in whatever thread."""
    _compiler.listener = listener


def compiled_kernels() -> int:
    """Return how many of our kernels this process has compiled."""
    return _compiler.compiled


def working_seconds() -> float:
    """Return a clock that stands still while kernels are compiled.

    Differences of it are what a step took, whether or not it was the first of its kind.
    """
    return time.perf_counter() - _compiler.seconds()
