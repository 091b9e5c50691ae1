"""The exact objective along one feature, as a picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import MissingExtraError
from tunesmith.inference.hypotheses import Direction, Hypotheses, Point
from tunesmith.io.streams import writing
from tunesmith.search.line import Surface, surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The part that the second panel shows is so many times as wide as the plateau, on each side.
CLOSE = 12


def draw_surface(
    hypotheses: Hypotheses, point: Point, feature: str, path: str | os.PathLike[str]
) -> None:
    """Draw the objective along a feature through a point, the whole and a close-up.

    Parameters
    ----------
    hypotheses, point
        What is evaluated, and the current weights.
    feature
        Which weight is varied.
    path
        A file name; its ending (.png, .svg, .pdf) is the format.
    """
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingExtraError("drawing", "plot") from None

    index = hypotheses.names.index(feature)
    current = float(point.weights[index])
    along = surface(hypotheses, point, Direction.along(index, feature))
    metric = hypotheses.metric
    scores = metric.score(along.totals)
    edges = along.edges + current
    low, high = plateau(along)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    whole = _whole_range(edges, current)
    width = min(high - low, whole[1] - whole[0])
    close = (current + max(low, -width) - CLOSE * width, current + min(high, width) + CLOSE * width)
    for axis, span in zip(axes, (whole, close), strict=True):
        _draw(axis, edges, scores, span, current, current + low, current + high)
        axis.set_xlabel(f"weight of {feature}")
        axis.set_ylabel(f"{metric.name} on the tuning set")
    axes[0].set_title(f"exact error surface, {len(edges)} breakpoints")
    axes[1].set_title("around the current weight")
    axes[1].legend(loc="lower right", framealpha=0.9)
    with writing(path) as file:
        kind = os.path.splitext(os.fspath(path))[1].lstrip(".") or "png"
        figure.savefig(file, format=kind, dpi=130)
    plt.close(figure)


def plateau(along: Surface) -> tuple[float, float]:
    """Return the interval around γ = 0 on which the objective does not change."""
    after = int(np.searchsorted(along.edges, 0.0, side="right"))
    low = high = after
    while low > 0 and along.gains[low - 1] == along.gains[after]:
        low -= 1
    while high < len(along.edges) and along.gains[high + 1] == along.gains[after]:
        high += 1
    return (
        float(along.edges[low - 1]) if low > 0 else -np.inf,
        float(along.edges[high]) if high < len(along.edges) else np.inf,
    )


def _whole_range(edges: Floats, current: float) -> tuple[float, float]:
    """Leave out the tails: the middle 90 % of the breakpoints, and the current weight."""
    if len(edges) == 0:
        return current - 1.0, current + 1.0
    low, high = np.quantile(edges, [0.05, 0.95])
    low, high = min(float(low), current), max(float(high), current)
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def _draw(
    axis: Axes,
    edges: Floats,
    scores: Floats,
    span: tuple[float, float],
    current: float,
    low: float,
    high: float,
) -> None:
    first, last = np.searchsorted(edges, span)
    inside = np.concatenate([[span[0]], edges[first:last], [span[1]]])
    axis.stairs(scores[first : last + 1], inside, baseline=None, color="#1f5fa8", linewidth=1.2)
    shown: dict[str, Any] = {"color": "#f2a33a", "alpha": 0.35, "label": "plateau"}
    axis.axvspan(max(low, span[0]), min(high, span[1]), **shown)
    axis.axvline(current, color="#c0392b", linewidth=1.2, linestyle="--", label="current weight")
    axis.set_xlim(*span)
    axis.grid(alpha=0.25)
