"""A metric under test, with its test data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.registry import Registry
from tunesmith.testing.checks import CLOSE, NotApplicable
from tunesmith.testing.samples import GARBAGE, Group, as_set, corpus, sentence


@dataclass
class MetricProbe:
    """A metric under test, with its test data."""

    registry: ClassVar[Registry[Any]] = METRICS

    metric: Metric

    @property
    def plugin(self) -> Metric:
        """What is checked."""
        return self.metric

    @cached_property
    def groups(self) -> list[Group]:
        """The corpus, with the columns that the metric needs."""
        return corpus(self.metric.columns)

    @cached_property
    def candidates(self) -> CandidateSet:
        """The corpus as a set."""
        return as_set(self.groups)

    @cached_property
    def stats(self) -> Stats:
        """The statistics [N, K] of that set."""
        return self.stats_of(self.candidates)

    def stats_of(self, candidates: CandidateSet) -> Stats:
        """Return the statistics [N, K] of a set."""
        return np.asarray(self.metric.candidate_stats(candidates))

    @property
    def tolerance(self) -> float:
        """The difference up to which scores count as equal."""
        return CLOSE * max(1.0, self.metric.scale)

    @cached_property
    def totals(self) -> Stats:
        """Sums over sentences of some choices, [12, K]: the input of scores."""
        rng = np.random.default_rng(2)
        start = self.candidates.start
        chosen = [rng.integers(start[:-1], start[1:]) for _ in range(12)]
        return np.array([self.stats[c].sum(axis=0) for c in chosen])

    @cached_property
    def expected(self) -> Floats:
        """Expected sums, [6, K], of models that choose at random: the input of slopes."""
        rng = np.random.default_rng(4)
        start = self.candidates.start
        odds = rng.exponential(size=(6, len(self.candidates)))
        odds /= np.repeat(np.add.reduceat(odds, start[:-1], axis=1), np.diff(start), axis=1)
        return odds @ self.stats.astype(np.float64)

    def needs_texts(self) -> None:
        """Skip a rule about texts if the numbers come with the candidates."""
        if self.metric.columns:
            names = ", ".join(self.metric.columns)
            raise NotApplicable(f"a single text has no score: it needs the columns {names}")

    def needs_references(self) -> None:
        """Skip a rule about references if the metric uses none."""
        self.needs_texts()
        if not self.metric.needs_references:
            raise NotApplicable("it compares with no references")

    def total_of(self, texts: Sequence[str], references: Sequence[str]) -> Stats:
        """Add up the statistics of texts with one reference each."""
        rows = [
            np.asarray(self.metric.stats(text, [reference]))
            for text, reference in zip(texts, references, strict=True)
        ]
        total: Stats = np.sum(rows, axis=0)
        return total

    @cached_property
    def copies_and_garbage(self) -> tuple[float, float]:
        """The gains of perfect copies of the references, and of texts without a match."""
        rng = np.random.default_rng(3)
        references = [sentence(rng) for _ in range(30)]
        garbage = [" ".join(rng.choice(GARBAGE, len(r.split()))) for r in references]
        copies, wrong = (
            float(self.metric.gain(self.total_of(texts, references))) + 0.0  # -0 is 0
            for texts in (references, garbage)
        )
        return copies, wrong
