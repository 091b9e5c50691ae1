"""How much of MERT's gain arrives on new sentences: the tables of docs/results/mert.md.

python experiments/overfitting.py            # the bundled lists
python experiments/overfitting.py --larger   # 1000 sentences; needs TUNESMITH_SHARED_DATA
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from importlib import resources
from pathlib import Path

import tunesmith as ts

SETTINGS = {
    "`--restarts 0 --walks 0`": {"restarts": 0, "walks": 0},
    "`--begin anywhere`": {"begin": "anywhere"},
    "`--walks 0`": {"walks": 0},
    "defaults": {},
    "`--directions powell`": {"directions": "powell"},
    "`--directions random`": {"directions": "random"},
}


def main() -> None:
    """Tune with several seeds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--larger", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    folder = Path(str(resources.files("tunesmith") / "bundled"))
    if options.larger:
        shared = os.environ.get("TUNESMITH_SHARED_DATA")
        if shared is None:
            parser.error("--larger needs TUNESMITH_SHARED_DATA")
        folder = Path(shared) / "catalogs-nbest"
    names = ["tune", "test", *(["dev"] if options.larger else [])]
    sets = {n: ts.TuningSet(ts.read(folder / f"{n}.nbest.gz", folder / f"{n}.ref")) for n in names}
    start = ts.read_weights(folder / "weights.initial").weights
    print("| options | " + " | ".join(f"{n} | median" for n in names) + " |")
    print("|---" * (1 + 2 * len(names)) + "|")
    first = [f"{evaluate(sets[n], start):.2f} | " for n in names]
    print("| starting weights | " + " | ".join(first) + " |")
    for label, setting in SETTINGS.items():
        found: dict[str, list[float]] = {n: [] for n in names}
        for seed in range(1, options.seeds + 1):
            weights = ts.MERT(axes=False, **setting).fit(sets["tune"], start, rng=seed).weights
            for n in names:
                found[n].append(evaluate(sets[n], weights))
        cells = [
            f"{min(f):.2f} to {max(f):.2f} | {statistics.median(f):.2f}" for f in found.values()
        ]
        print(f"| {label} | " + " | ".join(cells) + " |")
        sys.stdout.flush()


def evaluate(tuning: ts.TuningSet, weights: ts.Weights) -> float:
    """Score what weights choose."""
    from tunesmith.inference.lists.hypotheses import best

    names = tuning.candidates.features.names
    return tuning.score(best(tuning.candidates, weights.aligned(names)))


if __name__ == "__main__":
    main()
