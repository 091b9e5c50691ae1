"""Stochastic gradient descent on the hinge loss: Algorithm 1 of "Hope and fear"."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.inference.examples import Derivation, Example, difference
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.hope_fear import HopeFear, HopeFearRule
from tunesmith.tuners.online.model import Model, Update


class SGDRule(HopeFearRule):
    """Follow the gradient of the hinge loss."""

    def update(
        self, example: Example, target: Derivation, best: Derivation, model: Model
    ) -> Update | None:
        """Return h(d_i) − h(d⁺) (equation 5).

        The fear derivation d⁺ maximises w·h − B: the loss of a derivation is how much less it is
        worth than d_i, which section 2.4 prints with the other sign.
        """
        fear = example.augmented(model.weights, -1.0)
        if fear.key == target.key:
            return None
        return difference(target.features, target.values, fear.features, fear.values)


@TUNERS.register("sgd")
@dataclass(frozen=True)
class SGD(HopeFear):
    """Stochastic gradient descent: towards the reference derivation, away from the fear one."""

    def rule(self, width: int) -> SGDRule:
        """Return the update rule."""
        return SGDRule(self)
