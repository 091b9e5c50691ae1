"""What weights may be: constants, ranges, equal ones, and groups that scale together.

A weight is a factor times a variable: the variables are what a search changes. A weight of
its own is a variable with factor 1; tied weights share one; the weights of a group share one
whose factors are their starting weights; a fixed weight has none. So every restriction but
the ranges holds by construction, and a range is a limit on the step along a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.inference.hypotheses import Direction
from tunesmith.search.line.search import EVERYWHERE
from tunesmith.search.space.constraints import Constraints

#: A variable is near to a limit within this share of its range, and of the usual variable.
NEAR = 0.05
#: The least learning rate among tied weights, relative to the greatest: nothing is divided by 0.
LEAST_RATE = 1e-12


@dataclass(frozen=True)
class Compound:
    """A variable of several weights.

    Attributes
    ----------
    variable
        Its index.
    features : int64[n]
        Whose weights they are, ascending.
    label
        How a history names it.
    """

    variable: int
    features: Ints
    label: str


@dataclass(frozen=True)
class Space:
    """The weights that a search may take.

    Attributes
    ----------
    names
        The D features.
    owner : int64[D]
        The variable of each weight, in the order of the features; -1 for a constant.
    factor : float64[D]
        What the variable is multiplied by; of a constant the weight itself.
    low, high : float64[V]
        The range of each variable: at both ends all its weights are within their ranges.
    weight_low, weight_high : float64[D]
        The range of each weight.
    compounds
        Variables of several weights.
    sums
        Whether weights of a result add up to 1. They are never negative then, and as no choice
        depends on their scale, it is enough to divide them by their sum in the end.
    """

    names: tuple[str, ...]
    owner: Ints
    factor: Floats
    low: Floats
    high: Floats
    weight_low: Floats
    weight_high: Floats
    compounds: tuple[Compound, ...] = ()
    sums: bool = False

    @classmethod
    def free(cls, names: Sequence[str]) -> Space:
        """Return the space in which every weight may be anything."""
        size = len(names)
        below, above = np.full(size, -np.inf), np.full(size, np.inf)
        return cls(tuple(names), np.arange(size), np.ones(size), below, above, below, above)

    @classmethod
    def of(cls, names: Sequence[str], start: Floats, constraints: Constraints) -> Space:
        """Hold restrictions against the features of some data.

        Parameters
        ----------
        names
            The features.
        start : float64[D]
            Starting weights, whose ratios the groups keep.
        constraints
            What a user asks for. A contradiction is a ``UsageError``.
        """
        if not constraints:
            return cls.free(names)
        from tunesmith.search.space.builder import Builder  # which makes spaces

        return Builder(tuple(names), start, constraints).build()

    @property
    def variables(self) -> int:
        """The number V of variables."""
        return len(self.low)

    @cached_property
    def is_free(self) -> bool:
        """Whether nothing is restricted."""
        return not self.is_bounded and not self.compounds and self.variables == len(self.names)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether any variable has a range."""
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @cached_property
    def pins_scale(self) -> bool:
        """Whether weights multiplied by a positive number may leave the space."""
        limits = np.concatenate([self.weight_low, self.weight_high])
        return bool((np.isfinite(limits) & (limits != 0.0)).any())

    def constant(self, name: str) -> float | None:
        """Return the only value that a weight may have, None if there are others."""
        feature = self.names.index(name)
        return float(self.factor[feature]) if self.owner[feature] < 0 else None

    def coordinates(self) -> list[Direction]:
        """Return the direction of each variable."""
        _, first = np.unique(
            np.where(self.owner < 0, self.variables, self.owner), return_index=True
        )
        directions = [Direction.along(int(d), self.names[d]) for d in first[: self.variables]]
        for compound in self.compounds:
            moving = compound.features[self.factor[compound.features] != 0.0]
            directions[compound.variable] = Direction(moving, self.factor[moving], compound.label)
        return directions

    def direction(self, values: Floats, label: str) -> Direction:
        """Return the direction with given components along the variables [V]."""
        return Direction.of(self.spread_out(values), label)

    def spread_out(self, values: Floats) -> Floats:
        """Turn changes of the variables [V] into changes of the weights [D]."""
        if self.is_free:
            return values
        varies = self.owner >= 0
        spread = np.zeros(len(self.names))
        spread[varies] = self.factor[varies] * values[self.owner[varies]]
        return spread

    def gathered(self, gradient: Floats) -> Floats:
        """Turn a derivative by the weights [D] into one by the variables [V]."""
        if self.is_free:
            return gradient
        varies = self.owner >= 0
        parts = self.factor[varies] * gradient[varies]
        sums = np.zeros(self.variables)
        np.add.at(sums, self.owner[varies], parts)
        return sums

    def feasible(self, values: Floats, weights: Floats, sizes: Floats) -> Floats:
        """Take out of a direction [V] what soon leads beyond a limit.

        A variable that is near to a limit would end the whole line there. Steps go to the middle
        of an interval, so that it would come nearer and nearer and never be on it.

        Parameters
        ----------
        values, weights : float64[V], float64[D]
            The direction, and where it begins.
        sizes : float64[V]
            How much each variable varies the model scores.
        """
        if not self.is_bounded:
            return values
        now = self.variables_of(weights)
        usual = np.sqrt(np.mean(np.square(now * sizes))) / sizes
        near = NEAR * np.minimum(usual, self.high - self.low)
        down, up = now <= self.low + near, now >= self.high - near
        return np.where((down & (values < 0)) | (up & (values > 0)), 0.0, values)

    def projected(self, direction: Floats) -> Floats:
        """Return the part [D] of a direction that leaves constants, ties and ratios as they are."""
        if len(self.compounds) == 0 and self.variables == len(self.names):
            return direction
        return self.spread_out(self.gathered(direction) / self.squares)

    def pooled(self, features: Ids, values: Floats, rates: Floats) -> tuple[Ids, Floats]:
        """Return the sparse vector x' for which Σx' is the part of Σx that the space allows.

        With Σ = diag(rates), a quadratic programme whose differences are such vectors has its
        optimum among tied weights and constant ratios; and w·x' = w·x for weights of the space.
        """
        if not self.compounds:
            return features, values
        whole = np.zeros(len(self.names))
        whole[features] = values
        for compound in self.compounds:
            at = compound.features
            factor, rate = self.factor[at], rates[at]
            counts = factor / np.maximum(rate / rate.max(), LEAST_RATE) if rate.any() else factor
            whole[at] = counts * ((factor * whole[at]).sum() / (factor * counts).sum())
        fired = np.flatnonzero(whole)
        return fired.astype(np.int32), whole[fired]

    def sizes(self, spread: Floats) -> Floats:
        """Return how much each variable varies the model scores, from the features' spread.

        Features that vary together are counted as if they did not.
        """
        if self.is_free:
            return spread
        sizes = np.empty(self.variables)
        varies = self.owner >= 0
        sizes[self.owner[varies]] = spread[varies]
        for compound in self.compounds:
            parts = self.factor[compound.features] * spread[compound.features]
            sizes[compound.variable] = np.sqrt(np.square(parts).sum())
        return sizes

    def limits(self, weights: Floats, direction: Direction) -> tuple[float, float]:
        """Return the least and the greatest step that no range forbids; 0 is between them."""
        if not self.is_bounded:
            return EVERYWHERE
        at, slopes = direction.features, direction.values
        with np.errstate(over="ignore"):
            to_low = (self.weight_low[at] - weights[at]) / slopes
            to_high = (self.weight_high[at] - weights[at]) / slopes
        low, high = np.minimum(to_low, to_high).max(), np.maximum(to_low, to_high).min()
        # Rounding may have put a weight beyond its limit by a bit.
        return min(float(low), 0.0), max(float(high), 0.0)

    def inward(self, values: Floats, weights: Floats) -> Floats:
        """Turn a drawn direction [V] away from the limits on which the weights stand.

        A single weight on its limit would otherwise forbid one half of the line, and two the
        whole of it in half of the cases.
        """
        if not self.is_bounded:
            return values
        now = self.variables_of(weights)
        size = np.abs(values)
        return np.where(now <= self.low, size, np.where(now >= self.high, -size, values))

    def exact(self, weights: Floats) -> Floats:
        """Return the nearest weights that satisfy everything to the last bit.

        Constants are as given, tied weights have the same bits, those of a group are one
        number times their starting weights, and ranges are kept by going to their nearer
        end. Weights that satisfy everything come back as they are.
        """
        if self.is_free:
            return weights
        return self._weights(np.clip(self.variables_of(weights), self.low, self.high))

    def nearest(self, weights: Floats, rates: Floats) -> Floats:
        """Return the weights of the space that are nearest by Σ (w − w')² / rate.

        This is the projection that follows a step in which each weight has a rate of its own.
        """
        if self.is_free:
            return weights
        return self._weights(np.clip(self.variables_of(weights, rates), self.low, self.high))

    def at_scale(self, weights: Floats, scale: float) -> Floats:
        """Return the nearest weights that are a number times weights of the space."""
        if self.is_free:
            return weights
        unscaled = weights / scale
        exact = self.exact(unscaled)
        return weights if np.array_equal(exact, unscaled) else exact * scale

    def reported(self, weights: Floats) -> Floats:
        """Return weights as a result has them: exact, and divided by their sum if it is to be 1."""
        exact = self.exact(weights)
        return self._summing_to_one(exact) if self.sums else exact

    def _summing_to_one(self, weights: Floats) -> Floats:
        """Return weights whose sum, rounded once, is 1; equal variables where all weights are 0."""
        if math.fsum(weights) == 1.0:
            return weights
        share = self.gathered_factors
        values = self.variables_of(weights) if weights.any() else 1.0 / share
        values = values / np.abs(values).max()  # neither over- nor underflow
        values = values / math.fsum(self._weights(values))
        for _ in range(4):  # the last bits
            for variable in np.argsort(-values * share, kind="stable"):
                weights = self._weights(values)
                if math.fsum(weights) == 1.0:
                    return weights
                moved = values[variable] + math.fsum([1.0, *(-weights)]) / share[variable]
                if moved * values[variable] > 0.0:
                    values[variable] = moved
        return self._weights(values)

    @cached_property
    def gathered_factors(self) -> Floats:
        """What each variable adds to the sum of all weights, where it is 1."""
        sums = np.zeros(self.variables)
        varies = self.owner >= 0
        np.add.at(sums, self.owner[varies], self.factor[varies])
        return sums

    @cached_property
    def squares(self) -> Floats:
        """What the squared weights of each variable add up to, where it is 1."""
        sums = np.zeros(self.variables)
        varies = self.owner >= 0
        np.add.at(sums, self.owner[varies], np.square(self.factor[varies]))
        return sums

    @cached_property
    def matrix(self) -> csr_array:
        """The weights [D, V] that each variable adds where it is 1, beside the constants."""
        varies = np.flatnonzero(self.owner >= 0)
        entries = self.factor[varies], (varies, self.owner[varies])
        return csr_array(entries, shape=(len(self.names), self.variables))

    @property
    def constants(self) -> Floats:
        """The weights [D] that do not vary, 0 for the others."""
        return np.where(self.owner < 0, self.factor, 0.0)

    def of_variables(self, values: Floats) -> Floats:
        """Return the weights [D] of variables [V], brought into their ranges."""
        return self._weights(np.clip(values, self.low, self.high))

    def inside(self, weights: Floats) -> Floats:
        """Bring drawn weights into the space, mirrored at the ends of ranges.

        Going to the nearer end instead would put half of all drawn weights on it.
        """
        if self.is_free:
            return weights
        now = _mirrored(self.variables_of(weights), self.low, self.high)
        return self._weights(np.clip(now, self.low, self.high))

    def _weights(self, values: Floats) -> Floats:
        weights = self.factor.copy()
        varies = self.owner >= 0
        weights[varies] *= values[self.owner[varies]]
        return weights + 0.0  # no negative zeros

    def variables_of(self, weights: Floats, rates: Floats | None = None) -> Floats:
        """Return the variables [V] that come nearest to some weights.

        Deviations are divided by the root of ``rates`` [D], where they are given.
        """
        result = np.empty(self.variables)
        varies = self.owner >= 0
        result[self.owner[varies]] = weights[varies]
        for compound in self.compounds:
            scaled, factor = weights[compound.features], self.factor[compound.features]
            shares = None if rates is None else rates[compound.features]
            result[compound.variable] = _nearest_multiple(scaled, factor, shares)
        return result


def _nearest_multiple(weights: Floats, factor: Floats, rates: Floats | None = None) -> float:
    """Return the number whose products with the factors are nearest to some weights.

    If they are such products already, a number that gives the same bits again. A weight whose
    rate is small counts much.
    """
    largest = int(np.argmax(np.abs(factor)))
    ratio = weights[largest] / factor[largest]
    down, up = np.nextafter(ratio, -np.inf), np.nextafter(ratio, np.inf)
    # A product and a quotient round twice, so the number is within two units of the ratio.
    for near in (ratio, down, up, np.nextafter(down, -np.inf), np.nextafter(up, np.inf)):
        if np.array_equal(near * factor, weights):
            return float(near)
    unit = factor / factor[largest]
    counts = unit if rates is None else unit / np.maximum(rates / rates.max(), LEAST_RATE)
    return float((weights * counts).sum() / (unit * counts).sum() / factor[largest])


def _mirrored(values: Floats, low: Floats, high: Floats) -> Floats:
    reflected = values.copy()
    both = np.isfinite(low) & np.isfinite(high)
    outside = (values < low) | (values > high)
    for k in np.flatnonzero(outside):
        if both[k]:
            width = high[k] - low[k]
            way = (values[k] - low[k]) % (2 * width)
            reflected[k] = low[k] + min(way, 2 * width - way)
        else:
            reflected[k] = 2 * (low[k] if values[k] < low[k] else high[k]) - values[k]
    return reflected
