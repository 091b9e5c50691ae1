"""Records of runs for tests, from plain Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.helpers.builders import Mean, tuning_set
from tunesmith.data.weights import Weights
from tunesmith.metrics.base import Metric
from tunesmith.report.page.run.record import RunRecord, RunSet
from tunesmith.tasks.lists import TuningSet


def record_of(
    result: Mapping[str, Any] | None = None,
    lists: TuningSet | None = None,
    weights: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    metric: Metric | None = None,
    is_partial: bool = False,
) -> RunRecord:
    """Make a record; outputs are not looked at by those who are tested with it."""
    sets = {}
    if lists is not None:
        sets["tune"] = RunSet(lists, lists.candidates, lists.candidates, is_partial)
    weights = weights or {"f0": 1.0}
    return RunRecord(
        path="run",
        is_running=False,
        result=dict(result or {}),
        metric=metric or (Mean() if lists is None else lists.metric),
        start=Weights.from_dict(start or weights),
        weights=Weights.from_dict(weights),
        sets=sets,  # type: ignore[arg-type]
    )


def lists_of(
    groups: Sequence[Any], values: Sequence[Any], sparse: Sequence[int] = (), metric: Any = None
) -> TuningSet:
    """Make lists with one number per candidate."""
    return tuning_set(groups, values, sparse, metric)
