"""Rankings with a normalisation and a metric, whatever asks questions about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Flags, Ints
from tunesmith.data.candidates import CandidateSet, FileDigest, Texts
from tunesmith.data.features import Features
from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.data.rankings.rankings import Rankings
from tunesmith.errors import UsageError
from tunesmith.metrics.base import Metric
from tunesmith.metrics.rankings.metric import RankingMetric
from tunesmith.metrics.rankings.terms import Terms
from tunesmith.metrics.scored import Scored, ScoredCandidates


class ScoredRankings(Scored):
    """Rankings, how their scores become features, and the metric.

    Parameters
    ----------
    rankings
        Documents with the scores of several runs.
    metric
        A metric of rankings, or its name: ``"ndcg@10"``.
    normalisation
        What is done to the scores of each query and run, or its name.
    """

    metric: RankingMetric

    def __init__(
        self,
        rankings: Rankings,
        metric: RankingMetric | str = "ndcg",
        normalisation: Normalisation | str = "min-max",
    ) -> None:
        if not isinstance(rankings, Rankings):
            raise UsageError("rankings are needed; read some with read_rankings")
        if isinstance(metric, str):
            metric = RankingMetric.of(metric)
        if not isinstance(metric, RankingMetric):
            raise UsageError(f"{metric.name} is no metric of rankings; give ndcg@10, map or rr")
        if isinstance(normalisation, str):
            normalisation = Normalisation.of(normalisation)
        self.rankings = rankings
        self.metric = metric
        self.normalisation = normalisation

    def __repr__(self) -> str:
        arguments = f"{self.rankings!r}, {self.metric.name!r}, {str(self.normalisation)!r}"
        return f"{type(self).__name__}({arguments})"

    @cached_property
    def features(self) -> Features:
        """The features of all documents."""
        dense = self.normalisation.features(self.rankings)
        return Features(self.rankings.names, dense, (), csc_array((len(self.rankings), 0)))

    @cached_property
    def terms(self) -> Terms:
        """What kernels know of the metric."""
        return self.metric.terms(self.rankings)

    @cached_property
    def documents(self) -> ScoredCandidates:
        """The documents as candidates without statistics: what tells how features vary."""
        rankings = self.rankings
        texts = Texts(np.zeros(len(rankings) + 1, np.int64), np.zeros(0, np.int32))
        candidates = CandidateSet(rankings.queries, rankings.start, self.features, texts, ())
        nothing = np.zeros((len(rankings), 2), np.int64)
        nothing[:, 1] = 1
        return ScoredCandidates(candidates, self.metric, nothing)

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self.rankings.names

    @property
    def dense(self) -> Flags:
        """All features are."""
        return np.ones(len(self.names), np.bool_)

    @property
    def groups(self) -> int:
        """The number of queries."""
        return self.rankings.groups

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What the runs were read from."""
        return self.rankings.files

    def with_features(self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> Self:
        """Return the same with some of the runs."""
        rankings = self.rankings.with_features(keep, drop)
        return type(self)(rankings, self.metric, self.normalisation)

    def with_metric(self, metric: Metric) -> Self:
        """Return the same rankings with another metric."""
        return type(self)(self.rankings, metric, self.normalisation)  # type: ignore[arg-type]

    def part(self, groups: Sequence[int] | Ints) -> Self:
        """Return the same with some of the queries."""
        rankings = self.rankings.with_queries(groups)
        return type(self)(rankings, self.metric, self.normalisation)

    def gain_range(self) -> float:
        """Return how far apart gains can be."""
        return 1.0

    def signature(self) -> str:
        """Return the metric's signature, with what is done to scores."""
        policy = self.normalisation.policy
        return f"{self.metric.signature()}|normalisation:{self.normalisation}|missing:{policy}"
