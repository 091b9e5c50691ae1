"""Surfaces as interactive pages; a page is one file and needs no network."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.report.drawing import interactive_page
from tunesmith.report.surface.curves import Curve, Span
from tunesmith.report.surface.panels import (
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

#: Pixels.
ROW = 330
#: A page may be zoomed into, so it has more columns than a screen, and more single steps.
COLUMNS, MOST_STEPS = 4000, 20000
#: Rows beyond which browsers are slow.
MOST_ROWS = 40

#: One colour of the page per metric.
COLOURS = tuple(f"var(--series-{k})" for k in range(1, 6))
CURRENT = {"kind": "rule", "color": "var(--ink)", "dash": "dash"}
END = {**CURRENT, "dash": "dot"}
PLATEAU = {"kind": "area", "color": "var(--plateau)"}
BEST = {"kind": "area", "color": "var(--best)"}
STAR = {
    "kind": "points",
    "symbol": "star",
    "size": 8,
    "color": "var(--best)",
    "outline": "var(--ink)",
}

CAPTION = (
    "The line as a whole, and around the current weights, step for step. Drag to zoom, "
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
        f"{names} {', '.join(line.along.title for line in surface.lines)}",
        [part for line in surface.lines for part in summary(line)],
        CAPTION + (CAPTION_COLUMNS.format(columns=COLUMNS) if columns else ""),
    )


def build(surface: ErrorSurface) -> dict[str, Any]:
    """Return the chart: for each metric of each line the whole, and a close-up."""
    rows = sum(len(line.curves) for line in surface.lines)
    if rows > MOST_ROWS:
        raise UsageError(
            f"the page would have {rows} rows; give fewer features or metrics, or write .json"
        )
    panels = [
        panel
        for number, line in enumerate(surface.lines)
        for k, curve in enumerate(line.curves)
        for panel in _row(number, line, curve, COLOURS[k % len(COLOURS)], first=k == 0)
    ]
    return {
        "panels": panels,
        "columns": 2,
        "height": ROW,
        "zoom": True,
        "legend": _legend(surface),
    }


def _row(
    number: int, line: Line, curve: Curve, colour: str, first: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the panels of one metric; those of the same line are zoomed together."""
    whole, close = whole_window(line), close_window(line)
    span = _extent(line, whole)
    shape = shape_within(curve, span, COLUMNS, MOST_STEPS)
    if isinstance(shape, Band):
        shape = shape_within(curve, whole, COLUMNS, MOST_STEPS)
    left = _panel(line, curve, shape, span, whole, colour)
    shape = shape_within(curve, close, COLUMNS, 10**9)
    right = _panel(line, curve, shape, close, close, colour)
    titles = heading(line), "around the current weights"
    texts = best_text(line, curve), current_text(line, curve)
    for panel, title, text, side in zip((left, right), titles, texts, ("w", "c"), strict=True):
        panel["title"] = [title, text] if first else [text]
        panel["link"] = f"{side}{number}"
    return left, right


def _panel(
    line: Line, curve: Curve, shape: StepCurve | Band, span: Span, window: Span, colour: str
) -> dict[str, Any]:
    """Return one panel: the curve, with the marks that lie within a span."""
    marks = [*_areas(line, curve, span), _curve(curve, shape, colour)]
    marks.append({**CURRENT, "x": line.weight})
    if line.along.end is not None:
        marks.append({**END, "x": 1.0})
    best = curve.best
    if span[0] <= best.at <= span[1]:
        words = [best_text(line, curve)]
        marks.append({**STAR, "x": [best.at], "y": [best.score], "words": words})
    return {
        "x": {"title": line.along.axis, "range": list(window)},
        "y": {"title": score_label(curve)},
        "marks": marks,
    }


def _areas(line: Line, curve: Curve, span: Span) -> list[dict[str, Any]]:
    """Mark the plateau around the current weight, and the best interval if it is another one."""
    areas = [(PLATEAU, curve.plateau)]
    if curve.best.at != line.weight:
        areas.append((BEST, (curve.best.low, curve.best.high)))
    marks = []
    for style, ends in areas:
        low, high = np.clip(ends, *span).tolist()
        marks.append({**style, "from": low, "to": high})
    return marks


def _curve(curve: Curve, shape: StepCurve | Band, colour: str) -> dict[str, Any]:
    mark = {"color": colour, "label": curve.metric, "ends": shape.ends.tolist()}
    if isinstance(shape, StepCurve):
        return {"kind": "steps", **mark, "values": shape.scores.tolist()}
    return {"kind": "band", **mark, "low": shape.low.tolist(), "high": shape.high.tolist()}


def _legend(surface: ErrorSurface) -> list[dict[str, Any]]:
    """Name the marks."""
    names: dict[str, dict[str, Any]] = {
        "current weights": CURRENT,
        "plateau around them": PLATEAU,
    }
    names["best interval on the line"] = STAR
    if any(line.along.end is not None for line in surface.lines):
        names["the other weights"] = END
    return [{**style, "name": name} for name, style in names.items()]


def _extent(line: Line, window: Span) -> Span:
    """Return all of the line that has steps, so that one can look beyond the first view."""
    if line.span is not None:
        return window
    edges = np.concatenate([window, *(curve.edges for curve in line.curves)])
    margin = 0.05 * (edges.max() - edges.min())
    return float(edges.min() - margin), float(edges.max() + margin)
