"""Batch MIRA, from start-up to result and alone, against Moses' extractor and kbmira (--moses).

Both make the same number of passes from the same weights, each repetition with another seed, and
both results are scored on the full lists. kbmira reads the extractor's text output, nothing else.
As released it compares a candidate with itself where it looks for duplicates and keeps few
candidates (mert/FeatureDataIterator.cpp); ``--kbmira`` names the program, so that a repaired one
can be given. Its passes alone are what it takes beyond a run without passes.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import tunesmith as ts
from common import announce, arguments
from tunesmith.inference.lists.hypotheses import best
from tunesmith.tuners.base import TUNERS


@dataclass(frozen=True)
class Task:
    """Lists, references and weights to begin with; dense ones in the order that kbmira takes."""

    lists: Path
    references: Path
    dense: Path
    sparse: Path | None = None

    @property
    def start(self) -> ts.Weights:
        """All weights to begin with."""
        dense = ts.read_weights(self.dense).weights
        return dense.updated(ts.read_weights(self.sparse).weights) if self.sparse else dense


@dataclass
class Row:
    """What the repetitions of one program came to."""

    name: str
    user: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def time(self, work: Callable[[], object], who: int = resource.RUSAGE_CHILDREN) -> object:
        """Run some work once, in child processes or here, and keep its seconds."""
        user, wall = resource.getrusage(who).ru_utime, time.perf_counter()
        result = work()
        self.wall.append(time.perf_counter() - wall)
        self.user.append(resource.getrusage(who).ru_utime - user)
        return result

    def show(self) -> None:
        """Print medians, and the least and greatest score."""
        line = f"{self.name:36} {median(self.user):8.2f} {median(self.wall):8.2f}"
        if self.scores:
            low, high = min(self.scores), max(self.scores)
            line += f"  {median(self.scores):6.2f} ({low:.2f} to {high:.2f})"
        print(line)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(repetitions=3)
    parser.add_argument("--passes", type=int, default=60)
    parser.add_argument("--kbmira", default="kbmira", help="name of kbmira in the folder --moses")
    parser.add_argument(
        "--set", choices=("sparse", "dense"), help="only the lists with or without sparse features"
    )
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    dense, sparse = options.data, options.data.parent / "m30k-de-en-sparse"
    tasks = {
        "sparse": Task(
            sparse / "run2.nbest.gz",
            dense / "val.ref",
            sparse / "weights.run2.dense",
            sparse / "weights.run2.sparse",
        ),
        "dense": Task(dense / options.lists, dense / "val.ref", dense / "weights.run5.dense"),
    }
    # Weights for features that these lists do not have are no news here.
    warnings.simplefilter("ignore")
    for name, task in tasks.items():
        if options.set in (None, name):
            announce(options, f"{task.lists.parent.name}/{task.lists.name}")
            with tempfile.TemporaryDirectory() as folder:
                measure(options, task, Path(folder))


def measure(options: argparse.Namespace, task: Task, folder: Path) -> None:
    """Run everything in turn on one set, and print."""
    tuning = ts.TuningSet(ts.read(task.lists, task.references))
    ours, alone = Row("tunesmith tune"), Row("  its tuner alone, lists in memory")
    extractor, kbmira = Row("  extractor"), Row("  kbmira")
    reading = Row("  kbmira without passes")
    command(options, task, folder, passes=1, seed=1)  # so that the kernel cache is warm
    for seed in range(1, options.repetitions + 1):
        ours.time(lambda s=seed: command(options, task, folder, options.passes, s))
        ours.scores.append(after_passes(json.loads((folder / "out.json").read_text())))
        result = alone.time(
            lambda s=seed: learn(options, task, tuning, s), who=resource.RUSAGE_SELF
        )
        alone.scores.append(after_passes(result.to_dict()))
        if options.moses:
            extractor.time(lambda: extract(options.moses, task, folder))
            reading.time(lambda s=seed: run_kbmira(options, task, folder, 0, s))
            kbmira.time(lambda s=seed: run_kbmira(options, task, folder, options.passes, s))
            kbmira.scores.append(score(tuning, weights_of(task, folder / "kbmira.out")))
    print(f"{'':36} {'user s':>8} {'wall s':>8}    BLEU")
    print(f"{'start':36} {'':17}  {score(tuning, task.start):6.2f}")
    ours.show()
    alone.show()
    if options.moses:
        compare(ours, alone, extractor, reading, kbmira)


def compare(ours: Row, alone: Row, extractor: Row, reading: Row, kbmira: Row) -> None:
    """Print kbmira's rows, and how many times as fast we are."""
    whole = Row("extractor + kbmira", scores=kbmira.scores)
    whole.user = [a + b for a, b in zip(extractor.user, kbmira.user, strict=True)]
    whole.wall = [a + b for a, b in zip(extractor.wall, kbmira.wall, strict=True)]
    passes = Row("  its passes alone")
    passes.user = [a - b for a, b in zip(kbmira.user, reading.user, strict=True)]
    passes.wall = [a - b for a, b in zip(kbmira.wall, reading.wall, strict=True)]
    for row in (whole, extractor, kbmira, reading, passes):
        row.show()
    for name, theirs, mine in (
        ("from files to weights", whole, ours),
        ("kbmira against tunesmith tune", kbmira, ours),
        ("kbmira against the tuner alone", kbmira, alone),
        ("passes against the tuner alone", passes, alone),
    ):
        user, wall = (
            median(getattr(theirs, kind)) / median(getattr(mine, kind)) for kind in ("user", "wall")
        )
        print(f"times as fast, {name:31} {user:5.1f} user, {wall:5.1f} wall")


def median(values: list[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def command(options: argparse.Namespace, task: Task, folder: Path, passes: int, seed: int) -> None:
    """Run the command as a user does."""
    start = folder / "start.json"
    start.write_text(json.dumps(dict(task.start)))
    words = [sys.executable, "-m", "tunesmith", "tune", "--tuner", "batch-mira"]
    words += ["--candidates", task.lists, "--references", task.references, "--start", start]
    words += ["--passes", passes, "--pick", "best", "--threads", options.threads, "--seed", seed]
    words += ["--out", folder / "out.json", "--quiet"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)


def learn(
    options: argparse.Namespace, task: Task, tuning: ts.TuningSet, seed: int
) -> ts.TuneResult:
    """Run the tuner alone."""
    tuner = TUNERS.get("batch-mira")(passes=options.passes, pick="best")
    with ts.threads(options.threads):
        return tuner.fit(tuning, task.start, rng=seed)


def after_passes(result: dict) -> float:
    """Return the best score after any pass: kbmira does not consider the start either."""
    return max(entry["score"] for entry in result["history"] if entry["round"] > 0)


def extract(moses: Path, task: Task, folder: Path) -> None:
    """Run Moses' extractor, with text output, which is all that kbmira reads."""
    words = [moses / "extractor", "--sctype", "BLEU", "--scconfig", "case:true"]
    words += ["--scfile", folder / "scores.dat", "--ffile", folder / "features.dat"]
    words += ["-r", task.references, "-n", task.lists]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, cwd=folder)


def run_kbmira(
    options: argparse.Namespace, task: Task, folder: Path, passes: int, seed: int
) -> None:
    """Run kbmira with its own settings."""
    words = [options.moses / options.kbmira, "-J", passes, "-r", seed, "-d", task.dense]
    words += ["-s", task.sparse] if task.sparse else []
    words += ["-F", folder / "features.dat", "-S", folder / "scores.dat"]
    words += ["-o", folder / "kbmira.out"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True, cwd=folder)


def weights_of(task: Task, path: Path) -> ts.Weights:
    """Read what kbmira wrote: dense features have numbers, F0 is the first of the start."""
    dense = ts.read_weights(task.dense).weights.names
    names = {f"F{number}": name for number, name in enumerate(dense)}
    lines = (line.split() for line in path.read_text().splitlines())
    return ts.Weights.from_dict({names.get(name, name): float(value) for name, value in lines})


def score(tuning: ts.TuningSet, weights: ts.Weights) -> float:
    """Return BLEU of the best candidates on the full lists."""
    candidates = tuning.candidates
    return tuning.score(best(candidates, weights.aligned(candidates.features.names)))


if __name__ == "__main__":
    main()
