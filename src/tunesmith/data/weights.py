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
        # A read-only copy, set before the object is visible to anybody.
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
        """Return the weights of a mapping from names to values."""
        if isinstance(weights, Weights):
            return weights
        values = [_number(name, value) for name, value in weights.items()]
        return cls(tuple(weights), np.array(values, float))

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
        """Return the values in the order of ``names``, 0 for names without a weight."""
        if names is self.names:  # decoding sentence by sentence, often, with many features
            return self.vector.copy()
        return np.array([self.get(name, 0.0) for name in names], dtype=np.float64)

    def matched(
        self,
        names: tuple[str, ...],
        strict: bool = False,
        where: str = "",
        unused_are: str = "not used",
    ) -> Floats:
        """Return the values for the features of some data, and report names that do not match.

        A feature without a weight gets 0 and a weight without a feature is not used; each
        is a warning, or an error if ``strict``. No common name at all is always an error.
        ``where`` begins the messages, and ``unused_are`` says what happens to unused weights.
        """
        feature_names = set(names)
        lacking = [name for name in names if name not in self._index]
        unused = [name for name in self.names if name not in feature_names]
        if len(unused) == len(self.names):
            raise WeightNamesError(
                f"{where}no weight has the name of a feature (weights: {_some(self.names)}; "
                f"features: {_some(names)}); give the weights that belong to these lists"
            )
        for unmatched, kind, state in (
            (lacking, "feature", "without a weight, taken as 0"),
            (unused, "weight", f"without a feature in the data, {unused_are}"),
        ):
            if not unmatched:
                continue
            plural = "s" if len(unmatched) > 1 else ""
            text = f"{where}{len(unmatched)} {kind}{plural} {state}: {_some(unmatched)}"
            if strict:
                raise WeightNamesError(f"{text}; make the names the same, or drop --strict")
            warnings.warn(text, stacklevel=3)
        return self.aligned(names)

    def with_values(self, vector: Floats) -> Weights:
        """Return other values for the same names, without checking the names again."""
        values = np.array(vector, dtype=np.float64)
        values.flags.writeable = False
        if len(values) != len(self.names) or not np.isfinite(values).all():
            return Weights(self.names, values)  # which raises the error
        weights = object.__new__(Weights)
        weights.__dict__.update(names=self.names, vector=values, _index=self._index)
        return weights

    def updated(self, other: Weights) -> Weights:
        """Return these weights with ``other``'s values; names only in ``other`` come last."""
        return Weights.from_dict({**self, **other})


def _number(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        raise TunesmithError(f"weight '{name}' is {value!r}; give a number") from None


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
