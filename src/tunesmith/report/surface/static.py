"""Surfaces as static pictures, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.report.drawing import DPI, METADATA, drawing, require_matplotlib
from tunesmith.report.surface.curves import Curve, Span
from tunesmith.report.surface.panels import (
    BEST,
    COLOURS,
    CURRENT,
    PLATEAU,
    Band,
    best_text,
    close_window,
    current_text,
    heading,
    score_label,
    shape_within,
    too_many,
    whole_window,
)
from tunesmith.report.surface.surface import ErrorSurface, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches; a single row of panels is higher than one of several.
WIDTH, ROW, SINGLE_ROW, LEGEND = 12.0, 2.9, 4.0, 0.5
#: Pixels across a panel, and the steps that it shows one by one.
COLUMNS, MOST_STEPS = 640, 1600
#: Rows beyond which no screen or paper shows the picture.
MOST_ROWS = 60
#: Close-ups narrower than this, relative to the weight, are labelled by the difference from it.
DIFFERENCES = 1e-3

#: A best interval narrower than this share of a panel is marked by the star only.
VISIBLE = 0.01

PLATEAU_STYLE: dict[str, Any] = {"color": PLATEAU, "alpha": 0.35, "linewidth": 0}
CURRENT_STYLE: dict[str, Any] = {"color": CURRENT, "linewidth": 1.2, "linestyle": (0, (4, 2))}
END_STYLE: dict[str, Any] = {"color": CURRENT, "linewidth": 1.4, "linestyle": ":"}
BEST_STYLE: dict[str, Any] = {
    "facecolor": "none",
    "edgecolor": "#aaaaaa",
    "hatch": "////",
    "linewidth": 0,
}
STAR_STYLE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",
    "markersize": 12,
    "markerfacecolor": BEST,
    "markeredgecolor": CURRENT,
}


def draw(surface: ErrorSurface, file: BinaryIO, kind: str) -> None:
    """Draw two panels for each metric of each line: the whole, and a close-up.

    Parameters
    ----------
    surface
        What is drawn.
    file
        Where to write.
    kind
        ``png``, ``svg`` or ``pdf``.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    rows = sum(len(line.curves) for line in surface.lines)
    if rows > MOST_ROWS:
        raise UsageError(
            f"the picture would have {rows} rows; give fewer features or metrics, or write .json"
        )
    with drawing():
        height = LEGEND + (SINGLE_ROW if rows == 1 else ROW * rows)
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        axes = figure.subplots(rows, 2, squeeze=False)
        row = 0
        for line in surface.lines:
            _draw_line(axes[row : row + len(line.curves)], line)
            row += len(line.curves)
        _legend(figure, surface)
        figure.savefig(file, format=kind, dpi=DPI, metadata=METADATA[kind])


def _draw_line(axes: Any, line: Line) -> None:
    """Draw one metric below the other, all over the same weights."""
    close = close_window(line)
    weight = line.weight
    differences = close[1] - close[0] < DIFFERENCES * abs(weight)
    for column, window in enumerate((whole_window(line), close)):
        origin = weight if column == 1 and differences else 0.0
        for k, curve in enumerate(line.curves):
            axis = axes[k, column]
            colour = COLOURS[k % len(COLOURS)]
            _draw_curve(axis, curve, window, colour, origin, exact=column == 1)
            _mark(axis, line, curve, window, origin)
            axis.set_ylabel(score_label(curve))
            axis.set_title((best_text, current_text)[column](line, curve), loc="left", fontsize=9)
            if k > 0:
                axis.sharex(axes[0, column])
            axis.tick_params(labelbottom=k == len(line.curves) - 1)
        axes[0, column].set_xlim(window[0] - origin, window[1] - origin)
        label = line.along.axis
        if origin:
            label += f" {'−' if origin > 0 else '+'} {abs(origin):.10g}"
        axes[-1, column].set_xlabel(label)
    for axis, above in zip(axes[0], (heading(line), "around the current weights"), strict=True):
        axis.set_title(f"{above}\n{axis.get_title(loc='left')}", loc="left", fontsize=9)


def _draw_curve(
    axis: Axes, curve: Curve, window: Span, colour: str, origin: float, exact: bool
) -> None:
    shape = shape_within(curve, window, COLUMNS, 10**9 if exact else MOST_STEPS)
    style: dict[str, Any] = {"color": colour, "linewidth": 1.3, "zorder": 3}
    ends = shape.ends - origin
    if isinstance(shape, Band):
        axis.stairs(shape.high, ends, baseline=shape.low, fill=True, **style)
        # A column in which nothing changes has no height of its own.
        axis.stairs(shape.high, ends, baseline=None, **style)
        axis.stairs(shape.low, ends, baseline=None, **style)
    else:
        axis.stairs(shape.scores, ends, baseline=None, **style)
    axis.grid(alpha=0.25)
    axis.ticklabel_format(useOffset=False)
    axis.locator_params(axis="x", nbins=7)
    axis.use_sticky_edges = False  # room below the lowest score too
    axis.margins(y=0.12)


def _mark(axis: Axes, line: Line, curve: Curve, window: Span, origin: float) -> None:
    """Mark the plateau, the current weight, the best interval and the line's other end."""
    low, high = np.clip(curve.plateau, *window) - origin
    axis.axvspan(low, high, zorder=1, **PLATEAU_STYLE)
    axis.axvline(line.weight - origin, zorder=2, **CURRENT_STYLE)
    if line.along.end is not None:
        axis.axvline(1.0 - origin, zorder=2, **END_STYLE)
    best = curve.best
    low, high = np.clip((best.low, best.high), *window) - origin
    if best.at != line.weight and high - low > VISIBLE * (window[1] - window[0]):
        axis.axvspan(low, high, zorder=1, **BEST_STYLE)
    if window[0] <= best.at <= window[1]:
        axis.plot([best.at - origin], [best.score], zorder=4, **STAR_STYLE)


def _legend(figure: Figure, surface: ErrorSurface) -> None:
    """Explain every mark once, below all panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    single = all(len(line.curves) == 1 for line in surface.lines)
    colour = COLOURS[0] if single else "#555555"
    marks: dict[str, Any] = {"exact steps": Line2D([], [], color=colour, linewidth=1.3)}
    if any(too_many(line, MOST_STEPS) for line in surface.lines):
        marks = {"exact steps (right)": marks["exact steps"]}
        marks["lowest to highest in a pixel column (left)"] = Line2D(
            [], [], color=colour, linewidth=4
        )
    marks["current weights"] = Line2D([], [], **CURRENT_STYLE)
    marks["plateau around them"] = Patch(**PLATEAU_STYLE)
    if any(line.along.end is not None for line in surface.lines):
        marks["the other weights"] = Line2D([], [], **END_STYLE)
    marks["best interval on the line"] = (Patch(**BEST_STYLE), Line2D([], [], **STAR_STYLE))
    figure.legend(
        list(marks.values()), list(marks), loc="outside lower center", ncols=6, frameon=False
    )
