"""Maps as interactive pages, by plotly; a page is one file and needs no network."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.report.drawing import interactive_page, require_plotly
from tunesmith.report.map.map import MetricMap
from tunesmith.report.map.words import scale, scale_title, star_of, summary, title

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 720
CAPTION = (
    "Every row of pixels is one exact line through the weights: its colours are the mean score "
    "from one end of a pixel to the other, and no score on the line is left out. The pointer "
    "shows the lowest and the highest of a pixel too. Drag to zoom, double-click to go back."
)
CURRENT_STYLE = {"symbol": "circle-open", "size": 14, "color": "black", "line": {"width": 3}}
STAR_STYLE = {
    "symbol": "star",
    "size": 18,
    "color": "#D55E00",
    "line": {"color": "white", "width": 1.5},
}


def page(metric_map: MetricMap) -> str:
    """Return the page: the numbers, and the map."""
    return interactive_page(
        build(metric_map), "map", title(metric_map), summary(metric_map)[1:], CAPTION
    )


def build(metric_map: MetricMap) -> Figure:
    """Return plotly's figure."""
    require_plotly()
    from plotly.graph_objects import Figure, Heatmap, Scatter

    low, high = scale(metric_map)
    columns = metric_map.columns
    figure = Figure()
    figure.add_trace(
        Heatmap(
            x=0.5 * (columns[1:] + columns[:-1]),
            y=metric_map.rows,
            z=_short(metric_map.mean),
            customdata=np.stack([_short(metric_map.low), _short(metric_map.high)], axis=-1),
            zmin=low,
            zmax=high,
            colorscale="Viridis" if metric_map.higher_is_better else "Viridis_r",
            colorbar={"title": {"text": html.escape(scale_title(metric_map)), "side": "right"}},
            hovertemplate="(%{x:.5~g}, %{y:.5~g})<br>mean %{z:.4f}<br>"
            "%{customdata[0]:.4f} to %{customdata[1]:.4f}<extra></extra>",
        )
    )
    mark, label = star_of(metric_map)
    marks = [(metric_map.current, "current weights", CURRENT_STYLE), (mark, label, STAR_STYLE)]
    for point, name, style in marks:
        if metric_map.holds(point):
            figure.add_trace(
                Scatter(
                    x=[point.x],
                    y=[point.y],
                    mode="markers",
                    name=name,
                    marker=style,
                    hovertemplate=f"{name}<br>(%{{x:.8~g}}, %{{y:.8~g}})<br>"
                    f"{point.score:.4f}<extra></extra>",
                )
            )
    axis: dict[str, Any] = {"showgrid": False, "zeroline": False}
    names = [html.escape(name) for name in metric_map.features]
    figure.update_xaxes(
        title_text=f"weight of {names[0]}", range=list(metric_map.window[0]), **axis
    )
    figure.update_yaxes(
        title_text=f"weight of {names[1]}", range=list(metric_map.window[1]), **axis
    )
    figure.update_layout(
        height=HEIGHT,
        template="plotly_white",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        margin={"t": 50, "b": 60, "l": 80, "r": 20},
    )
    return figure


def _short(scores: Floats) -> Floats:
    """Round to visible digits: more would be most of a page's size."""
    return np.round(scores, 5)
