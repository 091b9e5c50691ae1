"""Rankings with a metric: runs that are fused, rankers whose features are weighted."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Stats
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.examples import Examples
from tunesmith.inference.rankings.hypotheses import RankingHypotheses
from tunesmith.metrics.base import Metric
from tunesmith.metrics.rankings.scored import ScoredRankings
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet


class RankingTask(ScoredRankings, Task):
    """Rankings to tune on: for each query, weights choose the order of its documents.

    Parameters
    ----------
    rankings
        Documents with the scores of several runs.
    metric
        A metric of rankings, or its name: ``"ndcg@10"``.
    normalisation
        What is done to the scores of each query and run, or its name.
    """

    has_rankings = True

    def hypotheses(self) -> RankingHypotheses:
        """Return what line searches ask."""
        return RankingHypotheses(self)

    def values(self, weights: Floats) -> Floats:
        """Return the value of each query [S], as trec_eval computes it."""
        hypotheses = self.hypotheses()
        return hypotheses.values(self.features.dot(weights))[0]

    def winners(self, weights: Floats) -> TuningSet:
        """Return a set with one candidate per query, which stands for its ranking."""
        return self._chosen(self._statistics(self.features.dot(weights)))

    def winners_by(self, metric: Metric, weights: Floats) -> TuningSet:
        """Return the same order of documents, scored by another metric."""
        return self.with_metric(metric).winners(weights)

    def _statistics(self, scores: Floats) -> Stats:
        units = self.hypotheses().values(scores)[1]
        return np.column_stack([units, np.ones(self.groups, np.int64)])

    def _chosen(self, stats: Stats) -> TuningSet:
        queries = self.rankings.queries
        nothing = Features((), np.zeros((0, self.groups)), (), csc_array((self.groups, 0)))
        texts = Texts(np.zeros(len(queries) + 1, np.int64), np.zeros(0, np.int32))
        every = CandidateSet(queries, np.arange(len(queries) + 1), nothing, texts, ())
        return TuningSet(every, self.metric, stats)

    def total_at(self, weights: Floats) -> Stats:
        """Return the sum of the statistics [K] of what weights choose."""
        total: Stats = self._statistics(self.features.dot(weights)).sum(axis=0)
        return total

    def changed_choices(self, before: Floats, after: Floats) -> int:
        """Return how many queries have another order of documents with other weights."""
        hypotheses = self.hypotheses()
        differs = hypotheses.order(before) != hypotheses.order(after)
        return int(np.maximum.reduceat(differs, self.rankings.start[:-1]).sum())

    def oracle_at(self, weights: Floats, worst: bool = False) -> tuple[float, bool]:
        """Return the score of the order by grades, or by grades turned round; both are exact."""
        grades = self.rankings.grades.astype(np.float64)
        return self._chosen(self._statistics(-grades if worst else grades)).output_score(), True

    def best_gain(self) -> float:
        """Return the gain of the best order of the documents."""
        return self.oracle_at(np.zeros(0))[0]

    def examples(self) -> Examples:
        """Refuse: what wins a query is no single candidate."""
        raise self._no_lists()

    def usual_lists(self, weights: Floats) -> TuningSet:
        """Refuse: what wins a query is no single candidate."""
        raise self._no_lists()

    def learning_lists(self, weights: Floats, rng: np.random.Generator) -> TuningSet:
        """Refuse: what wins a query is no single candidate."""
        raise self._no_lists()

    def _no_lists(self) -> TunesmithError:
        return UsageError("rankings are tuned on by mert and plane; use one of them")
