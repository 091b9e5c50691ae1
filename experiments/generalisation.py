"""What tuning gains on text that nobody has seen: every tuner, many sets and sizes.

Needs TUNESMITH_SHARED_DATA. Runs are independent of each other and kept in
docs/results/generalisation.jsonl: the same command goes on where it was stopped, and --render
writes the tables and the picture from what is there.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tunesmith as ts
from generalisation_page import render
from generalisation_sets import SETS, Sets
from tunesmith.errors import TunesmithError
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.fitting.split import paired_statistics
from tunesmith.tuners.fitting.verdict import judge

ROWS = Path(__file__).parent.parent / "docs" / "results" / "generalisation.jsonl"
TUNERS_TRIED = ("auto", "mert", "batch-mira", "mira", "ramp", "pro", "min-risk")
#: MERT without a penalty is not for thousands of features, and takes long on forests.
LEFT_OUT = {"m30k-de-en-sparse": {"mert"}, "m30k-forests": {"mert"}}
#: Sentences that are tuned on, beside all of them, for which 0 stands.
SIZES = (50, 100, 200, 500)
#: Sets for all sizes; the others take long, and have all sentences and one size more.
DENSE = ("catalogs-nbest", "catalogs-neural", "m30k-de-en")
ONE_SIZE = {"m30k-de-en-sparse": 200, "m30k-forests": 50}
#: Seeds on all sentences, of auto and of every other tuner.
SEEDS, OTHER_SEEDS = 3, 2
#: Splits of the verdicts' coverage, sentences of each, and sets with shuffled labels.
SPLITS, SPLIT_SIZE, SHUFFLED = 100, 200, 100
#: Random subsets of each size.
DRAWS = {"quick": 2, "full": 5}


@dataclass(frozen=True)
class Run:
    """One tuning run: a set, a random subset of its sentences, a tuner and a seed."""

    kind: str
    set: str
    size: int
    draw: int
    tuner: str

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        return dataclasses.astuple(self)


def whole_runs(names: Iterable[str]) -> Iterator[Run]:
    """Yield the runs on all sentences; a draw is a seed."""
    for seed in range(SEEDS):
        for name, tuner in itertools.product(names, TUNERS_TRIED):
            if tuner == "auto" or (seed < OTHER_SEEDS and tuner not in LEFT_OUT.get(name, ())):
                yield Run("gain", name, 0, seed, tuner)


def size_runs(draws: int) -> Iterator[Run]:
    """Yield the runs on some of the sentences."""
    for draw, size, name, tuner in itertools.product(range(draws), SIZES, DENSE, TUNERS_TRIED):
        yield Run("gain", name, size, draw, tuner)


def verdict_runs() -> Iterator[Run]:
    """Yield splits for the coverage of verdicts, and sets whose labels say nothing."""
    for draw in range(SPLITS):
        yield Run("coverage", "catalogs-neural", SPLIT_SIZE, draw, "auto")
        if draw < SHUFFLED:
            yield Run("shuffled", "catalogs-neural", SPLIT_SIZE, draw, "auto")


def slow_runs(draws: int) -> Iterator[Run]:
    """Yield the runs on sets that take long."""
    yield from whole_runs(ONE_SIZE)
    for draw, (name, size) in itertools.product(range(draws), ONE_SIZE.items()):
        for tuner in TUNERS_TRIED:
            if tuner not in LEFT_OUT.get(name, ()):
                yield Run("gain", name, size, draw, tuner)


PARTS: dict[str, Callable[[int], Iterator[Run]]] = {
    "whole": lambda draws: whole_runs((*DENSE, "bundled")),
    "verdicts": lambda draws: verdict_runs(),
    "sizes": size_runs,
    "slow": slow_runs,
}


KEYS = tuple(field.name for field in dataclasses.fields(Run))


def key_of(row: dict[str, Any]) -> tuple[object, ...]:
    """Return what tells a row from others."""
    return tuple(row.get(key) for key in KEYS)


def rows_there() -> list[dict[str, Any]]:
    """Return what has been run."""
    if not ROWS.exists():
        return []
    return [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]


def subset(count: int, size: int, draw: int) -> np.ndarray:
    """Return the sentences of a draw, ascending."""
    if size == 0 or size >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng([size, draw]).permutation(count)[:size])


def made(run: Run, sets: Sets) -> dict[str, Any]:
    """Tune, and return what a row says."""
    about = dataclasses.asdict(run)
    begin = time.perf_counter()
    tuning, test = sets.tune, sets.test
    if run.kind != "gain":
        return about | verdict_row(run, sets)
    part = tuning.part(subset(tuning.groups, run.size, run.draw))
    try:
        result = TUNERS.create(run.tuner).fit(part, sets.start, rng=1 + run.draw, test=test)
    except TunesmithError as error:
        return about | {"error": str(error)}
    scores = result.test
    return about | {
        "tuned": scores.score,
        "start": scores.initial_score,
        "length_ratio": scores.length_ratio,
        "verdict": result.verdict.to_dict(),
        "seconds": round(time.perf_counter() - begin, 2),
    }


def verdict_row(run: Run, sets: Sets) -> dict[str, Any]:
    """Compare a verdict of folds with the gain on all other sentences."""
    whole = sets.all_lists
    chosen = subset(whole.groups, run.size, run.draw)
    part = whole.part(chosen)
    if run.kind == "shuffled":
        part = shuffled(part, run.draw)
    result = TUNERS.create(run.tuner).fit(part, sets.start, rng=1 + run.draw)
    others = whole.part(np.setdiff1d(np.arange(whole.groups), chosen))
    verdict = judge(whole.metric, paired_statistics(others, result.start, result.weights), "test")
    return {
        "verdict": result.verdict.to_dict(),
        "gain": verdict.gain,
        "interval": [verdict.low, verdict.high],
    }


def shuffled(task: Any, seed: int) -> TuningSet:
    """Exchange the statistics of each sentence's candidates at random: no weights can be good."""
    rng = np.random.default_rng([seed, 7])
    start = task.candidates.start
    order = np.concatenate([a + rng.permutation(b - a) for a, b in itertools.pairwise(start)])
    return ts.TuningSet(task.candidates, task.metric, task.stats[order])


def main() -> None:
    """Make what is missing, then render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="some of the runs")
    parser.add_argument("--quick", action="store_true", help="2 random subsets of each size, not 5")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--threads", type=int, default=1, help="results do not depend on it")
    parser.add_argument("--render", action="store_true", help="render what is there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.render:
        if "TUNESMITH_SHARED_DATA" not in os.environ:
            sys.exit("set TUNESMITH_SHARED_DATA to the folder of the data sets")
        with ts.threads(options.threads):
            go_on(options)
    render(ROWS)


def go_on(options: argparse.Namespace) -> None:
    """Make the runs that are missing, until the time is over."""
    shared = Path(os.environ["TUNESMITH_SHARED_DATA"])
    read: dict[str, Sets] = {}
    done = {key_of(row) for row in rows_there()}
    draws = DRAWS["quick" if options.quick else "full"]
    wanted = [run for part in options.part or PARTS for run in PARTS[part](draws)]
    end = time.monotonic() + 60 * options.minutes
    for k, run in enumerate(wanted):
        if time.monotonic() > end:
            print(f"stopped: {k} of {len(wanted)} runs are there")
            return
        if run.key in done:
            continue
        if run.set not in read:
            read[run.set] = SETS[run.set](shared)
        row = made(run, read[run.set])
        with ROWS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{k + 1} of {len(wanted)}: {run}", flush=True)


if __name__ == "__main__":
    main()
