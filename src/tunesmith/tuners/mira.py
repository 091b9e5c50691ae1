"""Margin infused relaxed algorithm (Crammer and Singer 2003): section 3.2 of "Hope and fear"."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tunesmith.errors import UsageError
from tunesmith.inference.examples import Derivation, Example
from tunesmith.registry import option
from tunesmith.search.working_set import WorkingSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.learning import Change, Learned
from tunesmith.tuners.online import Online, Update


@TUNERS.register("mira")
@dataclass(frozen=True)
class MIRA(Online):
    """MIRA: the least change that makes margins as wide as losses, by cutting planes."""

    epsilon: float = option(0.01, "how exactly the problem of each sentence is solved")
    iterations: int = option(
        1000, "steps at most, each time that a candidate is added to the problem of a sentence"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.epsilon) and self.epsilon > 0.0):
            raise UsageError(f"epsilon is {self.epsilon:g}; give a number above 0")
        if self.iterations < 1:
            raise UsageError(f"iterations is {self.iterations}; give 1 or more")

    def begin(self, width: int) -> Update:
        """Return the update, with a working set that is used again and again."""
        working = WorkingSet(width, self.epsilon, self.iterations)

        def update(
            example: Example, target: Derivation, best: Derivation, learned: Learned
        ) -> Change | None:
            change = working.solve(example, target, learned.weights, learned.rates)
            return change if len(change[0]) else None

        return update
