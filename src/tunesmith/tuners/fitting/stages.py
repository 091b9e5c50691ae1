"""From what an algorithm found, in one run or several, to the weights that are kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.sharing import works_elsewhere
from tunesmith.interruption import Interruption, Keeping, SoFar, check, keep, keeping, uninterrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.base import Metric
from tunesmith.parallel.engine import map_over, working_on
from tunesmith.progress import progress
from tunesmith.search.line.penalised import Penalty
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.combine import middle, normalised
from tunesmith.tuners.fitting.result import Combine, Scores
from tunesmith.tuners.fitting.secondary import HeldOut, scores_on
from tunesmith.tuners.fitting.verdict import PairedStatistics

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
    stopped
        After what it ended because it was interrupted, as "3 of 21 climbs"; None if it was not.
    is_start
        Whether nothing was done: these are the starting weights as they are.
    held_out
        Statistics of all sentences, each under weights that were tuned without it, where the
        algorithm holds them out in turn by itself.
    committee
        What a result says of a committee.
    """

    weights: Floats
    history: list[dict[str, Any]] = field(default_factory=list)
    line_searches: int = 0
    certificate: dict[str, Any] | None = None
    objective: float | None = None
    penalty: Penalty | None = None
    seconds: float | None = None
    stopped: str | None = None
    is_start: bool = False
    held_out: PairedStatistics | None = None
    committee: dict[str, Any] | None = None


@dataclass(frozen=True)
class Setup:
    """What is tuned: the features that take part, and where they begin.

    ``first`` are the starting weights of these features, None where the algorithm has its
    own. ``begin`` are all starting weights, ``zeros`` those of dropped features. ``whole`` has
    all features.
    """

    tuning: Task
    whole: Task
    names: tuple[str, ...]
    first: Floats | None
    begin: Weights
    zeros: Weights
    space: Space

    def normalised(self, weights: Floats, normalise: str) -> Floats:
        """Scale weights; say so if rounding then breaks ties another way."""
        scaled = normalised(weights, normalise, self.space, self.first)
        if scaled is weights:
            return weights
        changed = self.tuning.changed_choices(weights, scaled) if weights.any() else 0
        if changed and normalise == "auto" and not self.space.sums:
            # A power of two keeps all digits, and so all choices.
            size = float(np.abs(scaled).sum() / np.abs(weights).sum())
            return self.space.exact(weights * 2.0 ** np.rint(np.log2(size)))
        if changed:
            warnings.warn(
                f"after scaling, {changed} groups choose another of several equal candidates",
                stacklevel=3,
            )
        return scaled

    def score(self, weights: Floats) -> float:
        """Evaluate weights on what is tuned on."""
        return self.tuning.score_at(weights)


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
    unfinished
        Whether the last outcome is what an interrupted run has come to.
    """

    setting: dict[str, Any]
    outcomes: list[Outcome]
    seconds: float
    unfinished: bool = False

    @property
    def line_searches(self) -> int:
        """The line searches of all runs."""
        return sum(outcome.line_searches for outcome in self.outcomes)

    def combined(self, setup: Setup, combine: Combine) -> tuple[Floats, Outcome | None]:
        """Return the weights that several runs come to, and the run that they are of, if one."""
        if combine == "best" or len(self.outcomes) == 1:
            sign = 1.0 if setup.tuning.metric.higher_is_better else -1.0
            best = max(
                self.outcomes,
                key=lambda o: sign * setup.score(o.weights) if o.objective is None else o.objective,
            )
            return setup.space.exact(best.weights), best
        spread = setup.tuning.hypotheses().spread()
        whole = self.outcomes[:-1] if self.unfinished else self.outcomes
        every = [outcome.weights for outcome in whole]
        return middle(every, combine, spread, setup.space), None

    def evaluated(
        self, setup: Setup, combine: Combine, normalise: str, held_out: HeldOut
    ) -> Evaluated:
        """Make the runs one, and evaluate the weights from scratch."""
        before, outcome = self.combined(setup, combine)
        scaled = self._normalised(setup, before, outcome, normalise)
        weights = setup.begin.updated(setup.zeros).updated(Weights(setup.names, scaled))
        return Evaluated(
            self,
            weights,
            None if outcome is None else outcome.certificate,
            None if outcome is None else _penalty(outcome, before),
            outcome,
            int(np.count_nonzero(scaled)),
            scores_on(setup.whole, setup.begin, weights),
            None if held_out.dev is None else scores_on(held_out.dev, setup.begin, weights),
            None if held_out.test is None else scores_on(held_out.test, setup.begin, weights),
        )

    @staticmethod
    def _normalised(
        setup: Setup, weights: Floats, outcome: Outcome | None, normalise: str
    ) -> Floats:
        """Bring weights to their scale; their size means something to a penalty."""
        is_free = outcome is None or outcome.penalty is None
        return setup.normalised(weights, normalise if is_free else _as_given(normalise))

    def entries(self, setup: Setup, normalise: str) -> list[dict[str, Any]]:
        """Return what a result says of each of several runs."""

        def weights_of(outcome: Outcome) -> Weights:
            weights = self._normalised(setup, outcome.weights, outcome, normalise)
            return Weights(setup.names, weights)

        return [
            {
                "run": run,
                "score": setup.score(outcome.weights),
                "weights": dict(weights_of(outcome)),
                **self._unfinished(run == len(self.outcomes) - 1),
            }
            for run, outcome in enumerate(self.outcomes)
        ]

    def _unfinished(self, is_last: bool) -> dict[str, bool]:
        return {"unfinished": True} if self.unfinished and is_last else {}


@dataclass(frozen=True)
class Evaluated:
    """What one setting comes to, on all sets."""

    stage: Stage
    weights: Weights
    certificate: dict[str, Any] | None
    penalty: float | None
    outcome: Outcome | None
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
            **({"unfinished": True} if self.stage.unfinished else {}),
        }


class Algorithm(Protocol):
    """What is run: a tuner."""

    runs_apart: ClassVar[bool]
    settings_are: ClassVar[str]

    def settings(self) -> list[dict[str, Any]]:
        """Return what is tried."""
        ...

    def stages(
        self, tuning: Any, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Run once with each setting."""
        ...


class _Runs:
    """What all runs have come to: outcomes and seconds, by the number of the setting."""

    def __init__(self, settings: Sequence[dict[str, Any]]) -> None:
        self.settings = settings
        self.outcomes: list[list[Outcome]] = [[] for _ in settings]
        self.seconds = [0.0 for _ in settings]
        self.whole = 0  # runs that are complete
        self.next = 0  # the setting that the run after them is at
        self.started = working_seconds()

    def add(self, outcome: Outcome) -> None:
        """Take what the run that goes on has come to, with the next setting."""
        now = working_seconds()
        self.outcomes[self.next].append(outcome)
        self.seconds[self.next] += (
            now - self.started if outcome.seconds is None else outcome.seconds
        )
        self.next += 1
        self.started = now

    def end_run(self) -> None:
        """Have the next run begin."""
        self.whole += 1
        self.next = 0
        self.started = working_seconds()

    def steps(self, runs: int, called: str, so_far: SoFar | None) -> str | None:
        """Say what is complete, of so many runs; None if all is."""
        count = len(self.settings)
        if self.whole == runs or (self.whole == runs - 1 and self.next == count):
            return self.outcomes[-1][-1].stopped
        if self.whole:
            return f"{self.whole} of {runs} runs"
        if self.next or so_far is None:
            return f"{self.next} of {count} {called}"
        return so_far.steps

    def stages(self) -> list[Stage]:
        """Return what there is of each setting."""
        each = zip(self.settings, self.outcomes, self.seconds, strict=True)
        return [Stage(*values) for values in each]

    def interrupted(self, so_far: SoFar | None) -> list[Stage]:
        """Return what there is of some settings, that of the run that goes on among it."""
        stages = self.stages()
        for k, outcome in () if so_far is None else so_far.outcomes.items():
            stage = stages[self.next + k]
            seconds = stage.seconds + working_seconds() - self.started
            assert so_far is not None
            unfinished = so_far.unfinished and bool(len(self.settings) > 1 or stage.outcomes)
            stages[self.next + k] = Stage(
                stage.setting, [*stage.outcomes, outcome], seconds, unfinished
            )
        return [stage for stage in stages if stage.outcomes]


def run_all(
    algorithm: Algorithm, setup: Setup, generator: np.random.Generator, runs: int
) -> tuple[list[Stage], str | None]:
    """Run an algorithm so often, with each setting.

    Returns
    -------
    stages
        What each setting came to; at an interruption, as far as there is something.
    stopped
        After what it was interrupted; None if it was not.
    """
    settings = algorithm.settings()
    finished = _Runs(settings)
    elsewhere: dict[int, list[Outcome]] = {}
    with keeping() as partial:
        try:
            check()
            _run_each(algorithm, setup, generator, runs, finished, elsewhere, partial)
        except Interruption:
            if not partial.is_wanted:
                raise
            for number in () if finished.whole or finished.next else sorted(elsewhere):
                for outcome in elsewhere[number]:  # by another process
                    finished.add(outcome)
                finished.end_run()
            with working_on(None):  # workers have been ended
                so_far = partial.so_far()
            stages = finished.interrupted(so_far)
            if all(outcome.is_start for stage in stages for outcome in stage.outcomes):
                raise
            return stages, finished.steps(runs, algorithm.settings_are, so_far)
    return finished.stages(), None


def _run_each(
    algorithm: Algorithm,
    setup: Setup,
    generator: np.random.Generator,
    runs: int,
    finished: _Runs,
    elsewhere: dict[int, list[Outcome]],
    partial: Keeping,
) -> None:
    """Make all runs; ``elsewhere`` is given those that are made elsewhere."""
    settings = finished.settings
    generators = [generator] if runs == 1 else generator.spawn(runs)
    is_apart = algorithm.runs_apart and 1 < runs >= len(settings) and can_be_sent(setup.tuning)
    if is_apart:
        progress("runs", 0, runs)
        map_in_workers(
            setup.tuning, _run_apart, generators, algorithm, setup.first, results=elsewhere
        )
    for number, rng in enumerate(generators):
        if runs > 1:
            progress("runs", number, runs)
        outcomes = (
            elsewhere[number] if is_apart else algorithm.stages(setup.tuning, setup.first, rng)
        )
        for outcome in outcomes:
            with uninterrupted():  # what is kept, and what is found, go together
                finished.add(outcome)
                partial.forget()
            check()
            if len(settings) > 1:
                progress("settings", finished.next, len(settings))
        with uninterrupted():
            finished.end_run()
    if runs > 1:
        progress("runs", runs, runs)


def _run_apart(
    tuning: Task, rng: np.random.Generator, algorithm: Algorithm, start: Floats | None
) -> list[Outcome]:
    """Run an algorithm once, with each setting, in another process."""
    return timed(algorithm.stages(tuning, start, rng))


def timed(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Let an algorithm run to its end, and say what each outcome took."""
    timed_outcomes = []
    started = working_seconds()
    for outcome in outcomes:
        now = working_seconds()
        seconds = now - started if outcome.seconds is None else outcome.seconds
        timed_outcomes.append(replace(outcome, seconds=seconds))
        started = now
    return timed_outcomes


def can_be_sent(tuning: Task) -> bool:
    """Tell whether whole runs are shared out: others work, and can be sent what there is."""
    return works_elsewhere() and not tuning.is_live and not tuning.is_sharded


def map_in_workers(
    tuning: Task,
    work: Callable[..., R],
    pieces: Sequence[Any],
    *common: Any,
    results: MutableMapping[int, R] | None = None,
) -> list[R]:
    """Return ``[work(tuning, piece, *common) for piece in pieces]``, by other processes.

    Forests are sent by themselves, as for all inference, so that a worker has them once.
    ``results`` is given each result as it comes, by the number of its piece.
    """
    make, large = tuning.split_for_workers()
    if make is None:
        return map_over(tuning, work, pieces, *common, results=results)
    return map_over(large, _with_large, pieces, make, work, *common, results=results)


def settings_apart(
    tuning: Task,
    work: Callable[..., list[Outcome]],
    pieces: Sequence[Any],
    numbers: Sequence[int],
    *common: Any,
) -> Iterator[Outcome]:
    """Yield the outcomes of all pieces in turn, made by other processes.

    Parameters
    ----------
    numbers
        How many settings each piece has.
    """
    results: dict[int, list[Outcome]] = {}
    first = np.cumsum([0, *numbers])

    def so_far() -> SoFar | None:
        outcomes_so_far = {
            int(first[piece]) + k: outcome
            for piece, outcomes in results.items()
            for k, outcome in enumerate(outcomes)
        }
        steps = f"{len(outcomes_so_far)} of {first[-1]} settings"
        return (
            SoFar(dict(sorted(outcomes_so_far.items())), steps, unfinished=False)
            if outcomes_so_far
            else None
        )

    keep(so_far)
    for outcomes in map_in_workers(tuning, work, pieces, *common, results=results):
        yield from outcomes


def _with_large(
    large: Any, piece: Any, make: Callable[[Any], Task], work: Callable[..., R], *common: Any
) -> R:
    return work(make(large), piece, *common)


def _as_given(normalise: str) -> str:
    """Return the scale that was asked for; none by default."""
    return "none" if normalise == "auto" else normalise


def _penalty(outcome: Outcome, weights: Floats) -> float:
    return 0.0 if outcome.penalty is None else outcome.penalty.value(weights)


def check_one(settings: Sequence[dict[str, Any]], remedy: str) -> None:
    """Raise an error if there are several settings, and nothing that could choose among them."""
    if len(settings) == 1:
        return
    first = settings[0]
    varied = [name for name in first if any(setting[name] != first[name] for setting in settings)]
    varieties = " and ".join(
        f"{name.replace('_', ' ')}s" if len(name) > 1 else f"values of {name}" for name in varied
    )
    raise UsageError(f"a held-out set chooses among several {varieties}; {remedy}")


def chosen(candidates: Sequence[Evaluated], metric: Metric) -> Evaluated:
    """Return what is best on the development set, the first among equals."""
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(
        candidates,
        key=lambda evaluated: 0.0 if evaluated.dev is None else sign * evaluated.dev.score,
    )
