"""How far a long step is and what it has come to, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Called with the step's name, what is done, what there is in all (None: unknown) and a remark.
Show = Callable[[str, float, float | None, str], None]

#: Called with a line, and whether it is a detail that only some want to know.
Tell = Callable[[str, bool], None]

#: Called with how many kernels were compiled so far, and whether one is being compiled now.
Compiling = Callable[[int, bool], None]

_show: ContextVar[Show | None] = ContextVar("show", default=None)
_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)
# Kernels are compiled in whatever thread needs them first: not a variable of one context.
_compiling: Compiling | None = None


def show_with(show: Show | None) -> None:
    """Have progress shown by a function from here on."""
    _show.set(show)


def progress(step: str, done: float, total: float | None, remark: str = "") -> None:
    """Say how far a step is; costs nothing where nobody looks."""
    show = _show.get()
    if show is not None:
        show(step, done, total, remark)


def is_shown() -> bool:
    """Tell whether somebody looks."""
    return _show.get() is not None


def shown() -> Show:
    """Return :func:`progress` for the threads that a step works in, which know nobody who looks."""
    return _show.get() or _to_nobody


def _to_nobody(step: str, done: float, total: float | None, remark: str = "") -> None:
    pass


@contextmanager
def part_of(before: float, total: float | None) -> Iterator[None]:
    """Let steps within the block go on from what is done before, of so much in all."""
    show = _show.get()
    if show is None:
        yield
        return

    def go_on(step: str, done: float, _: float | None, remark: str = "") -> None:
        show(step, before + done, total, remark)

    token = _show.set(go_on)
    try:
        yield
    finally:
        _show.reset(token)


@contextmanager
def unseen() -> Iterator[None]:
    """Show nothing of steps within the block: whoever waits for them says how far they are."""
    token = _show.set(None)
    try:
        yield
    finally:
        _show.reset(token)


def tell_with(tell: Tell | None) -> None:
    """Have what is worth telling on the way told by a function from here on."""
    _tell.set(tell)


def tell(line: str, is_detail: bool = True) -> None:
    """Tell what a long step has come to; nothing where nobody listens."""
    listener = _tell.get()
    if listener is not None:
        listener(line, is_detail)


def tell_of_compiling(listener: Compiling | None) -> None:
    """Have a function told whenever the compiler begins or ends with a kernel."""
    global _compiling  # noqa: PLW0603
    _compiling = listener


def compiling(compiled: int, is_busy: bool) -> None:
    """Tell how many kernels were compiled so far, and whether one is being compiled now."""
    if _compiling is not None:
        _compiling(compiled, is_busy)
