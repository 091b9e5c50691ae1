"""Which weights count, where not all do: a cone of other variables.

Fixed, bounded and tied weights are linear in the variables that a search changes, but for
constants and limits. With a scale as one more variable, which these are multiplied by, they are a
cone: weights are ``matrix`` times the variables, divided by the scale, for all variables with
``rows`` times the variables above 0. A search keeps to it as to a sentence whose only good
candidate wins inside of the cone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.search.space.space import Space


@dataclass(frozen=True)
class Region:
    """The weights that count.

    Attributes
    ----------
    matrix : float64[D, V]
        What the weights are of the variables; the last variable is the scale, if there is one.
    rows : float64[R, V]
        What is above 0 inside.
    has_scale
        Whether weights are divided by the last variable.
    limits
        Of a box: what the variables are between, where the scale is 1.
    """

    matrix: Floats
    rows: Floats
    has_scale: bool
    limits: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, space: Space) -> Region | None:
        """Return the region of a space; None where nothing is restricted."""
        if space.is_free:
            return None
        count, has_scale = space.variables, space.pins_scale
        matrix = np.zeros((len(space.names), count + has_scale))
        for d, owner in enumerate(space.owner):
            if owner >= 0:
                matrix[d, owner] = space.factor[d]
            elif has_scale:
                matrix[d, -1] = space.factor[d]
        return cls(matrix, _rows(space.low, space.high, has_scale), has_scale)

    @classmethod
    def box(cls, weights: Floats, share: float) -> Region:
        """Return the region in which no weight is farther off than a share of it, but for scale."""
        varied = np.flatnonzero(weights)
        matrix = np.zeros((len(weights), len(varied) + 1))
        matrix[varied, np.arange(len(varied))] = 1.0
        around = weights[varied]
        away = share * np.abs(around)
        low, high = around - away, around + away
        limits = np.append(low, 1.0), np.append(high, 1.0)
        return cls(matrix, _rows(low, high, True), True, limits)

    def weights(self, variables: Floats) -> Floats:
        """Return the weights that variables stand for."""
        weights: Floats = self.matrix @ variables
        if self.has_scale and variables[-1] > 0.0:
            weights = weights / variables[-1]
        return weights

    def variables(self, weights: Floats) -> Floats:
        """Return the variables of weights inside."""
        count = self.matrix.shape[1] - self.has_scale
        rest = weights - self.matrix[:, -1] if self.has_scale else weights
        values = np.asarray(np.linalg.lstsq(self.matrix[:, :count], rest, rcond=None)[0])
        return np.append(values, 1.0) if self.has_scale else values


def _rows(low: Floats, high: Floats, has_scale: bool) -> Floats:
    """Return what is above 0 where variables are above one limit and below another."""
    size = len(low)
    rows = []
    for v in range(size):
        for limit, sign in ((low[v], 1.0), (high[v], -1.0)):
            if np.isfinite(limit):
                row = np.zeros(size + has_scale)
                row[v] = sign
                if has_scale:
                    row[-1] = -sign * limit
                rows.append(row)
    if has_scale:
        rows.append(np.eye(1, size + 1, size)[0])
    return np.array(rows).reshape(-1, size + has_scale)
