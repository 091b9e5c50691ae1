"""Pictures of the metric along a weight and over two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.report.map.static import COLOURS as MAP_COLOURS
from tunesmith.report.map.static import CURRENT_STYLE as RING_STYLE
from tunesmith.report.map.static import STAR_STYLE as BEST_PIXEL_STYLE
from tunesmith.report.map.words import WORST
from tunesmith.report.page.figures.words import axis_of, displayed, label
from tunesmith.report.page.maps import scores_of
from tunesmith.report.page.view import Map, Range, SurfaceCurve
from tunesmith.report.surface.panels import COLOURS, interval, number, plateau_text
from tunesmith.report.surface.static import (
    BEST_STYLE,
    CURRENT_STYLE,
    DIFFERENCES,
    PLATEAU_STYLE,
    STAR_STYLE,
    VISIBLE,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEADY_STYLE: dict[str, Any] = {"color": COLOURS[2], "alpha": 0.15, "linewidth": 0}
#: Inches.
CURVE_SIZE, MAP_SIZE = (11.0, 4.2), (7.6, 5.8)

Window = tuple[float, float]


def curve(figure: Figure, curve: SurfaceCurve, metric: str, higher: bool) -> None:
    """Draw the metric along a weight: the whole, and a close-up."""
    whole, close = figure.subplots(1, 2)
    name = displayed(curve.feature)
    low, high = _span(curve.best)
    best = f"best {curve.best_score:.4f}, {interval(low, high)}"
    if math.isinf(low) and math.isinf(high):
        best = f"{curve.best_score:.4f} everywhere"
    low, high = _span(curve.plateau)
    now = f"now {curve.score:.4f} at {number(curve.weight, high - low)}"
    for axes, window, title in (
        (whole, curve.window, f"along {name}\n{best}"),
        (close, curve.close, f"around the weight\n{now}, {plateau_text(low, high)}"),
    ):
        # Ticks cannot tell weights apart that differ by a millionth.
        is_narrow = window[1] - window[0] < DIFFERENCES * abs(curve.weight)
        origin = curve.weight if is_narrow else 0.0
        _steps(axes, curve, window, origin, is_close=axes is close)
        _marks(axes, curve, window, origin)
        axes.set_xlim(window[0] - origin, window[1] - origin)
        less = f" {'−' if origin > 0 else '+'} {abs(origin):.10g}" if origin else ""
        axes.set_xlabel(f"weight of {name}{less}")
        axes.set_title(title, loc="left", fontsize=9)
        axes.grid(alpha=0.25)
        axes.ticklabel_format(useOffset=False)
        axes.locator_params(axis="x", nbins=6)
        axes.use_sticky_edges = False
        axes.margins(y=0.12)
    whole.set_ylabel(axis_of(metric, higher))
    _legend(figure, curve)


def _span(ends: Range) -> Window:
    low, high = ends
    return -math.inf if low is None else low, math.inf if high is None else high


def _steps(axes: Axes, curve: SurfaceCurve, window: Window, origin: float, is_close: bool) -> None:
    style: dict[str, Any] = {"color": COLOURS[0], "linewidth": 1.3, "zorder": 3}
    if curve.band is not None and not is_close:
        ends = np.array(curve.band["ends"]) - origin
        low, high = np.array(curve.band["low"]), np.array(curve.band["high"])
        axes.stairs(high, ends, baseline=low, fill=True, **style)
        # A column in which nothing changes has no height of its own.
        axes.stairs(high, ends, baseline=None, **style)
        axes.stairs(low, ends, baseline=None, **style)
        return
    edges, scores = curve.edges, curve.scores
    if is_close:
        edges, scores = curve.close_edges, curve.close_scores
    ends = np.array([window[0], *edges, window[1]]) - origin
    axes.stairs(np.array(scores), ends, baseline=None, **style)


def _marks(axes: Axes, curve: SurfaceCurve, window: Window, origin: float) -> None:
    """Mark where the metric is about the same, the plateau, the weight and the best interval."""
    low, high = np.clip(_span(curve.steady), *window) - origin
    axes.axvspan(low, high, zorder=0, **STEADY_STYLE)
    low, high = np.clip(_span(curve.plateau), *window) - origin
    axes.axvspan(low, high, zorder=1, **PLATEAU_STYLE)
    axes.axvline(curve.weight - origin, zorder=2, **CURRENT_STYLE)
    low, high = np.clip(_span(curve.best), *window)
    if high - low > VISIBLE * (window[1] - window[0]) and curve.best != curve.plateau:
        axes.axvspan(low - origin, high - origin, zorder=1, **BEST_STYLE)
    ends = [end for end in curve.best if end is not None]
    is_here = any(window[0] < end < window[1] for end in ends)
    if is_here or low < high:
        at = curve.weight if curve.best == curve.plateau else 0.5 * float(low + high)
        axes.plot([at - origin], [curve.best_score], zorder=4, **STAR_STYLE)


def _legend(figure: Figure, curve: SurfaceCurve) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: dict[str, Any] = {"exact steps": Line2D([], [], color=COLOURS[0], linewidth=1.3)}
    if curve.band is not None:
        handles = {"exact steps (right)": handles["exact steps"]}
        handles["lowest to highest (left)"] = Line2D([], [], color=COLOURS[0], linewidth=4)
    handles["the weight"] = Line2D([], [], **CURRENT_STYLE)
    handles["plateau around it"] = Patch(**PLATEAU_STYLE)
    handles[f"not worse by more than {curve.drop:.2g}"] = Patch(**STEADY_STYLE)
    handles["best on the line"] = Line2D([], [], **STAR_STYLE)
    where: dict[str, Any] = {"loc": "outside lower center", "ncols": 6, "columnspacing": 1.5}
    figure.legend(list(handles.values()), list(handles), fontsize=8.5, frameon=False, **where)


def pixels(figure: Figure, drawn_map: Map, metric: str, higher: bool) -> None:
    """Draw the metric over two weights; bright is good."""
    axes = figure.subplots()
    means = scores_of(drawn_map)
    low, high = _colour_range(means, higher)
    image = axes.imshow(
        means,
        origin="lower",
        extent=(*drawn_map.x_range, *drawn_map.y_range),
        aspect="auto",
        interpolation="nearest",
        cmap=MAP_COLOURS[higher],
        vmin=low,
        vmax=high,
    )
    bar = figure.colorbar(image, ax=axes, extend="min" if higher else "max", pad=0.02)
    bar.set_label(axis_of(metric, higher))
    bar.ax.ticklabel_format(useOffset=False)
    x, y, score = drawn_map.current
    axes.plot([x], [y], **RING_STYLE | {"markersize": 13}, markeredgecolor="white")
    ring = axes.plot([x], [y], **RING_STYLE, markeredgecolor="black")
    star = axes.plot([drawn_map.best[0]], [drawn_map.best[1]], **BEST_PIXEL_STYLE)
    axes.set_xlim(*drawn_map.x_range)
    axes.set_ylim(*drawn_map.y_range)
    axes.set_xlabel(f"weight of {displayed(drawn_map.x)}")
    axes.set_ylabel(f"weight of {displayed(drawn_map.y)}")
    axes.ticklabel_format(useOffset=False)
    axes.set_title(f"{displayed(metric)} over two weights", loc="left", fontsize=12)
    names = [label(f"the weights: {score:.4f}"), f"best pixel: {drawn_map.best[2]:.4f} on average"]
    figure.legend([*ring, *star], names, loc="outside lower center", ncols=2, frameon=False)


def _colour_range(means: Floats, higher: bool) -> Window:
    """Return the scores between which colours differ.

    Far from good weights a metric falls without end, and would leave no colours for them.
    """
    worst = float(np.quantile(means, WORST if higher else 1.0 - WORST))
    low, high = sorted((worst, float(means.max() if higher else means.min())))
    return (low, high) if low < high else (low - 0.5, high + 0.5)
