"""What a result says of the steps of its tuner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.metrics.base import Metric
from tunesmith.tuners.fitting.stages import Outcome, Stage

#: Keys of a history that are gains, and what they are called as scores.
GAINS = {"gain": "score", "smoothed": "smoothed_score", "gain_bound": "bound"}

#: Up to so many steps are kept in any file.
FEW = 100


def score_of(metric: Metric, gain: float) -> float:
    """Return a gain, in natural units, on the metric's customary scale."""
    return gain * (metric.scale if metric.higher_is_better else -metric.scale)


def history_of(
    stages: Sequence[Stage], metric: Metric, first: Outcome | None
) -> list[dict[str, Any]]:
    """Put numbers on the steps, and their gains on the metric's scale."""
    parts: list[tuple[dict[str, Any], Outcome]] = []
    if first is not None:
        parts.append(({"part": "core"}, first))
    for stage in stages:
        setting = stage.setting if len(stages) > 1 else {}
        for run, outcome in enumerate(stage.outcomes):
            label = {"run": run} if len(stage.outcomes) > 1 else {}
            parts.append(({**label, **setting}, outcome))
    entries: list[dict[str, Any]] = []
    for label, outcome in parts:
        for entry in outcome.history:
            entries.append({"step": len(entries), **shown(entry, metric, label)})
    return entries


def shown(
    entry: dict[str, Any], metric: Metric, label: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a history says of a step, with gains on the metric's scale."""
    rest = {key: value for key, value in entry.items() if key not in GAINS}
    scores = {GAINS[key]: score_of(metric, entry[key]) for key in GAINS if key in entry}
    return {**scores, **(label or {}), **rest}


def without_middles(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a long history without the steps between the first and the last of each climb.

    Where there are no climbs, or one alone, it is returned as it is.
    """
    begins = [k for k, entry in enumerate(history) if entry.get("direction", 0) is None]
    if len(history) <= FEW or len(begins) < 2:
        return list(history)
    first = set(begins)
    return [
        entry
        for k, entry in enumerate(history)
        if "direction" not in entry or k in first or k + 1 in first or k + 1 == len(history)
    ]
