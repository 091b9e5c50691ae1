"""Stochastic gradient descent on the hinge loss: Algorithm 1 of "Hope and fear".

Asynchronous learners (section 6.2) send each other their updates, which are summed: a learner adds
those that have come in together with its own. So a learner's weights and what still waits for it
are the same for all, as with a single master vector. The rates must be lower than for one learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.inference.examples import Derivation, Example, difference
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.hope_fear import HopeFear, HopeFearRule
from tunesmith.tuners.online.learner import SentenceUpdate
from tunesmith.tuners.online.model import Model, Update


class SGDRule(HopeFearRule):
    """Follow the gradient of the hinge loss."""

    def __call__(
        self,
        example: Example,
        best: Derivation,
        model: Model,
        epoch: int,
        received: Sequence[SharedSet] = (),
    ) -> SentenceUpdate:
        """Find the update; among asynchronous learners, add those of others and send the own."""
        update = super().__call__(example, best, model, epoch)
        if not self._tuner.exchanges:
            return update
        updates = [(shared.features, shared.values) for shared in received]
        if update.x is None:
            return SentenceUpdate(_summed(updates))
        features, values = update.x
        shared = SharedSet(np.zeros(1), np.array([0, len(features)]), features, values)
        return SentenceUpdate(_summed([update.x, *updates]), working_set=shared)

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


def _summed(updates: Sequence[Update]) -> Update | None:
    """Add up sparse vectors, in their order; None if there are none."""
    if len(updates) < 2:
        return updates[0] if updates else None
    features, places = np.unique(np.concatenate([u[0] for u in updates]), return_inverse=True)
    values = np.zeros(len(features))
    np.add.at(values, places, np.concatenate([u[1] for u in updates]))
    return features, values


@TUNERS.register("sgd")
@dataclass(frozen=True)
class SGD(HopeFear):
    """Stochastic gradient descent: towards the reference derivation, away from the fear one."""

    can_exchange: ClassVar[bool] = True
    drops_sets: ClassVar[bool] = False

    def rule(self, width: int) -> SGDRule:
        """Return the update rule."""
        return SGDRule(self)
