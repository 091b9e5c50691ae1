"""Ctrl-C as a wish to have what was found so far.

Within :func:`interruptible` the first Ctrl-C raises :class:`Interruption`, a ``KeyboardInterrupt``
that goes up to whoever has something to return: :meth:`Tuner.fit`, or a loop. What a tuner could
return at any moment it tells with :func:`keep`, before it begins; nobody asks unless an
interruption comes. What must not be left half done, or ends by itself when it is asked to, is
within :func:`uninterrupted`, where a Ctrl-C is noted and raises nothing; :func:`is_asked` and
:func:`check` tell of it.
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
    """A Ctrl-C after which what was found so far is wanted."""


class _Watch:
    """One block in which Ctrl-C is a wish; ``held`` counts blocks in which it waits."""

    def __init__(self, again: Callable[[], None] | None) -> None:
        self.asked = False
        self.held = 0
        self._again = again

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hear a signal."""
        if self.asked:
            if self._again is not None:
                self._again()
            raise KeyboardInterrupt
        self.asked = True
        if not self.held:
            raise Interruption


#: The blocks in force, the innermost last. Signals are the process's, and so is what they mean.
_watches: list[_Watch] = []


@contextlib.contextmanager
def interruptible(again: Callable[[], None] | None = None) -> Iterator[None]:
    """Let tuners return what they have found when they are interrupted, marked as such.

    At the first Ctrl-C within the block, :meth:`Tuner.fit` and :meth:`Loop.run` return the best
    weights so far, evaluated as ever, in a result that is ``interrupted``. If no step is complete
    yet, they raise ``KeyboardInterrupt``. So does everything at the second one.

    It works in the main thread, where Python hears of signals, and unless Ctrl-C is ignored or
    has another meaning already.

    Parameters
    ----------
    again
        Called at the second Ctrl-C.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    watch = _Watch(again)
    try:
        _watches.append(watch)
        signal.signal(signal.SIGINT, watch)
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _watches[:] = [one for one in _watches if one is not watch]


def is_asked() -> bool:
    """Tell whether somebody has asked for what was found so far; any thread may want to know."""
    return any(watch.asked for watch in _watches[-1:])


def check() -> None:
    """Raise an interruption that was noted and not raised."""
    if is_asked():
        raise Interruption


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a first Ctrl-C wait within the block, and beyond it for :func:`check`."""
    if not _watches or threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _watches[-1]
    watch.held += 1
    try:
        yield
    finally:
        watch.held -= 1


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
    """What there is to return of a run; the last that was told comes first.

    Attributes
    ----------
    is_wanted
        Whether this is what is returned at an interruption. Within another run, or where only
        whole results are of use, nothing is.
    """

    is_wanted: bool = True
    _told: list[Callable[[], SoFar | None]] = field(default_factory=list)

    def tell(self, found: Callable[[], SoFar | None]) -> None:
        """Take note of what can say what there is."""
        self._told.append(found)

    def forget(self) -> None:
        """Let go of all that was told: it was returned."""
        self._told.clear()

    def so_far(self) -> SoFar | None:
        """Return what there is; None if no step is complete."""
        every = (found() for found in reversed(self._told))
        return next((one for one in every if one is not None), None)


_keeping: ContextVar[Keeping | None] = ContextVar("keeping", default=None)


def keep(found: Callable[[], SoFar | None]) -> None:
    """Tell what an algorithm could return from now on.

    Parameters
    ----------
    found
        Asked at an interruption only. None says that there is nothing yet, and whatever was told
        before counts.
    """
    keeping = _keeping.get()
    if keeping is not None and keeping.is_wanted:
        keeping.tell(found)


@contextlib.contextmanager
def keeping() -> Iterator[Keeping]:
    """Collect what is told within the block, for whoever returns it at an interruption."""
    own = Keeping(returns_so_far())
    with told_to(own):
        yield own


@contextlib.contextmanager
def told_to(own: Keeping) -> Iterator[None]:
    """Have what is told within the block told to somebody else, and forgotten before it."""
    own.forget()
    token = _keeping.set(own)
    try:
        yield
    finally:
        _keeping.reset(token)


def returns_so_far() -> bool:
    """Tell whether what begins now may return less than the whole at an interruption."""
    return _keeping.get() is None


@contextlib.contextmanager
def whole_or_nothing() -> Iterator[None]:
    """Have what runs within the block return whole results only."""
    with told_to(Keeping(is_wanted=False)):
        yield
