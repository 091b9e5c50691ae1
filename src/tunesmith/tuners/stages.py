"""From what an algorithm found, in one run or several, to the weights that are kept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.asking import changed_choices, hypotheses_of, score_at
from tunesmith.metrics.base import Metric
from tunesmith.metrics.tunable import Tunable
from tunesmith.search.penalised import Penalty
from tunesmith.search.space import Space
from tunesmith.tuners.beside import HeldOut, scores_on
from tunesmith.tuners.combine import middle, normalised
from tunesmith.tuners.result import Combine, Scores


@dataclass(frozen=True)
class Outcome:
    """What an algorithm found, before it is evaluated.

    Attributes
    ----------
    weights : float64[D]
    history
        A dictionary a step; ``gain`` is in natural units.
    line_searches
        How many there were.
    certificate
        A proof of how good the weights are, where the algorithm has one.
    objective
        What the best of several runs is chosen by, more being better; None is the metric.
    penalty
        What is taken off the metric, where something is.
    """

    weights: Floats
    history: list[dict[str, Any]] = field(default_factory=list)
    line_searches: int = 0
    certificate: dict[str, Any] | None = None
    objective: float | None = None
    penalty: Penalty | None = None


@dataclass(frozen=True)
class Task:
    """What is tuned: the features that take part, and where they begin.

    ``first`` are the starting weights of these features, None where the algorithm has its
    own. ``begin`` are all starting weights, ``zeros`` those of dropped features. ``whole`` has
    all features.
    """

    tuning: Tunable
    whole: Tunable
    names: tuple[str, ...]
    first: Floats | None
    begin: Weights
    zeros: Weights
    space: Space

    def normalised(self, weights: Floats, normalise: str) -> Floats:
        """Scale weights; say so if rounding then breaks ties another way."""
        found = normalised(weights, normalise, self.space)
        if found is weights:
            return weights
        changed = changed_choices(self.tuning, weights, found)
        if changed:
            warnings.warn(
                f"after scaling, {changed} groups choose another of several equal candidates",
                stacklevel=3,
            )
        return found

    def score(self, weights: Floats) -> float:
        """Evaluate weights on what is tuned on."""
        return score_at(self.tuning, weights)


@dataclass(frozen=True)
class Stage:
    """One setting of an algorithm, and what each run found with it.

    Attributes
    ----------
    setting
        Options and their values, where there are several settings.
    outcomes
        One a run.
    seconds
        What all of them took.
    """

    setting: dict[str, Any]
    outcomes: list[Outcome]
    seconds: float

    @property
    def line_searches(self) -> int:
        """The line searches of all runs."""
        return sum(outcome.line_searches for outcome in self.outcomes)

    def combined(self, task: Task, combine: Combine) -> tuple[Floats, Outcome | None]:
        """Return the weights that several runs come to, and the run that they are of, if one."""
        if combine == "best" or len(self.outcomes) == 1:
            sign = 1.0 if task.tuning.metric.higher_is_better else -1.0
            found = max(
                self.outcomes,
                key=lambda o: sign * task.score(o.weights) if o.objective is None else o.objective,
            )
            return task.space.exact(found.weights), found
        spread = hypotheses_of(task.tuning).spread()
        every = [outcome.weights for outcome in self.outcomes]
        return middle(every, combine, spread, task.space), None

    def evaluated(
        self, task: Task, combine: Combine, normalise: str, held_out: HeldOut
    ) -> Evaluated:
        """Make the runs one, and evaluate the weights from scratch."""
        before, outcome = self.combined(task, combine)
        found = task.normalised(before, normalise)
        weights = task.begin.updated(task.zeros).updated(Weights(task.names, found))
        return Evaluated(
            self,
            weights,
            None if outcome is None else outcome.certificate,
            None if outcome is None else _penalty(outcome, before),
            int(np.count_nonzero(found)),
            scores_on(task.whole, task.begin, weights),
            None if held_out.dev is None else scores_on(held_out.dev, task.begin, weights),
            None if held_out.test is None else scores_on(held_out.test, task.begin, weights),
        )

    def entries(self, task: Task) -> list[dict[str, Any]]:
        """Return what a result says of each of several runs."""
        return [
            {
                "run": run,
                "score": task.score(outcome.weights),
                "weights": dict(Weights(task.names, outcome.weights)),
            }
            for run, outcome in enumerate(self.outcomes)
        ]


@dataclass(frozen=True)
class Evaluated:
    """What one setting comes to, on all sets."""

    stage: Stage
    weights: Weights
    certificate: dict[str, Any] | None
    penalty: float | None
    nonzero: int
    scores: Scores
    dev: Scores | None
    test: Scores | None

    def entry(self, is_best: bool) -> dict[str, Any]:
        """Return what the path of a result says of it."""
        return {
            **self.stage.setting,
            "score": self.scores.score,
            "dev_score": None if self.dev is None else self.dev.score,
            "test_score": None if self.test is None else self.test.score,
            "length_ratio": self.scores.length_ratio,
            "penalty": self.penalty,
            "nonzero": self.nonzero,
            "line_searches": self.stage.line_searches,
            "seconds": self.stage.seconds,
            "chosen": is_best,
        }


def _penalty(outcome: Outcome, weights: Floats) -> float:
    return 0.0 if outcome.penalty is None else outcome.penalty.value(weights)


def check_one(settings: Sequence[dict[str, Any]], remedy: str) -> None:
    """Raise an error if there are several settings, and nothing that could choose among them."""
    if len(settings) == 1:
        return
    first = settings[0]
    varied = [name for name in first if any(one[name] != first[name] for one in settings)]
    what = " and ".join(
        f"{name.replace('_', ' ')}s" if len(name) > 1 else f"values of {name}" for name in varied
    )
    raise UsageError(f"a held-out set chooses among several {what}; {remedy}")


def chosen(found: Sequence[Evaluated], metric: Metric) -> Evaluated:
    """Return what is best on the development set, the first among equals."""
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(found, key=lambda one: 0.0 if one.dev is None else sign * one.dev.score)
