"""The best weights of a few features, whose absolute values add up to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.metrics.base import Metric
from tunesmith.tasks.rankings import RankingTask
from tunesmith.tuners.fusion.climb import climbed
from tunesmith.tuners.fusion.mix import Mix, Mixable, best_mix
from tunesmith.tuners.mert.mert import MERT

#: Climbs from other points than the best simple one: each fold has as many.
RESTARTS = 5


def best_weights(
    task: Mixable,
    seed: int,
    simple: Sequence[Floats] | None = None,
    allow_negative: bool = False,
) -> tuple[Floats, Mix | None]:
    """Return weights, and the proof where there are two of them.

    Two are found for certain. More are climbed from the best of simple ones: all alike, or one
    alone, unless others are given. What is returned is never worse than those. Weights are 0 or
    more, unless those of rankings may be negative.
    """
    count = len(task.names)
    if count == 1:
        return np.ones(1), None
    if count == 2:
        mix = best_mix(task, allow_negative)
        return mix.weights, mix
    if simple is None:
        simple = [np.full(count, 1.0 / count), *np.eye(count)]
    if isinstance(task, RankingTask):
        return climbed(task, seed, simple, allow_negative), None
    gains = [_gain(task.metric, task.score_at(weights)) for weights in simple]
    start = simple[int(np.argmax(gains))]
    tuner = MERT(non_negative=True, restarts=RESTARTS)
    weights: Floats = tuner.tune(task, start, np.random.default_rng(seed)).weights
    total = float(weights.sum())
    if total <= 0.0 or _gain(task.metric, task.score_at(weights / total)) < max(gains):
        return start, None
    return np.asarray(weights / total), None


def _gain(metric: Metric, score: float) -> float:
    return score if metric.higher_is_better else -score
