"""What the static and the interactive picture of a map, and the terminal, say alike."""

from __future__ import annotations

import numpy as np

from tunesmith.report.map.map import Mark, MetricMap
from tunesmith.report.surface.panels import number

#: Scores below this share of the pixels are all shown as the worst colour: far from the good
#: weights a metric falls without end, and would leave no colours for them.
WORST = 0.1


def title(found: MetricMap) -> str:
    """Say what is shown."""
    return f"{found.metric} over the weights of {found.features[0]} and {found.features[1]}"


def scale_title(found: MetricMap) -> str:
    """Say what the colours are."""
    return f"{found.metric} ({'higher' if found.higher_is_better else 'lower'} is better)"


def scale(found: MetricMap) -> tuple[float, float]:
    """Return the scores between which colours differ."""
    share = WORST if found.higher_is_better else 1.0 - WORST
    worst = float(np.quantile(found.mean, share))
    best = found.mean.max() if found.higher_is_better else found.mean.min()
    low, high = sorted((worst, float(best)))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def starred(found: MetricMap) -> tuple[Mark, str]:
    """Return what the star marks, and what it is called."""
    if found.best is not None and found.holds(found.best):
        return found.best, f"best {'of the plane, proven' if found.proven else 'found in time'}"
    return found.best_row, "best on the lines of the rows"


def place(found: MetricMap, mark: Mark) -> str:
    """Write weights with the digits that can be seen on the map."""
    spans = [0.01 * (high - low) for low, high in found.window]
    return f"({number(mark.x, spans[0])}, {number(mark.y, spans[1])})"


def subtitle(found: MetricMap) -> str:
    """Say how good the current and the best weights are."""
    mark, what = starred(found)
    now = f"now {found.current.score:.4f} at {place(found, found.current)}"
    return f"{now}; {what}: {mark.score:.4f} at {place(found, mark)}"


def summary(found: MetricMap) -> list[str]:
    """Say in a few lines of text what a picture would show."""
    worse = "" if found.higher_is_better else " (lower is better)"
    (left, right), (low, high) = found.window
    said = [
        f"{title(found)}: {left:.4g} to {right:.4g}, {low:.4g} to {high:.4g}",
        f"{found.metric}{worse}: {subtitle(found)}",
    ]
    if found.best is None:
        said.append("there was no time to search the plane; raise --time-limit")
    elif not found.holds(found.best):
        proven = "proven" if found.proven else "found in time"
        said.append(
            f"best of the plane ({proven}), not on the map: {found.best.score:.4f} "
            f"at ({found.best.x:.6g}, {found.best.y:.6g})"
        )
    return said
