"""Values as one block of bytes that another process can map.

The arrays of a value lie behind its pickle, aligned, as they are in memory: a process with
the block has the arrays without a copy. What could be written to still can: a kernel that is given
a read-only array would be compiled once more. A file is therefore mapped privately, so that its
pages are shared until somebody writes, and what is written stays with the writer.
"""

from __future__ import annotations

import copyreg
import io
import mmap
import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tunesmith.errors import TunesmithError

#: Alignment of arrays in bytes: a cache line.
ALIGNMENT = 64

_NUMBER = struct.Struct("<q")


@dataclass(frozen=True)
class PackedValue:
    """A value as pieces of one block: the lengths and the pickle first, then each array.

    Attributes
    ----------
    head
        Number of arrays, their lengths, the length of the pickle, the pickle.
    buffers
        The memory of the arrays, not copied.
    nbytes
        The size of the block.
    """

    head: bytes
    buffers: tuple[memoryview, ...]
    nbytes: int

    def parts(self) -> Iterator[bytes | memoryview]:
        """Yield the parts of the block in order."""
        yield self.head
        size = len(self.head)
        for buffer in self.buffers:
            padding = -size % ALIGNMENT
            yield bytes(padding)
            yield buffer
            size += padding + buffer.nbytes

    def block(self) -> bytes:
        """Return the block."""
        return b"".join(self.parts())

    def write(self, file: IO[bytes]) -> None:
        """Write the block to a file."""
        for part in self.parts():
            file.write(part)


def _plain(array: np.memmap[Any, Any]) -> Any:
    """Have a mapped array packed as any other: its file may not be where it is unpacked."""
    return np.asarray(array).__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def pack(value: Any) -> PackedValue:
    """Return a value as a block; what cannot be pickled is an error that names it."""
    buffered: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5, buffer_callback=buffered.append)
    pickler.dispatch_table = {**copyreg.dispatch_table, np.memmap: _plain}
    try:
        pickler.dump(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TunesmithError(
            f"{type(value).__name__} cannot be sent to another process: {error}; "
            "define its parts in a module, or work in threads"
        ) from error
    buffers = tuple(buffer.raw() for buffer in buffered)
    numbers = [len(buffers), *(b.nbytes for b in buffers), stream.tell()]
    head = b"".join(map(_NUMBER.pack, numbers)) + stream.getvalue()
    size = len(head)
    for buffer in buffers:
        size += -size % ALIGNMENT + buffer.nbytes
    return PackedValue(head, buffers, size)


def unpack(block: Any) -> Any:
    """Return the value that a block holds; its arrays are those of the block.

    A block that cannot be written to is copied first.
    """
    view = memoryview(block).cast("B")
    if view.readonly:
        view = np.frombuffer(view, np.uint8).copy().data
    (count,) = _NUMBER.unpack_from(view, 0)
    place = _NUMBER.size
    lengths = struct.unpack_from(f"<{count + 1}q", view, place)
    place += _NUMBER.size * (count + 1)
    pickled = view[place : place + lengths[-1]]
    place += lengths[-1]
    buffers = []
    for length in lengths[:-1]:
        place += -place % ALIGNMENT
        buffers.append(view[place : place + length])
        place += length
    return pickle.loads(pickled, buffers=buffers)


def map_block(descriptor: int) -> mmap.mmap:
    """Map a block in a file privately: writing to it changes no other process's.

    A mapping counts towards the limit of open files.
    """
    return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)


def copy_block(descriptor: int) -> Any:
    """Return a copy of a block in a file, which can be written to."""
    return np.frombuffer(map_block(descriptor), np.uint8).copy().data
