"""Figures 1, 3a and 3b of Chiang, "Hope and fear" (JMLR 2012), and MERT on lists and on forests.

python experiments/forest_search.py --quick                 # 15 minutes on 2 cores
python experiments/forest_search.py                         # some hours
python experiments/forest_search.py --quick --parts mert

Needs TUNESMITH_SHARED_DATA. Results go into docs/results/: the tables of forest-search.md are
replaced, the pictures drawn, and all numbers kept in forest-search.json. What is there already
is not run again but with --again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forest_search_hope_fear as hope_fear
import forest_search_learning as learning
import forest_search_mert as merts
import forest_search_pictures as pictures
import forest_search_tables as tables
import tunesmith as ts
from forest_search_data import Data
from result_pages import Rows, keep_row, read_rows, with_tables

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "results" / "forest-search.json", DOCS / "results" / "forest-search.md"
IMAGES = DOCS / "images"
PARTS = ("fear", "searches", "mu", "mert", "tuners")
#: What tells one row from another.
KEYS = ("part", "label", "about", "seed")
#: The paper names −0.2 and −1; the other values of its figure 3b are not in its text.
MU = (-0.2, -0.5, -1.0, -2.0, -5.0)


@dataclass(frozen=True)
class Protocol:
    """How long, and with which seeds.

    Attributes
    ----------
    sizes
        Of the lists that forests are compared with.
    mert_seeds
        For each set of forests.
    mert
        The restarts and walks of MERT, on lists and on forests.
    """

    sizes: tuple[int, ...]
    epochs: int
    seeds: tuple[int, ...]
    mert_seeds: dict[str, tuple[int, ...]]
    mert: ts.MERT
    rounds: int
    passes: int
    tuner_seeds: tuple[int, ...]


PROTOCOLS = {
    "quick": Protocol(
        (10, 100, 1000),
        10,
        (1, 2, 3),
        {"m30k": (1, 2, 3), "nc-wmt11": (1,)},
        ts.MERT(restarts=4, walks=0),
        15,
        10,
        (1,),
    ),
    "full": Protocol(
        (10, 100, 1000, 10000),
        30,
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        {"m30k": (1, 2, 3, 4, 5), "nc-wmt11": (1, 2, 3, 4, 5)},
        ts.MERT(restarts=20, walks=2),
        25,
        60,
        (1, 2, 3),
    ),
}
Row = dict[str, Any]
#: Says whether a row is still wanted.
Wanted = Any


class Kept:
    """The rows of a protocol."""

    def __init__(self, name: str, again: bool) -> None:
        self.name = name
        rows = [] if again else read_rows(NUMBERS).get(name, [])
        self._known = {tuple(row[key] for key in KEYS) for row in rows}

    def lacks(self, part: str, label: str, about: str, seed: int) -> bool:
        """Whether a row has not been made yet."""
        return (part, label, about, seed) not in self._known

    def keep(self, row: Row) -> None:
        """Write a row down."""
        told = {k: v for k, v in row.items() if k not in ("scene", "weights", "warnings")}
        print(json.dumps(told, ensure_ascii=False), flush=True)
        keep_row(NUMBERS, self.name, row, KEYS)


def main() -> None:
    """Run the parts asked for, then write tables and pictures of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true", help="run what has been run, too")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ",".join(PARTS))
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    parts = options.parts.split(",") if options.parts else []
    if wrong := set(parts) - set(PARTS):
        parser.error(f"there is no part {min(wrong)}; give some of {','.join(PARTS)}")
    if parts:
        if "TUNESMITH_SHARED_DATA" not in os.environ:
            parser.error("set TUNESMITH_SHARED_DATA to the folder of the forests")
        data = Data(Path(os.environ["TUNESMITH_SHARED_DATA"]))
        kept = Kept(name, options.again)
        for part in parts:
            begun, used = time.perf_counter(), time.process_time()
            for row in RUN[part](PROTOCOLS[name], data, kept):
                kept.keep({"part": part, **row})
            passed, used = time.perf_counter() - begun, time.process_time() - used
            print(f"{part}: {passed:.0f} s, {used:.0f} s of processor time", flush=True)
    write(read_rows(NUMBERS))


def run_fear(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Compare forests with lists, at the first weights and at tuned ones."""
    forests = data.nc.forests
    for about in ("start", "tuned"):
        if not kept.lacks("fear", "lists", about, 1):
            continue
        weights = data.nc.start.aligned(forests.names)
        if about == "tuned":
            found = ts.MIRA().fit(ts.ForestTuning(forests), data.nc.start, rng=1)
            weights = found.weights.aligned(forests.names)
        row: Row = {"label": "lists", "about": about, "seed": 1, "gains": []}
        shown = 0
        for search in hope_fear.SEARCHES:
            gains, seconds = hope_fear.gains(forests, weights, search, protocol.sizes)
            row[f"seconds {search}"] = {key: round(one, 2) for key, one in seconds.items()}
            for one in gains:
                if (one.side, one.search, one.size) == ("fear", "rerank", hope_fear.SHOWN):
                    shown = hope_fear.typical(one.gains)
                about_one = {"side": one.side, "search": one.search, "size": one.size}
                row["gains"].append(about_one | hope_fear.summary(one.gains))
        yield row | {"scene": hope_fear.scene(forests, weights, shown, 1)}


def run_searches(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Learn with SGD, by each way of searching."""
    yield from _curves("searches", protocol, data, kept)


def run_mu(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Learn with MIRA, by each μ."""
    yield from _curves("mu", protocol, data, kept)


def _curves(part: str, protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    starts = {"paper": data.paper_start, "decoder": data.nc.start}
    for about, start in starts.items():
        scale = about == "decoder"
        ways = learning.searches(protocol.epochs, scale)
        if part == "mu":
            ways = learning.loss_weights(protocol.epochs, scale, MU)
        for seed in protocol.seeds:
            for way in ways:
                if kept.lacks(part, way.label, about, seed):
                    found = learning.curve(way, data.tune, data.dev, start, seed)
                    yield {"label": way.label, "about": about, "seed": seed, **found}


def run_mert(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Tune with MERT, on lists in rounds and on forests at once."""
    for about, seeds in protocol.mert_seeds.items():
        for seed in seeds:
            for label in ("lists", "lists, usual restarts", "forests"):
                if not kept.lacks("mert", label, about, seed):
                    continue
                source = data.named(about)
                if label == "forests":
                    found = merts.at_once(source, protocol.mert, seed)
                else:
                    tuner = protocol.mert if label == "lists" else ts.MERT()
                    found = merts.in_rounds(source, tuner, protocol.rounds, seed)
                yield {"label": label, "about": about, "seed": seed, **found}


def run_tuners(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Tune with each tuner, on a part of the sentences and on all of them."""
    for way in learning.tuners(protocol.passes):
        for about in ("part", "all"):
            for seed in protocol.tuner_seeds:
                if not kept.lacks("tuners", way.label, about, seed):
                    continue
                sets = (data.tune, data.dev) if about == "part" else (data.nc.forests, None)
                found = learning.reached(way, *sets, data.nc.start, seed)
                yield {"label": way.label, "about": about, "seed": seed, **found}


RUN = {
    "fear": run_fear,
    "searches": run_searches,
    "mu": run_mu,
    "mert": run_mert,
    "tuners": run_tuners,
}


def write(numbers: dict[str, Rows]) -> None:
    """Write the tables into the page, and draw the pictures of the largest protocol known."""
    page = PAGE.read_text() if PAGE.exists() else ""
    for name, rows in numbers.items():
        page = with_tables(page, name, tables.all_of(rows))
    if page:
        PAGE.write_text(page)
    if numbers:
        pictures.draw(numbers["full" if "full" in numbers else "quick"], IMAGES)


if __name__ == "__main__":
    main()
