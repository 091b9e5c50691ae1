"""Numbers of candidates that are metrics, not features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError, UnknownNameError


def with_columns(candidates: CandidateSet, names: Sequence[str]) -> CandidateSet:
    """Take features out of the model and keep them as columns of external scores.

    A metric that is a feature too would tune itself. Names that are columns already stay so.
    For a feature, what is not given is 0; for an external score that would be a wrong number,
    so that only a feature that all candidates have can become a column.
    """
    for name in names:
        if name in candidates.columns and name in candidates.features.names:
            raise TunesmithError(
                f"'{name}' is a feature and an external score ('metrics.{name}') too; rename one"
            )
    moved = [name for name in dict.fromkeys(names) if name not in candidates.columns]
    if not moved:
        return candidates
    features = candidates.features
    known = {name: d for d, name in enumerate(features.names)}
    columns = dict(candidates.columns)
    for name in moved:
        if name not in known:
            raise UnknownNameError("column", name, [*candidates.columns, *features.names])
        _check_complete(features, known[name])
        if known[name] < len(features.dense_names):
            columns[name] = features.dense[known[name]].copy()
        else:
            rows, values = features.column(known[name])
            columns[name] = np.zeros(len(candidates))
            columns[name][rows] = values
    left = features.only([name for name in features.names if name not in moved])
    return replace(candidates, features=left, columns=columns)


def _check_complete(features: Features, index: int) -> None:
    """Raise an error if a feature is not given for all candidates."""
    name = features.names[index]
    gap = features.gaps.get(name)
    count = gap.count if gap is not None else 0
    if index >= len(features.dense_names):
        # Zeros are not stored. With all of them given it would be a dense feature.
        count = count or features.candidates - len(features.column(index)[0])
    if count:
        place = f"{gap.place}: " if gap is not None and gap.place else ""
        raise TunesmithError(
            f"{place}'{name}' is missing (for {count} candidates), and a missing score is not 0; "
            "give it to all"
        )
