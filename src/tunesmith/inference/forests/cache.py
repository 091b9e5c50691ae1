"""What is computed from forests and used again: counts, tables, samples.

A tuner, its oracle and an evaluation go over the same forests; what takes long is made once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from tunesmith.data.forests import Forests

T = TypeVar("T")


class _CacheEntry:
    """What is cached of one set: of each kind the last value."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.values: dict[str, tuple[Hashable, Any]] = {}


_entries: WeakKeyDictionary[Forests, _CacheEntry] = WeakKeyDictionary()
_lock = threading.Lock()


def cached(forests: Forests, kind: str, settings: Hashable, make: Callable[[], T]) -> T:
    """Return what was computed from a set with these settings; compute it if it is new.

    It is cached as long as the set lives, until one of that kind with other settings is asked for.

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
        entry = _entries.setdefault(forests, _CacheEntry())
    with entry.lock:
        value = entry.values.get(kind)
        if value is None or value[0] != settings:
            entry.values.pop(kind, None)  # its memory may be needed
            value = entry.values[kind] = settings, make()
        return cast("T", value[1])
