"""Margin infused relaxed algorithm (Crammer and Singer 2003): section 3.2 of "Hope and fear"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.examples import Derivation, Example
from tunesmith.registry import option
from tunesmith.search.space.space import Space
from tunesmith.search.working_set.solver import SharedSet, WorkingSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.hope_fear import HopeFear
from tunesmith.tuners.online.learner import SentenceUpdate
from tunesmith.tuners.online.model import Model


class MIRARule:
    """The least change that makes margins as wide as losses (Algorithm 2, and 4 with others' sets).

    The working set is used for one sentence after the other.
    """

    def __init__(self, tuner: MIRA, width: int) -> None:
        self._tuner = tuner
        self._working_set = WorkingSet(width, tuner.epsilon, tuner.iterations)
        self._broadcasts = tuner.exchanges

    def __call__(
        self,
        example: Example,
        best: Derivation,
        model: Model,
        epoch: int,
        received: Sequence[SharedSet] = (),
    ) -> SentenceUpdate:
        """Return x of the optimum, and the working set if there are learners to send it to."""
        target = self._tuner.target(example, model.weights, epoch)
        if target is None:
            # There is no reference derivation: the sets of others are all that can be optimised.
            target, example = best, cast("Example", _SingleDerivation(best))
        space = model.space
        if space is not None and space.compounds:
            restricted = _Pooled(example, space, model.rates)
            target, example = restricted.of(target), cast("Example", restricted)
        x = self._working_set.solve(example, target, model.weights, model.rates, received)
        shared = self._working_set.shared() if self._broadcasts else None
        return SentenceUpdate(x if len(x[0]) else None, working_set=shared or None)


class _SingleDerivation:
    """An example with one derivation, as far as a working set asks: no other is feared."""

    def __init__(self, derivation: Derivation) -> None:
        self._derivation = derivation

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        return self._derivation


class _Pooled:
    """An example among tied weights, as far as a working set asks.

    Features of derivations are replaced by what they are to weights that move together.
    """

    def __init__(self, example: Example, space: Space, rates: Floats) -> None:
        self._example, self._space, self._rates = example, space, rates

    def of(self, derivation: Derivation) -> Derivation:
        features, values = self._space.pooled(derivation.features, derivation.values, self._rates)
        return replace(derivation, features=features, values=values)

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        return self.of(self._example.augmented(weights, factor))


@TUNERS.register("mira")
@dataclass(frozen=True)
class MIRA(HopeFear):
    """MIRA: the smallest change that makes every margin as wide as its loss, by cutting planes."""

    epsilon: float = option(
        0.01, "precision to which the problem of each sentence is solved", above=0, below=np.inf
    )
    iterations: int = option(
        1000,
        "most steps each time a candidate is added to the problem of a sentence",
        least=1,
    )

    can_exchange: ClassVar[bool] = True

    def rule(self, width: int) -> MIRARule:
        """Return the update rule, with a working set over this many features."""
        return MIRARule(self, width)
