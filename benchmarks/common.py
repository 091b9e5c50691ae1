"""What the benchmarks share: data, interleaved repetitions, and a line about the machine."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tunesmith._version import __version__
from tunesmith.parallel.local import available_threads


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks take."""
    parser = argparse.ArgumentParser(description=description)
    folder = os.environ.get("TUNESMITH_SHARED_DATA")
    default = Path(folder) / "m30k-de-en" if folder else None
    parser.add_argument("--data", type=Path, default=default, help="folder of m30k-de-en")
    parser.add_argument("--lists", default="big.nbest.gz", help="n-best lists in it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument(
        "--moses", type=Path, help="folder with the programs extractor and mert of Moses"
    )
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line and say what is measured where."""
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    announce(options, f"{options.data.name}/{options.lists}")
    return options


def announce(options: argparse.Namespace, data: str) -> None:
    """Say what is measured where."""
    print(f"tunesmith {__version__}: {' '.join([Path(sys.argv[0]).name, *sys.argv[1:]])}")
    print(
        f"data {data}; {platform.machine()}, "
        f"{available_threads()} cores, {options.threads} threads, Python "
        f"{platform.python_version()}; medians of {options.repetitions} interleaved repetitions"
    )


def interleaved(
    repetitions: int,
    *works: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the median seconds of each piece of work, run in turn."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(repetitions):
        for work, taken in zip(works, seconds, strict=True):
            begun = clock()
            work()
            taken.append(clock() - begun)
    return [statistics.median(taken) for taken in seconds]
