"""Parsing n-best lists and counting BLEU statistics, against Moses' extractor (--moses).

With --tables: rows a second of CSV, JSON lines of both layouts, Parquet and Arrow, beside pandas
and pyarrow that read the same file. With --processor it is seconds of processor time that count,
which others on the machine change less.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import tunesmith as ts
from common import arguments, interleaved, parse

#: Rows of a batch in an Arrow file.
ROWS = 1 << 16


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--tables", action="store_true", help="read tables instead of lists")
    parser.add_argument("--processor", action="store_true", help="count processor time (--tables)")
    options = parse(parser)
    if options.tables:
        clock = time.process_time if options.processor else time.perf_counter
        tables(options.data / options.lists, options.threads, options.repetitions, clock)
        return
    lists, references = options.data / options.lists, options.data / "val.ref"

    def ours() -> ts.TuningSet:
        with ts.threads(options.threads):
            return ts.TuningSet(ts.read(lists, references))

    def reading() -> ts.CandidateSet:
        with ts.threads(options.threads):
            return ts.read(lists, references)

    candidates = len(ours().candidates)
    work = [ours, reading]
    with tempfile.TemporaryDirectory() as folder:
        if options.moses:
            work.append(lambda: extract(options.moses, lists, references, Path(folder)))
        seconds = interleaved(options.repetitions, *work)
    print(
        f"tunesmith, reading and statistics {seconds[0]:7.2f} s (reading alone {seconds[1]:.2f} s)"
    )
    print(f"                                  {candidates / seconds[0]:,.0f} lines a second")
    if options.moses:
        print(f"Moses' extractor                  {seconds[2]:7.2f} s")
        print(f"times as fast: {seconds[2] / seconds[0]:.1f}")


def tables(lists: Path, threads: int, repetitions: int, clock: Callable[[], float]) -> None:
    """Read the same candidates as tables of all kinds."""
    import json

    import pandas as pd
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    from pyarrow import parquet

    candidates = ts.read(lists)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ending in ("csv", "parquet", "jsonl", "arrow"):
            ts.write(candidates, folder / f"t.{ending}")
        columns = ts.to_columns(candidates)
        held = [c.tolist() if hasattr(c, "tolist") else c for c in columns.values()]
        with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
            for row in zip(*held, strict=True):
                file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
        with pa.ipc.new_file(folder / "table.arrow", (table := pa.table(columns)).schema) as file:
            file.write_table(table, ROWS)
        del held, table
        others = {
            "t.csv": (pd.read_csv, pa.csv.read_csv),
            "rows.jsonl": (lambda p: pd.read_json(p, lines=True), pa.json.read_json),
            "t.jsonl": (lambda p: pd.read_json(p, lines=True), None),
            "t.parquet": (pd.read_parquet, parquet.read_table),
            "table.arrow": (pd.read_feather, None),
            "t.arrow": (None, None),
        }
        print(f"{'file':12} {'rows a second':>14} {'pandas':>12} {'pyarrow':>12}")
        for file_name, readers in others.items():
            path = folder / file_name

            def ours(path: Path = path) -> ts.CandidateSet:
                with ts.threads(threads):
                    return ts.read(path)

            works = [ours, *(partial(reader, path) for reader in readers if reader is not None)]
            ours()  # kernels are compiled
            seconds = interleaved(repetitions, *works, clock=clock)
            rates = iter([f"{len(candidates) / s:,.0f}" for s in seconds])
            shown = [next(rates), *(next(rates) if r is not None else "" for r in readers)]
            print(f"{file_name:12} {shown[0]:>14} {shown[1]:>12} {shown[2]:>12}")


def extract(moses: Path, lists: Path, references: Path, folder: Path) -> None:
    """Run Moses' extractor, with binary output, which is its faster way."""
    command = [moses / "extractor", "--sctype", "BLEU", "--scconfig", "case:true", "--binary"]
    command += ["--scfile", folder / "scores.dat", "--ffile", folder / "features.dat"]
    command += ["-r", references, "-n", lists]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


if __name__ == "__main__":
    main()
