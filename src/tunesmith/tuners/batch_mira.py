"""Batch MIRA: Cherry and Foster, "Batch tuning strategies for statistical machine translation".

NAACL 2012, section 3: one step a sentence, from its fear candidate towards its hope candidate,
in many passes over the same lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol, TypeGuard

import numpy as np

from tunesmith.arrays import Floats, Ints, inner
from tunesmith.errors import UsageError
from tunesmith.inference.examples import Derivation, Examples, difference
from tunesmith.inference.lists.hope_fear import (
    ORDER,
    ListArrays,
    PassState,
    document_pass,
    fixed_pass,
)
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.candidate_scorer import (
    CandidateScorer,
    DocumentObjective,
    DocumentScorer,
    MetricObjective,
    Objective,
)
from tunesmith.registry import Numbers, numbers, option
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.fitting.rounds import Round, Rounds

#: The document's decay unless the user says otherwise: about the last 1000 sentences count.
DECAY = 0.999


@TUNERS.register("batch-mira")
@dataclass(frozen=True, kw_only=True)
class BatchMIRA(Rounds):
    """Batch MIRA: for each sentence in turn, a step of limited size from fear to hope.

    By default the worth of a candidate is what it adds to the score of a document made of the
    sentences before it; for metrics that are averages over sentences, it is its own score. The
    weights after a pass are the average over all sentences so far.

    The size of a step does not depend on that of the weights, so small starting weights are soon
    forgotten. With a ``start_scale`` above 1 good ones last longer: weights of a decoder, whose
    absolute values add up to 1, about kept their score with 64. With bad starting weights a large
    scale is a hindrance.
    """

    passes: int = option(60, "passes over all sentences", least=1)
    c: Numbers = option(
        (0.01,),
        "the largest step: most that a difference of features is multiplied "
        "by; a held-out set chooses among several",
        convert=numbers,
        above=0,
        below=np.inf,
    )
    start_scale: Numbers = option(
        (1.0,),
        "factor by which the starting weights are multiplied, and the result "
        "divided; a held-out set chooses among several",
        convert=numbers,
        above=0,
        least=1e-100,
        most=1e100,
    )
    decay: float = option(
        DECAY,
        "factor on the document after each sentence, for the default objective",
        least=0,
        most=1,
    )
    background: Literal["hope", "model"] = option(
        "hope", "which candidate enters the document: hope, or the model's best"
    )
    average: bool = option(True, "return the average of the weights after each sentence")
    pick: Literal["last", "best", "dev"] = option(
        "best",
        "which pass's weights to return: the last, the best on the tuning "
        "set (including the start), or the best on a held-out set",
    )

    has_hope: ClassVar[bool] = True
    varied: ClassVar[tuple[str, ...]] = ("objective", "c", "start_scale")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective and self.decay != DECAY:
            raise UsageError(
                "decay belongs to the usual objective; with others write it there, as "
                f"document:decay={self.decay:g}"
            )

    @property
    def round_count(self) -> int:
        """The number of passes."""
        return self.passes

    def own_start(self, tuning: Task) -> Floats:
        """Return 0: steps are short, and would not undo large weights that mean nothing."""
        return np.zeros(len(tuning.names))

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if an option has no effect with what candidates are worth."""
        super().check_metric(metric)
        if any(isinstance(objective, DocumentObjective) for objective in self._objectives(metric)):
            return
        for name, usual in (("decay", DECAY), ("background", "hope")):
            if getattr(self, name) != usual:
                raise UsageError(f"{name} belongs to a document, and there is none; drop it")

    def _objectives(self, metric: Metric) -> list[Objective]:
        if self.objective:
            return super()._objectives(metric)
        # In a document an average over sentences changes as the sentence's own score does.
        return [MetricObjective() if metric.is_sum else DocumentObjective(self.decay)]

    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Go over all sentences, each time in another order."""
        scorer = self.scorer_for(objective, tuning, "examples", start)
        (scale,) = self.start_scale
        learned = PassState.begin(scale * start)
        go = self._way(tuning, scorer, self.space(tuning.names, start))
        for _ in range(self.passes):
            before = int(learned.counts[1])
            go(rng.permutation(tuning.groups), learned)
            weights = (learned.average() if self.average else learned.weights) / scale
            yield Round(weights, {"updates": int(learned.counts[1]) - before})
            if objective.changes_by_round and not isinstance(scorer, DocumentScorer):
                self.end_round(objective, scorer, tuning, "examples", weights)

    def _way(self, tuning: Task, scorer: CandidateScorer, space: Space) -> Pass:
        """Return the quickest way to go over a set."""
        (c,) = self.c
        adds_hope = self.background == "hope"
        if not space.is_free:
            (scale,) = self.start_scale
            return RestrictedPass(tuning.examples(), scorer, c, adds_hope, space, scale)
        if (lists := tuning.lists) is None:
            return ExamplePass(tuning.examples(), scorer, c, adds_hope)
        if type(scorer).add is CandidateScorer.add:
            return _FixedPass(lists, scorer, c)
        if isinstance(scorer, DocumentScorer) and _is_plain(metric := scorer.metric):
            return _DocumentPass(lists, scorer, metric, c, adds_hope)
        return ExamplePass(lists.examples(), scorer, c, adds_hope)


class Pass(Protocol):
    """A way to go over the sentences of a set."""

    def __call__(self, order: Ints, learned: PassState) -> None:
        """Go over sentences in an order."""
        ...


@dataclass(frozen=True)
class ExamplePass:
    """Sentence by sentence, whatever they are worth and whatever form they have."""

    examples: Examples
    scorer: CandidateScorer
    c: float
    adds_hope: bool

    def __call__(self, order: Ints, learned: PassState) -> None:
        """Go over sentences in an order."""
        for group in order:
            self.step(int(group), learned)

    def step(self, group: int, learned: PassState) -> None:
        """Learn from one sentence.

        η = min(C, (B(hope) − B(fear) − w·d) / ‖d‖²), w ← w + η d, where d = h(hope) − h(fear).
        """
        example = self.examples.example(group, self.scorer)
        hope, fear = (example.augmented(learned.weights, sign) for sign in (1.0, -1.0))
        added = hope if self.adds_hope else example.best(learned.weights)
        gap = hope.gain - fear.gain
        learned.counts[0] += 1
        if gap > 0.0:
            self._towards(hope, fear, gap, learned)
        self.scorer.add(added.stats)

    def _towards(self, hope: Derivation, fear: Derivation, gap: float, learned: PassState) -> None:
        features, away = difference(hope.features, hope.values, fear.features, fear.values)
        loss = gap - inner(learned.weights[features], away)
        square = inner(away, away)
        if 0.0 < loss < np.inf and 0.0 < square < np.inf:
            learned.counts[1] += 1
            change = min(self.c, loss / square) * away
            learned.weights[features] += change
            learned.late[features] += learned.counts[0] * change


@dataclass(frozen=True)
class RestrictedPass(ExamplePass):
    """The same within a space: the step is as long as what can change of it needs to be.

    The difference of hope and fear is projected onto the directions of the space, so that fixed
    and tied weights take their part in the step; then the weights go back into their ranges. Each
    is the nearest point, so a step never leads away from weights that satisfy everything.
    """

    space: Space
    scale: float

    def _towards(self, hope: Derivation, fear: Derivation, gap: float, learned: PassState) -> None:
        features, values = difference(hope.features, hope.values, fear.features, fear.values)
        loss = gap - inner(learned.weights[features], values)
        whole = np.zeros(len(learned.weights))
        whole[features] = values
        away = self.space.projected(whole)
        square = inner(values, values) if away is whole else inner(away, away)
        if 0.0 < loss < np.inf and 0.0 < square < np.inf:
            learned.counts[1] += 1
            moved = learned.weights + min(self.c, loss / square) * away
            inside = self.space.at_scale(moved, self.scale)
            learned.late[:] += learned.counts[0] * (inside - learned.weights)
            learned.weights[:] = inside


class _FixedPass:
    """By a kernel, where values stay as they are during a pass."""

    def __init__(self, tuning: TuningSet, scorer: CandidateScorer, c: float) -> None:
        self._lists = ListArrays.of(tuning.candidates)
        self._scorer = scorer
        self._c = c

    def __call__(self, order: Ints, learned: PassState) -> None:
        edges = itertools.pairwise(self._lists.start.tolist())
        values = np.concatenate([self._scorer.values(*edge) for edge in edges])
        fixed_pass(order, self._lists, values, self._c, learned)


class _DocumentPass:
    """By a kernel, for BLEU of a document."""

    def __init__(
        self, tuning: TuningSet, scorer: DocumentScorer, metric: BLEU, c: float, adds_hope: bool
    ) -> None:
        self._lists = ListArrays.of(tuning.candidates)
        self._stats = np.ascontiguousarray(tuning.stats.T)
        self._scale = metric.reference_length_scale
        self._tuning, self._scorer = tuning, scorer
        self._c, self._adds_hope = c, adds_hope

    @cached_property
    def _slow(self) -> ExamplePass:
        return ExamplePass(self._tuning.examples(), self._scorer, self._c, self._adds_hope)

    def __call__(self, order: Ints, learned: PassState) -> None:
        done, scorer = 0, self._scorer
        while done < len(order):
            done = document_pass(
                *(order, done, self._lists, self._stats, self._scale),
                *(scorer.decay, self._adds_hope, scorer.document, self._c, learned),
            )
            if done < len(order):
                # The document lacks a match of some order: the metric knows what stands for it.
                self._slow.step(int(order[done]), learned)
                done += 1


def _is_plain(metric: Metric) -> TypeGuard[BLEU]:
    """Tell whether kernels know a metric."""
    return type(metric) is BLEU and metric.order == ORDER and metric.smoothing != "add-k"
