"""Candidates with the statistics of one metric, whatever asks questions about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from tunesmith.arrays import Flags, Ints, Stats
from tunesmith.data.candidates import CandidateSet, FileDigest
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.checks import checked, checked_score, statistics_of

#: Sweeps over all groups for an oracle that is not exact, at most.
MOST_SWEEPS = 50


class Scored(ABC):
    """Candidates of any form with a metric; attributes are set once.

    Statistics belong to the metric and to the candidates: none of them can be exchanged alone.
    """

    metric: Metric

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self):
            kind = type(self).__name__
            raise AttributeError(f"{name} of a {kind} cannot be changed; make another {kind}")
        super().__setattr__(name, value)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The features."""

    @property
    @abstractmethod
    def dense(self) -> Flags:
        """Which features [D] most candidates have."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """The number S of inputs."""

    @property
    @abstractmethod
    def files(self) -> tuple[FileDigest, ...]:
        """What it was read from."""

    @abstractmethod
    def with_features(self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> Self:
        """Return the same with some of the features."""

    @abstractmethod
    def with_metric(self, metric: Metric) -> Self:
        """Return the same with a metric that scores the same statistics in another way."""

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if the candidates lack what another metric needs."""
        self.with_metric(metric)

    def gain_range(self) -> float | None:
        """Return how far apart the gains of single candidates are; None without a list."""
        return None

    def best_gain(self) -> float:
        """Return the gain of the best choice of candidates, infinite if it is not known."""
        return np.inf

    @abstractmethod
    def signature(self) -> str:
        """Return the metric's signature, with the number of references."""


def reference_signature(counts: Sequence[int]) -> str:
    """Return the part of a signature with the number of references per input."""
    least, most = min(counts), max(counts)
    return f"nrefs:{least}" if least == most else f"nrefs:{least}-{most}"


class ScoredCandidates(Scored):
    """Candidates and their statistics.

    Parameters
    ----------
    candidates
        What may be chosen.
    metric
        A metric, or its name with options: ``"bleu"``, ``"bleu:tokenize=13a"``.
    stats : [N, K]
        Counted here unless given, or brought by the candidates as columns; see
        ``Metric.statistic_columns``.
    """

    def __init__(
        self, candidates: CandidateSet, metric: Metric | str = "bleu", stats: Stats | None = None
    ) -> None:
        if isinstance(metric, str):
            metric = METRICS.create(metric)
        has_stats = stats is not None or metric.is_given(candidates)
        if stats is None:
            stats = statistics_of(metric, candidates)
        stats = checked(metric, stats, candidates)
        self.candidates = candidates
        self.metric = metric
        self.stats = stats
        #: Whether the statistics were given, not counted.
        self.given = has_stats

    def __repr__(self) -> str:
        arguments = f"candidates={self.candidates!r}, metric={self.metric!r}, given={self.given!r}"
        return f"{type(self).__name__}({arguments})"

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self.candidates.features.names

    @property
    def dense(self) -> Flags:
        """Which features most candidates have: the first ones, which are stored densely."""
        flags: Flags = np.arange(len(self.names)) < len(self.candidates.features.dense_names)
        return flags

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.candidates.groups

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What the candidates were read from."""
        return self.candidates.files

    def with_features(self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> Self:
        """Return the same candidates with some of their features; nothing is counted again."""
        return type(self)(self.candidates.with_features(keep, drop), self.metric, self.stats)

    def with_metric(self, metric: Metric) -> Self:
        """Return the same statistics, scored in another way."""
        return type(self)(self.candidates, metric, self.stats)

    @cached_property
    def is_sum(self) -> bool:
        """Whether the score is an average over sentences, so that each chooses by itself."""
        return self.metric.is_sum_on(self.stats, self.candidates.start)

    def total(self, chosen: Ints) -> Stats:
        """Add up the statistics of one candidate per group."""
        total: Stats = self.stats[chosen].sum(axis=0)
        return total

    def score(self, chosen: Ints) -> float:
        """Score one candidate per group, on the customary scale."""
        return checked_score(self.metric, self.metric.score(self.total(chosen)))

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if the candidates lack what another metric needs."""
        if not metric.is_given(self.candidates):
            metric.check(self.candidates)

    def gain_range(self) -> float:
        """Return how far the gains of single candidates are apart."""
        gains = self.metric.gain(self.stats)
        return float(gains.max() - gains.min())

    def best_gain(self) -> float:
        """Return the gain of the best choice of candidates, infinite if it is not known."""
        if not self.is_sum:
            return np.inf
        return float(self.metric.gain(self.total(self.oracle().chosen)))

    def output_score(self) -> float:
        """Score a set that has one candidate per group."""
        return self.score(np.arange(self.groups))

    def part(self, groups: Sequence[int] | Ints) -> Self:
        """Return some of the groups; nothing is counted again."""
        start = self.candidates.start
        rows = [np.arange(start[g], start[g + 1]) for g in groups]
        stats = self.stats[np.concatenate([np.zeros(0, np.int64), *rows])]
        return self.of(self.candidates.with_groups(groups), stats)

    def of(self, candidates: CandidateSet, stats: Stats) -> Self:
        """Return other candidates with statistics of the same metric and origin."""
        other = type(self)(candidates, self.metric, stats)
        vars(other)["given"] = self.given  # it is new and not shared yet
        return other

    def signature(self) -> str:
        """Return the metric's signature, with the number of references."""
        references = self.candidates.references
        if self.given:
            return f"{self.metric.signature()}|statistics:given"
        if references is None:
            return self.metric.signature()
        return f"{self.metric.signature()}|{reference_signature(references.counts.tolist())}"

    def oracle(self, worst: bool = False, begin: Ints | None = None) -> Oracle:
        """Find the choice with the best score, or the worst; never worse than ``begin``."""
        result = find_oracle(self, worst)
        if begin is None or result.exact:
            return result
        other = find_oracle(self, worst, begin)
        sign = -1.0 if worst == self.metric.higher_is_better else 1.0
        return other if sign * other.score > sign * result.score else result


@dataclass(frozen=True)
class Oracle:
    """The best choice there is, or the best that was found.

    Attributes
    ----------
    chosen : int64[S]
        A candidate per group.
    score
        On the customary scale.
    exact
        Whether no choice is better; otherwise the score is only a bound.
    """

    chosen: Ints
    score: float
    exact: bool


def find_oracle(tuning: ScoredCandidates, worst: bool = False, begin: Ints | None = None) -> Oracle:
    """Choose a candidate per group for the best score.

    Exact for averages over sentences. For others each group in turn takes the candidate
    that is best with all other groups as they are, until nothing changes; it begins with
    the first candidates, or with ``begin``.
    """
    chosen = tuning.candidates.start[:-1].copy() if begin is None else begin.copy()
    total = tuning.total(chosen)
    for _ in range(sweeps_of(tuning.is_sum)):
        total, changed = improve_choice(tuning, chosen, total, worst)
        if not changed:
            break
    return Oracle(chosen, tuning.score(chosen), tuning.is_sum)


def sweeps_of(is_sum: bool) -> int:
    """Return how often all groups choose again, at most."""
    return 1 if is_sum else MOST_SWEEPS


def improve_choice(
    tuning: ScoredCandidates, chosen: Ints, total: Stats, worst: bool
) -> tuple[Stats, bool]:
    """Let each group in turn choose what is best with all others as they are.

    Parameters
    ----------
    chosen : int64[S]
        A candidate per group; changed in place.
    total : [K]
        The sum of their statistics, and of those of groups that are elsewhere.

    Returns
    -------
    total : [K]
        The sum for the new choice.
    changed
        Whether it is another one.
    """
    metric, stats, start = tuning.metric, tuning.stats, tuning.candidates.start
    sign = -1.0 if worst else 1.0
    changed = False
    for g in range(tuning.candidates.groups):
        rows = stats[start[g] : start[g + 1]]
        gains = sign * metric.gain(rows + (total - stats[chosen[g]]))
        best = int(np.argmax(gains))
        if gains[best] > gains[chosen[g] - start[g]]:
            changed |= bool(chosen[g] != start[g] + best)
            total = total - stats[chosen[g]] + rows[best]
            chosen[g] = start[g] + best
    return total, changed
