"""Peak memory of tuning on a set of forests that is several times larger than the memory given.

The set is made by repeating real forests (nc-wmt11-de-en by default) under new ids, in our own
format, in TMPDIR; it is deleted afterwards. The peak is the largest resident set of the process,
as the system counts it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import tunesmith as ts
from tunesmith.data.forests import Forests
from tunesmith.data.memory import parsed_size
from tunesmith.io.forests.arrow.writer import ForestRow, ForestWriter, rows_of

MIB = 1 << 20
TUNERS: dict[str, list[str]] = {
    "mert": ["--restarts", "0"],
    "batch-mira": ["--passes", "1"],
}


class Set(NamedTuple):
    """A set on disk: forests, references, and the memory that its arrays take."""

    forests: Path
    references: Path
    size: int


def main() -> None:
    """Measure and print."""
    options = _options()
    limit = parsed_size(options.memory, "--memory")
    data = Path(options.data)
    with tempfile.TemporaryDirectory(prefix="tunesmith-benchmark-") as folder:
        given = (data / "dev.forests.jsonl.gz", data / "dev.en")
        made = repeated(*given, Path(folder), options.times * limit)
        on_disk = made.forests.stat().st_size
        print(f"limit {limit / MIB:.0f} MiB; the set has {on_disk / MIB:.0f} MiB on disk,", end=" ")
        print(f"its arrays {made.size / MIB:.0f} MiB", flush=True)
        for tuner in options.tuners.split(","):
            command = ["tune", "--tuner", tuner, *TUNERS[tuner], "--threads", options.threads]
            if tuner == "mert":
                command += _fixed(data / "weights.init")
            command += ["--forests", made.forests, "--references", made.references]
            command += ["--start", data / "weights.init", "--memory", options.memory]
            peak, seconds, score = measured(list(map(str, command)))
            kept = "kept" if peak <= limit else "exceeded"
            print(
                f"{tuner:12} peak {peak / MIB:.0f} MiB ({kept}), {seconds:.0f} s, BLEU {score:.2f}"
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    shared = os.environ.get("TUNESMITH_SHARED_DATA")
    default = None if shared is None else Path(shared) / "nc-wmt11-de-en"
    parser.add_argument("--data", default=default, required=default is None, help="folder")
    parser.add_argument("--memory", default="1GiB", help="what tuning may take")
    parser.add_argument("--times", type=float, default=4.0, help="how much larger the set is")
    parser.add_argument("--tuners", default=",".join(TUNERS))
    parser.add_argument("--threads", default="2")
    return parser.parse_args()


def _fixed(weights: Path) -> list[str]:
    """Return options that leave two weights to search for: a line search of all takes minutes."""
    held = [line.split() for line in weights.read_text().splitlines()]
    return [part for name, value in held[2:] for part in ("--fix", f"{name}={value}")]


def repeated(forests: Path, references: Path, folder: Path, size: float) -> Set:
    """Write forests again and again until the file has so many bytes."""
    read = ts.read_forests(forests, references)
    if shutil.disk_usage(folder).free < 1.5 * size:
        raise SystemExit(f"{folder}: {1.5 * size / MIB:.0f} MiB are wanted; set TMPDIR")
    lines = references.read_text().splitlines()
    texts: list[str] = []
    held = 0
    with open(folder / "set.arrow", "wb") as file:
        writer = ForestWriter(file)
        for number, (line, row) in enumerate(_rows(read)):
            writer.add(replace(row, id=number))
            texts.append(lines[line])
            held += row.arrays.bytes
            if file.tell() >= size:  # the arrays take more than the file
                break
        writer.close()
    (folder / "set.ref").write_text("\n".join(texts) + "\n")
    return Set(folder / "set.arrow", folder / "set.ref", held)


def _rows(forests: Forests) -> Iterator[tuple[int, ForestRow]]:
    """Yield forests over and over; names and words are those of the first row of all."""
    for turn in itertools.count():
        for k, row in enumerate(rows_of(forests)):
            own = row if turn == 0 else replace(row, names=(), words=())
            yield k, replace(own, references=())


def measured(arguments: list[str]) -> tuple[int, float, float]:
    """Return peak memory in bytes, seconds and score of a command in a process of its own."""
    # A process between, whose only child is the one that is measured.
    script = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(json.loads(sys.argv[1]), check=True, stdout=subprocess.PIPE)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(json.dumps([peak, json.loads(done.stdout)['score']]))\n"
    )
    command = [sys.executable, "-m", "tunesmith", *arguments, "--json", "--quiet"]
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(command)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    peak, score = json.loads(done.stdout)
    return 1024 * peak, time.perf_counter() - begun, score


if __name__ == "__main__":
    main()
