"""What runs come to without exact tuning: one alone, equal weights, reciprocal ranks, a grid."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.data.rankings.rankings import Rankings
from tunesmith.metrics.rankings.metric import RankingMetric
from tunesmith.tasks.rankings import RankingTask

#: Runs that a grid is made of at most, and its step as a part of 1: 11 or 66 points.
GRID_RUNS, GRID_PARTS = 3, 10


@dataclass(frozen=True)
class Baseline:
    """What a result is compared with.

    Attributes
    ----------
    name
        Of runs ``equal weights`` after min-max, ``reciprocal ranks`` with k = 60, the ``best run``
        alone, or the best of a ``grid`` of tenths; of classifiers ``equal weights``, or the
        ``best model`` alone.
    score, held_out
        On all groups; and on groups that it was not chosen by, None where none are held out.
    about
        The run or the model, or the weights of the grid.
    """

    name: str
    score: float
    held_out: float | None
    about: str | None = None


@dataclass(frozen=True)
class RunModel:
    """A way to rank the documents of queries.

    Attributes
    ----------
    weights : float64[D]
        Of all runs.
    normalisation
        What is done to their scores.
    run
        The run that ranks alone, without documents that it did not return; None if all do.
    """

    weights: Floats
    normalisation: Normalisation
    run: str | None = None

    def stats(self, rankings: Rankings, metric: RankingMetric) -> Stats:
        """Return the statistics [S, K] of each query."""
        if self.run is not None:
            alone = RankingTask(rankings.of_run(self.run), metric, Normalisation("none"))
            return alone.winners(np.ones(1)).stats
        return RankingTask(rankings, metric, self.normalisation).winners(self.weights).stats

    def score(self, rankings: Rankings, metric: RankingMetric) -> float:
        """Return the score of all queries."""
        return float(metric.score(self.stats(rankings, metric).sum(axis=0)))


#: Makes a model of some queries.
Maker = Callable[[Rankings, RankingMetric], RunModel]


def equal_weights(rankings: Rankings, metric: RankingMetric) -> RunModel:
    """Return the mean of scores from 0 to 1."""
    count = len(rankings.names)
    return RunModel(np.full(count, 1.0 / count), Normalisation("min-max"))


def reciprocal_ranks(rankings: Rankings, metric: RankingMetric) -> RunModel:
    """Return reciprocal rank fusion as it was published: k = 60, all runs alike."""
    return RunModel(np.ones(len(rankings.names)), Normalisation("reciprocal-rank"))


def best_run(rankings: Rankings, metric: RankingMetric) -> RunModel:
    """Return the run that is the best by itself, the first among equals."""
    units = np.eye(len(rankings.names))
    nothing = Normalisation("none")
    models = [
        RunModel(unit, nothing, name) for unit, name in zip(units, rankings.names, strict=True)
    ]
    return max(models, key=lambda model: model.score(rankings, metric))


def best_of_grid(rankings: Rankings, metric: RankingMetric) -> RunModel:
    """Return the best of all weights in tenths that add up to 1, after min-max."""
    normalisation = Normalisation("min-max")
    task = RankingTask(rankings, metric, normalisation)
    points = [*grid(len(rankings.names))]
    scores = [task.score_at(point) for point in points]
    return RunModel(points[int(np.argmax(scores))], normalisation)


def grid(count: int, parts: int = GRID_PARTS) -> Iterator[Floats]:
    """Yield all weights that are whole numbers of parts and add up to 1."""
    for bars in itertools.combinations(range(parts + count - 1), count - 1):
        edges = np.array([-1, *bars, parts + count - 1])
        yield (np.diff(edges) - 1) / parts


def makers(runs: Sequence[str]) -> dict[str, Maker]:
    """Return what a result is compared with, by what it is called."""
    by_name: dict[str, Maker] = {
        "equal weights": equal_weights,
        "reciprocal ranks": reciprocal_ranks,
        "best run": best_run,
    }
    if len(runs) <= GRID_RUNS:
        by_name["grid"] = best_of_grid
    return by_name
