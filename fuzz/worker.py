"""A process that tries inputs, one after the other, until its standard input ends.

A line of JSON in asks for some inputs of a part, a line out says what became of them. What it is
at stands in a small mapped file, so that whoever started it knows which input it died of.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from fuzz.part import FOUND, Outcome, Part, part_of
from fuzz.scratch import scratch

#: The number of the input and when it was begun, on the clock; -1 between two of them.
STATE = struct.Struct("<qd")
#: What a worker may take beyond what it has when it is ready, in bytes.
ROOM = 4 << 30
#: Finds of a request that are told in full.
MOST = 50


class OutOfTime(BaseException):
    """An input takes too long; no error, so that nobody handles it on the way."""


class Board:
    """The mapped file that says what a worker is at."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._pages = mmap.mmap(file.fileno(), STATE.size)

    @staticmethod
    def make(path: str) -> None:
        """Write the file."""
        with open(path, "wb") as file:
            file.write(STATE.pack(-1, 0.0))

    def put(self, index: int) -> None:
        """Say which input is tried from now on."""
        self._pages[:] = STATE.pack(index, time.time())

    def get(self) -> tuple[int, float]:
        """Return which input is tried, and since when."""
        index, begun = STATE.unpack(self._pages[:])
        return int(index), float(begun)


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End a block after so many seconds of processor time."""

    def end(*_: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """Let allocations fail that take much more than what there is now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * mmap.PAGESIZE + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def attempt(part: Part, seed: int, index: int) -> Outcome:
    """Try an input, and take whatever is raised for a find."""
    try:
        with limited(part.limit):
            return part.run(seed, index)
    except OutOfTime:
        return Outcome("?", FOUND, f"more than {part.limit:g} seconds", traceback.format_exc())
    except Exception as error:  # noqa: BLE001  (whatever it is, it is a find)
        return Outcome("?", FOUND, described(error), traceback.format_exc())


def described(error: BaseException) -> str:
    """Return an error's type and where it was raised, so that equal ones look alike."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/tunesmith/" in frame.filename] or list(frames)
    place = f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__} at {place}"


def serve(board: Board, answers: IO[str]) -> None:
    """Answer requests until there are no more."""
    parts: dict[str, Part] = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["part"]
        if name not in parts:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
            parts[name] = part_of(name)
            parts[name].prepare()
            limit_memory()
        answer = tried(parts[name], request, board)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def tried(part: Part, request: dict[str, Any], board: Board) -> dict[str, Any]:
    """Try the inputs of a request."""
    counts: Counter[str] = Counter()
    finds: list[dict[str, Any]] = []
    begun = time.perf_counter()
    for index in range(request["first"], request["first"] + request["count"]):
        board.put(index)
        outcome = attempt(part, request["seed"], index)
        counts[f"{outcome.kind}\t{outcome.verdict}"] += outcome.tries
        if outcome.verdict == FOUND and len(finds) < MOST:
            finds.append({"index": index, **outcome.to_dict()})
    board.put(-1)
    seconds = time.perf_counter() - begun
    return {"counts": counts, "finds": finds, "seconds": seconds, "size": part.size()}


def main() -> None:
    """Serve; whatever is printed meanwhile goes nowhere, but for errors of the worker itself."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    with scratch():
        serve(Board(sys.argv[1]), answers)


if __name__ == "__main__":
    main()
