"""How Moses numbers the values of a feature, and how we do.

A name with k > 1 values is Name_1 ... Name_k here. Moses writes the values after one name, and
its extractor calls them Name_0 ... Name_{k-1}, a single one Name_0.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_NUMBERED = re.compile(r"(.+)_([1-9]\d*)")
_FROM_ZERO = re.compile(r"(.+)_(0|[1-9]\d*)")


def regrouped(names: Sequence[str], taken: Collection[str] = ()) -> dict[str, list[str]]:
    """Return Moses' names, each with the features that are its values, in the order given.

    Features Name_1 ... Name_k are Name's if all from 1 to k > 1 are there, and nothing else
    is called Name, in ``taken`` either. All others stand by themselves.
    """
    numbers: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            numbers.setdefault(match.group(1), {})[int(match.group(2))] = name
    known = {*names, *taken}
    groups = {
        base: [values[k] for k in sorted(values)]
        for base, values in numbers.items()
        if len(values) > 1 and base not in known and max(values) == len(values)
    }
    owner = {name: base for base, values_of_base in groups.items() for name in values_of_base}
    return {
        owner.get(name, name): groups[owner[name]] if name in owner else [name] for name in names
    }


def from_zero(names: Sequence[str]) -> list[str] | None:
    """Return our names of features that the extractor numbers from 0; None where it does not."""
    matches = [_FROM_ZERO.fullmatch(name) for name in names]
    count: dict[str, int] = {}
    for match in matches:
        if match is None or int(match.group(2)) != count.setdefault(match.group(1), 0):
            return None
        count[match.group(1)] += 1
    ours = []
    for match in filter(None, matches):
        base, number = match.group(1), int(match.group(2)) + 1
        ours.append(base if count[base] == 1 else f"{base}_{number}")
    return ours


def to_zero(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the extractor's names of features, and the feature of each."""
    return [
        (f"{base}_{k}", feature)
        for base, features in regrouped(names).items()
        for k, feature in enumerate(features)
    ]
