"""From restrictions as a user writes them to a space, and what contradicts itself on the way."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import UsageError
from tunesmith.search.space.constraints import Constraints, names_in, unknown_feature
from tunesmith.search.space.space import Compound, Space


class Builder:
    """Builds a space, and finds what contradicts itself on the way."""

    def __init__(self, names: tuple[str, ...], start: Floats, constraints: Constraints) -> None:
        self.names = names
        self.start = start
        self.index = {name: d for d, name in enumerate(names)}
        self.constraints = constraints.expanded(names)

    def build(self) -> Space:
        """Return the space, or raise a ``UsageError`` that names what contradicts itself."""
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
        ranges = np.array(lows), np.array(highs), low, high
        sums = self.constraints.sum_to_one
        space = Space(self.names, owner, factor, *ranges, tuple(compounds), sums)
        if sums:
            _check_sums(space)
        return space

    def _find(self, name: str, where: str) -> int:
        if name not in self.index:
            raise unknown_feature(name, self.names, where)
        return self.index[name]

    def _ranges(self) -> tuple[Floats, Floats]:
        least = 0.0 if self.constraints.non_negative else -np.inf
        low, high = np.full(len(self.names), least), np.full(len(self.names), np.inf)
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
            indices = [self.index[n] for n in names_in(text, "=", self.names, "tie")]
            if len(set(indices)) < len(indices):
                raise UsageError(f"tie '{text}' has a name twice; give different names")
            block = list(indices)
            for other in [t for t in joined if set(t) & set(block)]:
                joined.remove(other)
                block = other + [d for d in block if d not in other]
            joined.append(block)
        return joined

    def _groups(self, fixed: dict[int, float], ties: list[list[int]]) -> list[list[int]]:
        role = dict.fromkeys(fixed, "fixed") | {d: "tied" for tie in ties for d in tie}
        groups = []
        for text in self.constraints.groups:
            group = [self.index[n] for n in names_in(text, ",", self.names, "scale-together")]
            for d in group:
                if d in role:
                    raise UsageError(
                        f"{self.names[d]} is in scale-together '{text}' and {role[d]}; choose one"
                    )
                role[d] = "in a group already"
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
            group = f"tie '{label}'" if sign == "=" else f"scale-together '{label}'"
            raise UsageError(f"no value of {group} is within all bounds; widen a bound")
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


def _check_sums(space: Space) -> None:
    """Raise an error unless weights of any size can be divided by their sum."""
    if (space.weight_low < 0.0).any():
        name = space.names[int(np.argmax(space.weight_low < 0.0))]
        raise UsageError(
            f"sum-to-one needs weights that cannot be negative, and {name} can; give --non-negative"
        )
    if space.pins_scale:
        raise UsageError(
            "sum-to-one gives the weights their scale, and so does a fixed weight or a bound other "
            "than 0; drop one of them"
        )


def _inner(end: float, factor: float, towards: float, low: float, high: float) -> float:
    """Return the variable at one end of a weight's range, rounded into it.

    Products round monotonically, so everything on the inner side of it is in the range too.
    """
    inner = end / factor
    for _ in range(4):
        if not np.isfinite(inner) or low <= inner * factor <= high:
            return float(inner)
        inner = np.nextafter(inner, towards)
    return towards  # so narrow a range that no product is in it


def _shown(low: float, high: float) -> str:
    return f"{'' if np.isinf(low) else f'{low:g}'}:{'' if np.isinf(high) else f'{high:g}'}"
