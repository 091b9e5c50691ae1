"""Ctrl-C during ``tunesmith tune``: the best weights so far are the result, with a message."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tunesmith.cli.app import INTERRUPTED
from tunesmith.interruption import interruptible, is_interrupted

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import TuneResult

#: Shows the cursor again, which a progress bar hides, on a new line.
CURSOR = "\x1b[?25h\n"


@contextlib.contextmanager
def returning_best_so_far() -> Iterator[None]:
    """Have tuners return the best weights so far at the first Ctrl-C, and exit at the second."""
    is_main = threading.current_thread() is threading.main_thread()
    with (
        interruptible(_exit_at_once),
        _second_signal_exits() if is_main else contextlib.nullcontext(),
    ):
        yield


def tell_of_interruption(result: TuneResult, out: str | None, more: str = "") -> None:
    """End as interrupted, once a result is written, if it was; say where the weights are.

    Parameters
    ----------
    more
        More to add to the message.
    """
    if not is_interrupted():
        return
    from tunesmith.report.page.words import metric_name
    from tunesmith.tuners.fitting.tables import shown_score

    sys.stdout.flush()
    where = "on standard output" if out in (None, "-") else f"in {out}"
    if not result.interrupted:  # nothing was left to be done
        raise KeyboardInterrupt(f"all was done; the weights are {where}")
    after = (result.stopped or "").removeprefix("interrupted ")
    score = f"{metric_name(result.metric)} {shown_score(result.score)}"
    raise KeyboardInterrupt(f"the best weights so far ({score} {after}) are {where}{more}")


def _exit_at_once() -> None:
    """Exit the process: files are written atomically, and workers notice that it is gone."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    with contextlib.suppress(OSError, ValueError):
        os.write(2, f"{CURSOR if is_terminal else ''}tunesmith: interrupted\n".encode())
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def _second_signal_exits() -> Iterator[None]:
    """Exit at the second Ctrl-C though the main thread is in a kernel, where no handler runs."""
    here, there = socket.socketpair()
    there.setblocking(False)
    before = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    listening = threading.Thread(target=_listen, args=(here,), daemon=True)
    listening.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        there.close()
        listening.join()
        here.close()


def _listen(signals: socket.socket) -> None:
    """Count the bytes that the system writes for signals."""
    count = 0
    while numbers := signals.recv(64):
        count += numbers.count(signal.SIGINT)
        if count > 1:
            _exit_at_once()
