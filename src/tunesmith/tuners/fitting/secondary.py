"""Evaluation from scratch: by the metric that is tuned for, and by others beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.derived.adding import derive
from tunesmith.derived.lengths import quotient_of
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.sentence_bleu import SentenceBLEU
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.result import OtherScores, Scores


def with_quotients(task: Task, *weights: Mapping[str, float]) -> Task:
    """Return a task with the scores per length that weights are for, if any are."""
    names = [name for w in weights for name in w if quotient_of(name) is not None]
    if not names or task.lists is None:
        return task
    return task.lists.of(derive(task.lists.candidates, names), task.lists.stats)


def scores_on(tuning: Task, start: Weights, tuned: Weights) -> Scores:
    """Evaluate weights from scratch on a set that may have other features."""
    before, after = (tuning.winners(w.aligned(tuning.names)) for w in (start, tuned))
    return scores_of_outputs(before, after)


def scores_of(tuning: TuningSet, chosen: Ints, initial_score: float) -> Scores:
    """Evaluate a choice of one candidate per group."""
    details = tuning.metric.details(tuning.total(chosen))
    return Scores(
        tuning.score(chosen),
        initial_score,
        details.get("length_ratio"),
        details.get("brevity_penalty"),
        _sentence_bleu(tuning, chosen),
    )


def _sentence_bleu(tuning: TuningSet, chosen: Ints) -> float | None:
    """Return the mean of BLEU+1 of the chosen, where the metric has counted n-grams."""
    metric = tuning.metric
    if not isinstance(metric, BLEU):
        return None
    return 100.0 * float(SentenceBLEU(metric.order).sentence_scores(tuning.stats[chosen]).mean())


@dataclass(frozen=True)
class HeldOut:
    """Sets that nothing is tuned on.

    Attributes
    ----------
    dev
        The one that chooses among several settings.
    test
        The one that has no influence at all.
    """

    dev: Task | None = None
    test: Task | None = None

    @property
    def sets(self) -> dict[str, Task]:
        """The sets that there are, as messages call them."""
        named = {"held-out set": self.dev, "test set": self.test}
        return {name: task for name, task in named.items() if task is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """All their features."""
        every = (task.names for task in self.sets.values())
        return tuple(dict.fromkeys(name for names in every for name in names))

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """All files that they were read from."""
        return tuple(file for task in self.sets.values() for file in task.files)


@dataclass(frozen=True)
class SecondaryMetric:
    """A metric that is reported and has no influence.

    Attributes
    ----------
    label
        How it was asked for.
    metric
        What it is.
    tuning, held_out
        Whose candidates it scores.
    """

    label: str
    metric: Metric
    tuning: Task
    held_out: HeldOut

    @classmethod
    def of(cls, metric: Metric | str, tuning: Task, held_out: HeldOut) -> SecondaryMetric:
        """Make it, and see whether the candidates have what it needs."""
        label = metric if isinstance(metric, str) else metric.name
        metric = METRICS.create(metric) if isinstance(metric, str) else metric
        for task in (tuning, *held_out.sets.values()):
            task.check_metric(metric)
        return cls(label, metric, tuning, held_out)

    def scores(self, begin: Weights, tuned: Weights) -> OtherScores:
        """Evaluate weights."""
        signature, on_tune = self._on(self.tuning, begin, tuned)
        dev, test = (
            None if task is None else self._on(task, begin, tuned)[1]
            for task in (self.held_out.dev, self.held_out.test)
        )
        figures = on_tune.score, on_tune.initial_score, on_tune.length_ratio
        return OtherScores(self.label, signature, *figures, dev, test)

    def _on(self, tuning: Task, begin: Weights, tuned: Weights) -> tuple[str, Scores]:
        """Score the winners alone: of the others nobody needs the statistics."""
        before, after = (
            tuning.winners_by(self.metric, w.aligned(tuning.names)) for w in (begin, tuned)
        )
        return after.signature(), scores_of_outputs(before, after)


def scores_of_outputs(before: TuningSet, after: TuningSet) -> Scores:
    """Evaluate an output, a candidate per group, beside the one at the start."""
    every = np.arange(after.candidates.groups)
    return scores_of(after, every, before.score(every))
