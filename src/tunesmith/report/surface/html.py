"""Surfaces as interactive pages, by plotly; a page is one file and needs no network."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.report.drawing import interactive_page, require_plotly
from tunesmith.report.surface.curves import Curve, Span
from tunesmith.report.surface.panels import (
    BEST,
    COLOURS,
    CURRENT,
    PLATEAU,
    Band,
    StepCurve,
    best_text,
    close_window,
    current_text,
    heading,
    score_label,
    shape_within,
    summary,
    too_many,
    whole_window,
)
from tunesmith.report.surface.surface import ErrorSurface, Line

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Pixels.
ROW, AROUND = 330, 150
#: A page may be zoomed into, so it has more columns than a screen, and more single steps.
COLUMNS, MOST_STEPS = 4000, 20000
#: Rows beyond which browsers are slow.
MOST_ROWS = 40

CURRENT_STYLE = {"color": CURRENT, "width": 1.5, "dash": "dash"}
END_STYLE = {"color": CURRENT, "width": 1.5, "dash": "dot"}
STAR_STYLE = {"symbol": "star", "size": 13, "color": BEST, "line": {"color": CURRENT, "width": 1}}

CAPTION = (
    "Left: the line as a whole; right: around the current weights, step for step. Drag to zoom, "
    "double-click to go back; the score of every interval is shown under the pointer."
)
CAPTION_COLUMNS = (
    " On the left there are more steps than columns of pixels: each of {columns} columns shows "
    "the lowest and the highest score in it. The JSON object has all steps."
)


def page(surface: ErrorSurface) -> str:
    """Return the page: the numbers, and two panels for each metric of each line."""
    names = ", ".join(dict.fromkeys(c.metric for line in surface.lines for c in line.curves))
    columns = any(too_many(line, MOST_STEPS) for line in surface.lines)
    return interactive_page(
        build(surface),
        "surface",
        f"{names} {', '.join(line.along.title for line in surface.lines)}",
        [part for line in surface.lines for part in summary(line)],
        CAPTION + (CAPTION_COLUMNS.format(columns=COLUMNS) if columns else ""),
    )


def build(surface: ErrorSurface) -> Figure:
    """Return plotly's figure."""
    require_plotly()
    from plotly.subplots import make_subplots

    rows = sum(len(line.curves) for line in surface.lines)
    if rows > MOST_ROWS:
        raise UsageError(
            f"the page would have {rows} rows; give fewer features or metrics, or write .json"
        )
    height = ROW * rows + AROUND
    titles = [
        title
        for line in surface.lines
        for k, curve in enumerate(line.curves)
        for title in _titles(line, curve, first=k == 0)
    ]
    figure = make_subplots(
        rows,
        2,
        subplot_titles=titles,
        horizontal_spacing=0.08,
        vertical_spacing=100 / height if rows > 1 else 0.0,
    )
    figure.update_annotations(font_size=12)
    row = 1
    for line in surface.lines:
        _add_line(figure, line, row)
        row += len(line.curves)
    _explain(figure, surface)
    figure.update_layout(
        height=height,
        template="plotly_white",
        hovermode="x",
        legend={"orientation": "h", "y": -60 / height, "yanchor": "top"},
        margin={"t": 60, "b": 80, "l": 70, "r": 20},
    )
    return figure


def _titles(line: Line, curve: Curve, first: bool) -> tuple[str, str]:
    texts = html.escape(best_text(line, curve)), html.escape(current_text(line, curve))
    if not first:
        return texts
    return (
        f"{html.escape(heading(line))}<br>{texts[0]}",
        f"around the current weights<br>{texts[1]}",
    )


def _add_line(figure: Figure, line: Line, row: int) -> None:
    """Add one metric below the other; they are zoomed together."""
    whole = whole_window(line)
    for column, window in ((1, whole), (2, close_window(line))):
        for k, curve in enumerate(line.curves):
            span = _extent(line, window) if column == 1 else window
            most = MOST_STEPS if column == 1 else 10**9
            shape = shape_within(curve, span, COLUMNS, most)
            if isinstance(shape, Band):
                shape = shape_within(curve, window, COLUMNS, most)
            colour = COLOURS[k % len(COLOURS)]
            for trace in _traces(curve, shape, colour):
                figure.add_trace(trace, row + k, column)
            _mark(figure, line, curve, span, row + k, column)
            figure.update_yaxes(title_text=html.escape(score_label(curve)), row=row + k, col=column)
            shared = figure.get_subplot(row, column).xaxis.plotly_name.replace("axis", "")
            figure.update_xaxes(
                range=list(window),
                matches=shared if k > 0 else None,
                nticks=8,
                title_text=html.escape(line.along.axis),
                row=row + k,
                col=column,
            )


def _extent(line: Line, window: Span) -> Span:
    """Return all of the line that has steps, so that one can look beyond the first view."""
    if line.span is not None:
        return window
    edges = np.concatenate([window, *(curve.edges for curve in line.curves)])
    margin = 0.05 * (edges.max() - edges.min())
    return float(edges.min() - margin), float(edges.max() + margin)


def _traces(curve: Curve, shape: StepCurve | Band, colour: str) -> list[Any]:
    from plotly.graph_objects import Scatter

    style = {"shape": "hv", "color": colour, "width": 1.5}
    common: dict[str, Any] = {"mode": "lines", "line": style, "showlegend": False}
    name = html.escape(curve.metric)
    where = "from %{customdata[0]:.10~g} to %{customdata[1]:.10~g}"
    ends = _step_points(shape.ends)
    pieces = np.column_stack([np.repeat(shape.ends[:-1], 2), np.repeat(shape.ends[1:], 2)])
    if isinstance(shape, StepCurve):
        return [
            Scatter(
                x=ends,
                y=np.repeat(shape.scores, 2),
                customdata=pieces,
                hovertemplate=f"{name} %{{y:.4f}}<br>{where}<extra></extra>",
                **common,
            )
        ]
    low, high = np.repeat(shape.low, 2), np.repeat(shape.high, 2)
    both = np.column_stack([pieces, low])
    hover = f"{name} %{{customdata[2]:.4f}} to %{{y:.4f}}<br>{where}<extra></extra>"
    return [
        Scatter(x=ends, y=low, hoverinfo="skip", **common),
        Scatter(
            x=ends,
            y=high,
            fill="tonexty",
            fillcolor=colour,
            customdata=both,
            hovertemplate=hover,
            **common,
        ),
    ]


def _step_points(ends: Floats) -> Floats:
    """Return two points of each interval: its beginning, and just before its end.

    Hovering shows the nearest point, which so belongs to the interval under the pointer. Both
    must differ after plotly has rounded them to hundredths of a pixel.
    """
    low, high = ends[:-1], ends[1:]
    points = np.column_stack([low, high - 0.02 * (high - low)]).ravel()
    points[-1] = ends[-1]
    return points


def _mark(figure: Figure, line: Line, curve: Curve, span: Span, row: int, column: int) -> None:
    """Mark the plateau, the current weight, the best interval and the line's other end."""
    from plotly.graph_objects import Scatter

    where: dict[str, Any] = {"row": row, "col": column}
    area: dict[str, Any] = {"opacity": 0.35, "line_width": 0, "layer": "below", **where}
    low, high = np.clip(curve.plateau, *span).tolist()
    figure.add_vrect(low, high, fillcolor=PLATEAU, **area)
    figure.add_vline(line.weight, line=CURRENT_STYLE, **where)
    if line.along.end is not None:
        figure.add_vline(1.0, line=END_STYLE, **where)
    best = curve.best
    if best.at != line.weight:
        low, high = np.clip((best.low, best.high), *span).tolist()
        figure.add_vrect(low, high, fillcolor=BEST, **area)
    if span[0] <= best.at <= span[1]:
        figure.add_trace(
            Scatter(
                x=[best.at],
                y=[best.score],
                mode="markers",
                marker=STAR_STYLE,
                hovertemplate=html.escape(best_text(line, curve)) + "<extra></extra>",
                showlegend=False,
            ),
            **where,
        )


def _explain(figure: Figure, surface: ErrorSurface) -> None:
    """Add the legend: shapes have none of their own."""
    from plotly.graph_objects import Scatter

    square = {"symbol": "square", "size": 13}
    marks: dict[str, Any] = {
        "current weights": {"mode": "lines", "line": CURRENT_STYLE},
        "plateau around them": {"mode": "markers", "marker": {**square, "color": PLATEAU}},
        "best interval on the line": {"mode": "markers", "marker": STAR_STYLE},
    }
    if any(line.along.end is not None for line in surface.lines):
        marks["the other weights"] = {"mode": "lines", "line": END_STYLE}
    for name, style in marks.items():
        figure.add_trace(Scatter(x=[None], y=[None], name=name, hoverinfo="skip", **style), 1, 1)
