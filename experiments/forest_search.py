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
MU = (-0.2, -0.5, -1.0, -5.0)

#: What the decoder's weights are multiplied by to differ in their size alone: with it, scores
#: within lists differ about as much as those of tuned weights do.
LARGER = 16.0


@dataclass(frozen=True)
class Protocol:
    """How long, and with which seeds.

    Attributes
    ----------
    sizes
        Of the lists that forests are compared with.
    starts
        Of learning curves: those of the paper, or what the decoder had, with scaled rates.
    merts
        Sets of forests, how MERT is run on them, and with which seeds.
    """

    sizes: tuple[int, ...]
    starts: tuple[str, ...]
    epochs: int
    seeds: tuple[int, ...]
    merts: tuple[tuple[str, str, tuple[int, ...]], ...]
    rounds: int
    passes: int
    tuner_seeds: tuple[int, ...]


PROTOCOLS = {
    "quick": Protocol(
        sizes=(10, 100, 1000),
        starts=("paper",),
        epochs=10,
        seeds=(1, 2, 3),
        merts=(
            *(("m30k", label, (1, 2, 3)) for label in merts.QUICK),
            ("m30k", "forests, 20 restarts", (1,)),
            *(("nc-wmt11", label, (1,)) for label in merts.QUICK),
        ),
        rounds=15,
        passes=10,
        tuner_seeds=(1,),
    ),
    "full": Protocol(
        sizes=(10, 100, 1000, 10000),
        starts=("paper", "decoder"),
        epochs=30,
        seeds=tuple(range(1, 11)),
        merts=tuple(
            (about, label, (1, 2, 3, 4, 5))
            for about in ("m30k", "nc-wmt11")
            for label in merts.WAYS
        ),
        rounds=25,
        passes=60,
        tuner_seeds=(1, 2, 3),
    ),
}
Row = dict[str, Any]


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
    """Compare forests with lists, at weights of several sizes."""
    for about in tables.WEIGHTS:
        if kept.lacks("fear", "lists", about, 1):
            yield {"label": "lists", "about": about, "seed": 1, **_fear(protocol, data, about)}


def _fear(protocol: Protocol, data: Data, about: str) -> Row:
    forests = data.nc.forests
    given = data.paper_start if about == "paper" else data.nc.start
    if about == "tuned":
        given = ts.MIRA().fit(ts.ForestTuning(forests), given, rng=1).weights
    weights = given.aligned(forests.names) * (LARGER if about == "larger" else 1.0)
    row: Row = {"gains": [], "seconds": {}}
    for search in hope_fear.SEARCHES:
        found = hope_fear.compared(forests, weights, search, protocol.sizes)
        row["seconds"][search] = found.seconds
        row["deviations"] = found.deviations
        for (side, size), gains in found.gains.items():
            one = {"side": side, "search": search, "size": size}
            row["gains"].append(one | hope_fear.summary(gains))
            if (side, search, size) == ("fear", "rerank", hope_fear.SHOWN):
                row["scene"] = hope_fear.scene(forests, weights, hope_fear.typical(gains), 1)
    return row


def run_searches(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Learn with SGD, by each way of searching."""
    yield from _curves("searches", protocol, data, kept)


def run_mu(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Learn with MIRA, by each μ."""
    yield from _curves("mu", protocol, data, kept)


def _curves(part: str, protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    for about in protocol.starts:
        start = data.paper_start if about == "paper" else data.nc.start
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
    for about, label, seeds in protocol.merts:
        for seed in seeds:
            if not kept.lacks("mert", label, about, seed):
                continue
            source = data.named(about)
            if label.startswith("forests"):
                found = merts.at_once(source, merts.WAYS[label], seed)
            else:
                found = merts.in_rounds(source, merts.WAYS[label], protocol.rounds, seed)
            yield {"label": label, "about": about, "seed": seed, **found}


def run_tuners(protocol: Protocol, data: Data, kept: Kept) -> Iterator[Row]:
    """Tune with each tuner, on a part of the sentences and on all of them.

    MERT on all is a row of its own part.
    """
    for about in ("part", "all"):
        sets = (data.tune, data.dev) if about == "part" else (data.nc.forests, None)
        for way in learning.tuners(protocol.passes)[about == "all" :]:
            for seed in protocol.tuner_seeds:
                if kept.lacks("tuners", way.label, about, seed):
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
