"""How cost grows with the number of candidates: reading, MERT, PRO and batch MIRA.

The lists are those of --lists, cycled through until there are enough sentences of 1000 candidates,
with noise of a tenth of each feature's spread, so that no two are alike. Each command is a process
of its own, under --memory. Seconds are those of the processor, since wall-clock time depends on
who else works on the machine. Peak memory is what the process had at once: all, and without pages
of files, which the system takes back when it needs them.

With --form text the lists are Moses' and plain text, and Moses' extractor and mert read the same
(--moses). --sparse F adds F features of which each candidate has 60.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array

import tunesmith as ts
from common import arguments, parse
from read import extract
from tune import run_mert, timed
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.data.memory import own_pages
from tunesmith.kernels import kernel

#: Candidates of a sentence.
MANY = 1000
#: Sparse features of a candidate, and how many there are in a sentence.
ON, POOL = 60, 600
TUNERS = ("mert --restarts 4", "pro", "batch-mira")


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.set_defaults(repetitions=1, restarts=4)  # of Moses' mert, as of ours
    parser.add_argument("--sizes", default="1e5,1e6", help="numbers of candidates")
    parser.add_argument("--form", choices=("arrow", "text"), default="arrow")
    parser.add_argument("--sparse", type=int, default=0, help="sparse features")
    parser.add_argument("--memory", default="8GiB")
    parser.add_argument("--tuners", default=",".join(TUNERS))
    parser.add_argument("--out", type=Path, help="JSON file of what was measured, added to")
    parser.add_argument("--plot", type=Path, help="picture of all that is in --out")
    options = parse(parser)
    rows: list[dict[str, object]] = []
    if options.out and options.out.exists():
        rows = json.loads(options.out.read_text())
    for size in map(int, map(float, filter(None, options.sizes.split(",")))):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            subprocess.run(
                [sys.executable, __file__, "--make", folder, str(size), *made_of(options)],
                check=True,
            )
            measure(options, folder, size, rows)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))
    if options.plot:
        draw(rows, options.plot)


def made_of(options) -> list[str]:
    """Return what the process that makes lists has to know."""
    return [str(options.data), options.lists, options.form, str(options.sparse)]


def measure(options, folder: Path, size: int, rows: list[dict[str, object]]) -> None:
    """Run every command on one size."""
    lists, references = folder / file_name(options.form), folder / "ref"
    about = ["--candidates", lists, "--references", references, "--threads", options.threads]
    start = options.data / "weights.run5.dense"
    commands = {"evaluate": ["evaluate", *about, "--weights", start]}
    for tuner in options.tuners.split(","):
        tune = ["tune", *about, "--start", start, "--seed", "1", "--memory", options.memory]
        commands[tuner] = [*tune, "--tuner", *tuner.split(), "--out", folder / "out.json"]
    for name, command in commands.items():
        row = {"candidates": size, "form": options.form, "command": name, **run(command, options)}
        remark = ""
        if name.startswith("mert"):
            row["searches"] = json.loads((folder / "out.json").read_text())["line_searches"]
            remark = f"; {row['searches']} line searches"
        rows.append(row)
        print(
            f"{size:>10,} {name:18} {row['processor']:8.1f} s of the processor, "
            f"{row['seconds']:.0f} s; {row['peak']:6.2f} GiB, without files {row['own']:.2f} GiB"
            f"{remark}",
            flush=True,
        )
    if options.moses and options.form == "text":
        reading = timed(lambda: extract(options.moses, lists, references, folder))
        mert = timed(lambda: run_mert(options, start, folder))
        print(f"{size:>10,} extractor {reading:.1f} s, mert {mert:.1f} s", flush=True)


def run(command: list[object], options) -> dict[str, float]:
    """Run a command; return its seconds and its memory in GiB."""
    begun = time.perf_counter()
    environment = {**os.environ, "TUNESMITH_MEMORY": options.memory}
    whole = [sys.executable, "-m", "tunesmith", *map(str, command), "--quiet"]
    process = subprocess.Popen(
        whole, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    own = 0
    status = Path(f"/proc/{process.pid}/status")
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        own = max(own, int(fields.get("RssAnon", "0").split()[0]))
        time.sleep(0.05)
    if code:
        sys.exit(f"{' '.join(whole)}\n{process.stderr.read().decode()}")
    return {
        "seconds": time.perf_counter() - begun,
        "processor": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss / 2**20,
        "own": own / 2**20,
    }


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw processor seconds and memory by candidates, on scales of orders of magnitude."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {"processor": "processor seconds, start-up included", "own": "memory of its own, GiB"}
    for axes, (key, title) in zip(panels, titles.items(), strict=True):
        for name in dict.fromkeys(row["command"] for row in rows):
            points = sorted((r["candidates"], r[key]) for r in rows if r["command"] == name)
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        first, last = (edge(row["candidates"] for row in rows) for edge in (min, max))
        top = max(row[key] for row in rows if row["candidates"] == last)
        axes.plot([first, last], [top * first / last, top], "k:", label="linear")
        axes.set(xscale="log", yscale="log", xlabel="candidates", title=title)
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def file_name(form: str) -> str:
    """Return what the lists are called."""
    return {"arrow": "lists.arrow", "text": "lists.nbest"}[form]


def make(folder: Path, size: int, data: Path, lists: str, form: str, sparse: int) -> None:
    """Write lists and references."""
    given = ts.read(data / lists)
    references = (data / "val.ref").read_text("utf-8").splitlines()
    groups = max(1, size // MANY)
    rng = np.random.default_rng(1)
    base = np.arange(groups) % given.groups
    sizes = np.diff(given.start)
    each = np.full(groups, min(MANY, size))
    rows = np.concatenate(
        [given.start[b] + np.arange(n) % sizes[b] for b, n in zip(base, each, strict=True)]
    )
    dense = own_pages((len(given.features.dense), len(rows)), np.float64)
    for d, values in enumerate(given.features.dense):
        means = np.repeat(np.add.reduceat(values, given.start[:-1]) / sizes, sizes)
        dense[d] = rng.standard_normal(len(rows))
        dense[d] *= 0.1 * float(np.std(values - means))
        dense[d] += values[rows]
    lengths = np.diff(given.texts.start)[rows]
    start = np.concatenate([[0], np.cumsum(lengths)])
    ids = own_pages((int(start[-1]),), np.int32)
    copy_texts(given.texts.start, given.texts.ids, rows, ids)
    features = Features(given.features.dense_names, dense, *fired(rng, groups, len(rows), sparse))
    made = replace(
        given,
        ids=tuple(range(groups)),
        start=np.concatenate([[0], np.cumsum(each)]),
        features=features,
        texts=Texts(start, ids),
        files=(),
    )
    made = CandidateSet(**{name: getattr(made, name) for name in made.__dataclass_fields__})
    (folder / "ref").write_text("".join(f"{references[b]}\n" for b in base), "utf-8")
    ts.write(made, folder / file_name(form), "moses" if form == "text" else None)


def fired(
    rng: np.random.Generator, groups: int, many: int, width: int
) -> tuple[tuple[str, ...], csc_array]:
    """Return names and values of sparse features; those of a sentence come from a pool."""
    if not width:
        return (), csc_array((many, 0))
    columns = np.empty((many, ON), np.int32)
    size = many // groups
    for lo in range(0, many, size):
        times = rng.exponential(size=width) * (np.arange(width) + 10.0)
        pool = np.argpartition(times, POOL)[:POOL]
        begin = rng.integers(0, POOL, (size, 1))
        step = rng.integers(1, 7, (size, 1)) * 2 + 1  # up to 13: no feature is drawn twice
        columns[lo : lo + size] = pool[(begin + step * np.arange(ON)) % POOL]
    order = np.argsort(columns.ravel(), kind="stable")
    counts = np.bincount(columns.ravel(), minlength=width)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    rows = (order // ON).astype(np.int32)
    values = rng.integers(1, 4, many * ON).astype(float)
    matrix = csc_array((values, rows, indptr), (many, width))
    return tuple(f"s{k}" for k in range(width)), matrix


@kernel
def copy_texts(start, ids, rows, out) -> None:
    """Copy the texts of some rows."""
    at = 0
    for k in range(rows.shape[0]):
        for i in range(start[rows[k]], start[rows[k] + 1]):
            out[at] = ids[i]
            at += 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        place, count, source, names, kind, wide = sys.argv[2:]
        make(Path(place), int(count), Path(source), names, kind, int(wide))
    else:
        main()
