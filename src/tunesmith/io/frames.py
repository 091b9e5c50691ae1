"""Candidates that are in memory already: arrays and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.columns import with_columns
from tunesmith.errors import TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.tables import Batch, Column, Numbers, add_batches


def from_frame(frame: Any, columns: Sequence[str] = ()) -> CandidateSet:
    """Make a set of a pandas or polars frame, an Arrow table or a mapping of columns.

    Parameters
    ----------
    frame
        A row a candidate: ``id`` and ``text``, ``reference`` (``reference_2`` ...) and
        ``source`` where they are known, ``metrics.NAME`` for external scores; all other
        columns of numbers are features.
    columns
        Columns that are metrics to tune for, not features: see ``column:NAME``.
    """
    names = list(getattr(frame, "column_names", None) or getattr(frame, "columns", frame))
    held: dict[str, Column] = {str(name): _column(frame[name]) for name in names}
    collector = Collector()
    add_batches([Batch(held, 0)] if held else [], "frame", collector)
    return with_columns(collector.finish(), columns)


def from_arrays(
    groups: Sequence[GroupId],
    features: Mapping[str, Sequence[float]],
    texts: Sequence[str] | None = None,
    references: Mapping[GroupId, Sequence[str]] | None = None,
    columns: Mapping[str, Sequence[float]] | None = None,
) -> CandidateSet:
    """Make a set of arrays with an entry a candidate.

    Parameters
    ----------
    groups
        The group of each candidate; candidates of a group need not stand together.
    features
        Numbers by feature name.
    texts
        The text of each candidate, if there are any.
    references
        The references of each group, if there are any.
    columns
        External scores by name, to tune for with ``column:NAME``.
    """
    held: dict[str, Column] = {"id": _column(groups)}
    if texts is not None:
        held["text"] = list(texts)
    held |= {f"features.{name}": _column(values) for name, values in features.items()}
    held |= {f"metrics.{name}": _column(values) for name, values in (columns or {}).items()}
    for name, column in held.items():
        if len(Batch({"": column}, 0)) != len(groups):
            shown = name.partition(".")[2] or name
            raise TunesmithError(
                f"'{shown}' has not one value for each candidate; check its length"
            )
    collector = Collector()
    add_batches([Batch(held, 0)], "arrays", collector)
    if references is not None:
        from tunesmith.io.tokens import tokenize

        for group, lines in references.items():
            clean = [line.replace("\n", " ") for line in lines]
            tokens = tokenize("\n".join([*clean, ""]).encode(), collector.vocabulary)
            collector.add_references(group, [tokens[r] for r in range(len(clean))], "references")
    return collector.finish()


def _column(values: Any) -> Column:
    """Return one column, whoever holds it."""
    if hasattr(values, "to_pylist"):  # Arrow
        values = values.to_pylist()
    elif hasattr(values, "to_numpy"):  # pandas, polars
        values = values.to_numpy()
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return (
            Numbers(array.astype(np.float64))
            if abs(array).max(initial=0) < 1 << 53
            else [int(i) for i in array]
        )
    if array.dtype.kind in "fb":
        return Numbers(array.astype(np.float64))
    cells = [None if _is_missing(v) else v for v in array.tolist()]
    numbers = [c for c in cells if c is not None]
    if numbers and all(isinstance(c, int | float) for c in numbers):
        missing = np.array([c is None for c in cells])
        return Numbers(np.array([c or 0.0 for c in cells], np.float64), missing)
    return [None if c is None else str(c) for c in cells]


def _is_missing(value: object) -> bool:
    return value is None or value != value  # noqa: PLR0124  (NaN, and pandas' NA)
