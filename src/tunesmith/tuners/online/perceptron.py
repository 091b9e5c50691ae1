"""The structured perceptron (Collins 2002), as section 3.1 of "Hope and fear" has it."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.inference.examples import Derivation, Example, difference
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.hope_fear import HopeFear, HopeFearRule
from tunesmith.tuners.online.model import Model, Update


class PerceptronRule(HopeFearRule):
    """Move towards the reference derivation, away from the 1-best."""

    def update(
        self, example: Example, target: Derivation, best: Derivation, model: Model
    ) -> Update | None:
        """Return h(d_i) − h(d̂)."""
        if best.key == target.key:
            return None
        return difference(target.features, target.values, best.features, best.values)


@TUNERS.register("perceptron")
@dataclass(frozen=True)
class Perceptron(HopeFear):
    """Structured perceptron: towards the reference derivation, away from the 1-best."""

    def rule(self, width: int) -> PerceptronRule:
        """Return the update rule."""
        return PerceptronRule(self)
