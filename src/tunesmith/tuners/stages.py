"""From what an algorithm found, in one run or several, to the weights that are kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.forests import Forests
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.asking import changed_choices, hypotheses_of, score_at
from tunesmith.inference.sharing import works_elsewhere
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.base import Metric
from tunesmith.metrics.forest_tuning import ForestOptions, ForestTuning
from tunesmith.metrics.live_tuning import LiveTuning
from tunesmith.metrics.tunable import Tunable
from tunesmith.parallel.engine import map_over
from tunesmith.progress import progress
from tunesmith.search.penalised import Penalty
from tunesmith.search.space import Space
from tunesmith.tuners.beside import HeldOut, scores_on
from tunesmith.tuners.combine import middle, normalised
from tunesmith.tuners.result import Combine, Scores

R = TypeVar("R")


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
    seconds
        What it took, where somebody else found it; None for whoever waited to measure.
    """

    weights: Floats
    history: list[dict[str, Any]] = field(default_factory=list)
    line_searches: int = 0
    certificate: dict[str, Any] | None = None
    objective: float | None = None
    penalty: Penalty | None = None
    seconds: float | None = None


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


class Algorithm(Protocol):
    """What is run: a tuner."""

    runs_apart: ClassVar[bool]

    def settings(self) -> list[dict[str, Any]]:
        """Return what is tried."""
        ...

    def stages(
        self, tuning: Any, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Run once with each setting."""
        ...


def run_all(
    algorithm: Algorithm, task: Task, generator: np.random.Generator, runs: int
) -> list[Stage]:
    """Run an algorithm so often, with each setting."""
    settings = algorithm.settings()
    found: list[list[Outcome]] = [[] for _ in settings]
    seconds = [0.0 for _ in settings]
    generators = [generator] if runs == 1 else generator.spawn(runs)
    ended: list[list[Outcome]] | None = None
    if algorithm.runs_apart and 1 < runs >= len(settings) and can_be_sent(task.tuning):
        progress("runs", 0, runs)
        ended = made_apart(task.tuning, _run_apart, generators, algorithm, task.first)
    for number, own in enumerate(generators):
        if runs > 1:
            progress("runs", number, runs)
        begun = working_seconds()
        outcomes = (
            algorithm.stages(task.tuning, task.first, own) if ended is None else ended[number]
        )
        for k, outcome in enumerate(outcomes):
            found[k].append(outcome)
            taken = working_seconds() - begun
            seconds[k] += taken if outcome.seconds is None else outcome.seconds
            begun = working_seconds()
            if len(settings) > 1:
                progress("settings", k + 1, len(settings))
    if runs > 1:
        progress("runs", runs, runs)
    return [Stage(*one) for one in zip(settings, found, seconds, strict=True)]


def _run_apart(
    tuning: Tunable, rng: np.random.Generator, algorithm: Algorithm, start: Floats | None
) -> list[Outcome]:
    """Run an algorithm once, with each setting, in another process."""
    return timed(algorithm.stages(tuning, start, rng))


def timed(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Let an algorithm run to its end, and say what each outcome took."""
    found = []
    begun = working_seconds()
    for outcome in outcomes:
        now = working_seconds()
        taken = now - begun if outcome.seconds is None else outcome.seconds
        found.append(replace(outcome, seconds=taken))
        begun = now
    return found


def can_be_sent(tuning: Tunable) -> bool:
    """Tell whether whole runs are shared out: others work, and a set is not decoded meanwhile."""
    return works_elsewhere() and not isinstance(tuning, LiveTuning)


def made_apart(
    tuning: Tunable, work: Callable[..., R], pieces: Sequence[Any], *common: Any
) -> list[R]:
    """Return ``[work(tuning, piece, *common) for piece in pieces]``, by other processes.

    Forests are sent by themselves, as for all inference, so that a worker has them once.
    """
    if not isinstance(tuning, ForestTuning):
        return map_over(tuning, work, pieces, *common)
    about = tuning.metric, tuning.options
    return map_over(tuning.forests, _with_forests, pieces, about, work, *common)


def _with_forests(
    forests: Forests,
    piece: Any,
    about: tuple[Metric, ForestOptions],
    work: Callable[..., R],
    *common: Any,
) -> R:
    return work(ForestTuning(forests, *about), piece, *common)


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
