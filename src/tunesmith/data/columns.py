"""Features that are metrics of single candidates: taken out of the model, kept as columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError, UnknownNameError


def with_columns(
    candidates: CandidateSet, names: Sequence[str], weighted: Collection[str] = ()
) -> CandidateSet:
    """Turn features into columns of external scores.

    A model that has its own metric as a feature would only learn to copy it. Names that are
    columns already stay columns. A missing feature counts as 0, which would be wrong for an
    external score, so only a feature that all candidates have can become a column. Features in
    ``weighted`` have a weight already: they stay features too, and no choice changes.
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
    index_of = {name: d for d, name in enumerate(features.names)}
    columns = dict(candidates.columns)
    for name in moved:
        if name not in index_of:
            raise UnknownNameError("column", name, [*candidates.columns, *features.names])
        _check_complete(features, index_of[name])
        columns[name] = features.values(index_of[name]).copy()
    gone = {*moved}.difference(weighted)
    remaining = features.only([name for name in features.names if name not in gone])
    return replace(candidates, features=remaining, columns=columns)


def _check_complete(features: Features, index: int) -> None:
    """Raise an error if some candidates lack a feature."""
    name = features.names[index]
    gap = features.gaps.get(name)
    count = gap.count if gap is not None else 0
    if index >= len(features.dense_names):
        # Zeros are not stored; a feature that all candidates give would be dense.
        count = count or features.candidates - len(features.column(index)[0])
    if count:
        place = f"{gap.place}: " if gap is not None and gap.place else ""
        raise TunesmithError(
            f"{place}'{name}' is missing (for {count} candidates), and a missing score is not 0; "
            "give it to all"
        )
