"""Columns that metrics take of candidates, which are then no features."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.columns import with_columns
from tunesmith.errors import UsageError
from tunesmith.io.reading import Use
from tunesmith.metrics.base import Metric


def use_of(metrics: Sequence[Metric], columns: Sequence[str] = ()) -> Use:
    """Return what candidates are for that are read for metrics; none may come later.

    ``columns`` are further columns to read.
    """
    comparing = [metric for metric in metrics if metric.needs_references]
    return Use(
        columns=frozenset(columns).union(*(metric.columns for metric in metrics)),
        costs=frozenset().union(*(metric.costs for metric in metrics)),
        compares=bool(comparing) or not metrics,
        ignores_case=bool(comparing) and all(metric.ignores_case for metric in comparing),
    )


def with_columns_of(
    candidates: CandidateSet, metrics: Sequence[Metric], weighted: Collection[str] = ()
) -> CandidateSet:
    """Return candidates with what metrics take as columns; texts must be there to be counted.

    What is in ``weighted``, the names of given weights, stays a feature too.
    """
    # What is not there a metric misses itself, and says how to give it.
    there = {*candidates.columns, *candidates.features.names}
    wanted = [name for metric in metrics for name in metric.columns if name in there]
    candidates = with_columns(candidates, wanted, weighted)
    is_textless = candidates.references is not None and not candidates.has_texts
    for metric in metrics:
        if is_textless and metric.needs_references and not metric.is_given(candidates):
            raise UsageError(
                f"{metric.name} counts texts, and all candidates have an empty one; give texts"
            )
    return candidates
