"""Tables 1 to 4 of Nakov, Guzmán and Vogel (COLING 2012): PRO yields short translations.

python experiments/pro_length.py --quick                 # about 10 minutes on 2 cores
python experiments/pro_length.py                         # 10 seeds, 25 rounds: hours
python experiments/pro_length.py --quick --data catalogs-nbest --seeds 1 --tables 2,4
python experiments/pro_length.py --tables ""             # nothing is run, the page is written

Needs TUNESMITH_SHARED_DATA. The tables of docs/results/pro-length.md are replaced, all numbers
kept in pro-length.json beside it, and docs/images/pro-length.png is drawn.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pro_length_pictures as pictures
import pro_length_tables as tables
import pro_length_ways as ways
from result_pages import with_tables

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "results" / "pro-length.json", DOCS / "results" / "pro-length.md"
PICTURE = DOCS / "images" / "pro-length.png"
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Protocol:
    """What is run: with which seeds, and how many rounds where the objective changes by them."""

    seeds: tuple[int, ...]
    rounds: int | None


PROTOCOLS = {
    "quick": Protocol(seeds=(1, 2, 3), rounds=None),
    "full": Protocol(seeds=tuple(range(1, 11)), rounds=25),
}


def main() -> None:
    """Run what is asked for, then write tables and the picture of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", default=",".join(ways.DATA), help="of " + ",".join(ways.DATA))
    parser.add_argument("--tables", default="1,2,3,4", help="of the paper; empty for none")
    parser.add_argument("--seeds", help="as 1,2")
    parser.add_argument("--again", action="store_true", help="run what has been run, too")
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    protocol = PROTOCOLS[name]
    numbers = _numbers(options.tables)
    seeds = _numbers(options.seeds) if options.seeds else list(protocol.seeds)
    if numbers:
        if "TUNESMITH_SHARED_DATA" not in os.environ:
            parser.error("set TUNESMITH_SHARED_DATA to the folder of the lists")
        begun = time.perf_counter()
        for data in options.data.split(","):
            run(name, data, numbers, seeds, options.again)
        print(f"{time.perf_counter() - begun:.0f} s")
    write(read())


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def run(name: str, data: str, numbers: list[int], seeds: list[int], again: bool) -> None:
    """Run all rows of some tables on one set; keep each as it comes."""
    sets = ways.DATA[data](Path(os.environ["TUNESMITH_SHARED_DATA"]))
    rounds = PROTOCOLS[name].rounds
    found = [] if again else read().get(name, {}).get("rows", [])
    known = {(row["data"], row["label"], row["seed"]) for row in found}
    for seed in seeds:
        for way in ways.WAYS:
            if set(way.tables) & set(numbers) and (data, way.label, seed) not in known:
                keep(name, "rows", {"data": data} | ways.run(way, sets, rounds, seed))
    if rounds is None and {2, 3} <= set(numbers):
        label = ways.by_length(sets, seeds[0])
        keep(name, "mode", {"data": data, "seed": seeds[0], "label": label})


def read() -> dict[str, dict[str, Rows]]:
    """Return all rows by protocol and kind."""
    return json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}


def keep(name: str, kind: str, row: dict[str, Any]) -> None:
    """Put a row in place of the same one of an earlier run, or at the end."""
    print(json.dumps(row, ensure_ascii=False), flush=True)
    numbers = read()
    rows = numbers.setdefault(name, {}).setdefault(kind, [])
    keys = ("data", "seed") if kind == "mode" else ("data", "label", "seed")
    same = [k for k, old in enumerate(rows) if all(old[key] == row[key] for key in keys)]
    if same:
        rows[same[0]] = row
    else:
        rows.append(row)
    lines = ",\n".join(
        f'"{protocol}":{{'
        + ",\n".join(f'"{k}":[\n' + ",\n".join(map(_compact, v)) + "\n]" for k, v in kinds.items())
        + "}"
        for protocol, kinds in numbers.items()
    )
    NUMBERS.write_text("{" + lines + "}\n")


def _compact(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def write(numbers: dict[str, dict[str, Rows]]) -> None:
    """Write tables into the page, draw the picture of the largest protocol, and say what came."""
    page = PAGE.read_text() if PAGE.exists() else ""
    for name, kinds in numbers.items():
        rows = kinds.get("rows", [])
        shown = {f"table{k}": tables.table(rows, k) for k in (1, 2, 3, 4)}
        shown["advice"] = tables.advice(rows, kinds.get("mode", []))
        shown["claims"] = tables.claims(rows)
        page = with_tables(page, name, shown)
        print(f"\n{name}\n\n{shown['advice']}\n\n{shown['claims']}")
    PAGE.write_text(page)
    drawn = numbers.get("full", numbers.get("quick", {})).get("rows", [])
    if drawn:
        pictures.draw(drawn, PICTURE)


if __name__ == "__main__":
    main()
