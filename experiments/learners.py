"""All tuners on real lists: BLEU and length ratio on Tune, Dev and Test.

Needs TUNESMITH_SHARED_DATA. Prints tables; with --write it puts them into docs/results/tuners.md.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tunesmith as ts
from tunesmith.inference.lists.hypotheses import best
from tunesmith.tuners.base import TUNERS

PAGE = Path(__file__).parent.parent / "docs" / "results" / "tuners.md"
#: Dev is the test set of m30k up to this sentence, Test the rest.
HALF = 500
#: What is run, in the order of the tables.
TUNERS_OF = {
    "catalogs": (
        *("mert", "pro", "pro:objective=bleu+1", "pro:objective=brevity-smoothed"),
        *("batch-mira", "batch-mira:pick=last", "batch-mira:pick=last,c=0.003"),
        *("mira", "arow", "sgd", "perceptron", "min-risk", "ramp"),
    ),
    "sparse": (
        *("pro", "pro:objective=bleu+1", "pro:objective=brevity-smoothed", "batch-mira"),
        *("batch-mira:pick=last,c=0.003", "mira", "arow", "sgd", "min-risk", "ramp"),
    ),
}
TUNERS_OF["m30k"] = TUNERS_OF["catalogs"]


@dataclass(frozen=True)
class Sets:
    """What is tuned on, what is reported, and the weights to begin with."""

    tune: ts.TuningSet
    dev: ts.TuningSet
    test: ts.TuningSet
    start: ts.Weights


def catalogs(shared: Path) -> Sets:
    """Read the lists of software messages."""
    here = shared / "catalogs-nbest"
    sets = (
        ts.TuningSet(ts.read(here / f"{n}.nbest.gz", here / f"{n}.ref"))
        for n in ("tune", "dev", "test")
    )
    return Sets(*sets, ts.read_weights(here / "weights.initial").weights)


def m30k(shared: Path, folder: str = "m30k-de-en", lists: str = "run5") -> Sets:
    """Read the lists of image descriptions, with the weights that they were decoded with."""
    here, texts = shared / folder, shared / "m30k-de-en"
    tune = ts.TuningSet(ts.read(here / f"{lists}.nbest.gz", texts / "val.ref"))
    test = ts.TuningSet(ts.read(here / "test.nbest.gz", texts / "test.ref"))
    found: dict[str, float] = {}
    for kind in ("dense", "sparse") if lists == "run2" else ("dense",):
        found |= ts.read_weights(here / f"weights.{lists}.{kind}").weights
    halves = (test.part(g) for g in (range(HALF), range(HALF, test.candidates.groups)))
    return Sets(tune, *halves, ts.Weights.from_dict(found))


READERS: dict[str, Callable[[Path], Sets]] = {
    "catalogs": catalogs,
    "m30k": m30k,
    "sparse": lambda shared: m30k(shared, "m30k-de-en-sparse", "run2"),
}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="catalogs,m30k,sparse", help="which, with commas")
    parser.add_argument("--seeds", default="1,2,3", help="with commas")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    if "TUNESMITH_SHARED_DATA" not in os.environ:
        sys.exit("set TUNESMITH_SHARED_DATA to the folder of the lists")
    warnings.simplefilter("ignore")
    shared = Path(os.environ["TUNESMITH_SHARED_DATA"])
    for name in options.sets.split(","):
        table = table_of(READERS[name](shared), TUNERS_OF[name], options.seeds.split(","))
        print(f"\n{name}\n\n{table}", flush=True)
        if options.write:
            write(name, table)


def table_of(sets: Sets, names: tuple[str, ...], seeds: list[str]) -> str:
    """Tune with every algorithm and seed; return a table of means."""
    lines = [
        "| tuner | tune (each seed) | ratio | dev | ratio | test | ratio | seconds |",
        "|---|---|---|---|---|---|---|---|",
        row("starting weights", sets, [sets.start], 0.0),
    ]
    for name in names:
        begun = time.perf_counter()
        found = [
            TUNERS.create(name).fit(sets.tune, sets.start, rng=int(seed)).weights for seed in seeds
        ]
        lines.append(row(f"`{name}`", sets, found, (time.perf_counter() - begun) / len(seeds)))
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def row(label: str, sets: Sets, found: list[ts.Weights], seconds: float) -> str:
    """Evaluate weights from scratch on all sets."""
    cells = []
    for held in (sets.tune, sets.dev, sets.test):
        scores, ratios = [], []
        for weights in found:
            chosen = best(held.candidates, weights.aligned(held.candidates.features.names))
            scores.append(held.score(chosen))
            ratios.append(held.metric.details(held.total(chosen))["length_ratio"])
        each = held is sets.tune and len(found) > 1
        shown = ", ".join(f"{s:.2f}" for s in scores) if each else f"{statistics.mean(scores):.2f}"
        cells += [shown, f"{statistics.mean(ratios):.3f}"]
    return f"| {label} | {' | '.join(cells)} | {f'{seconds:.1f}' if seconds else ''} |"


def write(name: str, table: str) -> None:
    """Put a table between its marks on the page."""
    text = PAGE.read_text()
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marks.search(text):
        sys.exit(f"{PAGE} has no place for {name}")
    PAGE.write_text(marks.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text))


if __name__ == "__main__":
    main()
