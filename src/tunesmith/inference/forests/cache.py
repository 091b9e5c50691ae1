"""What was made of forests and is asked for again: counts, tables, samples.

A tuner, its oracle and an evaluation go over the same forests; what takes long is made once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from tunesmith.data.forests import Forests

T = TypeVar("T")


class _Shelf:
    """What is kept of one set: of each kind the last thing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.things: dict[str, tuple[Hashable, Any]] = {}


_shelves: WeakKeyDictionary[Forests, _Shelf] = WeakKeyDictionary()
_lock = threading.Lock()


def kept(forests: Forests, kind: str, settings: Hashable, make: Callable[[], T]) -> T:
    """Return what was made of a set with some settings, or make it now.

    It is kept as long as the set lives, until one of that kind with other settings is asked for.

    Parameters
    ----------
    forests
        The set itself, not its contents, is what is looked for.
    kind, settings
        What is made, and all that it depends on beside the set.
    make
        Must not keep the set alive by its result. Other threads that ask wait for it.
    """
    with _lock:
        shelf = _shelves.setdefault(forests, _Shelf())
    with shelf.lock:
        held = shelf.things.get(kind)
        if held is None or held[0] != settings:
            shelf.things.pop(kind, None)  # its memory may be needed
            held = shelf.things[kind] = settings, make()
        return cast("T", held[1])
