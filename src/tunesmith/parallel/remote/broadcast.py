"""What workers are given once: which object is held under which number."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from tunesmith.parallel.remote.packing import Packed, packed
from tunesmith.parallel.remote.worker import Held


class Shelf:
    """Blocks by number, and the objects that they are of, which are recognised by identity.

    An object is held as long as it lives with the driver. The parts of a tuple are held each by
    itself. What cannot be referred to weakly (numbers, texts, lists) is not held.

    Parameters
    ----------
    publish
        Puts a block where workers find it, and returns what they find it by.
    """

    def __init__(self, publish: Callable[[Packed], Any]) -> None:
        self._publish = publish
        self._numbers = itertools.count()
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.blocks: dict[int, Any] = {}
        #: Numbers of objects that are gone; added to whenever the garbage is collected.
        self.gone: deque[int] = deque()
        #: Called when an object has gone.
        self.on_gone: Callable[[], None] | None = None

    def put(self, value: Any) -> int:
        """Hold a value until it is dropped; return its number."""
        number = next(self._numbers)
        self.blocks[number] = self._publish(packed(value))
        return number

    def form(self, data: Any) -> tuple[Any, tuple[int, ...]]:
        """Return data with numbers in the place of what is held, and these numbers."""
        if type(data) is tuple:
            forms = [self.form(part) for part in data]
            return tuple(f for f, _ in forms), tuple(n for _, numbers in forms for n in numbers)
        if not type(data).__weakrefoffset__:
            return data, ()
        known = self._known.get(id(data))
        if known is None or known[0]() is not data:
            number = self.put(data)
            self._known[id(data)] = (weakref.ref(data, self._forget(id(data), number)), number)
        else:
            number = known[1]
        return Held(number), (number,)

    def _forget(self, identity: int, number: int) -> Callable[[Any], None]:
        shelf = weakref.ref(self)

        def forget(_: Any) -> None:
            here = shelf()
            if here is None:
                return
            known = here._known.get(identity)
            if known is not None and known[1] == number:
                del here._known[identity]
            here.gone.append(number)
            if here.on_gone is not None:
                here.on_gone()

        return forget

    def drop(self, number: int) -> Any:
        """Forget a block; return what workers find it by."""
        return self.blocks.pop(number, None)

    def clear(self) -> list[Any]:
        """Forget all; return what workers find the blocks by."""
        blocks = list(self.blocks.values())
        self._known.clear()
        self.blocks.clear()
        self.gone.clear()
        return blocks
