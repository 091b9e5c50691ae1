"""What weights may be: constants, ranges, equal ones, and groups that scale together.

A weight is a factor times a variable: the variables are what a search changes. A weight of
its own is a variable with factor 1; tied weights share one; the weights of a group share one
whose factors are their starting weights; a fixed weight has none. So every restriction but
the ranges holds by construction, and a range is a limit on the step along a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.search.constraints import Constraints, names_in, unknown_feature
from tunesmith.search.line import EVERYWHERE

#: A variable is near to a limit within this share of its range, and of the usual variable.
NEAR = 0.05


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
    """

    names: tuple[str, ...]
    owner: Ints
    factor: Floats
    low: Floats
    high: Floats
    weight_low: Floats
    weight_high: Floats
    compounds: tuple[Compound, ...] = ()

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
        return _Builder(tuple(names), start, constraints).build()

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
        found = [Direction.along(int(d), self.names[d]) for d in first[: self.variables]]
        for compound in self.compounds:
            moving = compound.features[self.factor[compound.features] != 0.0]
            found[compound.variable] = Direction(moving, self.factor[moving], compound.label)
        return found

    def direction(self, values: Floats, label: str) -> Direction:
        """Return the direction with given components along the variables [V]."""
        return Direction.of(self.spread_out(values), label)

    def spread_out(self, values: Floats) -> Floats:
        """Turn changes of the variables [V] into changes of the weights [D]."""
        if self.is_free:
            return values
        varies = self.owner >= 0
        found = np.zeros(len(self.names))
        found[varies] = self.factor[varies] * values[self.owner[varies]]
        return found

    def gathered(self, gradient: Floats) -> Floats:
        """Turn a derivative by the weights [D] into one by the variables [V]."""
        if self.is_free:
            return gradient
        varies = self.owner >= 0
        parts = self.factor[varies] * gradient[varies]
        found = np.zeros(self.variables)
        np.add.at(found, self.owner[varies], parts)
        return found

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
        now = self._variables(weights)
        usual = np.sqrt(np.mean(np.square(now * sizes))) / sizes
        near = NEAR * np.minimum(usual, self.high - self.low)
        down, up = now <= self.low + near, now >= self.high - near
        return np.where((down & (values < 0)) | (up & (values > 0)), 0.0, values)

    def sizes(self, spread: Floats) -> Floats:
        """Return how much each variable varies the model scores, from the features' spread.

        Features that vary together are counted as if they did not.
        """
        if self.is_free:
            return spread
        found = np.empty(self.variables)
        varies = self.owner >= 0
        found[self.owner[varies]] = spread[varies]
        for compound in self.compounds:
            parts = self.factor[compound.features] * spread[compound.features]
            found[compound.variable] = np.sqrt(np.square(parts).sum())
        return found

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
        now = self._variables(weights)
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
        return self._weights(np.clip(self._variables(weights), self.low, self.high))

    def inside(self, weights: Floats) -> Floats:
        """Bring drawn weights into the space, mirrored at the ends of ranges.

        Going to the nearer end instead would put half of all drawn weights on it.
        """
        if self.is_free:
            return weights
        now = _mirrored(self._variables(weights), self.low, self.high)
        return self._weights(np.clip(now, self.low, self.high))

    def _weights(self, values: Floats) -> Floats:
        found = self.factor.copy()
        varies = self.owner >= 0
        found[varies] *= values[self.owner[varies]]
        return found + 0.0  # no negative zeros

    def _variables(self, weights: Floats) -> Floats:
        """Return the variables [V] that come nearest to some weights."""
        found = np.empty(self.variables)
        varies = self.owner >= 0
        found[self.owner[varies]] = weights[varies]
        for compound in self.compounds:
            held, factor = weights[compound.features], self.factor[compound.features]
            found[compound.variable] = _nearest_multiple(held, factor)
        return found


def _nearest_multiple(weights: Floats, factor: Floats) -> float:
    """Return the number whose products with the factors are nearest to some weights.

    If they are such products already, a number that gives the same bits again.
    """
    largest = int(np.argmax(np.abs(factor)))
    ratio = weights[largest] / factor[largest]
    down, up = np.nextafter(ratio, -np.inf), np.nextafter(ratio, np.inf)
    # A product and a quotient round twice, so the number is within two units of the ratio.
    for near in (ratio, down, up, np.nextafter(down, -np.inf), np.nextafter(up, np.inf)):
        if np.array_equal(near * factor, weights):
            return float(near)
    unit = factor / factor[largest]
    return float((weights * unit).sum() / np.square(unit).sum() / factor[largest])


def _mirrored(values: Floats, low: Floats, high: Floats) -> Floats:
    found = values.copy()
    both = np.isfinite(low) & np.isfinite(high)
    outside = (values < low) | (values > high)
    for k in np.flatnonzero(outside):
        if both[k]:
            width = high[k] - low[k]
            way = (values[k] - low[k]) % (2 * width)
            found[k] = low[k] + min(way, 2 * width - way)
        else:
            found[k] = 2 * (low[k] if values[k] < low[k] else high[k]) - values[k]
    return found


class _Builder:
    """Builds a space, and finds what contradicts itself on the way."""

    def __init__(self, names: tuple[str, ...], start: Floats, constraints: Constraints) -> None:
        self.names = names
        self.start = start
        self.index = {name: d for d, name in enumerate(names)}
        self.constraints = constraints

    def build(self) -> Space:
        low, high = self._ranges()
        fixed = self._fixed(low, high)
        ties = self._ties()
        groups = self._groups(fixed, ties)
        # One block of features a variable, in the order of the features.
        factor = np.ones(len(self.names))
        blocks: list[tuple[list[int], str]] = [(t, "=") for t in ties] + [(g, ",") for g in groups]
        for group in groups:
            factor[group] = self.start[group]
        shared = {d for block, _ in blocks for d in block}
        blocks += [([d], "") for d in range(len(self.names)) if d not in shared]
        blocks.sort(key=lambda block: min(block[0]))

        owner = np.full(len(self.names), -1)
        lows: list[float] = []
        highs: list[float] = []
        compounds: list[Compound] = []
        for block, sign in blocks:
            at = np.array(sorted(block))
            label = sign.join(self.names[d] for d in block)
            least, greatest = self._range(at, factor[at], low, high, label, sign)
            value = self._common(block, fixed, least, greatest, label)
            if value is None and least < greatest:
                owner[at] = len(lows)
                if sign:
                    compounds.append(Compound(len(lows), at, label))
                lows.append(least)
                highs.append(greatest)
            else:
                factor[at] *= least if value is None else value
                low[at] = high[at] = factor[at]
        if not lows:
            raise UsageError("every weight is constant; nothing is left to tune, fix fewer")
        return Space(
            self.names, owner, factor, np.array(lows), np.array(highs), low, high, tuple(compounds)
        )

    def _find(self, name: str, where: str) -> int:
        if name not in self.index:
            raise unknown_feature(name, self.names, where)
        return self.index[name]

    def _ranges(self) -> tuple[Floats, Floats]:
        low, high = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        for bound in self.constraints.bounds:
            d = self._find(bound.name, "bound")
            low[d], high[d] = max(low[d], bound.low), min(high[d], bound.high)
            if low[d] > high[d]:
                raise UsageError(f"the bounds of {bound.name} exclude each other; give one range")
        return low, high

    def _fixed(self, low: Floats, high: Floats) -> dict[int, float]:
        fixed: dict[int, float] = {}
        for name, value in self.constraints.fixed:
            d = self._find(name, "fix")
            if fixed.setdefault(d, value) != value:
                raise UsageError(f"{name} is fixed at {fixed[d]:g} and at {value:g}; choose one")
            if not low[d] <= value <= high[d]:
                raise UsageError(
                    f"{name} is fixed at {value:g} and bound to {_shown(low[d], high[d])}; "
                    "choose one"
                )
        return fixed

    def _ties(self) -> list[list[int]]:
        """Join ties that share a weight."""
        joined: list[list[int]] = []
        for text in self.constraints.ties:
            found = [self.index[n] for n in names_in(text, "=", self.names, "tie")]
            if len(set(found)) < len(found):
                raise UsageError(f"tie '{text}' has a name twice; give different names")
            block = list(found)
            for other in [t for t in joined if set(t) & set(block)]:
                joined.remove(other)
                block = other + [d for d in block if d not in other]
            joined.append(block)
        return joined

    def _groups(self, fixed: dict[int, float], ties: list[list[int]]) -> list[list[int]]:
        taken = dict.fromkeys(fixed, "fixed") | {d: "tied" for tie in ties for d in tie}
        groups = []
        for text in self.constraints.groups:
            group = [self.index[n] for n in names_in(text, ",", self.names, "scale-together")]
            for d in group:
                if d in taken:
                    raise UsageError(
                        f"{self.names[d]} is in scale-together '{text}' and {taken[d]}; choose one"
                    )
                taken[d] = "in a group already"
            if not self.start[group].any():
                raise UsageError(
                    f"the weights of scale-together '{text}' all start at 0 and have no ratios; "
                    "give other starting weights"
                )
            groups.append(group)
        return groups

    def _range(
        self, at: Ints, factor: Floats, low: Floats, high: Floats, label: str, sign: str
    ) -> tuple[float, float]:
        """Return the range of a variable at whose ends all its weights are in theirs."""
        least, greatest = -np.inf, np.inf
        for d, f in zip(at, factor, strict=True):
            if f == 0.0:
                if not low[d] <= 0.0 <= high[d]:
                    raise UsageError(
                        f"{self.names[d]} starts at 0, scale-together '{label}' keeps it there, "
                        f"and it is bound to {_shown(low[d], high[d])}; choose one"
                    )
                continue
            ends = (low[d], high[d]) if f > 0 else (high[d], low[d])
            least = max(least, _inner(ends[0], f, np.inf, low[d], high[d]))
            greatest = min(greatest, _inner(ends[1], f, -np.inf, low[d], high[d]))
        if least > greatest:
            what = f"tie '{label}'" if sign == "=" else f"scale-together '{label}'"
            raise UsageError(f"no value of {what} is within all bounds; widen a bound")
        return least, greatest

    def _common(
        self, block: list[int], fixed: dict[int, float], least: float, greatest: float, label: str
    ) -> float | None:
        """Return what a variable is fixed at, by one weight for all of them."""
        values = {fixed[d] for d in block if d in fixed}
        if len(values) > 1:
            both = " and ".join(f"{v:g}" for v in sorted(values))
            raise UsageError(f"tie '{label}' joins weights that are fixed at {both}; choose one")
        if not values:
            return None
        (value,) = values
        if not least <= value <= greatest:
            raise UsageError(
                f"tie '{label}' is fixed at {value:g} and bound to {_shown(least, greatest)}; "
                "choose one"
            )
        return value


def _inner(end: float, factor: float, towards: float, low: float, high: float) -> float:
    """Return the variable at one end of a weight's range, rounded into it.

    Products round monotonically, so everything on the inner side of it is in the range too.
    """
    found = end / factor
    for _ in range(4):
        if not np.isfinite(found) or low <= found * factor <= high:
            return float(found)
        found = np.nextafter(found, towards)
    return towards  # so narrow a range that no product is in it


def _shown(low: float, high: float) -> str:
    return f"{'' if np.isinf(low) else f'{low:g}'}:{'' if np.isinf(high) else f'{high:g}'}"
