"""Forests that are larger than the memory given: what tuning takes of it, seen from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.forests import Edge, forest_arrays
from tests.helpers.waiting import PATIENCE
from tunesmith.io.forests.arrow.writer import ForestRow, ForestWriter

MIB = 1 << 20
#: So many that those of a reference are rare: nodes are hardly split for BLEU.
WORDS = 20_000
#: Runs a command on a small set, so that all kernels are loaded, on the same again, and on a
#: large one; prints the peaks of memory of all. Writing 5 to clear_refs begins a new one (proc(5)).
SCRIPT = """\
import json, sys
from pathlib import Path
from tunesmith.cli import main

def peak(arguments):
    Path("/proc/self/clear_refs").write_text("5")
    assert main(arguments) == 0
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

small, large = json.loads(sys.argv[1])
print(json.dumps([peak(small), peak(small), peak(large)]), file=sys.stderr)
"""
TUNERS = {
    "mert": ["--restarts", "0", "--fix", "f1=0.5", "--fix", "f2=0.25", "--fix", "f3=0"],
    "batch-mira": ["--passes", "1"],
}


def lattice(rng: np.random.Generator) -> tuple[list[Edge], list[int]]:
    """Return a lattice of 20 positions with 500 arcs each, and a path through it."""
    edges: list[Edge] = []
    path = []
    for position in range(20):
        words = rng.integers(0, WORDS, 500).tolist()
        path.append(words[0])
        for k, word in enumerate(words):
            # The first weight tells much of what is right.
            values = [5.0 * (k == 0) + rng.normal(), *rng.normal(size=3)]
            features = dict(enumerate(map(float, values)))
            tails = [position - 1] if position else []
            edges.append((position, tails, [*(-1 for _ in tails), word], features))
    return edges, path


def stored(path: Path, size: int) -> int:
    """Write a set whose arrays take so many bytes, with references; return their bytes."""
    rng = np.random.default_rng(1)
    kinds = []
    for _ in range(2):
        edges, words = lattice(rng)
        kinds.append((forest_arrays(edges, 19), np.array(words, np.int32)))
    held = count = 0
    names, vocabulary = [f"f{k}" for k in range(4)], [f"w{k}" for k in range(WORDS)]
    with open(path, "wb") as file:
        writer = ForestWriter(file)
        while held < size:
            arrays, words = kinds[count % len(kinds)]
            new = (names, vocabulary) if count == 0 else ((), ())
            writer.add(ForestRow(count, arrays, *new, references=[words]))
            held += arrays.bytes
            count += 1
        writer.close()
    return held


def growth(small: Path, large: Path, tuner: str, start: Path) -> int:
    """Return the bytes that tuning on a large set takes beyond what a small one takes."""
    own = ["tune", "--tuner", tuner, *TUNERS[tuner], "--start", str(start), "--memory", "4MiB"]
    own += ["--threads", "2", "--json", "--quiet", "--forests"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([[*own, str(small)], [*own, str(large)]])],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    _, few, many = json.loads(done.stderr)
    return 1024 * int(many - few)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the system's files about processes are read")
@pytest.mark.parametrize("tuner", TUNERS)
def test_tuning_takes_little_of_a_large_set(tmp_path: Path, tuner: str) -> None:
    small, large, start = tmp_path / "small.arrow", tmp_path / "large.arrow", tmp_path / "w.json"
    start.write_text(json.dumps({"f0": 1.0, "f1": 0.5, "f2": 0.25, "f3": 0.0}))
    # Both are larger than the memory given, so that both are on disk.
    more = stored(large, 48 * MIB) - stored(small, 6 * MIB)
    assert growth(small, large, tuner, start) < more / 3
