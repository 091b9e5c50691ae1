"""What a tuner is, and what is done around every algorithm."""

from __future__ import annotations

import contextlib
import operator
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.features import Selection
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists import ListHypotheses, best
from tunesmith.metrics.base import Metric
from tunesmith.metrics.tuning import TuningSet
from tunesmith.parallel.local import thread_count
from tunesmith.progress import progress
from tunesmith.registry import Registry, options_of
from tunesmith.search.space import Space
from tunesmith.tuners.beside import Beside, scores_on
from tunesmith.tuners.combine import check_normalise, check_runs, middle, normalised
from tunesmith.tuners.result import Combine, TuneResult

__all__ = ["TUNERS", "Outcome", "TuneResult", "Tuner", "score_of"]


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
    """

    weights: Floats
    history: list[dict[str, Any]] = field(default_factory=list)
    line_searches: int = 0
    certificate: dict[str, Any] | None = None
    objective: float | None = None


class Tuner(ABC):
    """Finds weights; a subclass is a frozen dataclass whose fields are its options."""

    name: ClassVar[str]
    #: Whether the metric must be an average over sentences.
    needs_sum: ClassVar[bool] = False
    #: Whether the tuned weights are never worse than the start on the set they are tuned on.
    never_worse: ClassVar[bool] = True

    @abstractmethod
    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Run the algorithm.

        Parameters
        ----------
        tuning
            Candidates and statistics.
        start : float64[D]
            Where to begin; None leaves it to the algorithm.
        rng
            The only source of randomness.
        """

    def fit(
        self,
        tuning: TuningSet,
        start: Mapping[str, float] | None = None,
        dev: TuningSet | None = None,
        rng: np.random.Generator | int | None = None,
        strict: bool = False,
        *,
        runs: int = 1,
        combine: Combine = "best",
        normalise: str = "none",
        keep: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        others: Sequence[Metric | str] = (),
    ) -> TuneResult:
        """Tune weights on a set.

        Parameters
        ----------
        tuning
            What to tune on.
        start
            Weights by name to begin with.
        dev
            A set to evaluate on beside it; it has no influence on the weights.
        rng
            A generator, or a seed; None is the seed 1.
        strict
            Make it an error if names of ``start`` and of the data differ.
        runs, combine
            How often to tune, each time with other random numbers, and what becomes of the
            results: the ``best`` of them, the ``average`` or the ``median`` of the weights.
        normalise
            ``none``; ``l1`` or ``l2``: that norm of the tuned weights becomes 1; or a
            feature's name, whose weight becomes 1 or -1. The scale changes no choice, but
            where scores are equal up to rounding.
        keep, drop
            Patterns of features, as ``"LM*"``. The others do not take part; where ``start``
            has a weight for one, it becomes 0.
        others
            Metrics to report beside the one that is tuned for.
        """
        self.check(tuning)
        check_runs(runs, combine)
        beside = [Beside.of(other, tuning, dev) for other in others]
        seed = _seed(rng)
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(seed)
        selection = Selection.of(keep, drop)
        begun = time.perf_counter()
        with _recorded() as said:
            task = self._task(tuning, start, dev, selection, strict)
            check_normalise(normalise, task.space)
        with _recorded() as said_later:
            outcomes = self._run(task, generator, runs)
        seconds = time.perf_counter() - begun
        weights, certificate = _combined(task, outcomes, combine)
        with _recorded() as said_last:
            weights = task.normalised(weights, normalise)
        tuned = task.begin.updated(task.zeros).updated(Weights(task.names, weights))
        scores = scores_on(tuning, task.begin, tuned)
        names = tuning.candidates.features.names
        oracle = tuning.oracle(begin=best(tuning.candidates, tuned.aligned(names)))
        own = {"runs": runs, "combine": combine, "normalise": normalise}
        own |= {"keep": ",".join(selection.keep), "drop": ",".join(selection.drop)}
        return TuneResult(
            tuner=self.name,
            metric=tuning.metric.name,
            weights=tuned,
            start=task.begin,
            score=scores.score,
            initial_score=scores.initial_score,
            oracle_score=oracle.score,
            oracle_exact=oracle.exact,
            length_ratio=scores.length_ratio,
            dev=None if dev is None else scores_on(dev, task.begin, tuned),
            path=None,
            history=_history(outcomes, tuning.metric),
            certificate=certificate,
            line_searches=sum(outcome.line_searches for outcome in outcomes),
            seconds=seconds,
            seed=seed,
            threads=thread_count(),
            warnings=said + said_later + said_last,
            data=tuning.candidates.files + (dev.candidates.files if dev else ()),
            signature=f"{self.signature()}{_unusual(own)}|seed:{seed}|{tuning.signature()}",
            others=tuple(other.scores(task.begin, tuned) for other in beside),
            runs=None if runs == 1 else [_entry(task, k, o) for k, o in enumerate(outcomes)],
        )

    def _task(
        self,
        tuning: TuningSet,
        start: Mapping[str, float] | None,
        dev: TuningSet | None,
        selection: Selection,
        strict: bool,
    ) -> _Task:
        """Select features, match names, and find out what the weights may be."""
        names = tuning.candidates.features.names
        if not names:
            raise TunesmithError("the candidates have no features; there is nothing to tune")
        dev_names = () if dev is None else dev.candidates.features.names
        selection.check(names)
        kept = selection.kept(names)
        dropped = {*names, *dev_names} - {*kept, *selection.kept(dev_names)}
        if dropped:
            candidates = tuning.candidates.with_features(selection.keep, selection.drop)
            tuning = TuningSet(candidates, tuning.metric, tuning.stats)
        given = Weights.from_dict({} if start is None else start)
        zeroed = [name for name in given if name in dropped]
        if zeroed:
            more = f" and {len(zeroed) - 3} more" if len(zeroed) > 3 else ""
            what = f"weights of dropped features are 0: {', '.join(zeroed[:3])}{more}"
            warnings.warn(what, stacklevel=3)
        rest = Weights.from_dict({n: given[n] for n in given if n not in dropped})
        first = None if start is None else rest.matched(kept, strict)
        if dev is not None:
            known = Weights.from_dict(dict.fromkeys([*kept, *rest], 0.0))
            known.matched(selection.kept(dev_names), strict, "held-out set: ")
        own = self.own_start(tuning) if first is None else first
        space = self.space(kept, own)
        begin = Weights(kept, space.inside(own)) if first is None else given
        everything = dict.fromkeys([*given, *names, *dev_names])
        zeros = Weights.from_dict({n: 0.0 for n in everything if n in dropped})
        return _Task(tuning, kept, first, begin, zeros, space)

    def _run(self, task: _Task, generator: np.random.Generator, runs: int) -> list[Outcome]:
        if runs == 1:
            return [self.tune(task.tuning, task.first, generator)]
        outcomes = []
        for run, own in enumerate(generator.spawn(runs)):
            progress("runs", run, runs)
            outcomes.append(self.tune(task.tuning, task.first, own))
        progress("runs", runs, runs)
        return outcomes

    def space(self, names: tuple[str, ...], start: Floats) -> Space:
        """Return what the weights may be: anything, for a tuner without restrictions."""
        return Space.free(names)

    def own_start(self, tuning: TuningSet) -> Floats:
        """Return the weights that the algorithm begins with where none are given."""
        return 1.0 / ListHypotheses(tuning).spread()

    def check(self, tuning: TuningSet) -> None:
        """Raise an error if the algorithm cannot work on a set."""
        if self.needs_sum and not tuning.is_sum:
            raise UsageError(
                f"{self.name} needs a metric that is an average over sentences; "
                f"{tuning.metric.name} is not, on this set"
            )

    def signature(self) -> str:
        """Return what has to be known to run the same again."""
        parts = [self.name]
        for option in options_of(type(self)):
            value = getattr(self, option.field)
            if not option.several:
                parts.append(f"{option.field}:{value}")
            elif value:
                parts.append(f"{option.field}:{','.join(map(str, value))}")
        return "|".join(parts)


@dataclass(frozen=True)
class _Task:
    """What is tuned: the features that take part, and where they begin.

    ``first`` are the starting weights of these features, None where the algorithm has its
    own. ``begin`` are all starting weights, ``zeros`` those of dropped features.
    """

    tuning: TuningSet
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
        before, after = (best(self.tuning.candidates, w) for w in (weights, found))
        changed = int((before != after).sum())
        if changed:
            warnings.warn(
                f"after scaling, {changed} groups choose another of several equal candidates",
                stacklevel=3,
            )
        return found

    def score(self, weights: Floats) -> float:
        return self.tuning.score(best(self.tuning.candidates, weights))


def _combined(
    task: _Task, outcomes: list[Outcome], combine: Combine
) -> tuple[Floats, dict[str, Any] | None]:
    """Return the weights that several runs come to, and the proof about them, if any."""
    if combine == "best" or len(outcomes) == 1:
        sign = 1.0 if task.tuning.metric.higher_is_better else -1.0
        found = max(
            outcomes,
            key=lambda o: sign * task.score(o.weights) if o.objective is None else o.objective,
        )
        return task.space.exact(found.weights), found.certificate
    spread = ListHypotheses(task.tuning).spread()
    return middle([o.weights for o in outcomes], combine, spread, task.space), None


def _entry(task: _Task, run: int, outcome: Outcome) -> dict[str, Any]:
    weights = dict(Weights(task.names, outcome.weights))
    return {"run": run, "score": task.score(outcome.weights), "weights": weights}


def _unusual(own: Mapping[str, object]) -> str:
    """Return the options of ``fit`` that are not as they usually are."""
    usual = {"runs": 1, "combine": "best", "normalise": "none", "keep": "", "drop": ""}
    return "".join(f"|{key}:{value}" for key, value in own.items() if value != usual[key])


def _seed(rng: np.random.Generator | int | None) -> int | None:
    if rng is None:
        return 1
    if isinstance(rng, np.random.Generator):
        return None
    try:
        seed = operator.index(rng)
    except TypeError:
        raise UsageError(f"rng is {rng!r}; give a numpy Generator or a whole number") from None
    if seed < 0:
        raise UsageError(f"the seed is {seed}; give 0 or more")
    return seed


@contextlib.contextmanager
def _recorded() -> Iterator[list[str]]:
    """Keep what is warned of in a list, and warn of it again at the end."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield said
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        if issubclass(warning.category, UserWarning):
            said.append(str(warning.message))


def score_of(metric: Metric, gain: float) -> float:
    """Return a gain, in natural units, on the metric's customary scale."""
    return gain * (metric.scale if metric.higher_is_better else -metric.scale)


def _history(outcomes: Sequence[Outcome], metric: Metric) -> list[dict[str, Any]]:
    """Put numbers on the steps, and their gains on the metric's scale."""
    found: list[dict[str, Any]] = []
    for run, outcome in enumerate(outcomes):
        for entry in outcome.history:
            rest = {key: value for key, value in entry.items() if key not in GAINS}
            scores = {GAINS[key]: score_of(metric, entry[key]) for key in GAINS if key in entry}
            which = {"run": run} if len(outcomes) > 1 else {}
            found.append({"step": len(found), **scores, **which, **rest})
    return found


#: Keys of a history that are gains, and what they are called as scores.
GAINS = {"gain": "score", "smoothed": "smoothed_score"}


TUNERS: Registry[Tuner] = Registry("tuner", "tunesmith.tuners", "tunesmith.tuners", Tuner)
