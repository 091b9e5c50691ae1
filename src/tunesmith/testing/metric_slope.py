"""Conformance of a metric's slope, which gradients of the expected metric need."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.metrics.base import Metric
from tunesmith.testing.checks import NotApplicable, demand
from tunesmith.testing.metric_probe import MetricProbe

#: Steps of finite differences, relative to the statistic, and the error of slopes that is allowed.
STEP, TOLERANCE = 1e-4, 1e-5


def slope_is_the_derivative(probe: MetricProbe) -> None:
    """Return the derivative of the gain by each statistic from slope, if it has one."""
    metric, sums = _with_slope(probe), probe.expected
    width = sums.shape[-1]
    slopes = np.asarray(metric.slope(sums.copy()))
    single = np.array([metric.slope(row.copy()) for row in sums])
    block = np.asarray(metric.slope(sums.reshape(2, 3, width).copy()))
    demand(
        slopes.shape == single.shape == sums.shape and block.shape == (2, 3, width),
        f"the slope at statistics {(2, 3, width)} has the shape {block.shape}",
        "return a number for each statistic, in the shape of the statistics",
    )
    demand(
        np.allclose(slopes, single, rtol=1e-9, atol=0)
        and np.allclose(slopes, block.reshape(-1, width), rtol=1e-9, atol=0),
        "the slope of many rows at once is not that of each by itself",
        "index statistics as stats[..., k]: rows are independent of each other",
    )
    for k, name in enumerate(metric.stat_names):
        if not probe.stats[:, k].any():
            continue  # it may have no meaning below 0
        size = np.maximum(np.abs(sums[:, k]), 1e-3 * np.abs(probe.stats[:, k]).max())
        changes = _differences(metric, sums, k, STEP * size)
        # Relative to the slope, and to the rounding error of a difference of gains.
        room = (
            TOLERANCE * np.abs(changes) + 1e-9 * np.maximum(np.abs(metric.gain(sums)), 1e-3) / size
        )
        wrong = np.flatnonzero(np.abs(slopes[:, k] - changes) > room)
        if len(wrong):
            at = int(wrong[0])
            demand(
                False,
                f"the slope by '{name}' is {slopes[at, k]:g} where the gain changes by "
                f"{changes[at]:g} per unit",
                "return the derivative of gain: of score / scale, of minus that for an error rate",
            )


def _differences(metric: Metric, sums: Floats, k: int, steps: Floats) -> Floats:
    """Return central differences of the gain by one statistic."""
    before, after = sums.copy(), sums.copy()
    before[:, k] -= steps
    after[:, k] += steps
    quotients: Floats = (metric.gain(after) - metric.gain(before)) / (after[:, k] - before[:, k])
    return quotients


def slope_is_finite(probe: MetricProbe) -> None:
    """Return a finite slope for every sentence: empty ones too, and those without a match."""
    metric = _with_slope(probe)
    rows = np.concatenate([probe.stats, probe.totals]).astype(np.float64)
    slopes: Floats = np.asarray(metric.slope(rows.copy()))
    bad = np.flatnonzero(~np.isfinite(slopes).all(axis=-1))
    demand(
        not len(bad),
        f"the slope at the statistics {rows[bad[:1]].tolist()} is {slopes[bad[:1]].tolist()}",
        "say what it is where a sum is 0: 0, if there is nothing better",
    )


def _with_slope(probe: MetricProbe) -> Metric:
    if not probe.metric.has_slope:
        raise NotApplicable("it has no slope, so there are no gradients")
    return probe.metric
