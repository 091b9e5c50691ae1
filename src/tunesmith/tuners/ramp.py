"""Rampion: Gimpel and Smith, "Structured ramp loss minimization for machine translation".

NAACL 2012, section 4: Algorithm 1, on lists that stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.examples import Derivation, Examples, difference
from tunesmith.inference.lists.hope_fear import Descent, ListArrays, descend, ramp_pass, take_in
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.candidate_scorer import CandidateScorer, DocumentScorer, Objective
from tunesmith.registry import Numbers, numbers, option
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.fitting.rounds import Round, Rounds

#: How much a step changes the margin between hope and fear, in the unit of what candidates are
#: worth (words, for BLEU), where their features differ as much as on average.
USUAL_STEP = 0.1


@TUNERS.register("ramp")
@dataclass(frozen=True, kw_only=True)
class Ramp(Rounds):
    """Rampion: the ramp loss, hope against fear, by convex steps.

    The loss of a sentence is max (w·h − B) − max (w·h + B), where B is the worth of a candidate:
    the first maximum is that of the fear candidate, the second that of the hope candidate. Each
    round fixes the hope candidates of all sentences. The rest is convex, and a few passes of
    stochastic gradient descent lower it, each step away from the current fear candidate. A penalty
    pulls towards the starting weights w₀: each of S sentences adds
    rate · (h(hope) − h(fear)) − rate · strength · (w − w₀) / S.

    The paper's rate, 0.0001, suits its features and its cost. By default the rate is 0.1 over the
    mean squared distance of hope and fear where they differ at the start, so that it means the
    same for features of any size. The weights of a round are the average over its passes.

    The loss depends on the size of the weights: with small ones, the fear candidate is hardly more
    than the one worth least. A ``start_scale`` above 1 gives good starting weights more influence;
    on lists with sparse features the result was worse than a good start without it.
    """

    iterations: int = option(10, "how many times hope candidates are chosen", least=1)
    passes: int = option(5, "passes over all sentences for each choice of hope candidates", least=1)
    rate: float | None = option(
        None,
        "the learning rate [default: 0.1 over the mean squared distance of hope and fear]",
        above=0,
        below=np.inf,
    )
    strength: Numbers = option(
        (1.0,),
        "strength of the pull towards the starting weights; a held-out set chooses among several",
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
    average: bool = option(True, "average the weights over the passes of a round")

    has_hope: ClassVar[bool] = True
    varied: ClassVar[tuple[str, ...]] = ("objective", "strength", "start_scale")
    usual: ClassVar[tuple[str, str]] = ("document:decay=0.999", "document:decay=0.999")

    @property
    def round_count(self) -> int:
        """How often hope candidates are chosen."""
        return self.iterations

    def own_start(self, tuning: Task) -> Floats:
        """Return 0: steps are short, and would not undo large weights that mean nothing."""
        return np.zeros(len(tuning.names))

    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Choose hope candidates, and descend."""
        (strength,), (scale,) = self.strength, self.start_scale
        examples = tuning.examples()
        scorer = self.scorer_for(objective, tuning, "examples", start)
        origin = scale * start
        weights = origin.copy()
        space = self.space(tuning.names, start)
        rate = 0.0 if self.rate is None else self.rate
        go = self._way(tuning, scorer, space)
        for _ in range(self.iterations):
            hopes = _augmented(examples, scorer, weights, 1.0)
            if rate == 0.0:
                fears = _augmented(examples, scorer, weights, -1.0)
                rate = usual_rate(hopes, fears, space)
            # All the way back to the origin is as far as a penalty draws.
            back = min(1.0, rate * strength / examples.groups)
            descent = Descent(weights, np.zeros(len(weights)), origin, rate, back)
            for number in range(self.passes):
                order = rng.permutation(examples.groups)
                go(order, hopes, descent, number * examples.groups)
            yield Round((descent.mean if self.average else weights) / scale, {"rate": rate})
            if objective.changes_by_round and not isinstance(scorer, DocumentScorer):
                winners = _augmented(examples, scorer, weights, 0.0)
                scorer.end_round(np.sum([winner.stats for winner in winners], axis=0))

    def _way(self, tuning: Task, scorer: CandidateScorer, space: Space) -> Way:
        """Return the quickest way to go over a set."""
        (scale,) = self.start_scale
        slow = ExampleWay(tuning.examples(), scorer, space, scale)
        plain = isinstance(scorer, DocumentScorer) and type(scorer.metric) is BLEU
        if tuning.lists is None or not plain or not space.is_free:
            return slow
        return _DocumentWay(slow, tuning.lists)


class Way(Protocol):
    """A way to go over the sentences of a set."""

    def __call__(
        self, order: Ints, hopes: Sequence[Derivation], descent: Descent, number: int
    ) -> None:
        """Go over sentences in an order, given the number of steps before."""
        ...


@dataclass(frozen=True)
class ExampleWay:
    """Sentence by sentence, whatever they are worth and whatever form they have.

    With restrictions a step ends at the nearest weights that satisfy them: subgradient descent
    with projections.
    """

    examples: Examples
    scorer: CandidateScorer
    space: Space
    scale: float

    def __call__(
        self, order: Ints, hopes: Sequence[Derivation], descent: Descent, number: int
    ) -> None:
        """Go over sentences in an order, given the number of steps before."""
        for done, group in enumerate(order, number + 1):
            hope, weights = hopes[group], descent.weights
            fear = self.examples.example(int(group), self.scorer).augmented(weights, -1.0)
            away = difference(hope.features, hope.values, fear.features, fear.values)
            descend(*away, descent)
            weights[:] = self.space.at_scale(weights, self.scale)
            take_in(descent, done)
            self.scorer.add(hope.stats)


class _DocumentWay:
    """By a kernel, for BLEU of a document; to the bit the same."""

    def __init__(self, slow: ExampleWay, tuning: TuningSet) -> None:
        assert isinstance(slow.scorer, DocumentScorer)
        assert isinstance(slow.scorer.metric, BLEU)
        self._slow, self._scorer, self._stats = slow, slow.scorer, tuning.stats
        self._scoring = slow.scorer.metric.scoring
        self._lists = ListArrays.of(tuning.candidates)

    def __call__(
        self, order: Ints, hopes: Sequence[Derivation], descent: Descent, number: int
    ) -> None:
        """Go over sentences in an order, given the number of steps before."""
        rows = self._lists.start[:-1] + np.array([hope.key for hope in hopes], np.int64)
        done, scorer = 0, self._scorer
        while done < len(order):
            begin, document = done, scorer.document.copy()
            done = int(
                ramp_pass(
                    *(order, begin, self._lists, rows, self._stats, self._scoring),
                    *(scorer.decay, document, number + begin, descent),
                )
            )
            scorer.have_added(document, done - begin)
            if done < len(order):
                # The document has less than one word: the sentence's length counts.
                self._slow(order[done : done + 1], hopes, descent, number + done)
                done += 1


def _augmented(
    examples: Examples, scorer: CandidateScorer, weights: Floats, factor: float
) -> list[Derivation]:
    """Return the hope, fear or best candidate of each sentence."""
    groups = range(examples.groups)
    return [examples.example(group, scorer).augmented(weights, factor) for group in groups]


def usual_rate(hopes: Sequence[Derivation], fears: Sequence[Derivation], space: Space) -> float:
    """Return the rate with which a step changes the margin by so much on average.

    It is 0 where hope and fear are the same everywhere, or further apart than can be told.
    """
    squares = []
    for hope, fear in zip(hopes, fears, strict=True):
        if hope.key != fear.key:
            fired, away = difference(hope.features, hope.values, fear.features, fear.values)
            if not space.is_free:  # what cannot move changes no margin
                whole = np.zeros(len(space.names))
                whole[fired] = away
                projected = space.projected(whole)
                away = projected[projected != 0.0]  # sums round as they do without restrictions
            with np.errstate(over="ignore"):
                squares.append(float(np.square(away).sum()))
    mean = float(np.mean(squares)) if squares else 0.0
    return min(USUAL_STEP / mean, np.finfo(np.float64).max) if 0.0 < mean < np.inf else 0.0
