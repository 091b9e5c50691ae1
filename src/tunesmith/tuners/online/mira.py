"""Margin infused relaxed algorithm (Crammer and Singer 2003): section 3.2 of "Hope and fear"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.inference.examples import Derivation, Example
from tunesmith.registry import option
from tunesmith.search.working_set.solver import SharedSet, WorkingSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.base import Online
from tunesmith.tuners.online.learned import Change, Learned


@TUNERS.register("mira")
@dataclass(frozen=True)
class MIRA(Online):
    """MIRA: the least change that makes margins as wide as losses, by cutting planes."""

    epsilon: float = option(0.01, "how exactly the problem of each sentence is solved")
    iterations: int = option(
        1000, "steps at most, each time that a candidate is added to the problem of a sentence"
    )

    can_exchange: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.epsilon) and self.epsilon > 0.0):
            raise UsageError(f"epsilon is {self.epsilon:g}; give a number above 0")
        if self.iterations < 1:
            raise UsageError(f"iterations is {self.iterations}; give 1 or more")

    def begin(self, width: int) -> MarginUpdate:
        """Return the update, with a working set that is used again and again."""
        return MarginUpdate(width, self.epsilon, self.iterations)


class MarginUpdate:
    """The least change that makes margins as wide as losses, of an example and of others' sets."""

    def __init__(self, width: int, epsilon: float, iterations: int) -> None:
        self._working = WorkingSet(width, epsilon, iterations)

    def __call__(
        self,
        example: Example,
        target: Derivation,
        best: Derivation,
        learned: Learned,
        received: Sequence[SharedSet] = (),
        grows: bool = True,
    ) -> Change | None:
        """Return x of the optimum."""
        source = example if grows else cast("Example", _Only(target))
        change = self._working.solve(source, target, learned.weights, learned.rates, received)
        return change if len(change[0]) else None

    def shared(self) -> SharedSet:
        """Return the working set of the last example."""
        return self._working.shared()


class _Only:
    """An example with one derivation, as far as a working set asks: no other is feared."""

    def __init__(self, derivation: Derivation) -> None:
        self._derivation = derivation

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        return self._derivation
