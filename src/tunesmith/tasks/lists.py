"""Candidates with the statistics of one metric: what tuners work on."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.inference.examples import Examples
from tunesmith.inference.lists.axes import correlations
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.inference.lists.hypotheses import ListHypotheses, best
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.parallel.device import current_device, takes_gpu
from tunesmith.tasks.base import Task


class TuningSet(ScoredCandidates, Task):
    """Candidates and their statistics.

    Parameters
    ----------
    candidates
        The candidates to choose from.
    metric
        A metric, or its name with options: ``"bleu"``, ``"bleu:tokenize=13a"``.
    stats : [N, K]
        The statistics, if known. Otherwise they are computed, unless the candidates have them as
        columns; see ``Metric.statistic_columns``.
    """

    @property
    def lists(self) -> TuningSet:
        """The set itself."""
        return self

    @property
    def inputs(self) -> CandidateSet:
        """The candidates."""
        return self.candidates

    @property
    def freedom(self) -> int:
        """How many candidates there are beside one for each group."""
        return len(self.candidates) - self.groups

    def correlations(self) -> Floats:
        """Return the correlations of dense features within groups."""
        return correlations(self.candidates.features.dense, self.candidates.start)

    def hypotheses(self) -> ListHypotheses:
        """Return what line searches and gradients ask: of a GPU, or of the processor."""
        if takes_gpu(len(self.candidates)):
            from tunesmith.inference.lists.device.batches import Batches
            from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses

            # Where nobody asked for a GPU, a set that does not fit there is no error.
            if current_device() == "cuda" or Batches.obstacle(self) is None:
                return DeviceHypotheses(self)
        return ListHypotheses(self)

    def examples(self) -> Examples:
        """Return the sentences, one at a time: what online learners ask."""
        return ListExamples(self)

    def winners(self, weights: Floats) -> TuningSet:
        """Return what weights choose: a set with one candidate per group, and no features."""
        chosen = best(self.candidates, weights)
        return self.of(self.candidates.chosen(chosen), self.stats[chosen])

    def total_at(self, weights: Floats) -> Stats:
        """Return the sum of the statistics [K] of what weights choose."""
        return self.total(best(self.candidates, weights))

    def score_at(self, weights: Floats) -> float:
        """Score what weights choose, on the customary scale."""
        return self.score(best(self.candidates, weights))

    def changed_choices(self, before: Floats, after: Floats) -> int:
        """Return how many groups choose another candidate with other weights."""
        first, second = (best(self.candidates, weights) for weights in (before, after))
        return int((first != second).sum())

    def usual_lists(self, weights: Floats) -> TuningSet:
        """Return the set itself."""
        return self

    def learning_lists(self, weights: Floats, rng: np.random.Generator) -> TuningSet:
        """Return the set itself."""
        return self

    def oracle_at(self, weights: Floats, worst: bool = False) -> tuple[float, bool]:
        """Return the best score that any choice has, and whether none is better."""
        oracle = self.oracle(worst, begin=best(self.candidates, weights))
        return oracle.score, oracle.exact

    def merged(self, more: TuningSet) -> TuningSet:
        """Return two lists of the same forests as one; nothing is counted again."""
        from tunesmith.inference.forests.lists import merged

        return merged(self, more)
