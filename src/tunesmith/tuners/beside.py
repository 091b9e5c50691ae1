"""Evaluation from scratch: by the metric that is tuned for, and by others beside it."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.data.weights import Weights
from tunesmith.inference.lists import best
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.tuning import TuningSet
from tunesmith.tuners.result import OtherScores, Scores


def scores_on(tuning: TuningSet, start: Weights, tuned: Weights) -> Scores:
    """Evaluate weights from scratch on a set that may have other features."""
    candidates = tuning.candidates
    names = candidates.features.names
    chosen = best(candidates, tuned.aligned(names))
    details = tuning.metric.details(tuning.total(chosen))
    return Scores(
        tuning.score(chosen),
        tuning.score(best(candidates, start.aligned(names))),
        details.get("length_ratio"),
    )


@dataclass(frozen=True)
class Beside:
    """A metric that is reported and has no influence.

    Attributes
    ----------
    label
        How it was asked for.
    metric
        What it is.
    tuning, dev
        Whose candidates it scores.
    """

    label: str
    metric: Metric
    tuning: TuningSet
    dev: TuningSet | None

    @classmethod
    def of(cls, metric: Metric | str, tuning: TuningSet, dev: TuningSet | None) -> Beside:
        """Make it, and see whether the candidates have what it needs."""
        label = metric if isinstance(metric, str) else metric.name
        metric = METRICS.create(metric) if isinstance(metric, str) else metric
        for held in (tuning, dev):
            if held is not None and not metric.is_given(held.candidates):
                metric.check(held.candidates)
        return cls(label, metric, tuning, dev)

    def scores(self, begin: Weights, tuned: Weights) -> OtherScores:
        """Evaluate weights."""
        signature, found = self._on(self.tuning, begin, tuned)
        dev = None if self.dev is None else self._on(self.dev, begin, tuned)[1]
        return OtherScores(
            self.label, signature, found.score, found.initial_score, found.length_ratio, dev
        )

    def _on(self, tuning: TuningSet, begin: Weights, tuned: Weights) -> tuple[str, Scores]:
        """Score the winners alone: of the others nobody needs the statistics."""
        candidates = tuning.candidates
        names = candidates.features.names
        before, after = (
            TuningSet(candidates.chosen(best(candidates, w.aligned(names))), self.metric)
            for w in (begin, tuned)
        )
        total = after.stats.sum(axis=0)
        return after.signature(), Scores(
            float(self.metric.score(total)),
            float(self.metric.score(before.stats.sum(axis=0))),
            self.metric.details(total).get("length_ratio"),
        )
