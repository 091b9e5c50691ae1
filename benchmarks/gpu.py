"""MERT on a GPU against the processor of the same machine: lines, climbs, memory and growth.

Every time is taken after a warm-up, with the data loaded, and ends when the answers are here.
``--arrays`` names an archive of NumPy with ``start``, ``X`` [D, N], ``stats`` and ``names``, in
place of the lists; ``--tile`` repeats the groups with noise, a hundredth of each feature's spread.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pstats
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from common import arguments
from tunesmith.arrays import inner
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.data.synthetic import synthetic
from tunesmith.inference.hypotheses import Direction, Point
from tunesmith.inference.lists.device import batches, launching
from tunesmith.inference.lists.device.batches import Batches
from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.io.read import read
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.device import device
from tunesmith.parallel.local import threads
from tunesmith.search.directions.base import DIRECTIONS, Climb
from tunesmith.search.directions.stopping import tolerance_on
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

#: Files that the lines are added to.
results: list[Path] = []


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--arrays", type=Path)
    parser.add_argument("--parts", default="lines,mert,cpu")
    parser.add_argument("--tile", type=int, default=1)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs=3, default=(1000, 500, 1000))
    parser.add_argument("--repeats", type=int, default=3, help="runs of MERT on the GPU")
    parser.add_argument("--plain", action="store_true", help="launch by numba-cuda alone")
    parser.add_argument("--blocks", type=int, help="blocks above which a group has one warp")
    parser.add_argument("--results", type=Path, help="a file that lines are added to")
    options = parser.parse_args()
    if options.plain:
        launching.DIRECT = False
    if options.blocks is not None:
        batches.BLOCKS = options.blocks
    if options.results:
        results.append(options.results)
    tuning = tiled(of_arrays(options.arrays) if options.arrays else of_lists(options), options.tile)
    size, features = len(tuning.candidates), len(tuning.names)
    say("set", candidates=size, groups=tuning.groups, features=features)
    parts: dict[str, Callable[[argparse.Namespace, TuningSet], None]] = {
        "lines": lines,
        "mert": mert,
        "cpu": on_processor,
        "kernels": kernels,
        "envelopes": envelopes,
        "equal": equal,
        "beginning": beginning,
        "queries": queries,
        "profile": profile,
        "growth": growth,
        "wide": wide,
        "gradient": gradient,
    }
    for part in options.parts.split(","):
        parts[part](options, tuning)


def say(what: str, **numbers: Any) -> None:
    """Print a line that programs can read, and add it to the results."""
    line = json.dumps({"what": what, **numbers}, ensure_ascii=False)
    print(line, flush=True)
    for path in results:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def of_lists(options: argparse.Namespace) -> TuningSet:
    """Read Moses lists."""
    return TuningSet(read(options.data / options.lists, options.data / "val.ref"), "bleu")


def of_arrays(path: Path) -> TuningSet:
    """Make a set of arrays, without texts."""
    arrays = np.load(path)
    rows, start = arrays["X"].astype(np.float64), arrays["start"].astype(np.int64)
    stats = arrays["stats"].astype(np.int32)
    return made(rows, start, stats, tuple(arrays["names"].tolist()))


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
    weights, directions = probes(tuning, 5)
    points = [hypotheses.point(w) for w in weights]
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
    direction = Direction.of(np.ones(len(tuning.names)), "one")
    search.steps(hypotheses, [(points[0], direction)])

    def searched() -> None:
        (found,) = search.steps(hypotheses, [(points[0], direction)])
        hypotheses.move(points[0], direction, found.size)

    say("search and step", ms=1e3 * timed(searched))
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

    if hypotheses is None or points is None or directions is None:
        hypotheses = DeviceHypotheses(tuning)
        weights, directions = probes(tuning, 5)
        points = [hypotheses.point(w) for w in weights]
    own = hypotheses._batches
    search = LineSearch(Space.free(tuning.names))
    for pairs in (
        [(p, d) for p in points for d in directions],
        [(p, directions[0]) for p in points[:4]],
        [(points[0], directions[0])],
    ):
        search.steps(hypotheses, pairs)
        kernels_of(own, len(pairs))
    counts = own._count.there.copy_to_host()[:1]
    say("breakpoints", of_one_line=int(counts[0]), room=own._room)
    free, total = cuda.current_context().get_memory_info()
    say("memory", used_GB=(total - free) / 1e9)


def envelopes(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Search 70 lines a few times, for a profiler of the GPU; say what has to be read."""
    hypotheses = DeviceHypotheses(tuning)
    weights, directions = probes(tuning, 5)
    points = [hypotheses.point(w) for w in weights]
    pairs = [(p, d) for p in points for d in directions]
    search = LineSearch(Space.free(tuning.names))
    for _ in range(5):
        search.steps(hypotheses, pairs)
    arrays = 8 * len(tuning.candidates) * (len(points) + len(directions))
    say("envelopes", lines=len(pairs), bytes_of_arrays=arrays)


def kernels_of(own: Batches, count: int) -> None:
    """Measure each kernel of the search that was made last."""
    from numba import cuda

    from tunesmith.inference.lists.device import batches as b

    rooms = own._room // b.CHUNK, own._room // b.PART
    are_many = own.groups * count > b.BLOCKS
    grids = {
        "many envelopes" if are_many else "envelopes": (
            own.groups,
            count,
            b.WARP_THREADS if are_many else b.GROUP_THREADS,
        ),
        "chunks": (rooms[0], count, b.CHUNK // 2),
        **{f"merge {k}": (-(-own._room // b.EACH), count, b.EACH) for k in range(own._passes)},
        "add": (rooms[1], count, b.PART),
        "judge": (rooms[1], count, b.PART),
        "pick": (count, 1, b.PART),
    }
    if count == 1:
        grids["shift"] = own.groups, count, b.GROUP_THREADS
        grids[f"add up {4 + own.statistics}"] = own.statistics, count, b.LINE_THREADS
    times: dict[str, list[float]] = {name: [] for name in grids}
    hosts: dict[str, list[float]] = {name: [] for name in grids}
    for k in range(12):
        own._count.clear(count)
        marks = [cuda.event() for _ in range(len(grids) + 1)]
        marks[0].record()
        for mark, (name, grid) in zip(marks[1:], grids.items(), strict=True):
            begun = time.perf_counter()
            own._launches[name](*grid)
            hosts[name].append(time.perf_counter() - begun)
            mark.record()
        marks[-1].synchronize()
        for name, one, two in zip(grids, marks, marks[1:], strict=False):
            if k >= 2:
                times[name].append(cuda.event_elapsed_time(one, two))
    say(
        "kernels, µs",
        lines=count,
        **{name: round(1e3 * float(np.median(times[name])), 1) for name in grids},
    )
    say(
        "launches, µs of the processor",
        **{name: round(1e6 * float(np.median(hosts[name])), 1) for name in grids},
    )


def beginning(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Measure what comes before the first search: what the processor finds, and the upload."""

    def seconds(work: Callable[[], Any]) -> float:
        begun = time.perf_counter()
        work()
        return round(time.perf_counter() - begun, 4)

    hypotheses = DeviceHypotheses(tuning)
    weights = np.ones(len(tuning.names))
    coordinates = Space.free(tuning.names).coordinates()
    for name in ("first", "again"):
        say(
            f"beginning, {name}",
            spread=seconds(hypotheses.spread),
            axes=seconds(lambda: hypotheses.axes(coordinates)),
            best_gain=seconds(tuning.best_gain),
            tolerance=seconds(lambda: tolerance_on(tuning)),
            score=seconds(lambda: tuning.score_at(weights)),
            upload=seconds(lambda: Batches(tuning)),
        )
    hypotheses = DeviceHypotheses(tuning)
    say("first point", seconds=seconds(lambda: hypotheses.point(weights)))
    point = hypotheses.point(weights)
    search = LineSearch(Space.free(tuning.names))
    line = point, coordinates[0]
    say("first line", seconds=seconds(lambda: search.steps(hypotheses, [line])))


def queries(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Count what a run of MERT asks of the device, and how long that takes."""
    taken: dict[str, list[float]] = {}

    def watched(name: str) -> None:
        work = getattr(Batches, name)

        def watch(self: Any, *arguments: Any) -> Any:
            begun = time.perf_counter()
            answers = work(self, *arguments)
            taken.setdefault(name, []).append(time.perf_counter() - begun)
            if name == "best":
                taken.setdefault(f"best of {len(arguments[0])}", []).append(taken[name][-1])
            return answers

        setattr(Batches, name, watch)
        undo.append(lambda: setattr(Batches, name, work))

    undo: list[Callable[[], None]] = []
    for name in ("best", "move", "evaluate", "row_of"):
        watched(name)
    tuned(options, tuning, "cuda", 1)
    for back in undo:
        back()
    for name, seconds in sorted(taken.items()):
        say(name, times=len(seconds), seconds=sum(seconds), ms=1e3 * float(np.median(seconds)))


def profile(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Profile what the processor does in a climb with its walks."""
    with device("cuda"):
        watch = cProfile.Profile()
        watch.enable()
        MERT(restarts=0, walks=2).tune(tuning, None, np.random.default_rng(1))
        watch.disable()
    text = io.StringIO()
    pstats.Stats(watch, stream=text).sort_stats("tottime").print_stats(45)
    print("\n".join(line[:150] for line in text.getvalue().splitlines()), flush=True)


def growth(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Measure how times grow with the candidates; then tune on ten million."""
    sizes = 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000
    tuning = tiled(tuning, -(-sizes[-1] // len(tuning.candidates)))
    for size in sizes:
        grown(options, tuning, size)
    tuned(options, tuning, "cuda", 1)


def grown(options: argparse.Namespace, tuning: TuningSet, size: int) -> None:
    """Measure the first groups of a set, with about that number of candidates."""
    from numba import cuda

    candidates = tuning.candidates
    groups = int(np.searchsorted(candidates.start, size))
    end = int(candidates.start[min(groups, tuning.groups)])
    rows = np.ascontiguousarray(candidates.features.dense[:, :end])
    tuning = made(rows, candidates.start[: groups + 1], tuning.stats[:end], tuning.names)
    weights, directions = probes(tuning, 5)
    begun = time.perf_counter()
    hypotheses = DeviceHypotheses(tuning)
    points = [hypotheses.point(w) for w in weights]
    upload = time.perf_counter() - begun
    search = LineSearch(Space.free(tuning.names))
    one = [(points[0], directions[0])]
    pairs = [(p, d) for p in points for d in directions][:70]
    batch = timed(lambda: search.steps(hypotheses, pairs), 5)
    with threads(options.threads):
        processor = ListHypotheses(tuning)
        others = [processor.point(w) for w in weights]
        same = [(p, d) for p in others for d in directions][:70]
        beside = timed(lambda: search.steps(processor, same), 1)
    free, total = cuda.current_context().get_memory_info()
    say(
        "growth",
        candidates=end,
        groups=tuning.groups,
        features=len(tuning.names),
        upload_seconds=upload,
        one_line_ms=1e3 * timed(lambda: search.steps(hypotheses, one), 5),
        move_ms=1e3 * timed(lambda: hypotheses.move(points[0], directions[0], 0.01), 5),
        point_ms=1e3 * timed(lambda: hypotheses.point(weights[0]), 5),
        lines=len(pairs),
        batch_ms=1e3 * batch,
        processor_ms=1e3 * beside,
        threads=options.threads,
        ns_per_candidate_and_line=1e9 * batch / len(pairs) / end,
        memory_GB=(total - free) / 1e9,
    )


def wide(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Measure how times grow with the features: 1,000 groups of 500."""
    count, rng = 500_000, np.random.default_rng(2)
    base = rng.standard_normal((16, count))
    stats = tuning.stats[np.arange(count) % len(tuning.candidates)]
    for features in (14, 100, 300, 1000):
        rows = np.empty((features, count))
        for d in range(features):
            rows[d] = np.roll(base[d % 16], 7919 * (d // 16))
        names = tuple(f"f{d}" for d in range(features))
        grown(options, made(rows, np.arange(0, count + 1, 500), stats, names), count)


def gradient(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Climb along gradients on the task of Hopkins and May, whose best weights are known."""
    candidates, gold = synthetic(*options.sizes, 0.0, 3)
    tuning = TuningSet(candidates, "column:score")
    spread = ListHypotheses(tuning).spread()
    ceiling = float(tuning.metric.gain(tuning.total(tuning.oracle().chosen)))
    for kind, repeats in ((DeviceHypotheses, 3), (ListHypotheses, 1)):
        begun = time.perf_counter()
        hypotheses = kind(tuning)
        point = hypotheses.point(1.0 / spread)
        say(f"{kind.__name__}, first point", seconds=time.perf_counter() - begun)
        with threads(options.threads):
            pieces(kind.__name__, hypotheses, point)
            for k in range(repeats):
                begun = time.perf_counter()
                climb = Climb(hypotheses, spread, np.random.default_rng(1), ceiling=ceiling)
                end = DIRECTIONS.create("gradient").climb(climb, climb.begin(1.0 / spread))
                seconds = time.perf_counter() - begun
                cosine = inner(end.weights, gold.vector) / np.sqrt(
                    inner(end.weights, end.weights) * inner(gold.vector, gold.vector)
                )
                say(
                    f"{kind.__name__}, climb {k}",
                    seconds=seconds,
                    searches=climb.searches,
                    gain=end.gain,
                    ceiling=ceiling,
                    cosine=float(cosine),
                )


def pieces(name: str, hypotheses: ListHypotheses, point: Point) -> None:
    """Measure a gradient, a product with the covariance, and a new line."""
    sharpness = 1.0 / hypotheses.deviation(point)
    (expected,) = hypotheses.expected([point], [sharpness])
    vectors = expected.gradient[None]
    search = LineSearch(Space.free(hypotheses.names))
    numbers = iter(range(1, 1000))

    def searched() -> None:
        new = Direction.of(expected.gradient * next(numbers), "new")
        search.steps(hypotheses, [(point, new)])

    for what, work in (
        ("deviation", lambda: hypotheses.deviation(point)),
        ("gradient", lambda: hypotheses.expected([point], [sharpness])),
        ("covariance", lambda: hypotheses.covariance([expected], vectors)),
        ("new line", searched),
    ):
        say(f"{name}, {what}", ms=1e3 * timed(work, 3))
    say(f"{name}, expected", gain=expected.gain, deviation=expected.gain_deviation)


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
                candidates=len(tuning.candidates),
                seconds=seconds,
                searches=outcome.line_searches,
                bleu=tuning.score_at(outcome.weights),
                weights=outcome.weights[:3].tolist(),
            )


def mert(options: argparse.Namespace, tuning: TuningSet) -> None:
    """Tune on the GPU."""
    tuned(options, tuning, "cuda", options.repeats)


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
        tuned(options, tuning, "cpu", 1)


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
