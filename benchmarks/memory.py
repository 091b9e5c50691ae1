"""Peak memory of tuning, beyond an interpreter with its kernels loaded."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import numpy as np

import tunesmith as ts
from common import arguments, parse

MILLION = 1_000_000


def main() -> None:
    """Measure and print."""
    options = parse(arguments(__doc__))
    bundled = Path(str(resources.files("tunesmith") / "bundled"))
    idle = peak(bundled / "tune.nbest.gz", bundled / "tune.ref", bundled / "weights.initial")
    print(f"interpreter with kernels      {idle:8.0f} MiB")
    lists, references = options.data / options.lists, options.data / "val.ref"
    whole = peak(lists, references, options.data / "weights.run5.dense")
    tuning = ts.TuningSet(ts.read(lists, references))
    data = (tuning.candidates.features.nbytes + tuning.stats.nbytes) / 2**20
    print(f"tuning {options.lists:22} {whole:8.0f} MiB")
    print(f"its features and statistics   {data:8.0f} MiB")
    print(f"beyond the interpreter, times the data: {(whole - idle) / data:.2f}")
    del tuning
    with tempfile.TemporaryDirectory() as folder:
        made, start = million(Path(folder))
        print(f"1,000,000 candidates, 15 features: {peak(made, references, start):.0f} MiB in all")


def peak(lists: Path, references: Path, start: Path) -> float:
    """Return the greatest memory in MiB of `tunesmith tune`, run in a process of its own."""
    command = [sys.executable, "-m", "tunesmith", "tune", "--candidates", lists, "--quiet"]
    command += ["--references", references, "--start", start, "--json", "--restarts", "8"]
    # A process of its own, whose only child is the one that is measured.
    script = (
        "import json, resource, subprocess, sys\n"
        "subprocess.run(json.loads(sys.argv[1]), check=True, capture_output=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(list(map(str, command)))],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout) / 1024


def million(folder: Path) -> tuple[Path, Path]:
    """Write 1000 groups of 1000 candidates with 15 features."""
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(2000)]
    lists = folder / "million.nbest"
    with open(lists, "w") as file:
        for g in range(1000):
            values = rng.standard_normal((1000, 15)).round(4)
            texts = rng.choice(words, (1000, 10))
            for text, row in zip(texts, values, strict=True):
                file.write(f"{g} ||| {' '.join(text)} ||| F= {' '.join(map(str, row))} ||| 0\n")
    start = folder / "start.json"
    start.write_text(json.dumps({f"F_{k}": 1.0 for k in range(1, 16)}))
    return lists, start


if __name__ == "__main__":
    main()
