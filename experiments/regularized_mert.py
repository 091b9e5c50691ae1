"""Figures 1 to 4 and the shape of tables 2 and 3 of Galley et al. (EMNLP 2013).

python experiments/regularized_mert.py --quick    # half an hour on 2 cores
python experiments/regularized_mert.py            # hours; up to 6 GB
python experiments/regularized_mert.py --parts synthetic --finders gradient,coordinate

python experiments/regularized_mert.py --quick --parts priors --seeds 1,2,3

The other parts need TUNESMITH_SHARED_DATA. Results go into docs/results/: the tables of
regularized-mert.md are replaced, pictures drawn, and all numbers kept in regularized-mert.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import regularized_mert_pictures as pictures
import regularized_mert_priors as priors
import regularized_mert_real as real
import regularized_mert_synthetic as synthetic

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NUMBERS, PAGE = RESULTS / "regularized-mert.json", RESULTS / "regularized-mert.md"
PARTS = ("figure1", "synthetic", "real", "priors")
SIZES = {
    "quick": synthetic.Sizes(200, 100, (10, 50, 100), 20.0),
    "full": synthetic.Sizes(1000, 500, (10, 50, 100, 500, 1000), 300.0),
}
PROTOCOLS = {
    "quick": real.Protocol(
        seeds=(1,),
        starts=("w0",),
        strengths={
            "l2-prior": (3.0, 1.0, 0.3, 0.03),
            "l2-fixed": (0.03, 0.003, 3e-4),
            "l2-normalized": (10.0, 0.1, 1e-3),
            "l0": (1e-3, 3e-4, 1e-4),
        },
        lengths=(1.02,),
    ),
    "full": real.Protocol(
        seeds=(1, 2, 3),
        starts=("w0", "uniform"),
        strengths={
            "l2-prior": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3),
            "l2-fixed": (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4),
            "l2-normalized": (100.0, 10.0, 1.0, 0.1, 1e-2, 1e-3),
            "l0": (1e-3, 6e-4, 3e-4, 1e-4, 3e-5, 1e-5),
        },
        lengths=(0.98, 0.99, 1.01, 1.02, 1.03),
    ),
}


def main() -> None:
    """Run the parts asked for, then write tables and pictures of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ",".join(PARTS))
    parser.add_argument("--finders", default=",".join(synthetic.FINDERS))
    parser.add_argument("--seeds", help="of the real part, as 1,2")
    parser.add_argument("--work", type=Path, default=Path("regularized-mert"), help="of priors")
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    parts = options.parts.split(",") if options.parts else []
    store = Store(name)
    begun = time.perf_counter()
    if "synthetic" in parts:
        finders = options.finders.split(",")
        synthetic.run(SIZES[name], finders, 1, lambda row: store.keep("synthetic", row))
    if {"real", "figure1", "priors"} & set(parts):
        if "TUNESMITH_SHARED_DATA" not in os.environ:
            parser.error("set TUNESMITH_SHARED_DATA to the folder of the lists")
        sets = real.read(Path(os.environ["TUNESMITH_SHARED_DATA"]))
        if "figure1" in parts:
            pictures.figure1(sets, RESULTS / "regularized-mert-1.png")
        if "real" in parts:
            protocol = PROTOCOLS[name]
            if options.seeds:
                seeds = tuple(int(seed) for seed in options.seeds.split(","))
                protocol = replace(protocol, seeds=seeds)
            real.run(sets, protocol, lambda row: store.keep("real", row))
        if "priors" in parts:
            asked = priors.Protocol()
            if options.seeds:
                seeds = tuple(int(seed) for seed in options.seeds.split(","))
                asked = replace(asked, seeds=seeds)
            priors.run(sets, asked, options.work, lambda row: store.keep("priors", row))
            store.put("differences", priors.differences(sets, store.rows("priors")))
    print(f"{time.perf_counter() - begun:.0f} s")
    write(store.read())


#: What tells one row from another.
KEYS = {
    "synthetic": ("noise", "features", "finder"),
    "real": ("label", "start", "seed"),
    "priors": ("label", "seed", "fold"),
}


class Store:
    """All numbers so far, in a file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """Return all rows by protocol and part; parts may run side by side."""
        return json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """Return all rows of a part."""
        return self.read().get(self.name, {}).get(kind, [])

    def put(self, kind: str, rows: list[dict[str, Any]]) -> None:
        """Put rows in the place of all of their kind."""
        numbers = self.read()
        numbers.setdefault(self.name, {})[kind] = rows
        NUMBERS.write_text(json.dumps(numbers, ensure_ascii=False, separators=(",", ":")) + "\n")

    def keep(self, kind: str, row: dict[str, Any]) -> None:
        """Put a row in place of one with the same keys, or at the end."""
        told = {k: v for k, v in row.items() if not isinstance(v, list | dict)}
        print(json.dumps(told, ensure_ascii=False), flush=True)
        numbers = self.read()
        rows = numbers.setdefault(self.name, {}).setdefault(kind, [])
        same = [k for k, old in enumerate(rows) if all(old[x] == row[x] for x in KEYS[kind])]
        if same:
            rows[same[0]] = row
        else:
            rows.append(row)
        NUMBERS.write_text(json.dumps(numbers, ensure_ascii=False, separators=(",", ":")) + "\n")


def write(numbers: dict[str, dict[str, list[dict[str, Any]]]]) -> None:
    """Write the tables into the page, and draw the pictures, of the largest protocol known."""
    page = PAGE.read_text() if PAGE.exists() else ""
    drawn: dict[str, Sequence[dict[str, Any]]] = {}
    for name in ("quick", "full"):
        found = numbers.get(name, {})
        against = found.get("differences", [])
        for kind, rows in found.items():
            if kind == "differences":
                continue
            if kind == "priors":
                shown = priors.table(rows, against)
            else:
                small = kind == "synthetic"
                shown = synthetic.table(rows, SIZES[name]) if small else real.table(rows)
            begin, end = f"<!-- {kind} {name} -->\n", f"<!-- end {kind} {name} -->"
            block = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
            page = (begin + shown.rstrip() + "\n" + end).join(block.split(page))
            drawn[kind] = rows
    PAGE.write_text(page)
    if "synthetic" in drawn:
        pictures.figure2(drawn["synthetic"], RESULTS / "regularized-mert-2.png")
        pictures.figure3(drawn["synthetic"], RESULTS / "regularized-mert-3.png")
    if "real" in drawn:
        pictures.figure4(drawn["real"], RESULTS / "regularized-mert-4.png")


if __name__ == "__main__":
    main()
