"""The engine of processes on this machine, which share the arrays of what they are given.

A worker is a new Python that runs nothing of the driver's script unless something that the script
defines is sent to it. Messages go through a socket; what is large lies in a file, in memory where
the system has such files, that is mapped by whoever needs it. A worker ends when its socket does:
none outlives the driver, however that ends.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, ClassVar

from tunesmith.errors import TunesmithError
from tunesmith.parallel.local import available_threads
from tunesmith.parallel.packing import Packed, mapped, packed
from tunesmith.parallel.remote import Link, RemoteEngine
from tunesmith.parallel.worker import Desk, Outcome, as_worker, main_module, raised, set_main_module

#: Bytes up to which a block goes through the socket.
INLINE = 16 << 10
#: Where files are memory.
MEMORY = Path("/dev/shm")

_HOLD, _HOLD_FILE, _DROP, _ASK, _ASK_FILE, _SKIP = b"hHdaAs"

_PROGRAM = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from tunesmith.parallel.processes import serve; serve(**given)"
)


class ProcessEngine(RemoteEngine):
    """Processes beside this one; what they are given is in memory once more, for all of them.

    Parameters
    ----------
    workers
        How many; None is one for each core.
    timeout
        Seconds after which a worker that has not answered is ended; None is never.
    """

    name: ClassVar[str] = "processes"

    def __init__(self, workers: int | None = None, timeout: float | None = 600.0) -> None:
        super().__init__(workers, timeout)
        self._room: Room | None = None

    @property
    def _open_room(self) -> Room:
        if self._room is None:
            self._room = Room()
        return self._room

    def _start(self, number: int) -> Link:
        room = self._open_room
        here, there = Pipe()
        given = {
            "path": sys.path,
            "descriptor": there.fileno(),
            "folders": [str(folder) for folder in room.folders],
            "share": max(1, available_threads() // self.workers),
            "sharers": self.workers,
            "main": main_module(),
        }
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(given)],
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,  # an interrupt is the driver's, which ends them
            )
        except OSError as error:
            here.close()
            raise TunesmithError(
                f"a worker cannot be started: {error}; use fewer workers"
            ) from None
        finally:
            there.close()
        link = ProcessLink(here, process, room)
        room.links.add(link)
        return link

    def _ready(self, links: Sequence[Link], seconds: float | None) -> list[tuple[Link, Any | None]]:
        by_connection = {link.connection: link for link in links if isinstance(link, ProcessLink)}
        found = wait(list(by_connection), seconds)
        return [(link, link.answer()) for c in found if (link := by_connection[c])]  # type: ignore[index]

    def _publish(self, block: Packed) -> bytes | Path:
        return block.block() if block.nbytes <= INLINE else self._open_room.written(block)

    def _retire(self, block: bytes | Path) -> None:
        if isinstance(block, Path):
            block.unlink(missing_ok=True)

    def _end(self) -> None:
        if self._room is not None:
            self._room.close()
            self._room = None


class Room:
    """Folders for blocks, and the links of those who use them; gone with the engine or before."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        for parent in (MEMORY, Path(tempfile.gettempdir())):
            with contextlib.suppress(OSError):
                self.folders.append(Path(tempfile.mkdtemp(prefix="tunesmith-", dir=parent)))
        self.links: weakref.WeakSet[ProcessLink] = weakref.WeakSet()
        self.close = weakref.finalize(self, _closed, self.links, self.folders, os.getpid())

    def written(self, block: Packed) -> Path:
        """Write a block to a new file, in memory if there is room for it."""
        return written(block, self.folders)


def _closed(links: Any, folders: list[Path], owner: int) -> None:
    if os.getpid() != owner:  # a fork of the driver: nothing of it is its own
        return
    for link in list(links):
        link.kill()
    _removed(folders)


def _removed(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


_files = itertools.count()


def written(block: Packed, folders: Sequence[Path]) -> Path:
    """Write a block to a new file in the first folder that has room for it."""
    problem = "no folder can be written"
    for folder in folders:
        path = folder / f"{os.getpid()}-{next(_files)}"
        try:
            if shutil.disk_usage(folder).free > block.nbytes:
                block.write(path)
                return path
            problem = f"{folder.parent} has no room"
        except OSError as error:
            problem = f"{folder.parent}: {(error.strerror or str(error)).lower()}"
            path.unlink(missing_ok=True)
    raise TunesmithError(
        f"{problem}, {block.nbytes >> 20} MB are wanted; set TMPDIR to a folder with more room, "
        "or work in threads"
    )


class ProcessLink(Link):
    """The driver's end of a worker's socket."""

    def __init__(
        self, connection: Connection, process: subprocess.Popen[bytes], room: Room
    ) -> None:
        self.connection = connection
        self._process = process
        self._folders = room.folders

    def _send(self, kind: int, number: int, content: bytes = b"") -> None:
        with contextlib.suppress(OSError, ValueError):  # who waits for the answer finds it dead
            self.connection.send_bytes(bytes([kind]) + number.to_bytes(8, "little") + content)

    def hold(self, number: int, block: bytes | Path) -> None:
        """Send a small block, or the name of the file of a large one."""
        if isinstance(block, Path):
            self._send(_HOLD_FILE, number, os.fsencode(block))
        else:
            self._send(_HOLD, number, block)

    def drop(self, number: int) -> None:
        """Tell the worker."""
        self._send(_DROP, number)

    def ask(self, message: Packed) -> None:
        """Send a small message, or the name of a file for a large one."""
        if message.nbytes <= INLINE:
            self._send(_ASK, 0, message.block())
        else:
            self._send(_ASK_FILE, 0, os.fsencode(written(message, self._folders)))

    def skip(self, task: int) -> None:
        """Tell the worker, which hears it while it works."""
        self._send(_SKIP, task)

    def answer(self) -> Any | None:
        """Read an answer that is there; None if the worker is dead."""
        try:
            content = self.connection.recv_bytes()
            return taken(content[1:]) if content[0] == _ASK_FILE else content[1:]
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        """End the process, and see it end."""
        self._process.kill()
        self._process.wait()
        self.connection.close()

    def why(self) -> str:
        """Say how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        code = self._process.returncode
        if code is None:
            return "it closed its socket"
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def taken(name: bytes) -> Any:
    """Map the file that somebody wrote for us, and remove its name."""
    path = Path(os.fsdecode(name))
    block = mapped(path)
    path.unlink()
    return block


def serve(
    descriptor: int,
    folders: Sequence[str],
    share: int,
    sharers: int,
    main: tuple[str | None, str | None],
) -> None:
    """Be a worker until the driver's end of the socket is closed."""
    connection = Connection(descriptor)
    paths = [Path(folder) for folder in folders]
    set_main_module(main)
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    with as_worker(share, sharers) as desk:
        arguments = (connection, desk, asked, paths)
        threading.Thread(target=_listen, args=arguments, daemon=True).start()
        while True:
            _obey(asked.get(), desk, connection, paths)


def _listen(
    connection: Connection, desk: Desk, asked: queue.SimpleQueue[bytes], folders: Sequence[Path]
) -> None:
    """Read what comes while the worker works, and end it when nothing can come any more."""
    try:
        while True:
            message = connection.recv_bytes()
            if message[0] == _SKIP:
                desk.skip(int.from_bytes(message[1:9], "little"))
            else:
                asked.put(message)
    except (EOFError, OSError):
        _removed(folders)  # a driver that was killed has not done so
        os._exit(0)


def _obey(message: bytes, desk: Desk, connection: Connection, folders: Sequence[Path]) -> None:
    kind, number, content = message[0], int.from_bytes(message[1:9], "little"), message[9:]
    if kind == _HOLD:
        desk.hold(number, content)
    elif kind == _HOLD_FILE:
        with contextlib.suppress(FileNotFoundError):  # of a map that has ended meanwhile
            desk.hold(number, mapped(Path(os.fsdecode(content))))
    elif kind == _DROP:
        desk.drop(number)
    else:
        answer = desk.answer(taken(content) if kind == _ASK_FILE else content)
        _reply(answer, connection, folders)


def _reply(answer: Packed, connection: Connection, folders: Sequence[Path]) -> None:
    if answer.nbytes <= INLINE:
        connection.send_bytes(bytes([_ASK]) + answer.block())
        return
    try:
        file = written(answer, folders)
    except TunesmithError as error:
        _reply(packed(Outcome(error=raised(error))), connection, folders)
    else:
        connection.send_bytes(bytes([_ASK_FILE]) + os.fsencode(file))
