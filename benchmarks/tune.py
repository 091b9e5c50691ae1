"""`tunesmith tune`, from start-up to result, against Moses' extractor and mert (--moses)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tunesmith as ts
from common import arguments, parse
from read import extract


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.set_defaults(repetitions=1)
    parser.add_argument("--restarts", type=int, default=20)
    options = parse(parser)
    lists, references = options.data / options.lists, options.data / "val.ref"
    start = options.data / "weights.run5.dense"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tune(options, folder, restarts=0)  # so that the kernel cache is warm
        for _ in range(options.repetitions):
            ours = timed(lambda: tune(options, folder, options.restarts))
            result = json.loads((folder / "out.json").read_text())
            print(f"tunesmith tune       {ours:8.1f} s  BLEU {result['score']:.2f}", end="")
            print(f"  ({result['line_searches']} line searches)")
            if not options.moses:
                continue
            reading = timed(lambda: extract(options.moses, lists, references, folder))
            mert = timed(lambda: run_mert(options, start, folder))
            weights = [float(x) for x in (folder / "weights.txt").read_text().split()]
            candidates = ts.read(lists, references)
            found = dict(zip(candidates.features.names, weights, strict=True))
            tuning = ts.TuningSet(candidates)
            from tunesmith.inference.lists.hypotheses import best

            score = tuning.score(best(candidates, ts.Weights.from_dict(found).vector))
            print(f"extractor + mert     {reading:8.1f} s + {mert:.1f} s  BLEU {score:.2f}")
            print(f"times as fast: {(reading + mert) / ours:.1f}")


def timed(work) -> float:
    """Return the seconds that some work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def tune(options, folder: Path, restarts: int) -> None:
    """Run the command as a user does."""
    data = options.data
    command = [sys.executable, "-m", "tunesmith", "tune", "--candidates", data / options.lists]
    command += ["--references", data / "val.ref", "--start", data / "weights.run5.dense"]
    command += ["--restarts", str(restarts), "--threads", str(options.threads), "--seed", "1"]
    command += ["--out", folder / "out.json", "--quiet"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def run_mert(options, start: Path, folder: Path) -> None:
    """Run Moses' mert on what its extractor wrote."""
    weights = ts.read_weights(start).weights.vector
    rows = [weights, [0.0] * len(weights), [1.0] * len(weights)]
    text = "".join(" ".join(map(repr, map(float, row))) + "\n" for row in rows)
    (folder / "init.opt").write_text(text)
    command = [options.moses / "mert", "-d", len(weights), "--sctype", "BLEU"]
    command += ["--scconfig", "case:true", "--ffile", folder / "features.dat"]
    command += ["--scfile", folder / "scores.dat", "--ifile", folder / "init.opt"]
    command += ["-n", options.restarts, "-r", 1000, "--threads", options.threads]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, cwd=folder)


if __name__ == "__main__":
    main()
