"""Climbing by gradients with many features: what a gradient and a whole climb cost.

The task is the synthetic one of Hopkins and May, whose best weights are known. A pass over the
features is NumPy's own product of the matrix with a vector, from either side. The climb begins
where every feature has about the same say; with ``--limit`` coordinate ascent begins there too
and is stopped after so many seconds.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import tunesmith as ts
from common import announce, arguments, interleaved
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.directions.base import DIRECTIONS, Climb
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.space.space import Space

#: At which sharpness a gradient is measured; it costs the same at any.
SHARPNESS = 1.0


class OutOfTimeError(Exception):
    """A climb has had its time."""


class Limited(Climb):
    """A climb that is stopped when its time is up, where it is."""

    until = np.inf
    reached = None

    def take(self, point, direction, step):
        """Move, and remember where to."""
        self.reached = super().take(point, direction, step)
        if time.perf_counter() > self.until:
            raise OutOfTimeError
        return self.reached


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--directions", default="gradient")
    parser.add_argument("--limit", type=float, default=0.0, help="seconds for coordinate ascent")
    parser.set_defaults(repetitions=5)
    options = parser.parse_args()
    sizes = (options.sentences, options.candidates, options.features)
    announce(options, "{} x {} x {} features, noise {:g}".format(*sizes, options.noise))
    candidates, gold = ts.synthetic(*sizes, options.noise, options.seed)
    tuning = ts.TuningSet(candidates, "column:score")
    with ts.threads(options.threads):
        pieces(options, ListHypotheses(tuning))
        climb(options.directions, tuning, gold.vector, np.inf)
        print(f"peak memory, all of it       {memory():8.2f} GiB")
        print(f"features alone               {candidates.features.nbytes / 2**30:8.2f} GiB")
        if options.limit > 0.0:
            climb("coordinate", tuning, gold.vector, options.limit)


def pieces(options: argparse.Namespace, hypotheses: ListHypotheses) -> None:
    """Measure a pass, a gradient, a product with the covariance and a line search."""
    dense = hypotheses.features.dense
    point = hypotheses.point(1.0 / hypotheses.spread())
    sharpness = SHARPNESS / hypotheses.deviation(point)
    (expected,) = hypotheses.expected([point], [sharpness])
    coefficients = np.random.default_rng(1).standard_normal(dense.shape[1])
    names = {
        "pass, matrix @ coefficients": lambda: dense @ coefficients,
        "pass, weights @ matrix": lambda: point.weights @ dense,
        "gradient": lambda: hypotheses.expected([point], [sharpness]),
        "covariance times a vector": lambda: hypotheses.covariance(
            [expected], expected.gradient[None]
        ),
        # Lines that were searched last are remembered: a new one each time.
        "line search": lambda: LineSearch(Space.free(hypotheses.names)).steps(
            hypotheses, [(point, Direction.of(expected.gradient, "gradient"))]
        ),
    }
    for work in names.values():
        work()
    seconds = dict(zip(names, interleaved(options.repetitions, *names.values()), strict=True))
    one_pass = min(list(seconds.values())[:2])
    for name, taken in seconds.items():
        print(f"{name:28} {1e3 * taken:8.0f} ms {taken / one_pass:8.2f} passes")


def climb(directions: str, tuning: ts.TuningSet, gold: np.ndarray, limit: float) -> None:
    """Climb from where every feature has as much to say, and print where it led."""
    passes = counted(tuning.candidates.features)
    begun = time.perf_counter()
    hypotheses = ListHypotheses(tuning)
    spread = hypotheses.spread()
    way = Limited(hypotheses, spread, np.random.default_rng(1), ceiling=ceiling(tuning))
    way.until = begun + limit
    try:
        end = DIRECTIONS.create(directions).climb(way, way.begin(1.0 / spread))
        ended = "to convergence"
    except OutOfTimeError:
        end, ended = way.reached, "stopped"
    taken = time.perf_counter() - begun
    cosine = end.weights @ gold / np.linalg.norm(end.weights) / np.linalg.norm(gold)
    print(f"{directions}, {ended}")
    print(f"  seconds                    {taken:8.1f}")
    print(f"  line searches              {way.searches:8d}")
    print(f"  passes over all features   {sum(passes):8d}")
    print(f"  gain                       {end.gain:8.5f}")
    print(f"  cosine to the gold weights {cosine:8.5f}")


def ceiling(tuning: ts.TuningSet) -> float:
    """Return the gain of the oracle."""
    return float(tuning.metric.gain(tuning.total(tuning.oracle().chosen)))


def counted(features: ts.Features) -> list[int]:
    """Count products with all features from now on."""
    passes: list[int] = []
    for name in ("dot", "combine"):
        product = getattr(type(features), name)

        def count(vectors, product=product):
            passes.append(1)
            return product(features, vectors)

        object.__setattr__(features, name, count)  # features are frozen
    return passes


def memory() -> float:
    """Return the greatest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
