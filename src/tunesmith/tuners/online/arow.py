"""Adaptive regularisation of weights (Crammer et al. 2009): section 3.3 of "Hope and fear"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.kernels import kernel
from tunesmith.registry import option
from tunesmith.search.space.space import Space
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.model import Model, Update


@TUNERS.register("arow")
@dataclass(frozen=True)
class AROW(MIRA):
    """AROW: MIRA in which weights that have changed often change less.

    Every weight has a variance (Σ), which replaces the learning rate. It starts at ``rate``, or
    as ``feature_rate`` says, and shrinks with every update.
    """

    rate: float = option(1.0, "the initial learning rates, or variances", above=0, below=np.inf)
    confidence: float = option(
        0.01,
        "how fast updates lower the learning rates of their features (lambda)",
        least=0,
        below=np.inf,
    )

    def model(self, weights: Floats, rates: Floats, space: Space) -> GaussianModel:
        """Return a model whose rates fall with every update."""
        return GaussianModel(weights, rates, self.confidence, space)


class GaussianModel(Model):
    """Weights with means w and variances Σ, of which the latter are the learning rates."""

    def __init__(
        self, weights: Floats, rates: Floats, confidence: float, space: Space | None = None
    ) -> None:
        super().__init__(weights, rates, space)
        self.confidence = confidence

    def add(self, update: Update | None) -> None:
        """Update w, then add λ diag(x²) to Σ⁻¹ (Algorithm 3, line 10).

        With working sets of other learners (Algorithm 4) x is that of all sets together: the
        joint problem is taken as that of one example. The paper does not say.
        """
        super().add(update)
        if update is not None:
            shrink(*update, self.confidence, self.rates)


@kernel
def shrink(features: Ids, values: Floats, confidence: float, rates: Floats) -> None:
    """Let 1 / rate grow by the square of each value; by no bit if confidence is 0."""
    for k in range(features.shape[0]):
        rate = rates[features[k]]
        rates[features[k]] = rate / (1.0 + confidence * values[k] * values[k] * rate)
