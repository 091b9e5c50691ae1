"""Maps as static pictures, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from tunesmith.report.drawing import DPI, METADATA, drawing, require_matplotlib
from tunesmith.report.map.map import MetricMap
from tunesmith.report.map.words import scale, scale_title, star_of, subtitle, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches.
WIDTH, HEIGHT = 8.4, 6.4
#: Distinct for the colour-blind too, and in print; bright is good.
COLOURS = {True: "viridis", False: "viridis_r"}
CURRENT_STYLE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 10,
    "markerfacecolor": "none",
    "markeredgewidth": 2.2,
}
STAR_STYLE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",
    "markersize": 17,
    "markerfacecolor": "#D55E00",
    "markeredgecolor": "white",
    "markeredgewidth": 1.2,
}


def draw(metric_map: MetricMap, file: BinaryIO, kind: str) -> None:
    """Draw a map.

    Parameters
    ----------
    metric_map
        What is drawn.
    file
        Where to write.
    kind
        ``png``, ``svg`` or ``pdf``.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        axes = figure.subplots()
        low, high = scale(metric_map)
        image = axes.imshow(
            metric_map.mean,
            origin="lower",
            extent=(*metric_map.window[0], *metric_map.window[1]),
            aspect="auto",
            interpolation="nearest",
            cmap=COLOURS[metric_map.higher_is_better],
            vmin=low,
            vmax=high,
        )
        beyond = "min" if metric_map.higher_is_better else "max"
        bar = figure.colorbar(image, ax=axes, extend=beyond, pad=0.02)
        bar.set_label(scale_title(metric_map))
        bar.ax.ticklabel_format(useOffset=False)
        axes.set_xlabel(f"weight of {metric_map.features[0]}")
        axes.set_ylabel(f"weight of {metric_map.features[1]}")
        axes.set_title(title(metric_map), loc="left", fontsize=12, pad=22)
        axes.text(0.0, 1.015, subtitle(metric_map), transform=axes.transAxes, fontsize=9)
        axes.ticklabel_format(useOffset=False)
        _mark(axes, metric_map)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        figure.savefig(file, format=kind, dpi=DPI, metadata=METADATA[kind])


def _mark(axes: Axes, metric_map: MetricMap) -> None:
    """Mark the current and the best weights."""
    current = metric_map.current
    if metric_map.holds(current):
        # A white ring with a dark one around it is seen on every colour.
        axes.plot(
            [current.x], [current.y], **CURRENT_STYLE | {"markersize": 13}, markeredgecolor="white"
        )
        axes.plot(
            [current.x],
            [current.y],
            **CURRENT_STYLE,
            markeredgecolor="black",
            label="current weights",
        )
    mark, label = star_of(metric_map)
    axes.plot([mark.x], [mark.y], **STAR_STYLE, label=label)
