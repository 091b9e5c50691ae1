"""Progress bars below the cells of notebooks: shown where no one else shows progress."""

from __future__ import annotations

import functools
import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from tunesmith.progress import is_shown, shown_by, time_left

P = ParamSpec("P")
R = TypeVar("R")
#: Seconds before the first bar, and between two drawings.
QUICK, PAUSE = 1.0, 0.25


def with_bars(function: Callable[P, R]) -> Callable[P, R]:
    """Show bars while a function works, if it is called from a notebook."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with notebook_bars():
            return function(*args, **kwargs)

    return wrapped


@contextmanager
def notebook_bars() -> Iterator[None]:
    """Show bars below the cell within the block; elsewhere than in notebooks nothing happens."""
    shell = _kernel_shell()
    if shell is None or is_shown():
        yield
        return
    bars = NotebookBars()
    try:
        with shown_by(bars):
            yield
    finally:
        bars.close()


def _kernel_shell() -> Any:
    """Return the shell of a notebook's kernel; None elsewhere."""
    # Whoever runs in a kernel has imported IPython: others do not pay for it.
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return None if getattr(shell, "kernel", None) is None else shell


class NotebookBars:
    """One bar for each step that is going on, in an output that is drawn again and again."""

    def __init__(self) -> None:
        self._start = self._drawn = time.monotonic()
        self._steps: dict[str, tuple[float, float | None, str, float]] = {}
        self._handle: Any = None
        self._lock = threading.Lock()

    def __call__(self, step: str, done: float, total: float | None, remark: str) -> None:
        """Take what :func:`tunesmith.progress.progress` tells."""
        with self._lock:
            now = time.monotonic()
            step_start = self._steps[step][3] if step in self._steps else now
            self._steps[step] = done, total, remark, step_start
            if now - self._start >= QUICK and now - self._drawn >= PAUSE:
                self._drawn = now
                self._show(self.markup(now))

    def close(self) -> None:
        """Leave nothing below the cell but its results."""
        with self._lock:
            if self._handle is not None:
                self._show("")

    def markup(self, now: float) -> str:
        """Return the bars as HTML."""
        rows = []
        for step, (done, total, remark, step_start) in self._steps.items():
            if total and done >= total:
                continue
            value = f' value="{done:g}" max="{total:g}"' if total else ""
            count = f"{done:g} of {total:g}" if total else ""
            texts = (step, count, time_left(now - step_start, done, total), remark)
            words = ", ".join(html.escape(text) for text in texts if text)
            rows.append(f'<div><progress{value} aria-label="progress"></progress> {words}</div>')
        return "".join(rows)

    def _show(self, markup: str) -> None:
        from importlib import import_module

        display = import_module("IPython.display")
        if self._handle is None:
            self._handle = display.display(display.HTML(markup), display_id=True)
        else:
            self._handle.update(display.HTML(markup))
