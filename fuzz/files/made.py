"""Files that tunesmith and others write, to be damaged: made once, when a worker starts."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from fuzz.files.readers import LOOP, TUNER, loop_inputs
from fuzz.files.seeds import CDEC_FOREST, JSONL, PLF, Seed
from fuzz.scratch import folder
from fuzz.toy import sentences
from fuzz.toy_decoder import Toy
from tunesmith.cli.app import main
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests
from tunesmith.io.read import read
from tunesmith.io.write import write


def made_seeds() -> list[Seed]:
    """Make all of them."""
    place = folder("made")
    return [*_tables(place), *_ours(place), *_runs(place), *_models(place)]


def _tables(place: Path) -> Iterator[Seed]:
    table = pyarrow.table(
        {
            "id": [0, 0, 1],
            "text": ["a b", "c", ""],
            "references": [["x"], ["x"], ["y", "z"]],
            "lm": [-1.5, -2.0, -0.5],
            "flag": [True, False, True],
            "metrics.m": [0.5, 1.0, 2.0],
        }
    )
    for codec in ("none", "snappy", "zstd"):
        sink = io.BytesIO()
        pyarrow.parquet.write_table(table, sink, compression=codec)
        yield Seed("parquet", "lists", {"a.parquet": sink.getvalue()}, is_text=False)
    for make in (pyarrow.ipc.new_file, pyarrow.ipc.new_stream):
        sink = io.BytesIO()
        with make(sink, table.schema) as writer:
            writer.write_table(table)
        yield Seed("arrow table", "lists", {"a.arrow": sink.getvalue()}, is_text=False)


def _ours(place: Path) -> Iterator[Seed]:
    (place / "a.jsonl").write_text(JSONL.replace('"id": 0', '"id": "q0"'))
    write(read(place / "a.jsonl"), place / "a.arrow")
    data = (place / "a.arrow").read_bytes()
    yield Seed("our arrow", "lists", {"a.arrow": data}, weight=2.0, is_text=False)
    for name, text in (("f.jsonl", CDEC_FOREST), ("p.plf", PLF)):
        (place / name).write_text(text)
        write_forests(read_forests(place / name), place / "f.arrow")
        data = (place / "f.arrow").read_bytes()
        yield Seed("our forests", "forests", {"f.arrow": data}, is_text=False)


def _runs(place: Path) -> Iterator[Seed]:
    work = place / "work"
    LOOP.run(Toy(), TUNER, loop_inputs(), work_dir=work)
    files = _read_all(work)
    for reader in ("work_directory", "resumed"):
        kind = "work directory, shown" if reader == "work_directory" else "work directory, resumed"
        yield Seed(kind, reader, files, weight=0.1)
    texts, references = sentences(3, 2)
    lists = [
        f"{k} ||| {t} ||| f= {len(t)} g= {-k}\n{k} ||| x ||| f= 1 g= 2\n"
        for k, t in enumerate(texts)
    ]
    (place / "t.nbest").write_text("".join(lists))
    (place / "t.ref").write_text("\n".join(references) + "\n")
    named = ["--candidates", str(place / "t.nbest"), "--references", str(place / "t.ref")]
    _run(["tune", *named, "--restarts", "1", "--walks", "0", "--out", str(place / "r.json")])
    whole = json.loads((place / "r.json").read_text())
    yield Seed("result", "result", {"r.json": json.dumps(whole).encode()}, weight=0.1)


def _models(place: Path) -> Iterator[Seed]:
    source, target = sentences(12, 3)
    (place / "s").write_text("\n".join(source) + "\n")
    (place / "t").write_text("\n".join(target) + "\n")
    out = place / "model"
    named = ["--source", str(place / "s"), "--target", str(place / "t"), "--out", str(out)]
    _run(["train", *named, "--order", "2"])
    yield Seed("model", "model", _read_all(out), weight=0.3, is_text=False)


def _read_all(place: Path) -> dict[str, bytes]:
    paths = sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
    return {str(path.relative_to(place)): path.read_bytes() for path in paths}


def _run(arguments: list[str]) -> None:
    """Run a command that must succeed."""
    out: Any = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main([*arguments, "--threads", "1"])
    if code != 0:
        raise RuntimeError(f"tunesmith {' '.join(arguments)}: {out.getvalue()}")
