"""The structured perceptron (Collins 2002), as section 3.1 of "Hope and fear" has it."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.inference.examples import Derivation, Example, difference
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.base import Online, Update
from tunesmith.tuners.online.learned import Change, Learned


@TUNERS.register("perceptron")
@dataclass(frozen=True)
class Perceptron(Online):
    """Structured perceptron: towards the reference derivation, away from the 1-best."""

    def begin(self, width: int) -> Update:
        """Return the update; it remembers nothing."""
        return _update


def _update(
    example: Example, target: Derivation, best: Derivation, learned: Learned
) -> Change | None:
    """Return h(d_i) − h(d̂)."""
    if best.key == target.key:
        return None
    return difference(target.features, target.values, best.features, best.values)
