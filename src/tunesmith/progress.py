"""Progress and messages of long steps, for the caller to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Called with the step's name, what is done, the total (None: unknown) and a remark.
Show = Callable[[str, float, float | None, str], None]

#: Called with a line, and whether it is a detail for verbose output only.
Tell = Callable[[str, bool], None]

#: Called with the number of kernels compiled so far, and whether one is being compiled now.
Compiling = Callable[[int, bool], None]

#: Seconds of a step before the time that is left is told.
SURE = 5.0

_show: ContextVar[Show | None] = ContextVar("show", default=None)
_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)
# Kernels are compiled in whatever thread needs them first: not a variable of one context.
_compiling: Compiling | None = None


def show_with(show: Show | None) -> None:
    """Set the function that shows progress."""
    _show.set(show)


def progress(step: str, done: float, total: float | None, remark: str = "") -> None:
    """Report the progress of a step; costs nothing where it is not shown."""
    show = _show.get()
    if show is not None:
        show(step, done, total, remark)


def is_shown() -> bool:
    """Tell whether progress is shown."""
    return _show.get() is not None


def shown() -> Show:
    """Return :func:`progress` for other threads, which do not inherit what shows it."""
    return _show.get() or _show_nothing


def _show_nothing(step: str, done: float, total: float | None, remark: str = "") -> None:
    pass


@contextmanager
def part_of(before: float, total: float | None) -> Iterator[None]:
    """Report steps within the block as parts of a larger one: ``before`` is done, of ``total``."""
    show = _show.get()
    if show is None:
        yield
        return

    def show_part(step: str, done: float, _: float | None, remark: str = "") -> None:
        show(step, before + done, total, remark)

    token = _show.set(show_part)
    try:
        yield
    finally:
        _show.reset(token)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Show progress with a function within the block."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


@contextmanager
def unseen() -> Iterator[None]:
    """Show no progress of steps within the block: the caller reports its own."""
    token = _show.set(None)
    try:
        yield
    finally:
        _show.reset(token)


def tell_with(tell: Tell | None) -> None:
    """Set the function that shows messages."""
    _tell.set(tell)


def tell(line: str, is_detail: bool = True) -> None:
    """Show a message of a long step, if messages are shown."""
    listener = _tell.get()
    if listener is not None:
        listener(line, is_detail)


def tell_of_compiling(listener: Compiling | None) -> None:
    """Set the function that is called whenever the compilation of a kernel starts or ends."""
    global _compiling  # noqa: PLW0603
    _compiling = listener


def compiling(compiled: int, is_busy: bool) -> None:
    """Report the number of kernels compiled so far, and whether one is being compiled now."""
    if _compiling is not None:
        _compiling(compiled, is_busy)


def time_left(elapsed: float, done: float, total: float | None) -> str:
    """Say how long a step still takes if it goes on as it did: nothing in its first seconds."""
    if total is None or not 0.0 < done < total or elapsed < SURE:
        return ""
    seconds = round(elapsed * (total - done) / done)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"
