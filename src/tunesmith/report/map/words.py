"""Texts that static and interactive pictures of a map share with the terminal."""

from __future__ import annotations

import numpy as np

from tunesmith.report.map.map import Mark, MetricMap
from tunesmith.report.surface.panels import number

#: Scores below this share of the pixels are all shown as the worst colour: far from the good
#: weights a metric falls without end, and would leave no colours for them.
WORST = 0.1


def title(metric_map: MetricMap) -> str:
    """Say what is shown."""
    x, y = metric_map.features
    return f"{metric_map.metric} over the weights of {x} and {y}"


def scale_title(metric_map: MetricMap) -> str:
    """Say what the colours are."""
    return f"{metric_map.metric} ({'higher' if metric_map.higher_is_better else 'lower'} is better)"


def scale(metric_map: MetricMap) -> tuple[float, float]:
    """Return the scores between which colours differ."""
    share = WORST if metric_map.higher_is_better else 1.0 - WORST
    worst = float(np.quantile(metric_map.mean, share))
    best = metric_map.mean.max() if metric_map.higher_is_better else metric_map.mean.min()
    low, high = sorted((worst, float(best)))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def star_of(metric_map: MetricMap) -> tuple[Mark, str]:
    """Return the mark of the star, and its label."""
    if metric_map.best is not None and metric_map.holds(metric_map.best):
        return (
            metric_map.best,
            f"best {'of the plane, proven' if metric_map.proven else 'found in time'}",
        )
    return metric_map.best_row, "best on the lines of the rows"


def place(metric_map: MetricMap, mark: Mark) -> str:
    """Write weights with the digits that can be seen on the map."""
    spans = [0.01 * (high - low) for low, high in metric_map.window]
    return f"({number(mark.x, spans[0])}, {number(mark.y, spans[1])})"


def subtitle(metric_map: MetricMap) -> str:
    """Say how good the current and the best weights are."""
    mark, label = star_of(metric_map)
    now = f"now {metric_map.current.score:.4f} at {place(metric_map, metric_map.current)}"
    return f"{now}; {label}: {mark.score:.4f} at {place(metric_map, mark)}"


def summary(metric_map: MetricMap) -> list[str]:
    """Say in a few lines of text what a picture would show."""
    worse = "" if metric_map.higher_is_better else " (lower is better)"
    (left, right), (low, high) = metric_map.window
    lines = [
        f"{title(metric_map)}: {left:.4g} to {right:.4g}, {low:.4g} to {high:.4g}",
        f"{metric_map.metric}{worse}: {subtitle(metric_map)}",
    ]
    if metric_map.best is None:
        lines.append("there was no time to search the plane; raise --time-limit")
    elif not metric_map.holds(metric_map.best):
        proven = "proven" if metric_map.proven else "found in time"
        lines.append(
            f"best of the plane ({proven}), not on the map: {metric_map.best.score:.4f} "
            f"at ({metric_map.best.x:.6g}, {metric_map.best.y:.6g})"
        )
    return lines
