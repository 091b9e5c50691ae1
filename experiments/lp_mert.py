"""Figures 2, 5, 6 and 7 and tables 1 and 2 of Galley and Quirk (EMNLP 2011).

python experiments/lp_mert.py --quick                  # 15 minutes on 2 cores
python experiments/lp_mert.py                          # about 20 hours
python experiments/lp_mert.py --quick --parts gaps --count 3
python experiments/lp_mert.py --quick --parts table2 --sizes 512,1024

Needs TUNESMITH_SHARED_DATA. Results go into docs/results/: the tables of lp-mert.md are
replaced, pictures drawn, and all numbers kept in lp-mert.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import lp_mert_exact as exact
import lp_mert_incumbents as incumbents
import lp_mert_large as large
import lp_mert_loop as loops
import lp_mert_near as near
import lp_mert_pictures as pictures
import lp_mert_sets as sets
import lp_mert_sweeps as sweeps
import tunesmith as ts

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NUMBERS, PAGE = RESULTS / "lp-mert.json", RESULTS / "lp-mert.md"
Rows = list[dict[str, Any]]
#: Seconds for each search over few features.
LIMIT = 60.0
#: Seeds of ways to look for good weights.
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Protocol:
    """What is run. Numbers of sentences, of sets, and seconds for each search.

    Attributes
    ----------
    figure5
        How many sets of each number of sentences.
    gaps
        Sets of 24 and 32 sentences; ``gap_limits`` are the seconds.
    lazy
        Sets for Algorithm 2.
    within
        Seconds for each angle, of one thread.
    few
        Numbers of features.
    incumbents
        Seconds for each way to look for good weights, of one thread.
    loop
        Seconds for each search in a loop with a decoder, of one thread.
    hull_limit, sweep_limit
        Seconds for QuickHull, and for a search of Figures 6 and 7.
    """

    figure5: Mapping[int, int]
    gaps: int
    gap_limits: tuple[float, ...]
    lazy: int
    widths2: tuple[int, ...]
    hull_limit: float
    widths6: tuple[int, ...]
    sizes6: tuple[int, ...]
    cosines: tuple[float, ...]
    sizes7: tuple[int, ...]
    sweep_limit: float
    sizes2: tuple[int, ...]
    beam_limit: float
    certify: tuple[float, ...]
    within: tuple[float, ...]
    few: tuple[int, ...]
    incumbents: float
    loop: float


COSINES = (0.99, 0.98, 0.96, 0.92, 0.84, 0.68, 0.36, -1.0)
PROTOCOLS = {
    "quick": Protocol(
        figure5={1: 50, 2: 50, 4: 50, 8: 50, 16: 20},
        gaps=1,
        gap_limits=(60.0,),
        lazy=4,
        widths2=(2, 3, 4, 5, 6, 7, 8, 10, 12, 14),
        hull_limit=60.0,
        widths6=(2, 3, 5, 7, 9),
        sizes6=(1, 2, 4, 8, 16, 32, 64),
        cosines=COSINES,
        sizes7=(1, 2, 4, 8, 16, 32, 64),
        sweep_limit=5.0,
        sizes2=(32, 128),
        beam_limit=600.0,
        certify=(60.0,),
        within=(10.0,),
        few=(4, 5, 6),
        incumbents=10.0,
        loop=5.0,
    ),
    "full": Protocol(
        figure5={1: 1000, 2: 1000, 4: 1000, 8: 1000, 16: 100},
        gaps=10,
        gap_limits=(60.0, 600.0),
        lazy=50,
        widths2=tuple(range(2, 15)),
        hull_limit=3600.0,
        widths6=tuple(range(2, 10)),
        sizes6=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
        cosines=COSINES,
        sizes7=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
        sweep_limit=600.0,
        sizes2=(32, 64, 128, 256, 512, 1024),
        beam_limit=600.0,
        certify=(60.0, 600.0),
        within=(10.0, 60.0),
        few=(3, 4, 5, 6),
        incumbents=60.0,
        loop=60.0,
    ),
}
#: What tells one row from another.
KEYS = {
    "figure5": ("data", "size", "number"),
    "gaps": ("data", "size", "number", "limit"),
    "table1": ("data", "size", "number"),
    "table2": ("data", "size"),
    "certify": ("data", "limit"),
    "within": ("data", "limit", "degrees"),
    "few": ("data", "features"),
    "incumbents": ("data", "way", "seed"),
    "loop": ("data", "way"),
    "figure2": ("features",),
    "figure6": ("data", "features", "size"),
    "figure7": ("data", "cosine", "size"),
}
TABLES: dict[str, Callable[[Rows], str]] = {
    "figure5": exact.table_figure5,
    "gaps": exact.table_gaps,
    "table1": exact.table_table1,
    "table2": large.table_table2,
    "certify": large.table_certify,
    "within": near.table_within,
    "few": near.table_few,
    "incumbents": incumbents.table_incumbents,
    "loop": loops.table_loop,
    "figure2": sweeps.table_figure2,
    "figure6": partial(sweeps.table_sweep, which="features", label="D"),
    "figure7": partial(sweeps.table_sweep, which="cosine", label="cosine"),
}
PICTURES: dict[str, Callable[[Rows, Path], None]] = {
    "within": pictures.within,
    "figure2": pictures.figure2,
    "figure5": pictures.figure5,
    "figure6": lambda rows, path: pictures.sweep(rows, "features", "number of features D", path),
    "figure7": lambda rows, path: pictures.sweep(rows, "cosine", "least cosine", path),
}


def main() -> None:
    """Run the parts asked for, then write tables and pictures of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join(KEYS), help="of " + ",".join(KEYS))
    parser.add_argument("--data", default=",".join(sets.USUAL), help="of " + ",".join(sets.USUAL))
    parser.add_argument("--count", type=int, help="sets of each kind in gaps and table1")
    parser.add_argument("--limits", help="seconds, as 10,60; of within")
    parser.add_argument("--features", help="numbers of features, as 4,5; of few")
    parser.add_argument("--sizes", help="numbers of sentences, as 512,1024; of some parts")
    options = parser.parse_args()
    if options.parts and "TUNESMITH_SHARED_DATA" not in os.environ:
        parser.error("set TUNESMITH_SHARED_DATA to the folder of the lists")
    name = "quick" if options.quick else "full"
    protocol = PROTOCOLS[name]
    if options.count:
        protocol = replace(protocol, gaps=options.count, lazy=options.count)
    if options.sizes:
        sizes = tuple(int(size) for size in options.sizes.split(","))
        figure5 = {size: n for size, n in protocol.figure5.items() if size in sizes}
        protocol = replace(protocol, figure5=figure5, sizes2=sizes, sizes7=sizes)
    if options.limits:
        limits = tuple(float(limit) for limit in options.limits.split(","))
        protocol = replace(protocol, within=limits)
    if options.features:
        protocol = replace(protocol, few=tuple(int(n) for n in options.features.split(",")))
    store = Store(name)
    for part in options.parts.split(",") if options.parts else []:
        begun = time.perf_counter()
        run(part, protocol, options.data.split(","), lambda row, part=part: store.keep(part, row))
        print(f"{part}: {time.perf_counter() - begun:.0f} s", flush=True)
    write(store.read())


@cache
def lists(name: str) -> ts.TuningSet:
    """Read lists once; search a little, so that all kernels are there."""
    tuning = sets.read(Path(os.environ["TUNESMITH_SHARED_DATA"]), name)
    (small,) = sets.drawn(tuning, 4, 1)
    exact.against_mert(small)
    exact.lazily(small)
    return tuning


def run(part: str, protocol: Protocol, names: list[str], keep: exact.Keep) -> None:
    """Run one part."""
    wholes = {name: lists(name) for name in names} if part not in ("figure2", "loop") else {}
    if part == "figure5":
        exact.figure5(wholes, protocol.figure5, keep)
    elif part == "gaps":
        for limit in protocol.gap_limits:
            exact.gaps(wholes, (24, 32), protocol.gaps, limit, keep)
    elif part == "table1":
        exact.table1(wholes, (2, 4, 8), protocol.lazy, keep)
    elif part == "table2":
        large.table2(wholes, protocol.sizes2, protocol.beam_limit, keep)
    elif part == "certify":
        large.certify(wholes, protocol.certify, keep)
    elif part == "within":
        near.within(wholes, protocol.within, keep)
    elif part == "few":
        near.few(wholes, protocol.few, LIMIT, keep)
    elif part == "incumbents":
        incumbents.incumbents(wholes, protocol.incumbents, SEEDS, keep)
    elif part == "loop":
        loops.loop(list(loops.POOLS), protocol.loop, keep)
    elif part == "figure2":
        sweeps.figure2(lists("m30k-big"), protocol.widths2, protocol.hull_limit, keep)
    elif part == "figure6":
        sweeps.figure6(wholes, protocol.widths6, protocol.sizes6, protocol.sweep_limit, keep)
    elif part == "figure7":
        sweeps.figure7(wholes, protocol.cosines, protocol.sizes7, protocol.sweep_limit, keep)
    else:
        raise SystemExit(f"no part {part}; there are {', '.join(KEYS)}")


class Store:
    """All numbers so far, in a file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> dict[str, dict[str, Rows]]:
        """Return all rows by protocol and part."""
        return json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}

    def keep(self, kind: str, row: dict[str, Any]) -> None:
        """Put a row in place of one with the same keys, or at the end."""
        row = {k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}
        print(kind, json.dumps(row, ensure_ascii=False), flush=True)
        numbers = self.read()
        rows = numbers.setdefault(self.name, {}).setdefault(kind, [])
        same = [k for k, old in enumerate(rows) if all(old[x] == row[x] for x in KEYS[kind])]
        if same:
            rows[same[0]] = row
        else:
            rows.append(row)
        NUMBERS.write_text(json.dumps(numbers, ensure_ascii=False, separators=(",", ":")) + "\n")


def write(numbers: dict[str, dict[str, Rows]]) -> None:
    """Write the tables into the page, and draw the pictures, of the largest protocol known."""
    page = PAGE.read_text() if PAGE.exists() else ""
    drawn: dict[str, Rows] = {}
    for name in ("quick", "full"):
        for kind, rows in numbers.get(name, {}).items():
            begin, end = f"<!-- {kind} {name} -->\n", f"<!-- end {kind} {name} -->"
            block = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
            page = (begin + TABLES[kind](rows).rstrip() + "\n" + end).join(block.split(page))
            drawn[kind] = rows
    if page:
        PAGE.write_text(page)
    for kind, draw in PICTURES.items():
        if kind in drawn:
            draw(drawn[kind], RESULTS / f"lp-mert-{kind.removeprefix('figure')}.png")


if __name__ == "__main__":
    main()
