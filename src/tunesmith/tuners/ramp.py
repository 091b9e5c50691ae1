"""Rampion: Gimpel and Smith, "Structured ramp loss minimization for machine translation".

NAACL 2012, section 4: Algorithm 1, on lists that stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.inference.examples import Derivation, Examples, difference
from tunesmith.kernels import kernel
from tunesmith.metrics.candidate_scorer import CandidateScorer, DocumentScorer, Objective
from tunesmith.registry import Numbers, numbers, option
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.fitting.rounds import Round, Rounds

#: How much a step changes the margin between hope and fear, in the unit of what candidates are
#: worth (words, for BLEU), where their features differ as much as on average.
USUAL_STEP = 0.1
#: Weights do not step beyond this: rates and features of any size leave them finite.
GREATEST = 1e250


@TUNERS.register("ramp")
@dataclass(frozen=True, kw_only=True)
class Ramp(Rounds):
    """Rampion: the ramp loss, hope against fear, by convex steps.

    The loss of a sentence is max (w·h − B) − max (w·h + B), where B is what a candidate is worth:
    that of its fear candidate less that of its hope candidate. Each round fixes the hope
    candidates of all sentences; what is left is convex, and a few passes of stochastic gradient
    descent lower it, each step away from the fear candidate of the moment. A penalty draws
    towards the starting weights w₀: of S sentences each adds
    rate · (h(hope) − h(fear)) − rate · strength · (w − w₀) / S.

    The paper's rate, 0.0001, suits its features and its cost. Unless one is given, the rate is
    0.1 over the mean squared distance of hope and fear where they differ at the start, so that
    it means the same for features of any size. The weights of a round are the average over its
    passes.

    The loss is that of the weights' own size: with small ones, fear is hardly more than what is
    worth least. A ``start_scale`` above 1 lets good starting weights decide more; it did so on
    lists with sparse features, where without it the result is worse than a good start.
    """

    iterations: int = option(10, "how often hope candidates are chosen anew", least=1)
    passes: int = option(
        5, "how often to go over all sentences for one choice of hope candidates", least=1
    )
    rate: float | None = option(
        None,
        "the learning rate [default: 0.1 over the mean squared distance of hope and fear]",
        above=0,
        below=np.inf,
    )
    strength: Numbers = option(
        (1.0,),
        "strength of the penalty that draws towards the starting weights; of several a held-out "
        "set chooses",
        convert=numbers,
        above=0,
        below=np.inf,
    )
    start_scale: Numbers = option(
        (1.0,),
        "what the starting weights are multiplied by, and the result divided by; of several a "
        "held-out set chooses",
        convert=numbers,
        above=0,
        least=1e-100,
        most=1e100,
    )
    average: bool = option(True, "take the average of the weights over the passes of a round")

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
        (scale,) = self.start_scale
        examples = tuning.examples()
        scorer = self.begun(objective, tuning, "examples", start)
        origin = scale * start
        weights = origin.copy()
        space = self.space(tuning.names, start)
        rate = 0.0 if self.rate is None else self.rate
        for _ in range(self.iterations):
            hopes = _augmented(examples, scorer, weights, 1.0)
            if rate == 0.0:
                fears = _augmented(examples, scorer, weights, -1.0)
                rate = usual_rate(hopes, fears, space)
            mean = self._descend(examples, scorer, hopes, origin, weights, rate, rng, space)
            yield Round((mean if self.average else weights) / scale, {"rate": rate})
            if objective.changes_by_round and not isinstance(scorer, DocumentScorer):
                winners = _augmented(examples, scorer, weights, 0.0)
                scorer.end_round(np.sum([winner.stats for winner in winners], axis=0))

    def _descend(
        self,
        examples: Examples,
        scorer: CandidateScorer,
        hopes: Sequence[Derivation],
        origin: Floats,
        weights: Floats,
        rate: float,
        rng: np.random.Generator,
        space: Space,
    ) -> Floats:
        """Go over all sentences a few times, change the weights, and return their average.

        With restrictions a step ends at the nearest weights that satisfy them: subgradient
        descent with projections.
        """
        (strength,), (scale,) = self.strength, self.start_scale
        # All the way back to the origin is as far as a penalty draws.
        back = min(1.0, rate * strength / examples.groups)
        mean, number = np.zeros(len(weights)), 0
        for _ in range(self.passes):
            for group in rng.permutation(examples.groups):
                hope = hopes[group]
                fear = examples.example(int(group), scorer).augmented(weights, -1.0)
                away = difference(hope.features, hope.values, fear.features, fear.values)
                descend(*away, rate, back, origin, weights)
                weights[:] = space.at_scale(weights, scale)
                number += 1
                _take_in(weights, number, mean)
                scorer.add(hope.stats)
        return mean


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


@kernel
def descend(
    features: Ids,
    values: Floats,
    rate: float,
    back: float,
    origin: Floats,
    weights: Floats,
) -> None:
    """Step by a difference of hope and fear, and a bit of the way back to the origin."""
    for d in range(weights.shape[0]):
        weights[d] -= back * (weights[d] - origin[d])
    for k in range(features.shape[0]):
        moved = weights[features[k]] + rate * values[k]
        if abs(moved) < GREATEST:
            weights[features[k]] = moved


@kernel
def _take_in(weights: Floats, number: int, mean: Floats) -> None:
    """Add the so-manieth vector to a mean; what never changes keeps its last digit."""
    for d in range(weights.shape[0]):
        mean[d] += (weights[d] - mean[d]) / number
