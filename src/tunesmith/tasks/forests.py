"""Forests with a metric: what tuners work on that search them whole.

What only forests need is imported when there are some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.forests import Forests
from tunesmith.inference.examples import Examples
from tunesmith.inference.hypotheses import TuningHypotheses
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored_forests import ForestOptions, ScoredForests
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet

#: How many derivations of a forest tell what is usual: lengths, and how much scores differ.
USUAL = 20
#: How sharp the distribution of samples is, in units of the deviation of the scores.
SAMPLES_SHARPNESS = 3.0


class ForestTuning(ScoredForests, Task):
    """Forests to tune on, with a metric and a way to search them.

    Parameters
    ----------
    forests
        The forests; all their derivations may be chosen.
    metric
        A metric, or its name with options. It must score texts: a forest has no columns.
    options
        How derivations are searched for.
    """

    has_forests = True

    @property
    def inputs(self) -> Forests:
        """The forests."""
        return self.forests

    def hypotheses(self) -> TuningHypotheses:
        """Return what line searches and gradients ask."""
        from tunesmith.inference.forests.hypotheses import ForestHypotheses

        return ForestHypotheses(self)

    def examples(self) -> Examples:
        """Return the sentences, one at a time: what online learners ask."""
        from tunesmith.inference.forests.examples import ForestExamples

        return ForestExamples(self)

    def winners(self, weights: Floats) -> TuningSet:
        """Return the best derivations: a set with one candidate per group."""
        from tunesmith.inference.forests.lists import outputs

        return TuningSet(outputs(self.forests, weights), self.metric)

    def best_lists(self, weights: Floats, size: int) -> TuningSet:
        """Return that many of the best derivations of each forest as lists."""
        from tunesmith.inference.forests.lists import kbest_lists

        return TuningSet(kbest_lists(self.forests, weights, size), self.metric)

    def usual_lists(self, weights: Floats) -> TuningSet:
        """Return lists that tell what is usual: a few of the best derivations."""
        return self.best_lists(weights, USUAL)

    def round_lists(self, weights: Floats, most: int) -> TuningSet:
        """Return the best derivations, of the size that the options say or fewer."""
        return self.best_lists(weights, max(1, min(self.options.size, most // self.groups)))

    def learning_lists(self, weights: Floats, rng: np.random.Generator) -> TuningSet:
        """Return lists to learn from: those that the options ask for.

        Samples are of the distribution exp(3 w·h / σ), σ being the deviation of the scores of all
        derivations: neither the best alone, nor anything at all.
        """
        from tunesmith.inference.forests.expectation import score_deviation
        from tunesmith.inference.forests.lists import sampled_lists

        if self.options.lists == "kbest":
            return self.best_lists(weights, self.options.size)
        deviation = score_deviation(self.forests, weights)
        sharpness = SAMPLES_SHARPNESS / deviation if deviation > 0.0 else 0.0
        seed = int(rng.integers(2**62))
        drawn = sampled_lists(self.forests, weights, sharpness, self.options.size, seed)
        return TuningSet(drawn, self.metric)

    def oracle_at(self, weights: Floats, worst: bool = False) -> tuple[float, bool]:
        """Return the best score that any choice has, and whether none is better."""
        from tunesmith.inference.forests.oracle import forest_oracle

        return forest_oracle(self, weights, worst)

    def part(self, groups: Sequence[int] | Ints) -> ForestTuning:
        """Return the same with some of the forests, in memory."""
        forests = self.forests.in_memory().with_groups(groups)
        return type(self)(forests, self.metric, self.options)

    def split_for_workers(self) -> tuple[Callable[[Any], ForestTuning], Any]:
        """Return what makes a copy elsewhere, and the forests, which workers may have."""
        return partial(_of_forests, self.metric, self.options), self.forests


def _of_forests(metric: Metric, options: ForestOptions, forests: Forests) -> ForestTuning:
    return ForestTuning(forests, metric, options)
