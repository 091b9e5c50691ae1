"""What tests have engines do: functions and actors that every worker finds by their names."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from tunesmith.data.memory import budget
from tunesmith.errors import FormatError, TunesmithError, UnknownNameError
from tunesmith.parallel.engine import current_engine, map_over
from tunesmith.parallel.local import thread_count
from tunesmith.progress import is_shown


def added(data, piece, *common):
    """Return a number that depends on all that is given."""
    return float(np.asarray(data).sum()) + piece + sum(common)


def process(data, piece):
    """Say who works."""
    return os.getpid()


def talking(data, piece):
    """Print, which nobody should see."""
    print(f"piece {piece}")  # noqa: T201
    return piece


def failing(data, piece):
    """Raise an error that a user can act on, for one of the pieces."""
    if piece == data:
        raise TunesmithError(f"piece {piece} is wrong; give another")
    return piece


def warning(data, piece):
    """Warn, and go on."""
    warnings.warn(f"piece {piece} is odd", stacklevel=2)
    return piece


def dying_once(data, piece):
    """Die the first time that a piece comes, as a file in the folder ``data`` tells."""
    mark = Path(data) / f"{piece}.begun"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def hanging_once(data, piece):
    """Hang the first time that a piece comes."""
    mark = Path(data) / f"{piece}.begun"
    if not mark.exists():
        mark.touch()
        time.sleep(3600)
    return piece


def deadly(data, piece):
    """Die whenever a certain piece comes."""
    if piece == data:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def filled(data, piece):
    """Return an array that does not go through a socket."""
    return np.full(5000, float(piece))


def asleep(data, piece):
    """Take as many seconds as a piece says, and leave a mark; return this process."""
    number, seconds = piece
    if seconds:
        (Path(data) / f"{number}.begun").touch()
        time.sleep(seconds)
    return os.getpid()


def starting(data, piece):
    """Start a program; return this process and that one."""
    return os.getpid(), os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "600")


class Counter:
    """An actor that adds up."""

    def __init__(self, data, seed):
        self.data = data
        self.total = seed

    def add(self, number):
        """Add a number, and return the sum."""
        self.total += number
        return self.total

    def process(self):
        """Say where it lives."""
        return os.getpid()

    def fail(self):
        """Raise an error."""
        raise TunesmithError("the counter is wrong; count anew")

    def die(self):
        """End the worker."""
        os.kill(os.getpid(), signal.SIGKILL)

    def hang(self):
        """Do not answer."""
        time.sleep(3600)

    def work_within(self, pieces):
        """Share work out from within an actor."""
        return map_over(self.data, added, pieces)


class Deadly(Counter):
    """An actor that does not survive being made from a certain seed."""

    def __init__(self, data, seed):
        super().__init__(data, seed)
        if seed == data:
            os.kill(os.getpid(), signal.SIGKILL)


class Odd(Counter):
    """An actor that cannot be made from a certain seed."""

    def __init__(self, data, seed):
        super().__init__(data, seed)
        if seed >= data:
            raise TunesmithError(f"seed {seed} is odd; give another")


class Large:
    """Data that count how often they are packed, and unpacked, in the process where it is done."""

    packed = 0
    unpacked = 0

    def __init__(self, values):
        self.values = values

    def __getstate__(self):
        Large.packed += 1
        return self.values

    def __setstate__(self, values):
        Large.unpacked += 1
        self.values = values


def times_unpacked(data, piece):
    """Say how often data came to this process, and which."""
    large = data[0] if isinstance(data, tuple) else data
    return os.getpid(), Large.unpacked, float(large.values.sum())


def whole(data, piece):
    """Return an array that depends on the data and on a large piece."""
    return data * piece[::-1]


def writable(data, piece):
    """Write to the data, which others must not notice."""
    before = float(data.sum())
    data += 1.0
    return data.flags.writeable, before


def nested(data, piece):
    """Share work out from within a piece."""
    return current_engine().name, map_over(data, added, range(piece), 0.5)


def means(data, piece, weights):
    """Return sums whose bits depend on the order of addition."""
    rng = np.random.default_rng(piece)
    chosen = data[rng.permutation(len(data))]
    return chosen.cumsum()[-1], (chosen @ weights[: len(chosen)]).item()


def raising(data, piece):
    """Raise what a name says, for pieces from ``data`` on."""
    if piece[0] < data:
        return piece
    match piece[1]:
        case "format":
            raise FormatError("a.txt", 3, f"number {piece[0]} is missing", "give one")
        case "unknown":
            raise UnknownNameError("metric", "blau", ["bleu", "ter"])
        case "key":
            raise KeyError("nothing", piece[0])
        case "decode":
            b"\xff".decode("utf-8")
        case "unpicklable":
            raise type("LocalError", (Exception,), {})("cannot travel")
        case "state":
            error = ValueError("with a lock")
            error.lock = threading.Lock()
            raise error
    return piece


def unpicklable(data, piece):
    """Return what cannot be sent."""
    return lambda: piece


def slow(data, piece):
    """Tell who works, in a folder; work for a while, at the last piece until enough were killed."""
    (Path(data) / f"{os.getpid()}").touch()
    time.sleep(0.01)
    while piece == 119 and not (Path(data) / "enough").exists():
        time.sleep(0.01)
    return piece * piece


def surroundings(data, piece):
    """Return what a worker has of the machine, and whether somebody looks."""
    return thread_count(), budget(), is_shown()


def begun(data, piece):
    """Leave a mark, and fail at the first piece."""
    (Path(data) / f"{piece}.begun").touch()
    if piece == 0:
        raise TunesmithError("the first is wrong; begin with another")
    time.sleep(0.1)
    return piece


def everyone(engine, data):
    """Return the processes of all workers, which are given data."""
    actors = engine.actors(Counter, data, [0] * engine.workers)
    for k in range(len(actors)):
        actors.call(k, "process")
    found = [actors.wait().value for _ in range(len(actors))]
    actors.close()
    return found
