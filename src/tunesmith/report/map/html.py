"""Maps as interactive pages; a page is one file and needs no network."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.report.drawing import interactive_page
from tunesmith.report.map.map import MetricMap
from tunesmith.report.map.words import scale, scale_title, star_of, summary, title

HEIGHT = 620
CAPTION = (
    "Every row of pixels is one exact line through the weights: its colours are the mean score "
    "from one end of a pixel to the other, and no score on the line is left out. The pointer "
    "shows the lowest and the highest of a pixel too. Drag to zoom, double-click to go back."
)
CURRENT_STYLE = {"size": 6, "color": "#ffffff", "outline": "#000000", "outlineWidth": 2.5}
STAR_STYLE = {
    "symbol": "star",
    "size": 11,
    "color": "#d55e00",
    "outline": "#ffffff",
    "outlineWidth": 1.5,
}


def page(metric_map: MetricMap) -> str:
    """Return the page: the numbers, and the map."""
    return interactive_page(build(metric_map), title(metric_map), summary(metric_map)[1:], CAPTION)


def build(metric_map: MetricMap) -> dict[str, Any]:
    """Return the chart."""
    low, high = scale(metric_map)
    pixels = {
        "kind": "pixels",
        "x": list(metric_map.window[0]),
        "y": list(metric_map.window[1]),
        "values": _short(metric_map.mean),
        "lowest": _short(metric_map.low),
        "highest": _short(metric_map.high),
        "low": low,
        "high": high,
        "reversed": not metric_map.higher_is_better,
    }
    mark, label = star_of(metric_map)
    marks = [(metric_map.current, "current weights", CURRENT_STYLE), (mark, label, STAR_STYLE)]
    points = [
        {
            "kind": "points",
            "name": name,
            "x": [point.x],
            "y": [point.y],
            "words": [f"{name}: {point.score:.4f}\n({point.x:.8g}, {point.y:.8g})"],
            **style,
        }
        for point, name, style in marks
        if metric_map.holds(point)
    ]
    x, y = (
        {"title": f"weight of {name}", "range": list(window)}
        for name, window in zip(metric_map.features, metric_map.window, strict=True)
    )
    panel = {"title": [scale_title(metric_map)], "x": x, "y": y, "marks": [pixels, *points]}
    return {"panels": [panel], "height": HEIGHT, "zoom": True}


def _short(scores: Floats) -> list[list[float]]:
    """Round to visible digits: more would be most of a page's size."""
    rows: list[list[float]] = np.round(scores, 5).tolist()
    return rows
