"""Ctrl-C as a request for the best result so far.

Within :func:`interruptible` the first Ctrl-C raises :class:`Interruption`, a ``KeyboardInterrupt``
that goes up to :meth:`Tuner.fit` or a loop, which return what they have. A tuner registers with
:func:`keep`, before it starts, a function that returns its result so far; it is called only at an
interruption. What must not be left half done, or polls and ends by itself, is within
:func:`uninterrupted`, where a Ctrl-C is noted and raises nothing until :func:`check`;
:func:`is_interrupted` polls for it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any


class Interruption(KeyboardInterrupt):
    """A Ctrl-C that requests the best result so far."""


class _SignalHandler:
    """Handles SIGINT in a block; ``deferrals`` counts ``uninterrupted`` blocks within it."""

    def __init__(self, again: Callable[[], None] | None) -> None:
        self.is_interrupted = False
        self.deferrals = 0
        self._again = again

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.is_interrupted:
            if self._again is not None:
                self._again()
            raise KeyboardInterrupt
        self.is_interrupted = True
        if not self.deferrals:
            raise Interruption


#: Handlers of the blocks in force, the innermost last; of the whole process, as signals are.
_handlers: list[_SignalHandler] = []


@contextlib.contextmanager
def interruptible(again: Callable[[], None] | None = None) -> Iterator[None]:
    """Let tuners return the best result so far when they are interrupted, marked as such.

    At the first Ctrl-C within the block, :meth:`Tuner.fit` and :meth:`Loop.run` return the best
    weights so far, evaluated as usual, in a result that is ``interrupted``. If no step is complete
    yet, they raise ``KeyboardInterrupt``. A second Ctrl-C always does.

    It works only in the main thread, where Python handles signals, and has no effect if Ctrl-C is
    ignored or already has another handler.

    Parameters
    ----------
    again
        Called at the second Ctrl-C.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    handler = _SignalHandler(again)
    try:
        _handlers.append(handler)
        signal.signal(signal.SIGINT, handler)
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _handlers[:] = [other for other in _handlers if other is not handler]


def is_interrupted() -> bool:
    """Tell whether the best result so far was requested; any thread may call this."""
    return any(handler.is_interrupted for handler in _handlers[-1:])


def check() -> None:
    """Raise an interruption that was noted and not raised."""
    if is_interrupted():
        raise Interruption


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer a first Ctrl-C within the block, and beyond it until :func:`check`."""
    if not _handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = _handlers[-1]
    handler.deferrals += 1
    try:
        yield
    finally:
        handler.deferrals -= 1


@dataclass(frozen=True)
class SoFar:
    """What an algorithm can return before its end.

    Attributes
    ----------
    outcomes
        An ``Outcome`` for some of its settings, by their number among those that it has not
        returned yet.
    steps
        How far it is, as "3 of 21 climbs".
    unfinished
        Whether more was to be done with these settings.
    """

    outcomes: dict[int, Any]
    steps: str
    unfinished: bool = True


@dataclass
class Keeping:
    """Sources of the result so far of a run, of which the last registered comes first.

    Attributes
    ----------
    is_wanted
        Whether they are used at an interruption. Within another run, or where only complete
        results are of use, none is.
    """

    is_wanted: bool = True
    _sources: list[Callable[[], SoFar | None]] = field(default_factory=list)

    def register(self, source: Callable[[], SoFar | None]) -> None:
        """Add a function that returns the result so far."""
        self._sources.append(source)

    def forget(self) -> None:
        """Remove all sources: their results were returned."""
        self._sources.clear()

    def so_far(self) -> SoFar | None:
        """Return the result so far; None if no step is complete."""
        results = (source() for source in reversed(self._sources))
        return next((result for result in results if result is not None), None)


_keeping: ContextVar[Keeping | None] = ContextVar("keeping", default=None)


def keep(source: Callable[[], SoFar | None]) -> None:
    """Register what an algorithm could return from now on.

    Parameters
    ----------
    source
        Called at an interruption only. If it returns None, there is nothing yet, and the source
        registered before counts.
    """
    keeping = _keeping.get()
    if keeping is not None and keeping.is_wanted:
        keeping.register(source)


@contextlib.contextmanager
def keeping() -> Iterator[Keeping]:
    """Collect the sources registered within the block, for the caller to use at an interruption."""
    collected = Keeping(returns_so_far())
    with told_to(collected):
        yield collected


@contextlib.contextmanager
def told_to(collected: Keeping) -> Iterator[None]:
    """Collect the sources registered within the block here, after removing earlier ones."""
    collected.forget()
    token = _keeping.set(collected)
    try:
        yield
    finally:
        _keeping.reset(token)


def returns_so_far() -> bool:
    """Tell whether what starts now may return a partial result at an interruption."""
    return _keeping.get() is None


@contextlib.contextmanager
def whole_or_nothing() -> Iterator[None]:
    """Have what runs within the block return complete results only."""
    with told_to(Keeping(is_wanted=False)):
        yield
