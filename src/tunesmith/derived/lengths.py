"""Scores divided by a power of a length: what decoders call a length penalty."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet
from tunesmith.derived.base import DERIVED, PREFIX, Derived, derived_of
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError

#: ``LENGTH^EXPONENT:FEATURE``; the first two are as short as they can be.
_FORM = re.compile(r"(?P<length>.+?)\^(?P<exponent>[^:^]*):(?P<feature>.+)")


@DERIVED.register("per")
@dataclass(frozen=True)
class PerLength(Derived):
    """A feature divided by a power of another, as log p / length^0.6.

    So fairseq (``--lenpen``) and Marian (``--normalize``) score, after Wu et al., "Google's neural
    machine translation system" (2016). What is below 1 counts as 1, and is an error below 0.
    """

    argument_is = "LENGTH^EXPONENT:FEATURE"

    def __post_init__(self) -> None:
        super().__post_init__()
        match = _FORM.fullmatch(self.argument)
        try:
            exponent = math.nan if match is None else float(match["exponent"])
        except ValueError:
            exponent = math.nan
        if match is None or not math.isfinite(exponent):
            raise UsageError(
                f"'{self.argument}' does not say what is divided by what; write per:pieces^0.6:lm"
            )
        vars(self)["length"], vars(self)["of"] = match["length"], match["feature"]
        vars(self)["exponent"] = exponent

    @property
    def parts(self) -> tuple[str, float, str]:
        """The length, the exponent, and the feature that is divided."""
        return vars(self)["length"], vars(self)["exponent"], vars(self)["of"]

    def is_sparse(self, candidates: CandidateSet) -> bool:
        """Tell whether what is divided is."""
        return self.parts[2] in candidates.features.sparse_names

    def values(self, candidates: CandidateSet) -> Floats:
        """Divide."""
        length, exponent, of = self.parts
        lengths = lengths_of(candidates, length, self.folders)
        quotients: Floats = values_of(candidates, of, self.folders) / np.power(lengths, exponent)
        return quotients


def per_length(length: str, exponent: float, feature: str) -> str:
    """Return the name of a feature that is divided."""
    return f"{PREFIX}{PerLength.name}:{length}^{exponent!r}:{feature}"


def values_of(candidates: CandidateSet, name: str, folders: tuple[str, ...] = ()) -> Floats:
    """Return the values [N] of a feature of the data, or of one that is derived."""
    names = candidates.features.names
    if name in names:
        return candidates.features.values(names.index(name))
    if not name.startswith(PREFIX):
        raise UnknownNameError("feature", name, names)
    return derived_of(name, folders).values(candidates)


def lengths_of(candidates: CandidateSet, name: str, folders: tuple[str, ...] = ()) -> Floats:
    """Return the lengths [N] by which scores are divided, of which none is below 1."""
    lengths = values_of(candidates, name, folders)
    if (lengths < 0.0).any():
        row = int(np.argmax(lengths < 0.0))
        group = candidates.ids[int(np.searchsorted(candidates.start, row, "right")) - 1]
        raise TunesmithError(
            f"{name} is {lengths[row]:g} for a candidate of group '{group}', and no length is "
            "below 0; name another feature, such as derived:words"
        )
    return np.maximum(lengths, 1.0)


def quotient_of(name: str) -> tuple[str, float, str] | None:
    """Return length, exponent and feature of a quotient; None for other features."""
    if not name.startswith(f"{PREFIX}{PerLength.name}:"):
        return None
    return PerLength(name.removeprefix(f"{PREFIX}{PerLength.name}:")).parts


def without_quotients(
    weights: Mapping[str, float] | None, length: str
) -> tuple[dict[str, float] | None, float]:
    """Return weights of features as they are, and the exponent that they were divided with."""
    if weights is None:
        return None, 0.0
    plain = {name: weight for name, weight in weights.items() if quotient_of(name) is None}
    exponents = set()
    for name, weight in weights.items():
        parts = quotient_of(name)
        if parts is not None:
            if parts[0] != length:
                raise TunesmithError(
                    f"the weights divide by {parts[0]}, and lenpen by {length}; name the same"
                )
            if plain.get(parts[2], 0.0) != 0.0 and weight != 0.0:
                raise TunesmithError(
                    f"the weights have '{parts[2]}' both as it is and divided by {length}, which "
                    "no single exponent does; give other starting weights"
                )
            exponents.add(parts[1])
            if weight != 0.0 or parts[2] not in plain:
                plain[parts[2]] = weight
    if len(exponents) > 1:
        raise TunesmithError(
            f"the weights divide by {length} with several exponents; give other starting weights"
        )
    return plain, exponents.pop() if exponents else 0.0
