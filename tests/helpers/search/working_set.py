"""The quadratic programme of MIRA and AROW over all derivations, and its optimum's conditions."""

from __future__ import annotations

import numpy as np

from tunesmith.inference.examples import Derivation

EPSILON = 0.01


class Brute:
    """An example of feature vectors and gains, without anything of the package's own search."""

    def __init__(self, vectors, gains):
        self.vectors = np.asarray(vectors, float)
        self.gains = np.asarray(gains, float)

    def derivation(self, key):
        vector = self.vectors[key]
        own = np.flatnonzero(vector).astype(np.int32)
        return Derivation(own, vector[own], np.zeros(1), float(self.gains[key]), key)

    def augmented(self, weights, factor):
        return self.derivation(int(np.argmax(self.vectors @ weights + factor * self.gains)))

    def away(self, target):
        """Return h(d_i) − h(d) of all derivations."""
        return self.vectors[target] - self.vectors

    def violations(self, target, weights):
        """Return v_d of all derivations."""
        return self.gains[target] - self.gains - self.away(target) @ weights


def unmet_condition(example, target, weights, rates, alpha, new, epsilon):
    """Return which of the conditions of the optimum (Karush, Kuhn, Tucker) does not hold."""
    violations = example.violations(target, new)
    slack = violations.max()  # the least that makes all constraints hold
    small = 1e-9 * (1.0 + np.abs(violations).max())
    x = alpha @ example.away(target)
    if (alpha < 0.0).any() or abs(alpha.sum() - 1.0) > 1e-9:
        return "multipliers"
    if not np.allclose(new, weights + rates * x, rtol=1e-9, atol=1e-9):
        return "stationarity"
    if (slack - violations[alpha > 0.0] > 2.0 * epsilon + small).any():
        return "complementary slackness"
    return None


def primal(example, target, weights, rates, new):
    """Return the value of equation 6."""
    moved = float(((new - weights) ** 2 / rates).sum())
    return 0.5 * moved + float(example.violations(target, new).max())
