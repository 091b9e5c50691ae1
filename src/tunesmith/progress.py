"""How far a long step is and what it has come to, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

#: Called with the step's name, what is done, what there is in all (None: unknown) and a remark.
Show = Callable[[str, float, float | None, str], None]

#: Called with a line, and whether it is a detail that only some want to know.
Tell = Callable[[str, bool], None]

_show: ContextVar[Show | None] = ContextVar("show", default=None)
_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)


def show_with(show: Show | None) -> None:
    """Have progress shown by a function from here on."""
    _show.set(show)


def progress(step: str, done: float, total: float | None, remark: str = "") -> None:
    """Say how far a step is; costs nothing where nobody looks."""
    show = _show.get()
    if show is not None:
        show(step, done, total, remark)


def tell_with(tell: Tell | None) -> None:
    """Have what is worth telling on the way told by a function from here on."""
    _tell.set(tell)


def tell(line: str, is_detail: bool = True) -> None:
    """Tell what a long step has come to; nothing where nobody listens."""
    listener = _tell.get()
    if listener is not None:
        listener(line, is_detail)
