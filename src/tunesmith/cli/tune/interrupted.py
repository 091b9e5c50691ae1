"""Ctrl-C during ``tunesmith tune``: the best weights so far are the result, and that is said."""

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
from tunesmith.interruption import interruptible, is_asked

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import TuneResult

#: Shows the cursor again, which a progress bar hides, on a new line.
CURSOR = "\x1b[?25h\n"


@contextlib.contextmanager
def keeping_found() -> Iterator[None]:
    """Have tuners return what they have at the first Ctrl-C, and end at once at the second."""
    is_main = threading.current_thread() is threading.main_thread()
    with interruptible(_end_at_once), _counted() if is_main else contextlib.nullcontext():
        yield


def tell_of_interruption(result: TuneResult, out: str | None, more: str = "") -> None:
    """End as interrupted, once a result is written, if it was; say where the weights are.

    Parameters
    ----------
    more
        What else there is to say.
    """
    if not is_asked():
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


def _end_at_once() -> None:
    """End the process: files appear whole or not at all, and workers notice that it is gone."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    with contextlib.suppress(OSError, ValueError):
        os.write(2, f"{CURSOR if is_terminal else ''}tunesmith: interrupted\n".encode())
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    """End at the second Ctrl-C though the main thread is in a kernel, where it hears of none."""
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
            _end_at_once()
