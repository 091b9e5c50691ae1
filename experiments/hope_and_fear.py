"""Figures 2 to 6 and Table 1 of Chiang, "Hope and fear" (JMLR 2012), with the Hiero decoder.

python experiments/hope_and_fear.py --quick --work DIR      # 15 minutes on 2 cores
python experiments/hope_and_fear.py --work DIR              # some hours
python experiments/hope_and_fear.py --quick --work DIR --parts figure4,seeds
python experiments/hope_and_fear.py --parts ""              # nothing is run, the page is written

Learns live: every sentence is decoded when the learner comes to it, under the weights of the
moment. The model is trained once, and every finished run is kept, both in the folder --work; the
same command goes on where an earlier one ended. Results go into docs/results/: the tables of
hope-and-fear.md are replaced, the pictures drawn, and all numbers kept in hope-and-fear.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hope_and_fear_pictures as pictures
import hope_and_fear_tables as tables
from hope_and_fear_bootstrap import p_value
from hope_and_fear_data import CATALOGS, SETS, Task, loaded, start
from hope_and_fear_parts import MODELS, PARTS, PROTOCOLS, Parts, Protocol, all_runs
from hope_and_fear_runs import Run, kept, run_and_keep, score, statistics
from result_pages import Rows, keep_row, read_rows, with_tables
from tunesmith.parallel.engine import map_over, working_on
from tunesmith.parallel.remote.processes import ProcessEngine

RESULTS = Path(__file__).parents[1] / "docs" / "results"
Row = dict[str, Any]
#: What tells one row from another.
KEYS = ("run",)


def main() -> None:
    """Do the runs of the parts asked for, then write tables and pictures of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ",".join(PARTS))
    parser.add_argument("--work", type=Path, default=Path("hope-and-fear"), help="keeps all runs")
    parser.add_argument("--data", type=Path, default=CATALOGS, help="folder of the text")
    parser.add_argument("--workers", type=int, default=2, help="runs side by side")
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    parts = options.parts.split(",") if options.parts else []
    if wrong := set(parts) - set(PARTS):
        parser.error(f"there is no part {min(wrong)}; give some of {','.join(PARTS)}")
    numbers = RESULTS / "hope-and-fear.json"
    if parts:
        begun = time.perf_counter()
        protocol = PROTOCOLS[name]
        task = Task(options.data.resolve(), (options.work / name).resolve(), protocol.sizes)
        if why := other_configuration(task, protocol):
            parser.error(why)
        with ProcessEngine(options.workers, timeout=None) as engine, working_on(engine):
            run(task, protocol, parts)
        for row in rows_of(task, protocol):
            keep_row(numbers, name, row, KEYS)
        print(f"{time.perf_counter() - begun:.0f} s")
    write(read_rows(numbers), RESULTS)


def other_configuration(task: Task, protocol: Protocol) -> str | None:
    """Say what is wrong with a folder whose runs were done otherwise; note how these are done."""
    done = {"text": str(task.text), "epochs": protocol.epochs, "restarts": protocol.restarts}
    done |= asdict(task.sizes)
    file = task.folder / "configuration.json"
    if not file.exists():
        task.folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(done))
    if json.loads(file.read_text()) != done:
        return f"{task.folder} has runs with other text or of another length; give another --work"
    return None


def run(task: Task, protocol: Protocol, parts: Sequence[str]) -> None:
    """Do all runs that have not been done, side by side, by whoever works."""
    begun = time.perf_counter()
    task.prepare()
    print(f"the model: {time.perf_counter() - begun:.0f} s", flush=True)
    wanted = [one for one in all_runs(protocol, parts) if not kept(task, one).exists()]
    # Each run is kept by whoever does it, so that nothing is lost when this ends early.
    map_over(task, run_and_keep, wanted, protocol.epochs, protocol.restarts)


def rows_of(task: Task, protocol: Protocol) -> Rows:
    """Return what finished runs came to, how they differ, and what all were made of."""
    parts = Parts(protocol)
    found = {}
    for one in all_runs(protocol, PARTS):
        if kept(task, one).exists():
            found[one] = json.loads(kept(task, one).read_text())
    rows = [about(task, protocol)]
    large = ("weights", "test_stats")
    rows += [{key: row[key] for key in row if key not in large} for row in found.values()]
    # Of a part of the runs nothing can be told that those before have not told.
    if any(one not in found for one in all_runs(protocol, ["table1"])):
        return rows
    return [*rows, significance(parts, found)]


def about(task: Task, protocol: Protocol) -> Row:
    """Return how large everything is."""
    model = json.loads((task.model / "model.json").read_text())
    sizes = {which: len(task.inputs(which).sentences) for which in SETS}
    features = {name: len(task.decoder(name).names) for name in MODELS}
    decoder, held = loaded(task, "small")
    own, begin = decoder.start(), start(decoder.names)
    assert own is not None  # a trained model has weights
    made = model["made"]
    return {
        "run": "about",
        "sentences": sizes,
        "features": features,
        "small": list(decoder.names),
        "own": {w: round(score(statistics(decoder, own, held[w])), 3) for w in ("dev", "test")},
        "start": {w: round(score(statistics(decoder, begin, held[w])), 3) for w in ("dev", "test")},
        "pairs": made["pairs"],
        "rules": sum(made["rules"]),
        "lexical": protocol.sizes.lexical,
        "epochs": protocol.epochs,
        "learners": protocol.learners,
        "restarts": protocol.restarts,
        "runs": len(all_runs(protocol, PARTS)),
    }


def significance(parts: Parts, found: dict[Run, Row]) -> Row:
    """Return how sure the differences of Table 1 are: to its first row, and to the row above."""
    tests: list[Row] = []
    for _, runs in parts.table1():
        some = [found[one] for one in runs if one in found]
        if not some:
            continue
        best = tables.best_on_dev(some)
        row: Row = {"chosen": best["run"]}
        for against, other in (("first", tests[:1]), ("above", tests[-1:])):
            if other:
                stats = [_of(found, one["chosen"])["test_stats"] for one in (row, other[0])]
                row[against] = round(p_value(*stats), 4)
        tests.append(row)
    return {"run": "significance", "tests": tests}


def _of(found: dict[Run, Row], name: str) -> Row:
    return next(row for row in found.values() if row["run"] == name)


def write(numbers: dict[str, Rows], folder: Path) -> None:
    """Write the tables into the page, and draw the pictures of the largest protocol known."""
    page_file = folder / "hope-and-fear.md"
    page = page_file.read_text() if page_file.exists() else ""
    for name, rows in numbers.items():
        page = with_tables(page, name, tables.all_of(rows, Parts(PROTOCOLS[name])))
    if page:
        page_file.write_text(page)
    if numbers:
        name = "full" if "full" in numbers else "quick"
        pictures.draw(numbers[name], Parts(PROTOCOLS[name]), folder)


if __name__ == "__main__":
    main()
