"""Data that each worker is sent once: which object is held under which number."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from tunesmith.parallel.remote.packing import PackedValue, pack
from tunesmith.parallel.remote.worker import BlockReference


class BroadcastBlocks:
    """Blocks by number, and the objects that they hold, which are recognised by identity.

    A block lives as long as its object does in the driver. The parts of a tuple have a block each.
    What has no weak references (numbers, texts, lists) has none.

    Parameters
    ----------
    publish
        Puts a block where workers can read it, and returns its handle.
    """

    def __init__(self, publish: Callable[[PackedValue], Any]) -> None:
        self._publish = publish
        self._numbers = itertools.count()
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.blocks: dict[int, Any] = {}
        #: Numbers of objects that are gone; garbage collection adds to it at any time.
        self.gone: deque[int] = deque()
        #: Called when an object has gone.
        self.on_gone: Callable[[], None] | None = None

    def put(self, value: Any) -> int:
        """Publish a value until it is dropped; return its number."""
        number = next(self._numbers)
        self.blocks[number] = self._publish(pack(value))
        return number

    def referenced(self, data: Any) -> tuple[Any, tuple[int, ...]]:
        """Return data with references in place of objects, and the numbers of their blocks."""
        if type(data) is tuple:
            parts = [self.referenced(part) for part in data]
            return tuple(p for p, _ in parts), tuple(n for _, numbers in parts for n in numbers)
        if not type(data).__weakrefoffset__:
            return data, ()
        known = self._known.get(id(data))
        if known is None or known[0]() is not data:
            number = self.put(data)
            self._known[id(data)] = (weakref.ref(data, self._forget(id(data), number)), number)
        else:
            number = known[1]
        return BlockReference(number), (number,)

    def _forget(self, identity: int, number: int) -> Callable[[Any], None]:
        reference = weakref.ref(self)

        def forget(_: Any) -> None:
            blocks = reference()
            if blocks is None:
                return
            known = blocks._known.get(identity)
            if known is not None and known[1] == number:
                del blocks._known[identity]
            blocks.gone.append(number)
            if blocks.on_gone is not None:
                blocks.on_gone()

        return forget

    def drop(self, number: int) -> Any:
        """Forget a block; return its handle."""
        return self.blocks.pop(number, None)

    def clear(self) -> list[Any]:
        """Forget all blocks; return their handles."""
        blocks = list(self.blocks.values())
        self._known.clear()
        self.blocks.clear()
        self.gone.clear()
        return blocks
