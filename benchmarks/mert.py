"""A coordinate line search, from envelope to chosen step, against sorting at every call.

Each repetition searches every feature once from several points: the start, and points at
which a tuner really is (drawn around it). Both ways score and choose with the same code.
"""

from __future__ import annotations

import numpy as np

import tunesmith as ts
from common import arguments, interleaved, parse
from textbook import TextbookHypotheses
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.space.space import Space

POINTS = 4


def main() -> None:
    """Measure and print."""
    options = parse(arguments(__doc__.split("\n")[0]))
    tuning = ts.TuningSet(ts.read(options.data / options.lists, options.data / "val.ref"))
    start = ts.read_weights(options.data / "weights.run5.dense").weights
    ours, textbook = ListHypotheses(tuning), TextbookHypotheses(tuning)
    first = start.aligned(ours.names)
    rng = np.random.default_rng(1)
    weights = [first] + [
        first * np.exp(0.3 * rng.standard_normal(len(first))) for _ in range(POINTS - 1)
    ]
    points = [ours.point(w) for w in weights]
    lines = [Direction.along(d, name) for d, name in enumerate(ours.names)]
    tasks = [(point, line) for point in points for line in lines]

    def run(hypotheses, threads):
        with ts.threads(threads):
            return LineSearch(Space.free(ours.names)).steps(hypotheses, tasks)

    same = run(ours, options.threads) == run(textbook, options.threads)
    print(f"chosen steps equal on all {len(tasks)} lines: {same}")
    work = [
        lambda: run(ours, options.threads),
        lambda: run(textbook, options.threads),
        lambda: run(ours, 1),
        lambda: run(textbook, 1),
    ]
    seconds = interleaved(options.repetitions, *work)
    candidates = len(tuning.candidates)
    names = ("hull search", "sort and scan", "hull search, 1 thread", "sort and scan, 1 thread")
    for name, taken in zip(names, seconds, strict=True):
        each = taken / len(tasks)
        print(
            f"{name:26} {1e3 * each:8.3f} ms a search {1e9 * each / candidates:8.2f} ns a candidate"
        )
    print(
        f"times as fast: {seconds[1] / seconds[0]:.1f}; with 1 thread {seconds[3] / seconds[2]:.1f}"
    )


if __name__ == "__main__":
    main()
