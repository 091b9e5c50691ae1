"""Maps as static pictures, by matplotlib."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

from tunesmith.report.map.map import MetricMap
from tunesmith.report.map.words import scale, scale_title, starred, subtitle, title
from tunesmith.report.surface.static import METADATA, STYLE, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches.
WIDTH, HEIGHT = 8.4, 6.4
DPI = 130
#: Told apart by the colour-blind, and in print; bright is good.
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


def draw(found: MetricMap, file: BinaryIO, kind: str) -> None:
    """Draw a map.

    Parameters
    ----------
    found
        What is drawn.
    file
        Where to write.
    kind
        ``png``, ``svg`` or ``pdf``.
    """
    require()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # names in other scripts
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        axes = figure.subplots()
        low, high = scale(found)
        image = axes.imshow(
            found.mean,
            origin="lower",
            extent=(*found.window[0], *found.window[1]),
            aspect="auto",
            interpolation="nearest",
            cmap=COLOURS[found.higher_is_better],
            vmin=low,
            vmax=high,
        )
        beyond = "min" if found.higher_is_better else "max"
        bar = figure.colorbar(image, ax=axes, extend=beyond, pad=0.02)
        bar.set_label(scale_title(found))
        bar.ax.ticklabel_format(useOffset=False)
        axes.set_xlabel(f"weight of {found.features[0]}")
        axes.set_ylabel(f"weight of {found.features[1]}")
        axes.set_title(title(found), loc="left", fontsize=12, pad=22)
        axes.text(0.0, 1.015, subtitle(found), transform=axes.transAxes, fontsize=9)
        axes.ticklabel_format(useOffset=False)
        _mark(axes, found)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        figure.savefig(file, format=kind, dpi=DPI, metadata=METADATA[kind])


def _mark(axes: Axes, found: MetricMap) -> None:
    """Mark the current and the best weights."""
    now = found.current
    if found.holds(now):
        # A white ring with a dark one around it is seen on every colour.
        axes.plot([now.x], [now.y], **CURRENT_STYLE | {"markersize": 13}, markeredgecolor="white")
        axes.plot(
            [now.x], [now.y], **CURRENT_STYLE, markeredgecolor="black", label="current weights"
        )
    mark, what = starred(found)
    axes.plot([mark.x], [mark.y], **STAR_STYLE, label=what)
