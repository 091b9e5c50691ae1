"""Weights of a linear model, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import TunesmithError


@dataclass(frozen=True)
class Weights(Mapping[str, float]):
    """Feature names and their values, in order.

    Attributes
    ----------
    names
        Unique feature names.
    values : float64[D]
        One finite number each.
    """

    names: tuple[str, ...]
    values: Floats

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        if len(self.names) != len(values) or len(set(self.names)) != len(self.names):
            raise TunesmithError("weights need one value per name; give each name once")
        if not np.isfinite(values).all():
            bad = self.names[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise TunesmithError(f"weight '{bad}' is not finite; give a number")
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(self.names)})

    @classmethod
    def from_dict(cls, weights: Mapping[str, float]) -> Weights:
        """Take names and values from a mapping."""
        return cls(tuple(weights), np.array(list(weights.values()), dtype=np.float64))

    def __getitem__(self, name: str) -> float:
        index: dict[str, int] = self._index  # type: ignore[attr-defined]
        return float(self.values[index[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.names, self.values.tobytes()))

    def aligned(self, names: tuple[str, ...]) -> Floats:
        """Return the values in the order of ``names``, 0 where there is none."""
        return np.array([self.get(name, 0.0) for name in names], dtype=np.float64)

    def updated(self, other: Weights) -> Weights:
        """Return these weights with ``other``'s values; names of ``other`` alone come last."""
        return Weights.from_dict({**self, **other})
