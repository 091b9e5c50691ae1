"""The engine of processes on this machine, which share the arrays of what they are given.

A worker is a new Python that runs nothing of the driver's script unless something that the script
defines is sent to it: scripts need no guard, and a prompt or a notebook can have workers. A worker
ends when its socket does: none outlives the driver, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any, ClassVar

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.parallel.local import thread_count
from tunesmith.parallel.remote.channel import Channel, Shared, shared
from tunesmith.parallel.remote.engine import RemoteEngine
from tunesmith.parallel.remote.packing import Packed, packed
from tunesmith.parallel.remote.slots import Link
from tunesmith.parallel.remote.worker import (
    Desk,
    Outcome,
    as_worker,
    main_module,
    raised,
    set_main_module,
)

_HOLD, _DROP, _ASK, _SKIP = range(4)

_PROGRAM = (
    "import json, sys; given = json.loads(sys.argv.pop()); sys.path[:] = given.pop('path'); "
    "from tunesmith.parallel.remote.processes import serve; serve(**given)"
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
        if not hasattr(socket, "send_fds"):
            raise UsageError("this system cannot share memory with processes; work in threads")

    def _start(self, number: int) -> Link:
        return ProcessLink(max(1, thread_count() // self.workers), self.workers)

    def _ready(self, links: Sequence[Link], seconds: float | None) -> list[tuple[Link, Any | None]]:
        by_channel = {link.channel: link for link in links if isinstance(link, ProcessLink)}
        found: list[Any] = wait(list(by_channel), seconds)  # type: ignore[arg-type]
        return [(by_channel[channel], by_channel[channel].answer()) for channel in found]

    def _publish(self, block: Packed) -> bytes | Shared:
        return shared(block)

    def _retire(self, block: bytes | Shared) -> None:
        if isinstance(block, Shared):
            block.close()

    def _end(self) -> None:
        pass


class ProcessLink(Link):
    """A process, and the driver's end of its socket.

    Parameters
    ----------
    share
        Threads that it uses.
    sharers
        Processes that share the memory.
    """

    def __init__(self, share: int, sharers: int) -> None:
        here, there = socket.socketpair()
        for end in (here, there):  # several small messages never wait for their reader
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        given = {
            "path": sys.path,
            "descriptor": there.fileno(),
            "share": share,
            "sharers": sharers,
            "main": main_module(),
        }
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(given)],
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,  # an interrupt is the driver's, which ends them
            )
        except OSError as error:
            here.close()
            text = f"a worker cannot be started: {error}; use fewer workers, or work in threads"
            raise TunesmithError(text) from None
        finally:
            there.close()
        self.channel = Channel(here)
        self._killed = weakref.finalize(self, _killed, self._process, self.channel, os.getpid())

    def _send(self, kind: int, number: int, block: bytes | Shared = b"") -> None:
        with contextlib.suppress(OSError):  # whoever waits for the answer finds it dead
            self.channel.send(kind, number, block)

    def hold(self, number: int, block: bytes | Shared) -> None:
        """Send a block, which is mapped at once if it is large."""
        self._send(_HOLD, number, block)

    def drop(self, number: int) -> None:
        """Tell the worker."""
        self._send(_DROP, number)

    def ask(self, message: Packed) -> None:
        """Send a message."""
        block = shared(message)
        self._send(_ASK, 0, block)
        if isinstance(block, Shared):
            block.close()

    def skip(self, task: int) -> None:
        """Tell the worker, which hears it while it works."""
        self._send(_SKIP, task)

    def answer(self) -> Any | None:
        """Read an answer that is there; None if the worker is dead."""
        try:
            return self.channel.receive()[2]
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        """End the process; this also happens when the link is garbage, and at exit."""
        self._killed()

    def why(self) -> str:
        """Say how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        code = self._process.returncode
        if code is None:
            return "it closed its socket"
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"

    def has_given_up(self) -> bool:
        """Tell whether it was not killed."""
        code = self._process.poll()
        return code is not None and code >= 0


def _killed(process: subprocess.Popen[bytes], channel: Channel, owner: int) -> None:
    """End a process and those that it started, and see it end."""
    if os.getpid() == owner:  # in a fork of the driver, the worker is not its own
        # What a dead worker has started may live on.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
    channel.close()


def serve(descriptor: int, share: int, sharers: int, main: tuple[str | None, str | None]) -> None:
    """Be a worker until the driver's end of the socket is closed."""
    os.set_inheritable(descriptor, False)  # a program that has it would seem to be the worker
    channel = Channel(socket.socket(fileno=descriptor))
    set_main_module(main)
    asked: queue.SimpleQueue[tuple[int, int, Any]] = queue.SimpleQueue()
    with as_worker(share, sharers) as desk:
        threading.Thread(target=_listen, args=(channel, desk, asked), daemon=True).start()
        while True:
            kind, number, block = asked.get()
            if kind == _HOLD:
                desk.hold(number, block)
            elif kind == _DROP:
                desk.drop(number)
            else:
                _reply(channel, desk.answer(block))


def _listen(channel: Channel, desk: Desk, asked: queue.SimpleQueue[tuple[int, int, Any]]) -> None:
    """Read what comes while the worker works, and end it when nothing can come any more."""
    try:
        while True:
            kind, number, block = channel.receive(for_all=_HOLD)
            if kind == _SKIP:
                desk.skip(number)
            else:
                asked.put((kind, number, block))
    finally:
        os.killpg(os.getpid(), signal.SIGKILL)  # and what it has started


def _reply(channel: Channel, answer: Packed) -> None:
    try:
        block = shared(answer)
    except TunesmithError as error:
        block = shared(packed(Outcome(error=raised(error))))
    with contextlib.suppress(OSError):  # the driver is gone, as we shall be
        channel.send(_ASK, 0, block)
    if isinstance(block, Shared):
        block.close()
