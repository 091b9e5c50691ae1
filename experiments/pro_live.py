"""PRO with a decoder in the loop: lengths by objective, and tuning on the longest half.

python examples/thot/train.py                              # makes the model, some minutes
python experiments/pro_live.py --quick                     # some 15 minutes on 2 cores
python experiments/pro_live.py --out run                   # 25 rounds, 1000-best, 3 seeds: a day
python experiments/pro_live.py --quick --parts monsters
python experiments/pro_live.py --parts ""                  # nothing is run, the page is written

The loops of Nakov, Guzmán and Vogel (COLING 2012 and ACL 2013), with Thot as the decoder. The
tables of docs/results/pro-live.md are replaced, all numbers kept in pro-live.json beside it, and
the pictures drawn. With ``--out DIR`` all loops are kept there, and the same command goes on
where an earlier one ended.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import pro_live_loop as loops
import pro_live_tables as tables
from result_pages import Rows, keep_row, known_keys, read_rows, with_tables

ROOT = Path(__file__).parents[1]
RESULTS, IMAGES = ROOT / "docs" / "results", ROOT / "docs" / "images"
NUMBERS, PAGE = RESULTS / "pro-live.json", RESULTS / "pro-live.md"
MODEL = ROOT / "examples" / "thot" / "model" / "filtered"
PARTS = ("lengths", "monsters")
PROTOCOLS = {
    "quick": loops.Protocol(4, 100, (1,), share=1.0, test_step=2),
    "full": loops.Protocol(25, 1000, (1, 2, 3), share=0.1, test_step=1),
}
KEYS = ("part", "start", "label", "seed")


def main() -> None:
    """Run the parts asked for, then write tables and pictures of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ",".join(PARTS))
    parser.add_argument("--model", type=Path, default=MODEL, help="made by examples/thot/train.py")
    parser.add_argument("--out", type=Path, help="keeps all loops, so that they can be resumed")
    parser.add_argument("--jobs", type=int, default=2, help="loops side by side")
    parser.add_argument("--again", action="store_true", help="run what has been run, too")
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    parts = options.parts.split(",") if options.parts else []
    if parts:
        if not (options.model / "smt.cfg").exists():
            parser.error(f"there is no {options.model}/smt.cfg; run examples/thot/train.py")
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as temporary:
            out = (options.out or Path(temporary)) / name
            run(name, parts, options.model, out, options.jobs, options.again)
        print(f"{time.perf_counter() - begun:.0f} s")
    write(read_rows(NUMBERS))


def run(name: str, parts: list[str], model: Path, out: Path, workers: int, again: bool) -> None:
    """Go through the loops that are missing, and keep what each comes to."""
    protocol = PROTOCOLS[name]
    known = set() if again else known_keys(NUMBERS, name, KEYS)
    missing = [
        job
        for job in loops.jobs(protocol, parts)
        if tuple(job.key()[key] for key in KEYS) not in known
    ]
    # Thot and numba have threads: no process is forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        found = [pool.submit(loops.run, job, protocol, model, out) for job in missing]
        for one in as_completed(found):
            row = one.result()
            last = {key: value for key, value in row["rounds"][-1].items() if key != "weights"}
            told = {key: row[key] for key in (*KEYS, "seconds")} | last
            print(json.dumps(told, ensure_ascii=False), flush=True)
            keep_row(NUMBERS, name, row, KEYS)


def write(numbers: dict[str, Rows]) -> None:
    """Write the tables into the page, and draw the pictures of the largest protocol known."""
    page = PAGE.read_text() if PAGE.exists() else ""
    for name, rows in numbers.items():
        page = with_tables(page, name, tables.all_of(rows))
    if page:
        PAGE.write_text(page)
    if numbers:
        rows = numbers["full" if "full" in numbers else "quick"]
        tables.draw_lengths(rows, IMAGES / "pro-live-lengths.png")
        tables.draw_monsters(rows, IMAGES / "pro-live-monsters.png")


if __name__ == "__main__":
    main()
