"""Forests that are larger than the memory given: what tuning takes of it, seen from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.forests import Edge, forest_arrays
from tunesmith.io.forest_writer import ForestWriter, Row

MIB = 1 << 20
#: So many that those of a reference are rare: nodes are hardly split for BLEU.
WORDS = 20_000
#: A process between, whose only child is the one that is measured.
SCRIPT = """\
import json, resource, subprocess, sys
done = subprocess.run(json.loads(sys.argv[1]), check=True, stdout=subprocess.PIPE)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([peak, json.loads(done.stdout)]))
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
    for _ in range(4):
        edges, words = lattice(rng)
        kinds.append((forest_arrays(edges, 19), np.array(words, np.int32)))
    held = count = 0
    names, vocabulary = [f"f{k}" for k in range(4)], [f"w{k}" for k in range(WORDS)]
    with open(path, "wb") as file:
        writer = ForestWriter(file)
        while held < size:
            arrays, words = kinds[count % len(kinds)]
            new = (names, vocabulary) if count == 0 else ((), ())
            writer.add(Row(count, arrays, *new, references=[words]))
            held += arrays.bytes
            count += 1
        writer.close()
    return held


def peak(path: Path, tuner: str, start: Path) -> tuple[int, float]:
    """Return the bytes that tuning takes, and the score."""
    command = [sys.executable, "-m", "tunesmith", "tune", "--tuner", tuner, *TUNERS[tuner]]
    command += ["--forests", path, "--start", start, "--memory", "10MiB", "--threads", "2"]
    given = json.dumps([*map(str, command), "--json", "--quiet"])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, given], check=True, stdout=subprocess.PIPE, timeout=300
    )
    taken, found = json.loads(done.stdout)
    return 1024 * taken, found["score"]


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux alone")
@pytest.mark.parametrize("tuner", TUNERS)
def test_tuning_takes_little_of_a_large_set(tmp_path: Path, tuner: str) -> None:
    small, large, start = tmp_path / "small.arrow", tmp_path / "large.arrow", tmp_path / "w.json"
    start.write_text(json.dumps({"f0": 1.0, "f1": 0.5, "f2": 0.25, "f3": 0.0}))
    stored(small, 1)
    size = stored(large, 80 * MIB)
    peak(small, tuner, start)  # kernels are compiled now
    idle, _ = peak(small, tuner, start)
    whole, _ = peak(large, tuner, start)
    # The set is eight times the memory given, and would take all of its size if it were loaded.
    assert size >= 80 * MIB
    assert whole - idle < 40 * MIB, (whole / MIB, idle / MIB)
