"""Blocks between two processes of one machine: small ones in a socket, large ones in memory files.

Files have no names, and live as long as a process has them open or mapped: processes leave nothing
behind, however they end.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import struct
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tunesmith.errors import TunesmithError
from tunesmith.parallel.memory import budget
from tunesmith.parallel.remote.packing import PackedValue, copy_block, map_block

#: Bytes up to which a block goes through the socket; several fit in what a socket buffers.
INLINE = 16 << 10
#: Bytes up to which a block for a single process is copied: there may be more such blocks than a
#: process may have open files.
COPIED = 8 << 20
#: Where files are in memory; where it is missing or full, they go to the temporary folder.
MEMORY = Path("/dev/shm")

_HEADER = struct.Struct("<BqQ")


@dataclass(frozen=True, eq=False)
class SharedBlock:
    """A large block in a file without a name.

    Attributes
    ----------
    file
        The file, which is open.
    memory
        Bytes of memory that it takes; none if it is on disk.
    """

    file: IO[bytes]
    memory: int

    def close(self) -> None:
        """Close the file; processes that have it mapped keep it."""
        self.file.close()
        _open_blocks.pop(id(self), None)


#: Blocks that take memory in this process, by identity. Garbage collection may close files at any
#: moment and in any thread: no loop runs over this directly.
_open_blocks: dict[int, weakref.ref[SharedBlock]] = {}


def share_block(block: PackedValue) -> bytes | SharedBlock:
    """Return a block as it is sent: itself if it is small, or in a file.

    The file is in memory as long as such files take no more than :func:`budget`: data that are on
    disk because they exceed memory must not come back by being shared.
    """
    if block.nbytes <= INLINE:
        return block.block()
    problem = "no folder can be written"
    blocks = [reference() for reference in tuple(_open_blocks.values())]
    used = sum(shared_block.memory for shared_block in blocks if shared_block is not None)
    folders = [MEMORY] if used + block.nbytes <= budget() else []
    for folder in (*folders, Path(tempfile.gettempdir())):
        try:
            if shutil.disk_usage(folder).free < block.nbytes:
                problem = f"{folder}: no space left on device"
                continue
            memory = block.nbytes if folder == MEMORY else 0
            result = SharedBlock(_write_file(block, folder), memory)
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise TunesmithError(
                    f"{len(blocks)} sets that workers have hold a file open each, and no more can "
                    "be opened; let go of some, raise the limit (ulimit -n), or work in threads"
                ) from None
            problem = f"{folder}: {(error.strerror or str(error)).lower()}"
        else:
            _track(result)
            return result
    raise TunesmithError(
        f"{problem}, {block.nbytes >> 20} MB are needed; set TMPDIR to a folder with more room, "
        "or work in threads"
    )


def _track(file: SharedBlock) -> None:
    place = id(file)
    _open_blocks[place] = weakref.ref(file, lambda _: _open_blocks.pop(place, None))


def _write_file(block: PackedValue, folder: Path) -> IO[bytes]:
    file = tempfile.TemporaryFile(dir=folder, prefix="tunesmith-")  # noqa: SIM115  (it is kept)
    try:
        block.write(file)
        file.flush()
    except BaseException:
        file.close()
        raise
    return file


class Channel:
    """One end of a socket that carries blocks, each with a kind and a number."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(self, kind: int, number: int, block: bytes | SharedBlock = b"") -> None:
        """Send a block; OSError if the other end is closed."""
        if isinstance(block, SharedBlock):
            header = _HEADER.pack(kind, number, 0)
            socket.send_fds(self._socket, [header], [block.file.fileno()])
        else:
            self._socket.sendall(_HEADER.pack(kind, number, len(block)) + block)

    def receive(self, for_all: int | None = None) -> tuple[int, int, Any]:
        """Return kind, number and block; EOFError if the other end is closed.

        Parameters
        ----------
        for_all
            The kind of blocks that several processes are sent, and share.
        """
        first, descriptors, *_ = socket.recv_fds(self._socket, _HEADER.size, 1)
        try:
            if not first:
                raise EOFError
            header = first + bytes(self._exactly(_HEADER.size - len(first)))
            kind, number, size = _HEADER.unpack(header)
            if descriptors:
                is_own = kind != for_all and os.fstat(descriptors[0]).st_size <= COPIED
                return kind, number, (copy_block if is_own else map_block)(descriptors[0])
            return kind, number, self._exactly(size)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _exactly(self, size: int) -> bytearray:
        content = bytearray(size)
        view = memoryview(content)
        while view:
            count = self._socket.recv_into(view)
            if count == 0:
                raise EOFError
            view = view[count:]
        return content
