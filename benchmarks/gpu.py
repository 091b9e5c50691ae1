"""MERT on a GPU against the processor of the same machine: lines, climbs, memory and growth.

Every time is taken after a warm-up, with the data loaded, and ends when the answers are here.
``--arrays`` names an archive of NumPy with ``start``, ``X`` [D, N], ``stats`` and ``names``, in
place of the lists; ``--tile`` repeats the groups with noise, a hundredth of each feature's spread.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from common import arguments
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.io.read import read
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.device import device
from tunesmith.parallel.local import threads
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--arrays", type=Path)
    parser.add_argument("--parts", default="lines,mert,cpu")
    parser.add_argument("--tile", type=int, default=1)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tuning = tiled(of_arrays(options.arrays) if options.arrays else of_lists(options), options.tile)
    size, features = len(tuning.candidates), len(tuning.names)
    say("set", candidates=size, groups=tuning.groups, features=features)
    parts: dict[str, Callable[[argparse.Namespace, TuningSet], None]] = {
        "lines": lines,
        "mert": mert,
        "cpu": on_processor,
        "kernels": kernels,
        "equal": equal,
    }
    for part in options.parts.split(","):
        parts[part](options, tuning)


def say(what: str, **numbers: Any) -> None:
    """Print a line that programs can read."""
    print(json.dumps({"what": what, **numbers}), flush=True)


def of_lists(options: argparse.Namespace) -> TuningSet:
    """Read Moses lists."""
    return TuningSet(read(options.data / options.lists, options.data / "val.ref"), "bleu")


def of_arrays(path: Path) -> TuningSet:
    """Make a set of arrays, without texts."""
    held = np.load(path)
    rows, start = held["X"].astype(np.float64), held["start"].astype(np.int64)
    stats = held["stats"].astype(np.int32)
    return made(rows, start, stats, tuple(held["names"].tolist()))


def made(rows: Any, start: Any, stats: Any, names: tuple[str, ...]) -> TuningSet:
    """Make a set of arrays, without texts."""
    count = rows.shape[1]
    features = Features(names, rows, (), csc_array((count, 0)))
    texts = Texts(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))
    ids = tuple(map(str, range(len(start) - 1)))
    candidates = CandidateSet(ids, start, features, texts, ())
    return TuningSet(candidates, BLEU(), stats)


def tiled(tuning: TuningSet, times: int) -> TuningSet:
    """Repeat all groups, each time with other noise."""
    if times <= 1:
        return tuning
    rows, start = tuning.candidates.features.dense, tuning.candidates.start
    rng = np.random.default_rng(7)
    spread = ListHypotheses(tuning).spread()[:, None]
    parts = [rows + 0.01 * spread * rng.standard_normal(rows.shape) for _ in range(times)]
    starts = [start[:-1] + k * start[-1] for k in range(times)]
    ends = np.concatenate([*starts, [times * start[-1]]])
    return made(
        np.concatenate(parts, axis=1), ends, np.tile(tuning.stats, (times, 1)), tuning.names
    )


def timed(work: Callable[[], Any], times: int = 7) -> float:
    """Return the median seconds, after two that do not count."""
    taken = []
    for k in range(times + 2):
        begun = time.perf_counter()
        work()
        if k >= 2:
            taken.append(time.perf_counter() - begun)
    return float(np.median(taken))


def probes(tuning: TuningSet, points: int) -> tuple[list[Any], list[Direction]]:
    """Return weights to search from, and all coordinates."""
    rng = np.random.default_rng(3)
    spread = ListHypotheses(tuning).spread()
    weights = [(1 + 0.3 * rng.standard_normal(len(spread))) / spread for _ in range(points)]
    return weights, Space.free(tuning.names).coordinates()


def lines(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Measure batches of lines: all coordinates of 1 and of 5 points, and single lines."""
    hypotheses = DeviceHypotheses(tuning)
    begun = time.perf_counter()
    weights, directions = probes(tuning, 5)
    points = [hypotheses.point(w) for w in weights]
    say("upload and first points", seconds=time.perf_counter() - begun)
    search = LineSearch(Space.free(tuning.names))
    for name, batch in (
        ("1 line", [(points[0], directions[0])]),
        ("4 lines of 4 points", [(p, directions[0]) for p in points[:4]]),
        ("coordinates x 1", [(points[0], d) for d in directions]),
        ("coordinates x 5", [(p, d) for p in points for d in directions]),
    ):
        seconds = timed(lambda batch=batch: search.steps(hypotheses, batch))
        each = seconds / len(batch) / len(tuning.candidates)
        say(name, lines=len(batch), ms=1e3 * seconds, ns_per_candidate_and_line=1e9 * each)
    step = timed(lambda: hypotheses.move(points[0], directions[0], 0.01))
    say("move", ms=1e3 * step)
    say("point", ms=1e3 * timed(lambda: hypotheses.point(weights[0])))
    kernels(options, tuning, hypotheses, points, directions)


def kernels(
    options: argparse.Namespace,
    tuning: TuningSet,
    hypotheses: DeviceHypotheses | None = None,
    points: list[Any] | None = None,
    directions: list[Direction] | None = None,
) -> None:
    """Measure each kernel of a batch by itself, by events of the device."""
    from numba import cuda

    from tunesmith.inference.lists.device import batches as b

    if hypotheses is None or points is None or directions is None:
        hypotheses = DeviceHypotheses(tuning)
        weights, directions = probes(tuning, 5)
        points = [hypotheses.point(w) for w in weights]
    own = hypotheses._batches
    pairs = [(p, d) for p in points for d in directions]
    asks = [(p.cache.number, own.row_of(d), 1.0, -np.inf, np.inf) for p, d in pairs]
    sent = cuda.to_device(np.array(asks))
    count = len(asks)
    first, found, *sides = own._buffers_for(count)
    mine, others = sides[:3], sides[3:]
    numbers = cuda.to_device(hypotheses._formula)
    reply = cuda.device_array((count, 4 + own.statistics), np.float64)
    zero = np.zeros(found.shape[0], np.int32)

    def envelopes() -> None:
        found.copy_to_device(zero)
        b.envelopes.find_envelopes[(own.groups, count), b.GROUP_THREADS](
            own._scores, own._rows, own._start, own._winners, sent, first, found, *mine
        )

    def chunks() -> None:
        b.sorting.sort_chunks[(own._room // b.CHUNK, count), b.CHUNK // 2](found, *mine)

    def merges() -> None:
        run, one, two = b.CHUNK, mine, others
        while run < own._room:
            grid = -(-own._room // b.EACH), count
            b.sorting.merge_runs[grid, b.EACH](found, run, *one, *two)
            one, two, run = two, one, 2 * run

    def intervals() -> None:
        b.intervals.best_intervals[count, b.LINE_THREADS](
            own._stats, first, found, *mine, sent, numbers, reply
        )

    for work in (envelopes, chunks, merges, intervals):
        times = []
        for k in range(9):
            begin, end = cuda.event(), cuda.event()
            if work is not envelopes:
                envelopes()
            begin.record()
            work()
            end.record()
            end.synchronize()
            if k >= 2:
                times.append(cuda.event_elapsed_time(begin, end))
        say(f"kernel {work.__name__}", lines=count, ms=float(np.median(times)))
    counts = found.copy_to_host()[:count]
    say("breakpoints", least=int(counts.min()), most=int(counts.max()), room=own._room)
    free, total = cuda.current_context().get_memory_info()
    say("memory", used_GB=(total - free) / 1e9)


def tuned(options: argparse.Namespace, tuning: TuningSet, name: str, repeats: int) -> None:
    """Measure MERT as a whole, from the set in memory."""
    with device(name):
        for k in range(repeats):
            begun = time.perf_counter()
            tuner = MERT(restarts=options.restarts, walks=2)
            outcome = tuner.tune(tuning, None, np.random.default_rng(options.seed))
            seconds = time.perf_counter() - begun
            say(
                f"mert {name} {k}",
                seconds=seconds,
                searches=outcome.line_searches,
                bleu=tuning.score_at(outcome.weights),
                weights=outcome.weights[:3].tolist(),
            )


def mert(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Tune on the GPU."""
    tuned(options, tuning, "cuda", 3)


def on_processor(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Do the same on all cores of this machine."""
    with threads(options.threads):
        hypotheses = ListHypotheses(tuning)
        weights, directions = probes(tuning, 5)
        points = [hypotheses.point(w) for w in weights]
        batch = [(p, d) for p in points for d in directions]
        search = LineSearch(Space.free(tuning.names))
        seconds = timed(lambda: search.steps(hypotheses, batch), 3)
        say("processor: coordinates x 5", threads=options.threads, ms=1e3 * seconds)
        tuned(options, tuning, "cpu", 2)


def equal(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Compare what both devices say of many lines: intervals, totals, steps."""
    one, other = ListHypotheses(tuning), DeviceHypotheses(tuning)
    weights, directions = probes(tuning, 5)
    rng = np.random.default_rng(11)
    directions += [Direction.of(rng.standard_normal(len(weights[0])), "random") for _ in range(10)]
    search = LineSearch(Space.free(tuning.names))
    same = alike = many = 0
    furthest = 0.0
    for w in weights:
        here, there = one.point(w), other.point(w)
        assert (here.total == there.total).all()
        assert (here.cache.winners == there.cache.winners).all()
        assert (here.cache.scores == there.cache.scores).all()
        steps = search.steps(one, [(here, d) for d in directions])
        others = search.steps(other, [(there, d) for d in directions])
        for a, c in zip(steps, others, strict=True):
            many += 1
            same += a == c
            alike += a.gain == c.gain
            furthest = max(furthest, abs(a.size - c.size) / (abs(a.size) or 1.0))
    say("equal steps", lines=many, same=same, same_gain=alike, furthest=furthest)


if __name__ == "__main__":
    main()
