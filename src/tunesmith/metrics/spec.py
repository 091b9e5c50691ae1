"""Specifications of metrics: the text that creates an equal one."""

from __future__ import annotations

from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.combination import Combination
from tunesmith.registry import file_of, options_of


def spec_of(metric: Metric) -> str | None:
    """Return a name, with options, that makes the same metric; None if there is none.

    A class of a user's file, or one that takes what no text can say, has none.
    """
    spec = _spelt(metric)
    if spec is None:
        return None
    try:
        created = METRICS.create(spec)
    except TunesmithError:
        return None
    return spec if created == metric else None


def _spelt(metric: Metric) -> str | None:
    """Write a metric as a user would; whether it says all is not looked at."""
    if file_of(metric) is not None:
        return None
    if isinstance(metric, Combination):
        parts = [spec_of(part) for part in metric.parts]
        if None in parts:
            return None
        weighted = zip(metric.weights, parts, strict=True)
        inside = [f"{part}" if w == 1.0 else f"{float(w)!r}*{part}" for w, part in weighted]
        return f"{type(metric).name}({','.join(inside)})"
    if hasattr(metric, "takes_text"):
        return metric.name
    changed = [
        f"{option.flag}={_written(getattr(metric, option.field))}"
        for option in options_of(type(metric))
        if getattr(metric, option.field) != option.default
    ]
    return f"{metric.name}:{','.join(changed)}" if changed else metric.name


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
