"""MERT, or PRO, on lists in one place, and on shards of them that worker processes hold.

The lists are those of scale.py (--size candidates, a thousand for each sentence), as Arrow files
with references. Every run is a process of its own; all must find the same weights. Seconds are
those of the processor, of the process that tunes and of its workers, since wall-clock time depends
on who else works on the machine. Memory is what is a process's own at the end, without pages of
files, and the greatest that it ever had, with them.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tunesmith as ts
from common import arguments, parse
from scale import make
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.inference.lists.shards.envelopes import PackedEnvelope, merged
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.choice import engine_of
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads
from tunesmith.search.line.search import best_step, totals_along
from tunesmith.tasks.shards import ShardedLists
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.pro.pro import PRO

#: What a cluster is computed for.
NODES, CORES, CANDIDATES, BANDWIDTH = 50, 16, 1e9, 1.25e9


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.set_defaults(repetitions=1)
    parser.add_argument("--size", default="1e6", help="candidates")
    parser.add_argument("--shards", default="1,2,4", help="numbers of shards")
    parser.add_argument("--workers", type=int, help="processes; one for each shard by default")
    parser.add_argument("--restarts", type=int, default=4)
    parser.add_argument("--tuner", choices=("mert", "pro"), default="mert")
    parser.add_argument("--engine", choices=("processes", "ray"), default="processes")
    options = parse(parser)
    size = int(float(options.size))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = [sys.executable, __file__]
        sets = str(options.data), options.lists
        subprocess.run([*here, "--make", name, str(size), *sets, options.shards], check=True)
        rows = []
        for count in [0, *map(int, options.shards.split(","))]:
            workers, engine = options.workers or count, options.engine
            run = folder, count, workers, options.restarts, engine, options.tuner
            command = [*here, "--run", *map(str, run)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append(json.loads(answer.stdout))
            show(rows[-1], rows[0])
    if options.tuner == "mert":
        compute(rows[-1])


def write_shards(folder: Path, size: int, data: Path, lists: str, counts: str) -> None:
    """Write the set, whole and in parts of ranges of groups."""
    make(folder, size, data, lists, "arrow", 0)
    whole = ts.read(folder / "lists.arrow", references=[folder / "ref"])
    for count in map(int, counts.split(",")):
        (folder / f"shards-{count}").mkdir()
        for k, groups in enumerate(np.array_split(np.arange(whole.groups), count)):
            ts.write(whole.with_groups(groups), folder / f"shards-{count}/part-{k}.arrow")


def run(
    folder: Path, count: int, workers: int, restarts: int, engine_name: str, tuner_name: str
) -> None:
    """Tune once, on one machine or on shards; print what it took as JSON."""
    tuner = MERT(restarts=restarts) if tuner_name == "mert" else PRO()
    row: dict[str, object] = {"shards": count}
    if not count:
        begun = time.process_time()
        with threads(1):
            task = ts.TuningSet(ts.read(folder / "lists.arrow", references=[folder / "ref"]))
            row["reading"] = time.process_time() - begun
            result = tuner.fit(task, rng=1)
        row |= {"groups": task.groups, "candidates": len(task.candidates)}
    else:
        with threads(1), engine_of(engine_name, workers) as engine, working_on(engine):
            shards = ShardedLists.read(str(folder / f"shards-{count}"))
            row["reading"] = time.process_time()
            pids = (
                [s.link._process.pid for s in engine._slots] if engine_name == "processes" else []
            )
            before, own = [processor(pid) for pid in pids], time.process_time()
            result = tuner.fit(shards, rng=1)
            row["fit"] = time.process_time() - own
            spent = [processor(pid) for pid in pids]
            row["workers"] = [a - b for a, b in zip(spent, before, strict=True)]
            row["worker_memory"] = [memory(pid) for pid in pids]
            traffic = shards.shards.traffic
            row |= {"lines": traffic.lines, "breakpoints": traffic.breakpoints}
            row |= {"bytes": traffic.bytes, "groups": shards.groups}
            row["candidates"] = shards.shards.whole.candidates
    usage = resource.getrusage(resource.RUSAGE_SELF)
    row |= {"searches": result.line_searches, "wall": result.seconds, "score": result.score}
    row |= {"processor": usage.ru_utime + usage.ru_stime, "memory": memory("self")}
    weights = np.array(list(result.weights.values()))
    row["digest"] = hashlib.sha256(weights.tobytes()).hexdigest()
    print(json.dumps(row))


def processor(pid: int) -> float:
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def memory(pid: int | str) -> tuple[float, float]:
    """Return what is a process's own now, and the most that it ever had, in GiB."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    own, most = (int(fields[name].split()[0]) / 2**20 for name in ("RssAnon", "VmHWM"))
    return own, most


def show(row: dict, whole: dict) -> None:
    """Print one run."""
    assert row["digest"] == whole["digest"], "other weights"
    own, most = row["memory"]
    name = f"{row['shards']} shards" if row["shards"] else "one place"
    print(
        f"{name:10} {row['searches']} searches, {row['wall']:.1f} s on the clock, process that "
        f"tunes: {row['processor']:.1f} s of the processor, {own:.2f} GiB, at most {most:.2f}"
    )
    if row["shards"]:
        spent = ", ".join(f"{seconds:.1f}" for seconds in row["workers"])
        memories = ", ".join(f"{now:.2f} ({peak:.2f})" for now, peak in row["worker_memory"])
        print(
            f"{'':10} process that tunes: {row['fit']:.1f} s while tuning, workers: {spent} s, "
            f"{memories} GiB",
            flush=True,
        )
    if row.get("lines"):
        print(
            f"{'':10} a line: {row['bytes'] / row['lines'] / 1000:.1f} kB, "
            f"{row['breakpoints'] / row['lines'] / row['groups']:.2f} breakpoints for each "
            f"sentence, {row['bytes'] / row['breakpoints']:.1f} bytes each",
            flush=True,
        )


def driver_cost(count: int) -> float:
    """Return the seconds of the process that tunes for each breakpoint of many.

    They are drawn at random, in as many shards as there are nodes: they are put together, sorted,
    added up, scored by BLEU, and the best interval is chosen.
    """
    rng, metric = np.random.default_rng(1), BLEU()
    total = np.full(10, 20 * count)
    parts = [
        PackedEnvelope.of(Envelope(total, rng.standard_normal(n), rng.integers(-3, 4, (n, 10))))
        for n in np.full(NODES, count // NODES)
    ]
    point, direction = Point(np.ones(2), total, 0.0, None), Direction.along(0, "")
    seconds = []
    for _ in range(2):  # the first may compile
        begun = time.process_time()
        edges, totals = totals_along(merged(parts))
        best_step(edges, metric.gain(totals), point, direction)
        seconds.append(time.process_time() - begun)
    return seconds[-1] / count


def compute(row: dict) -> None:
    """Print what the model says of a cluster, by what was measured with the most shards."""
    lines, groups = row["lines"], CANDIDATES / 1000
    work = sum(row["workers"]) / lines / row["candidates"]
    each = row["breakpoints"] / lines / row["groups"]
    size = row["bytes"] / row["breakpoints"]
    hub = driver_cost(int(groups * each))
    sent = groups * each * size
    parts = {
        "workers": work * CANDIDATES / (NODES * CORES),
        "network": sent / BANDWIDTH,
        "driver, one core for each line": hub * groups * each,
    }
    print(
        f"measured: {1e9 * work:.1f} ns of a worker for each candidate and line, "
        f"{1e9 * hub:.0f} ns of the driver for each breakpoint"
    )
    shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items())
    print(
        f"computed: {CANDIDATES:.0e} candidates on {NODES} nodes of {CORES} cores, 10 Gbit/s: "
        f"{sent / 1e6:.0f} MB for each line; {shown}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        place, many, source, names, numbers = sys.argv[2:]
        write_shards(Path(place), int(many), Path(source), names, numbers)
    elif sys.argv[1:2] == ["--run"]:
        place, shard_count, worker_count, climbs, kind, way = sys.argv[2:]
        run(Path(place), int(shard_count), int(worker_count), int(climbs), kind, way)
    else:
        main()
