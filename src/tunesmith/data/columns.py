"""Numbers of candidates that are metrics, not features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import Features
from tunesmith.errors import UnknownNameError


def with_columns(candidates: CandidateSet, names: Sequence[str]) -> CandidateSet:
    """Take features out of the model and keep them as columns of external scores.

    A metric that is a feature too would tune itself. Names that are columns already stay so.
    """
    moved = [name for name in dict.fromkeys(names) if name not in candidates.columns]
    if not moved:
        return candidates
    features = candidates.features
    known = {name: d for d, name in enumerate(features.names)}
    columns = dict(candidates.columns)
    for name in moved:
        if name not in known:
            raise UnknownNameError("column", name, [*candidates.columns, *features.names])
        if known[name] < len(features.dense_names):
            columns[name] = features.dense[known[name]].copy()
        else:
            rows, values = features.column(known[name])
            columns[name] = np.zeros(len(candidates))
            columns[name][rows] = values
    dense = [d for d, name in enumerate(features.dense_names) if name not in moved]
    sparse = [d for d, name in enumerate(features.sparse_names) if name not in moved]
    left = Features(
        tuple(features.dense_names[d] for d in dense),
        features.dense[dense],
        tuple(features.sparse_names[d] for d in sparse),
        features.sparse[:, sparse],
    )
    return replace(candidates, features=left, columns=columns)
