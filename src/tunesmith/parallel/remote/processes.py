"""The engine of processes on this machine, which share the arrays that they are sent.

A worker is a new Python process that runs nothing of the driver's script unless it is sent a
definition from it: scripts need no guard, and a prompt or a notebook can have workers. A worker
exits when its socket closes: none outlives the driver, however that ends.
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
from tunesmith.parallel.remote.channel import Channel, SharedBlock, share_block
from tunesmith.parallel.remote.engine import RemoteEngine
from tunesmith.parallel.remote.packing import PackedValue, pack
from tunesmith.parallel.remote.slots import Link
from tunesmith.parallel.remote.worker import (
    PieceOutcome,
    WorkerServer,
    as_worker,
    main_module,
    portable_error,
    set_main_module,
)

_HOLD, _DROP, _ASK, _SKIP = range(4)

_PROGRAM = (
    "import json, sys; options = json.loads(sys.argv.pop()); sys.path[:] = options.pop('path'); "
    "from tunesmith.parallel.remote.processes import serve; serve(**options)"
)


class ProcessEngine(RemoteEngine):
    """Worker processes; the data that they are sent are in memory once more, for all of them.

    Parameters
    ----------
    workers
        Their number; None is one per core.
    timeout
        Seconds after which an unresponsive worker is killed; None is never.
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
        ready: list[Any] = wait(list(by_channel), seconds)  # type: ignore[arg-type]
        return [(by_channel[channel], by_channel[channel].answer()) for channel in ready]

    def _publish(self, block: PackedValue) -> bytes | SharedBlock:
        return share_block(block)

    def _retire(self, block: bytes | SharedBlock) -> None:
        if isinstance(block, SharedBlock):
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
        parent_end, child_end = socket.socketpair()
        for end in (parent_end, child_end):  # several small messages never block
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        arguments = {
            "path": sys.path,
            "descriptor": child_end.fileno(),
            "share": share,
            "sharers": sharers,
            "main": main_module(),
        }
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(arguments)],
                stdin=subprocess.DEVNULL,
                pass_fds=[child_end.fileno()],
                start_new_session=True,  # the driver handles interrupts, and kills them
            )
        except OSError as error:
            parent_end.close()
            text = f"a worker cannot be started: {error}; use fewer workers, or work in threads"
            raise TunesmithError(text) from None
        finally:
            child_end.close()
        self.channel = Channel(parent_end)
        self._finalizer = weakref.finalize(self, _kill, self._process, self.channel, os.getpid())

    def _send(self, kind: int, number: int, block: bytes | SharedBlock = b"") -> None:
        with contextlib.suppress(OSError):  # _ready reports the dead worker
            self.channel.send(kind, number, block)

    def hold(self, number: int, block: bytes | SharedBlock) -> None:
        """Send a block; a large one is shared memory."""
        self._send(_HOLD, number, block)

    def drop(self, number: int) -> None:
        """Tell the worker."""
        self._send(_DROP, number)

    def ask(self, message: PackedValue) -> None:
        """Send a message."""
        block = share_block(message)
        self._send(_ASK, 0, block)
        if isinstance(block, SharedBlock):
            block.close()

    def skip(self, task: int) -> None:
        """Tell the worker, whose listener reads it during work."""
        self._send(_SKIP, task)

    def answer(self) -> Any | None:
        """Read an answer that has arrived; None if the worker is dead."""
        try:
            return self.channel.receive()[2]
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        """Kill the process; this also happens at garbage collection and at exit."""
        self._finalizer()

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


def _kill(process: subprocess.Popen[bytes], channel: Channel, owner: int) -> None:
    """Kill a process and those that it started, and wait for its end."""
    if os.getpid() == owner:  # not in a fork of the driver
        # What a dead worker has started may survive it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
    channel.close()


def serve(descriptor: int, share: int, sharers: int, main: tuple[str | None, str | None]) -> None:
    """Be a worker until the driver's end of the socket is closed."""
    os.set_inheritable(descriptor, False)  # a child that inherits it would keep the socket open
    channel = Channel(socket.socket(fileno=descriptor))
    set_main_module(main)
    messages: queue.SimpleQueue[tuple[int, int, Any]] = queue.SimpleQueue()
    with as_worker(share, sharers) as server:
        threading.Thread(target=_listen, args=(channel, server, messages), daemon=True).start()
        while True:
            kind, number, block = messages.get()
            if kind == _HOLD:
                server.hold(number, block)
            elif kind == _DROP:
                server.drop(number)
            else:
                _reply(channel, server.answer(block))


def _listen(
    channel: Channel, server: WorkerServer, messages: queue.SimpleQueue[tuple[int, int, Any]]
) -> None:
    """Read messages during work, and kill the worker when the socket is closed."""
    try:
        while True:
            kind, number, block = channel.receive(for_all=_HOLD)
            if kind == _SKIP:
                server.skip(number)
            else:
                messages.put((kind, number, block))
    finally:
        os.killpg(os.getpid(), signal.SIGKILL)  # and what it has started


def _reply(channel: Channel, answer: PackedValue) -> None:
    try:
        block = share_block(answer)
    except TunesmithError as error:
        block = share_block(pack(PieceOutcome(error=portable_error(error))))
    with contextlib.suppress(OSError):  # the driver is gone
        channel.send(_ASK, 0, block)
    if isinstance(block, SharedBlock):
        block.close()
