"""Line searches along sparse features, against the same searches with all slopes written out.

A round searches every sparse feature once from one point; then a step is taken along each.
The other way writes a sparse feature as slopes of all candidates, 0 where it does not fire, looks
for the extremes of all groups, follows those in which it fires and, after a step, looks at all.

The lists are made up. A group has a pool of features, five times as many as are on in one of
its candidates, and the k-th most frequent feature is in it in proportion to 1 / (k + 10). So a
feature fires on a fifth of the candidates of the groups in which it fires at all; in the real
lists it is a quarter on the whole. They follow where they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array

import tunesmith as ts
from common import announce, arguments, interleaved
from tunesmith.data.candidates import CandidateSet, pack_texts
from tunesmith.data.features import Features
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.batch import LineBatch, Slopes
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.space.space import Space

DENSE = 14
POOL = 5
#: Edges of the classes of features by the number of candidates on which they fire.
CLASSES = (0, 30, 300, 1000, 3000, 100_000)


class Written(ListHypotheses):
    """Lists that write out the slopes of a sparse feature."""

    def _fired(self, direction):
        return None

    def _lines(self, direction):
        rows, values = self.features.column(int(direction.features[0]))
        slopes = np.zeros(self.features.candidates)
        slopes[rows] = values
        return LineBatch(Slopes.of(slopes[None], self.start), 0)


def lists(groups: int, size: int, width: int, on: int) -> ts.TuningSet:
    """Make lists with ``on`` of ``width`` sparse features on in each candidate."""
    rng = np.random.default_rng(0)
    n = groups * size
    columns = np.empty((n, on), np.int64)
    for lo in range(0, n, size):
        # The least of exponential times are a draw without replacement.
        times = rng.exponential(size=width) * (np.arange(width) + 10.0)
        pool = np.argpartition(times, POOL * on)[: POOL * on]
        columns[lo : lo + size] = pool[rng.random((size, POOL * on)).argpartition(on)[:, :on]]
    rows = np.repeat(np.arange(n), on)
    values = rng.integers(1, 4, n * on).astype(float)
    features = Features(
        tuple(f"d{k}" for k in range(DENSE)),
        rng.standard_normal((DENSE, n)),
        tuple(f"s{k}" for k in range(width)),
        csc_array((values, (rows, columns.ravel())), (n, width)),
    )
    texts = pack_texts([np.zeros(0, np.int32)] * n)
    start = np.arange(groups + 1) * size
    candidates = CandidateSet(tuple(range(groups)), start, features, texts, (), None)
    length = rng.integers(20, 30, n)
    totals = length[:, None] - np.arange(4)
    matches = rng.binomial(totals, [0.6, 0.4, 0.3, 0.2])
    stats = np.column_stack([length, np.full(n, 25), matches, totals])
    return ts.TuningSet(candidates, "bleu", stats)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--features", type=int, default=5000)
    parser.add_argument("--on", type=int, default=100)
    options = parser.parse_args()
    sizes = (options.groups, options.candidates, options.features, options.on)
    announce(options, "{} x {}, {} sparse features, {} on in a candidate".format(*sizes))
    measure(options, lists(*sizes))
    folder = options.data.parent / "m30k-de-en-sparse" if options.data else None
    if folder is not None and folder.exists():
        print(f"data {folder.name}/run2.nbest.gz")
        measure(options, ts.TuningSet(ts.read(folder / "run2.nbest.gz", options.data / "val.ref")))


def measure(options: argparse.Namespace, tuning: ts.TuningSet) -> None:
    """Compare both ways on one set."""
    ours, written = ListHypotheses(tuning), Written(tuning)
    features = tuning.candidates.features
    dense, fires = len(features.dense_names), np.diff(features.sparse.indptr)
    weights = np.random.default_rng(1).standard_normal(len(ours.names))
    weights[dense:] *= 0.1
    point = ours.point(weights)
    lines = [Direction.along(d, name) for d, name in enumerate(ours.names)][dense:]
    print(f"a feature fires on {fires.mean():.0f} candidates, {np.median(fires):.0f} in the median")

    def searched(hypotheses, threads, chosen=lines):
        with ts.threads(threads):
            search = LineSearch(Space.free(ours.names))
            return search.steps(hypotheses, [(point, line) for line in chosen])

    def moved(hypotheses):
        return [hypotheses.move(point, line, 0.01).gain for line in lines]

    same = searched(ours, 1) == searched(written, 1) and moved(ours) == moved(written)
    print(f"chosen steps and gains after steps equal on all {len(lines)} lines: {same}")
    for name, work in (
        (f"search, {options.threads} threads", lambda h: searched(h, options.threads)),
        ("search, 1 thread", lambda h: searched(h, 1)),
        ("step", moved),
    ):
        compare(options, name, len(lines), lambda w=work: w(ours), lambda w=work: w(written))
    for low, high in pairwise(CLASSES):
        chosen = (low < fires) & (fires <= high)
        if chosen.any():
            some = [lines[d] for d in np.flatnonzero(chosen)]
            compare(
                options,
                f"search, fires on {fires[chosen].mean():.0f}",
                len(some),
                lambda s=some: searched(ours, 1, s),
                lambda s=some: searched(written, 1, s),
            )


def compare(
    options: argparse.Namespace, name: str, count: int, *works: Callable[[], object]
) -> None:
    """Print microseconds of both ways, and how many times as fast the first is."""
    fast, slow = interleaved(options.repetitions, *works)
    print(
        f"{name:26} {1e6 * fast / count:9.1f} us; slopes written out {1e6 * slow / count:9.1f} us; "
        f"times as fast: {slow / fast:.1f}"
    )


if __name__ == "__main__":
    main()
