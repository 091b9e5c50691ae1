"""Tuners that learn in rounds over a set, from what single candidates are worth."""

from __future__ import annotations

import copy
import itertools
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.interruption import SoFar, check, keep
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.candidate_scorer import (
    CandidateScorer,
    DocumentObjective,
    Objective,
    Way,
    objective_of,
)
from tunesmith.metrics.lengths import lengths_of
from tunesmith.progress import progress
from tunesmith.registry import Texts, distinct_texts, option
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tuners.base import Outcome, score_of
from tunesmith.tuners.fitting.callbacks import note_step
from tunesmith.tuners.fitting.combine import NO_SUM
from tunesmith.tuners.fitting.constrained import Constrained
from tunesmith.tuners.fitting.remembering import Remembering
from tunesmith.tuners.fitting.stages import Evaluated, can_be_sent, settings_apart

#: An output that is so many times as long as the references is told of, for so many groups.
LONG, ENOUGH = 1.5, 20


@dataclass(frozen=True)
class Round:
    """What a round over the set came to.

    Attributes
    ----------
    weights : float64[D]
        What would be returned if it were the last round.
    entry
        What the history says of it, beside its number and its score.
    """

    weights: Floats
    entry: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rounds(Constrained, Remembering):
    """What a tuner inherits that goes over a set in rounds; it needs :meth:`rounds`.

    It is given starting weights that satisfy all restrictions on weights, and keeps to them in
    the way of its own algorithm: its :meth:`space` has the projections.

    The metric is that of whole sets. What a single candidate is worth on the way is the
    ``objective``: see :mod:`tunesmith.metrics.candidate_scorer`.
    """

    objective: Texts = option(
        (),
        "value of a candidate while learning, such as bleu+1, "
        "brevity-smoothed, document (see `tunesmith list objectives`; each "
        "tuner has a default); a held-out set chooses among several",
        "NAME",
        convert=distinct_texts,
    )
    pick: Literal["last", "best", "dev"] = option(
        "last",
        "which round's weights to return: the last, the best on the tuning "
        "set (including the start), or the best on a held-out set",
    )
    choose_by: Literal["dev", "length"] = option(
        "dev",
        "how to choose among several objectives: by a held-out set, or by "
        "how close the length of the tuning output is to the references",
    )

    _space: Space | None = field(default=None, compare=False, repr=False)

    settles: ClassVar[bool] = False
    takes_forests: ClassVar[bool] = True
    #: Fields that hold several values, of which a held-out set chooses.
    varied: ClassVar[tuple[str, ...]] = ("objective",)
    #: The objective for metrics that are BLEU, and for others, where none is given.
    usual: ClassVar[tuple[str, str]] = ("bleu+1", "metric")

    #: Whether it asks examples for hope and fear.
    has_hope: ClassVar[bool] = False

    def asks_hope(self, metric: Metric) -> bool | None:
        """Whether hope and fear are asked of whole forests, or of the best alone; None if never."""
        if not self.has_hope:
            return None
        if type(metric) is not BLEU:
            return False
        return all(
            isinstance(objective, DocumentObjective) for objective in self._objectives(metric)
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.objective:
            objective_of(name)
        if self.choose_by == "length" and self.pick == "dev":
            raise UsageError("choose-by length and pick dev do not go together; drop one of them")

    @property
    @abstractmethod
    def round_count(self) -> int:
        """The number of rounds at most."""

    @abstractmethod
    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Learn from ``start`` on; yield after every round."""

    def scorer_for(
        self, objective: Objective, tuning: Task, way: Way, start: Floats
    ) -> CandidateScorer:
        """Return the values of a set; in a loop, after the rounds before.

        Where the set is no list, what is usual is told by what is best under the starting weights.

        An objective that changes by rounds is told what the weights of each of them choose from
        the lists as they are now: as if all rounds had been on these. The first weights of a
        loop were not learnt; no round ended with them.
        """
        scorer = objective.begin(tuning.usual_lists(start), way)
        if objective.changes_by_round:
            for weights in (self.earlier or ())[1:]:
                self.end_round(objective, scorer, tuning, way, weights.aligned(tuning.names))
        return scorer

    def end_round(
        self, objective: Objective, scorer: CandidateScorer, tuning: Task, way: Way, weights: Floats
    ) -> None:
        """Tell values what weights choose, as the objective counts it."""
        if tuning.lists is not None:
            stats = scorer.stats[best(tuning.lists.candidates, weights)]
        else:
            stats = objective.begin(tuning.winners(weights), way).stats
        scorer.end_round(stats.sum(axis=0))

    @property
    def never_worse(self) -> bool:  # type: ignore[override]
        """Whether the start is among what is picked from."""
        return self.pick == "best"

    def settings(self) -> list[dict[str, Any]]:
        """Return what a held-out set chooses from: objectives and, if it picks them, rounds."""
        rounds = {"round": range(self.round_count + 1)} if self.pick == "dev" else {}
        return _products(self._several() | rounds)

    def _several(self) -> dict[str, Sequence[Any]]:
        """Return the options of which several values are tried."""
        return {name: tried for name in self.varied if len(tried := getattr(self, name)) > 1}

    def check_choice(self, has_dev: bool, remedy: str) -> None:
        """Raise an error if there is nothing to choose by."""
        if self.choose_by == "length" and not self._several():
            raise UsageError("choose-by length has one setting; give several objectives")
        super().check_choice(has_dev or self.choose_by == "length", remedy)

    def choose(self, candidates: Sequence[Evaluated], metric: Metric) -> Evaluated:
        """Return what is best on the development set, or of the best length."""
        if self.choose_by == "dev":
            return super().choose(candidates, metric)
        return min(
            candidates, key=lambda evaluated: abs((evaluated.scores.length_ratio or 0.0) - 1.0)
        )

    def reason(self, best: Evaluated) -> str | None:
        """Say that lengths have decided, if they have."""
        if self.choose_by == "dev":
            return None
        ratio = best.scores.length_ratio or 0.0
        setting = ", ".join(map(str, best.stage.setting.values()))
        return f"{setting}: its output is {ratio:.4f} times as long as the references"

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if an objective cannot stand in for the metric."""
        super().check_metric(metric)
        for objective in self._objectives(metric):
            objective.check(metric)
        if self.choose_by == "length":
            details = metric.details(np.ones(len(metric.stat_names)))
            if "length_ratio" not in details:
                raise UsageError(
                    f"{metric.name} knows nothing of lengths; choose by dev, or tune for bleu"
                )

    def _objectives(self, metric: Metric) -> list[Objective]:
        usual = self.usual[0 if isinstance(metric, BLEU) else 1]
        return [objective_of(name) for name in self.objective or (usual,)]

    def why_nothing(self) -> str | None:
        """Say why there was nothing to learn; None where the start may simply have been good."""
        return None

    def why_long(self) -> str:
        """Say what may help against an output that is far longer than the references."""
        return "begin with other weights, or look for candidates that are far too long"

    def tune(self, tuning: Task, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Return what the last of several settings leads to."""
        *_, last = self.stages(tuning, start, rng)
        return last

    def stages(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Learn with each setting in turn, all from the start and with the same random numbers."""
        restricted, begin = self.restricted(tuning, start)
        child = rng.spawn(1)[0]
        settings = _products(self._several())
        if len(settings) > 1 and can_be_sent(tuning):
            numbers = [self.round_count + 1 if self.pick == "dev" else 1] * len(settings)
            common = restricted, begin, child
            yield from settings_apart(tuning, _learnt_apart, settings, numbers, *common)
            return
        for setting in settings:
            yield from restricted._learnt(tuning, setting, begin, child)

    def space(self, names: tuple[str, ...], start: Floats) -> Space:
        """Return what weights may be; while it learns, the ratios of groups are the first ones."""
        return super().space(names, start) if self._space is None else self._space

    def restricted(self, tuning: Task, start: Floats | None) -> tuple[Self, Floats]:
        """Return the tuner with the space of a run, and weights of it to begin with."""
        begin = self.own_start(tuning) if start is None else start
        space = Constrained.space(self, tuning.names, begin)
        return self.changed(_space=space), space.exact(begin)

    def _learnt(
        self, tuning: Task, setting: dict[str, Any], begin: Floats, rng: np.random.Generator
    ) -> list[Outcome]:
        """Learn with one setting."""
        single: dict[str, Any] = {name: (value,) for name, value in setting.items()}
        tuner = self.changed(**single)
        (objective,) = tuner._objectives(tuning.metric)
        is_nothing = False
        track = _Track(tuning, begin, self.space(tuning.names, begin))
        keep(lambda: track.so_far(self.pick, self.round_count))
        for done in tuner.rounds(tuning, objective, begin.copy(), copy.deepcopy(rng)):
            track.add(done, self.round_count)
            is_nothing = not done.weights.any()
            if len(track.points) <= self.round_count:
                check()
        if is_nothing and self.sum_to_one:
            warnings.warn(NO_SUM, stacklevel=3)
        if track.has_learnt_nothing and (why := self.why_nothing()) is not None:
            warnings.warn(f"nothing was learnt: {why}", stacklevel=3)
        outcomes = list(track.outcomes(self.pick, self.round_count))
        ratio = length_ratio(tuning, outcomes[-1].weights)
        if ratio > LONG and tuning.groups >= ENOUGH:
            text = f"the output is {ratio:.1f} times as long as the references"
            warnings.warn(f"{text}: {self.why_long()}", stacklevel=3)
        return outcomes


def _learnt_apart(
    tuning: Task,
    setting: dict[str, Any],
    tuner: Rounds,
    begin: Floats,
    rng: np.random.Generator,
) -> list[Outcome]:
    """Learn with one setting, in another process."""
    started = working_seconds()
    outcomes = tuner._learnt(tuning, setting, begin, rng)
    seconds = working_seconds() - started
    # All rounds of a setting come at once, with the first of them.
    return [replace(outcome, seconds=0.0 if k else seconds) for k, outcome in enumerate(outcomes)]


def length_ratio(tuning: Task, weights: Floats) -> float:
    """Return the length of what weights choose over that of the references; 0 if not known."""
    lengths = lengths_of(tuning.winners(weights))
    if lengths is None:
        return 0.0
    return float(lengths.candidates.sum()) / max(1.0, float(lengths.references.sum()))


#: What a history calls that from which something was learnt in a round.
LESSONS = ("pairs", "changes")


def _products(several: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of values."""
    return [dict(zip(several, v, strict=True)) for v in itertools.product(*several.values())]


class _Track:
    """The rounds with one objective."""

    def __init__(self, tuning: Task, begin: Floats, space: Space) -> None:
        self.tuning, self._space = tuning, space
        begin = space.reported(begin)
        self.points = [begin]
        self.history = [self._entry(0, begin, {})]
        note_step(self.history[0], tuning.names, begin)

    def add(self, finished: Round, count: int) -> None:
        """Evaluate a round."""
        weights = self._space.reported(finished.weights)
        entry = self._entry(len(self.points), weights, finished.entry)
        self.points.append(weights)
        self.history.append(entry)
        note_step(entry, self.tuning.names, weights)
        best = max(self.history, key=lambda e: float(e["gain"]))["gain"]
        remark = f"best {score_of(self.tuning.metric, best):.2f}"
        progress("tuning", len(self.points) - 1, count, remark)

    def _entry(self, number: int, weights: Floats, more: dict[str, Any]) -> dict[str, Any]:
        total = self.tuning.total_at(weights)
        metric = self.tuning.metric
        ratio = metric.details(total).get("length_ratio")
        lengths = {} if ratio is None else {"length_ratio": ratio}
        return {"gain": float(metric.gain(total)), "round": number, **lengths, **more}

    @property
    def has_learnt_nothing(self) -> bool:
        """Whether no round had anything to learn from, as far as is known."""
        counts = [e[key] for e in self.history for key in LESSONS if key in e]
        return bool(counts) and not any(counts)

    def outcomes(self, pick: str, count: int) -> Iterator[Outcome]:
        """Return the weights that are picked; for a held-out set to pick from, all of them."""
        if pick == "dev":
            for k in range(count + 1):
                # A tuner that has ended earlier stays where it is.
                weights = self.points[min(k, len(self.points) - 1)]
                yield Outcome(weights, self.history[k : k + 1])
            return
        gains = [entry["gain"] for entry in self.history]
        chosen = int(np.argmax(gains)) if pick == "best" else -1
        yield Outcome(self.points[chosen], self.history)

    def so_far(self, pick: str, count: int) -> SoFar | None:
        """Return what there is before the last round: the best of those before, and not the last.

        The start is among them where it is among what is picked from.
        """
        done = len(self.history) - 1
        if done < 1:
            return None
        points, history = self.points[: done + 1], self.history[: done + 1]
        steps = f"{done} of {count} rounds"
        if pick == "dev":
            each = {k: Outcome(points[k], [history[k]]) for k in range(done + 1)}
            return SoFar(each, steps, unfinished=False)
        first = 0 if pick == "best" else 1
        best = first + int(np.argmax([entry["gain"] for entry in history[first:]]))
        return SoFar({0: Outcome(points[best], history)}, steps)
