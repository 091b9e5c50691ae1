"""Stochastic gradient descent on the hinge loss: Algorithm 1 of "Hope and fear"."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.inference.examples import Derivation, Example, difference
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.base import Online, Update
from tunesmith.tuners.online.learned import Change, Learned


@TUNERS.register("sgd")
@dataclass(frozen=True)
class SGD(Online):
    """Stochastic gradient descent: towards the reference derivation, away from the fear one."""

    def begin(self, width: int) -> Update:
        """Return the update; it remembers nothing."""
        return _update


def _update(
    example: Example, target: Derivation, best: Derivation, learned: Learned
) -> Change | None:
    """Return h(d_i) − h(d⁺) (equation 5).

    The fear derivation d⁺ maximises w·h − B: the loss of a derivation is what it is worth less
    than d_i, which section 2.4 prints with the other sign.
    """
    fear = example.augmented(learned.weights, -1.0)
    if fear.key == target.key:
        return None
    return difference(target.features, target.values, fear.features, fear.values)
