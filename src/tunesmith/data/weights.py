"""Weights of a linear model, by name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import TunesmithError, WeightNamesError


@dataclass(frozen=True)
class Weights(Mapping[str, float]):
    """Feature names and their values, in order.

    Attributes
    ----------
    names
        Unique feature names.
    vector : float64[D]
        One finite number each.
    """

    names: tuple[str, ...]
    vector: Floats

    def __post_init__(self) -> None:
        # Its own copy, which nobody changes; completed here, before anybody has seen another.
        values = vars(self)["vector"] = np.array(self.vector, dtype=np.float64)
        values.flags.writeable = False
        if len(self.names) != len(values) or len(set(self.names)) != len(self.names):
            raise TunesmithError("weights need one value per name; give each name once")
        if not np.isfinite(values).all():
            bad = self.names[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise TunesmithError(f"weight '{bad}' is not finite; give a number")

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @classmethod
    def from_dict(cls, weights: Mapping[str, float]) -> Weights:
        """Take names and values from a mapping."""
        if isinstance(weights, Weights):
            return weights
        return cls(tuple(weights), np.array([_number(*one) for one in weights.items()], float))

    def __getitem__(self, name: str) -> float:
        return float(self.vector[self._index[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.vector, other.vector)

    def __hash__(self) -> int:
        return hash((self.names, self.vector.tobytes()))

    def aligned(self, names: tuple[str, ...]) -> Floats:
        """Return the values in the order of ``names``, 0 where there is none."""
        if names is self.names:  # who decodes sentence by sentence asks often, of many features
            return self.vector.copy()
        return np.array([self.get(name, 0.0) for name in names], dtype=np.float64)

    def matched(
        self,
        names: tuple[str, ...],
        strict: bool = False,
        where: str = "",
        unused_are: str = "left as it is",
    ) -> Floats:
        """Return the values for the features of some data, and say what does not fit.

        A feature without a weight gets 0 and a weight without a feature is not used; each
        is a warning, or an error if ``strict``. No common name at all is always an error.
        ``where`` begins the messages, and ``unused_are`` says what becomes of the weights that
        are not used.
        """
        known = set(names)
        lacking = [name for name in names if name not in self._index]
        unused = [name for name in self.names if name not in known]
        if len(unused) == len(self.names):
            raise WeightNamesError(
                f"{where}no weight has the name of a feature (weights: {_some(self.names)}; "
                f"features: {_some(names)}); give the weights that belong to these lists"
            )
        for found, kind, state in (
            (lacking, "feature", "without a weight, taken as 0"),
            (unused, "weight", f"without a feature in the data, {unused_are}"),
        ):
            if not found:
                continue
            plural = "s" if len(found) > 1 else ""
            text = f"{where}{len(found)} {kind}{plural} {state}: {_some(found)}"
            if strict:
                raise WeightNamesError(f"{text}; make the names the same, or drop --strict")
            warnings.warn(text, stacklevel=3)
        return self.aligned(names)

    def with_values(self, vector: Floats) -> Weights:
        """Return other values for the same names, which are not looked at again."""
        made = object.__new__(Weights)
        values = np.array(vector, dtype=np.float64)
        values.flags.writeable = False
        if len(values) != len(self.names) or not np.isfinite(values).all():
            return Weights(self.names, values)  # which says what is wrong
        made.__dict__.update(names=self.names, vector=values, _index=self._index)
        return made

    def updated(self, other: Weights) -> Weights:
        """Return these weights with ``other``'s values; names of ``other`` alone come last."""
        return Weights.from_dict({**self, **other})


def _number(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        raise TunesmithError(f"weight '{name}' is {value!r}; give a number") from None


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
