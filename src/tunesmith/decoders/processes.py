"""Processes side by side, none of which outlives the block that it was started in."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

#: Seconds between asking a process to end and ending it.
GRACE = 2.0
#: Seconds between two looks at processes, where the system does not tell when one ends.
LOOK = 0.02
#: Bytes at the end of a log among which the last words are looked for.
TAIL = 1 << 14


@dataclass(frozen=True)
class Running:
    """A process that was started.

    Attributes
    ----------
    process
        The leader of a group of its own.
    descriptor
        Readable when it has ended; None where the system has no such thing.
    deadline
        When it has taken too long, by the monotonic clock; None if it never has.
    """

    process: subprocess.Popen[bytes]
    descriptor: int | None
    deadline: float | None

    @property
    def ended(self) -> bool:
        """Whether it has ended; it is not waited for, so that its number stays its own."""
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.process.pid, flags) is not None
        except ChildProcessError:  # someone else has waited for it
            return True

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def finish(self) -> int:
        """End its remaining child processes, and return its exit code."""
        self.send(signal.SIGKILL)
        code = self.process.wait()
        if self.descriptor is not None:
            os.close(self.descriptor)
        return code


class Processes:
    """Processes that run side by side, under names; leaving the block ends all of them.

    All is done by the thread that it is used in: a process may be tied to the thread that
    started it (see :func:`parent_death_prefix`), which must then be there until the process ends.

    Parameters
    ----------
    time_limit
        Seconds that each may take.
    grace
        Seconds that a process has to end by itself when it is told to.
    """

    def __init__(self, time_limit: float | None = None, grace: float = GRACE) -> None:
        self.time_limit = time_limit
        self.grace = grace
        self._running: dict[int, Running] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop(list(self._running))

    def __len__(self) -> int:
        """Return how many are running."""
        return len(self._running)

    def start(
        self, name: int, arguments: Sequence[str], stdin: Path | None, stdout: Path, stderr: Path
    ) -> None:
        """Start a program, without a shell; its streams are files, which never fill up.

        Raises
        ------
        OSError
            It cannot be started.
        """
        with (
            open(os.devnull if stdin is None else stdin, "rb") as input_file,
            open(stdout, "wb") as output_file,
            open(stderr, "wb") as complained,
        ):
            process = subprocess.Popen(
                [*parent_death_prefix(), *arguments],
                stdin=input_file,
                stdout=output_file,
                stderr=complained,
                start_new_session=True,
            )
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        self._running[name] = Running(process, _descriptor(process.pid), deadline)

    def wait(self) -> tuple[int, int | None]:
        """Wait until one has ended; return its name and its code, None if it took too long."""
        while True:
            for name, running in self._running.items():
                if running.ended:
                    return name, self._stop([name])[name]
                if running.deadline is not None and time.monotonic() >= running.deadline:
                    self._stop([name])
                    return name, None
            ends = [r.deadline for r in self._running.values() if r.deadline is not None]
            _pause(self._running.values(), min(ends, default=None))

    def _stop(self, names: Sequence[int]) -> dict[int, int]:
        """End some of them, by SIGTERM first; return their codes."""
        several = {name: self._running[name] for name in names}
        try:
            for running in several.values():
                if not running.ended:
                    running.send(signal.SIGTERM)
            until = time.monotonic() + self.grace
            while time.monotonic() < until:
                left = [running for running in several.values() if not running.ended]
                if not left:
                    break
                _pause(left, until)
        finally:  # a second interrupt ends the waiting, not the ending
            codes = {name: running.finish() for name, running in several.items()}
            for name in names:
                del self._running[name]
        return codes


def _descriptor(process: int) -> int | None:
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


def _pause(several: Iterable[Running], until: float | None) -> None:
    """Wait until one of some processes ends, or a time has come, or a moment has passed."""
    left = None if until is None else max(0.0, until - time.monotonic())
    descriptors = [running.descriptor for running in several]
    known = [descriptor for descriptor in descriptors if descriptor is not None]
    if len(known) < len(descriptors):
        time.sleep(LOOK if left is None else min(LOOK, left))
        return
    poll = select.poll()
    for descriptor in known:
        poll.register(descriptor, select.POLLIN)
    poll.poll(None if left is None else left * 1000 + 1)


@functools.cache
def parent_death_prefix() -> tuple[str, ...]:
    """Return the beginning of a command that ends when the thread that started it does.

    Nobody can tell a process to end once we were killed; the kernel can. Where there is no
    program to ask it to, such a process runs on, in files that nobody reads.
    """
    program = shutil.which("setpriv")
    if program is None:
        return ()
    prefix = (program, "--pdeathsig", "KILL", "--")
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        tried = subprocess.run([*prefix, "true"], capture_output=True, timeout=10, check=False)
        if tried.returncode == 0:
            return prefix
    return ()


def end_of(code: int) -> str:
    """Return how a process has ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
    return f"was killed by the signal {name}{hint}"


def log_tail(log: Path, lines: int = 2, longest: int = 300) -> str:
    """Return the last lines of a log that are not empty, shortened; empty if there is none."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            text = file.read().decode("utf-8", "backslashreplace")
    except OSError:
        return ""
    # A bar that shows progress goes back to the beginning of its line.
    messages = [" ".join(line.split()) for line in text.replace("\r", "\n").split("\n")]
    # Python underlines where an error is.
    last = " / ".join([line for line in messages if line.strip("^~ ")][-lines:])
    return last if len(last) <= longest else f"... {last[-longest:]}"
