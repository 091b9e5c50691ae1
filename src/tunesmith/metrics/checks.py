"""What is checked of a metric before anything is tuned for it; it may be a user's own."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from tunesmith.arrays import Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import Metric


def statistics_of(metric: Metric, candidates: CandidateSet) -> Stats:
    """Return the statistics of all candidates, which a metric must leave as they are."""
    if is_ours(metric):
        return metric.statistics(candidates)
    before = _fingerprint(candidates)
    stats = metric.statistics(candidates)
    if _fingerprint(candidates) != before:
        raise TunesmithError(f"{metric.name} changes the candidates; let it work on a copy")
    return stats


def checked(metric: Metric, stats: Any, candidates: CandidateSet) -> Stats:
    """Return statistics [N, K] that can be added up; raise an error if they cannot."""
    result: Stats = np.asarray(stats)
    expected = (len(candidates), len(metric.stat_names))
    if result.shape != expected or not expected[1]:
        raise TunesmithError(
            f"{metric.name} has {expected[1]} statistics for each of {expected[0]} candidates; "
            f"the array given is {result.shape}"
        )
    if result.dtype.kind not in "biuf":
        raise TunesmithError(
            f"the statistics of {metric.name} are of type {result.dtype}; return numbers"
        )
    if result.dtype not in (np.int32, np.int64, np.float64):
        # Smaller numbers wrap around or lose digits when they are added up.
        result = result.astype(np.float64 if result.dtype.kind == "f" else np.int64)
    if result.dtype.kind == "f":
        _check_size(metric, result, candidates)
    _check_score(metric, result, candidates.start)
    return result


def _check_size(metric: Metric, stats: Stats, candidates: CandidateSet) -> None:
    if not np.isfinite(stats).all():
        row = int(np.flatnonzero(~np.isfinite(stats).all(axis=1))[0])
        shown = candidates.text(row)[:40]
        raise TunesmithError(
            f"a statistic of {metric.name} is not finite for '{shown}'; fix the metric"
        )
    with np.errstate(over="ignore"):
        most = max(stats.max(), -stats.min()) * candidates.groups
    if not np.isfinite(most):
        raise TunesmithError(
            f"the statistics of {metric.name} are too large to be added up; scale them down"
        )


def _check_score(metric: Metric, stats: Stats, start: Ints) -> None:
    """Score one sum, and a few at once: it must be one finite number for each."""
    total = stats[start[:-1]].sum(axis=0)
    several = np.stack([total, total])
    with np.errstate(all="ignore"):  # it is looked at below
        single, two = metric.score(total.copy()), metric.score(several)
    if np.shape(single) != () or np.shape(two) != (2,):
        raise TunesmithError(
            f"the score of {metric.name} has the shape {np.shape(two)} for two sums of statistics; "
            "return one number for each"
        )
    if not np.array_equal(several, [total, total]):
        raise TunesmithError(
            f"the score of {metric.name} changes the statistics; let it work on a copy"
        )
    checked_score(metric, single)


def checked_score(metric: Metric, score: Any) -> float:
    """Return a score as a number; raise an error if it is not finite."""
    value = float(score)
    if not np.isfinite(value):
        raise TunesmithError(
            f"{metric.name} is {value}, which is not finite; fix the metric or its numbers"
        )
    return value


def is_ours(metric: Metric) -> bool:
    """Tell whether a metric, and all that it is made of, comes with the package."""
    package = __name__.partition(".")[0]
    parts: tuple[Metric, ...] = getattr(metric, "parts", ())
    return type(metric).__module__.partition(".")[0] == package and all(map(is_ours, parts))


def _fingerprint(candidates: CandidateSet) -> list[object]:
    arrays = [
        candidates.start,
        candidates.features.dense,
        candidates.features.sparse.data,
        candidates.texts.start,
        candidates.texts.ids,
        *candidates.columns.values(),
    ]
    if candidates.references is not None:
        arrays += [candidates.references.texts.start, candidates.references.texts.ids]
    return [*candidates.columns, *(zlib.crc32(np.ascontiguousarray(a).data) for a in arrays)]
