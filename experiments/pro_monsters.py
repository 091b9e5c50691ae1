"""Tables 1 to 4 and figure 1 of Nakov, Guzmán and Vogel, "A tale about PRO and monsters" (2013).

python experiments/pro_monsters.py --quick                  # 15 minutes on 2 cores
python experiments/pro_monsters.py                          # some hours
python experiments/pro_monsters.py --quick --parts sides

Needs TUNESMITH_SHARED_DATA. Results go into docs/results/: the tables of pro-monsters.md are
replaced, the picture drawn, and all numbers kept in pro-monsters.json. A simulated loop: each
round reveals the candidates of a fixed pool that the weights prefer; see pro_monsters_pool.py.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pro_monsters_loop as loops
import pro_monsters_pool as pools
import pro_monsters_tables as tables
import tunesmith as ts
from result_pages import Rows, keep_row, known_keys, read_rows, with_tables
from tunesmith.arrays import Floats

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NUMBERS, PAGE = RESULTS / "pro-monsters.json", RESULTS / "pro-monsters.md"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "pro-monsters.png"
#: What is in place of Moses' weight for words, -1, at the start: outputs are too short then.
START = {pools.WORDS: 0.0}
#: Kinds of long phrases altogether, and of a sentence; how bad they are; the seed.
POOLS = {
    "rare": (60, 24, (1.0, 2.0), 1),
    "riddled: many kinds": (200, 100, (1.0, 2.0), 1),
    "riddled: less bad": (60, 24, (0.8, 1.6), 1),
}
#: Pools made as the first one, with other random numbers.
OTHERS = {f"rare, seed {seed}": (60, 24, (1.0, 2.0), seed) for seed in (2, 3, 4)}
PARTS = ("tables", "sides", "pools", "control")
TABLES = {
    "table1": tables.table1,
    "table2": tables.table2,
    "table3": tables.table3,
    "table4": tables.table4,
    "sides": tables.sides,
    "pools": tables.others,
}


@dataclass(frozen=True)
class Protocol:
    """How many rounds, and which seeds on the longest half and on all sentences."""

    rounds: int
    seeds: tuple[int, ...]
    control_seeds: tuple[int, ...]


PROTOCOLS = {
    "quick": Protocol(10, (1, 2, 3), (1,)),
    "full": Protocol(25, (1, 2, 3), (1, 2, 3)),
}
#: What tells one row from another.
KEYS = ("pool", "tuned", "label", "seed")


class Data:
    """Pools, made when they are first asked for."""

    def __init__(self, shared: Path) -> None:
        here = shared / "m30k-de-en"
        self.lists = ts.TuningSet(ts.read(here / "big.nbest.gz", here / "val.ref"))
        names = self.lists.candidates.features.names
        given = ts.read_weights(here / "weights.run1.dense").weights
        self.start: Floats = ts.Weights.from_dict({**given, **START}).aligned(names)
        self._pools: dict[tuple[str, str], pools.Pool] = {}

    def pool(self, which: str, sentences: str) -> pools.Pool:
        """Return the pool of the sentences ``longest``, ``all`` (to tune on) or ``test``."""
        if (which, sentences) not in self._pools:
            maker = pools.Maker(self.lists, *(POOLS | OTHERS)[which])
            tune, test = pools.split(self.lists)
            longest = pools.longest_half(self.lists, tune)
            chosen = {"longest": longest, "all": tune, "test": test}[sentences]
            self._pools[which, sentences] = maker.pool(chosen)
        return self._pools[which, sentences]


def runs(protocol: Protocol, parts: list[str]) -> Iterator[tuple[str, str, loops.Way, int]]:
    """Yield a pool, the sentences to tune on, a way of tuning and a seed."""
    fixes = dict.fromkeys(way.label for way in (*loops.TABLE3, *loops.TABLE4))
    known = {way.label: way for way in (*loops.TABLE2, *loops.TABLE3, *loops.TABLE4)}
    if "tables" in parts:
        yield "rare", "longest", loops.DEFAULT, protocol.seeds[0]
        for label, way in known.items():
            for seed in protocol.seeds if label in fixes else protocol.seeds[:1]:
                yield "rare", "longest", way, seed
    if "sides" in parts:
        for pool in list(POOLS)[1:]:
            for way in loops.SIDES:
                yield pool, "longest", way, protocol.seeds[0]
    if "pools" in parts:
        for pool in OTHERS:
            for way in loops.SIDES:
                yield pool, "longest", way, protocol.seeds[0]
    if "control" in parts:
        for label in fixes:
            for seed in protocol.control_seeds:
                yield "rare", "all", known[label], seed


def main() -> None:
    """Run the parts asked for, then write tables and the picture of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ",".join(PARTS))
    parser.add_argument("--again", action="store_true", help="run what has been run, too")
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    parts = options.parts.split(",") if options.parts else []
    if parts:
        if "TUNESMITH_SHARED_DATA" not in os.environ:
            parser.error("set TUNESMITH_SHARED_DATA to the folder of the lists")
        begun = time.perf_counter()
        run(name, parts, Data(Path(os.environ["TUNESMITH_SHARED_DATA"])), options.again)
        print(f"{time.perf_counter() - begun:.0f} s")
    write(read_rows(NUMBERS))


def run(name: str, parts: list[str], data: Data, again: bool) -> None:
    """Go through the loops that are missing, and keep what each comes to."""
    protocol = PROTOCOLS[name]
    known = set() if again else known_keys(NUMBERS, name, KEYS)
    for pool, tuned, way, seed in runs(protocol, parts):
        if (pool, tuned, way.label, seed) in known:
            continue
        begun = time.perf_counter()
        tune, test = data.pool(pool, tuned), data.pool(pool, "test")
        found = loops.loop(way, tune, test, data.start, protocol.rounds, seed)
        begin = loops.evaluated(test, data.start)
        row = {"pool": pool, "tuned": tuned, "label": way.label, "seed": seed, **found}
        row |= {"test_start": round(begin[0], 3), "seconds": round(time.perf_counter() - begun, 1)}
        told = {key: value for key, value in row.items() if key != "rounds"}
        print(json.dumps(told, ensure_ascii=False), flush=True)
        keep_row(NUMBERS, name, row, KEYS)


def write(numbers: dict[str, Rows]) -> None:
    """Write the tables into the page, and draw the picture of the largest protocol known."""
    page = PAGE.read_text() if PAGE.exists() else ""
    for name, rows in numbers.items():
        shown = {which: table(rows) for which, table in TABLES.items()}
        page = with_tables(page, name, shown)
    if page:
        PAGE.write_text(page)
    if numbers:
        tables.figure1(numbers["full" if "full" in numbers else "quick"], PICTURE)


if __name__ == "__main__":
    main()
