"""How far a long step is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

#: Called with the step's name, what is done, what there is in all (None: unknown) and a remark.
Show = Callable[[str, float, float | None, str], None]

_show: ContextVar[Show | None] = ContextVar("show", default=None)


def show_with(show: Show | None) -> None:
    """Have progress shown by a function from here on."""
    _show.set(show)


def progress(step: str, done: float, total: float | None, remark: str = "") -> None:
    """Say how far a step is; costs nothing where nobody looks."""
    show = _show.get()
    if show is not None:
        show(step, done, total, remark)
