"""What tests have engines do: functions and actors that every worker finds by their names."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np

from tunesmith.errors import TunesmithError


def added(data, piece, *common):
    """Return a number that depends on all that is given."""
    return float(np.asarray(data).sum()) + piece + sum(common)


def process(data, piece):
    """Say who works."""
    return os.getpid()


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
