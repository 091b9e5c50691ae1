"""Iterative parameter mixing: section 6.1 of "Hope and fear" (McDonald et al. 2010).

In each epoch learners that begin with the same weights go over a part of the sentences each. Then
their weights are averaged, and the next epoch begins with the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.arrays import Ints
from tunesmith.tuners.online.learner import OnlineLearner, TrainingSetup
from tunesmith.tuners.online.model import mean
from tunesmith.tuners.online.pool import LearnerPool


def mixing_epoch(
    setup: TrainingSetup, learners: Sequence[OnlineLearner], order: Ints, epoch: int
) -> dict[str, Any]:
    """Give each of p learners every p-th sentence of the order [S], and mix their weights.

    Returns what the history says of it.
    """
    shards = [order[k :: len(learners)].tolist() for k in range(len(learners))]
    with LearnerPool(setup, learners, order, epoch) as pool:
        for k, shard in enumerate(shards):
            pool.ask(k, shard)
        while any(shards):
            k, steps = pool.next()
            del shards[k][: len(steps)]
            if shards[k]:
                pool.ask(k, shards[k])
    weights, rates = mean([learner.model for learner in learners])
    for learner in learners:
        learner.model.move(weights, rates)
    return {"learners_replaced": pool.replaced}
