"""Pictures of scores, lengths and weights, by round and before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.report.page.figures.words import axis_of, displayed, label
from tunesmith.report.page.view import RoundsView, WeightTable
from tunesmith.report.surface.panels import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches.
SIZE = (8.4, 4.8)
#: How series are drawn; others have what colours are left.
LINES: dict[str, dict[str, Any]] = {
    "tune": {"color": COLOURS[0], "marker": "o"},
    "dev": {"color": COLOURS[1], "marker": "s"},
    "test": {"color": COLOURS[2], "marker": "^"},
    "promised": {"color": COLOURS[4], "marker": ".", "linestyle": "--"},
    "best so far": {"color": "#888888", "drawstyle": "steps-post"},
    "smoothed": {"color": COLOURS[3], "linestyle": "--"},
    "bound": {"color": "#888888", "linestyle": ":", "marker": "."},
}
#: Descriptions of series whose names say little.
CALLED = {"promised": "promised by the tuner, on its lists", "bound": "no weights do better"}
CHOSEN = "#E69F00"
#: Names along an axis: as many as fit, and as long.
MOST_NAMES, LONGEST = 26, 24
#: Features in a picture of weights, and lines in one of rounds.
MOST_WEIGHTS, MOST_LINES = 40, 10
#: Sizes that differ by more than this factor are shown on a logarithmic scale.
WIDE = 300.0


def scores(figure: Figure, rounds: RoundsView, metric: str, higher: bool) -> None:
    """Draw scores by round, the chosen row being marked."""
    axes = figure.subplots()
    _series(axes, rounds, rounds.series)
    axes.set_ylabel(axis_of(metric, higher))
    axes.set_title(f"{displayed(metric)} by {rounds.unit}", loc="left", fontsize=12)
    _legend(figure)


def lengths(figure: Figure, rounds: RoundsView) -> None:
    """Draw length ratios by round; those of the references are 1."""
    axes = figure.subplots()
    axes.axhline(1.0, color="#444444", linewidth=1.0, label="as long as the references")
    _series(axes, rounds, rounds.length_ratios)
    axes.set_ylabel("length of the output / of the references")
    axes.set_title(f"length ratio by {rounds.unit}", loc="left", fontsize=12)
    _legend(figure)


def _series(axes: Axes, rounds: RoundsView, series: Mapping[str, Sequence[float | None]]) -> None:
    """Draw lines of some columns; rows that do not follow on each other are points."""
    if rounds.chosen is not None and len(rounds.names) > 1:
        axes.axvspan(
            rounds.chosen - 0.4, rounds.chosen + 0.4, color=CHOSEN, alpha=0.3, lw=0, label="chosen"
        )
    left = iter(COLOURS * len(series))
    for name, values in series.items():
        style = LINES.get(name) or {"color": next(left), "marker": "."}
        if not rounds.is_ordered and name != "best so far":
            style = {**style, "linestyle": "none"}
        if len(values) > MOST_NAMES:
            style = {**style, "markersize": 3.0}
        known = [(k, value) for k, value in enumerate(values) if value is not None]
        # Between two rows that were not searched, the line is only a guess.
        if len(known) < len(values) and name in {"tune", "dev", "test"}:
            style = {"linestyle": ":" if len(known) > 1 else "none", **style}
        axes.plot(*zip(*known, strict=True), label=label(CALLED.get(name, name)), **style)
    axes.grid(alpha=0.25)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.margins(y=0.12)
    _name_rows(axes, rounds)


def _name_rows(axes: Axes, rounds: RoundsView) -> None:
    """Name as many rows as fit."""
    count = len(rounds.names)
    longest = max((min(len(name), LONGEST) for name in rounds.names), default=1)
    step = -(-count // MOST_NAMES)
    places = list(range(0, count, step))
    axes.set_xticks(places, [displayed(rounds.names[k], LONGEST) for k in places])
    if longest * len(places) > 90:
        axes.tick_params(axis="x", labelrotation=35)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
            text.set_rotation_mode("anchor")
    axes.set_xlim(-0.6, count - 0.4)
    axes.set_xlabel(rounds.unit)


def _legend(figure: Figure) -> None:
    figure.legend(loc="outside lower center", ncols=4, frameon=False)


def weights_size(table: WeightTable) -> tuple[float, float]:
    """Return the size of the picture of weights."""
    return 9.6, 1.7 + 0.27 * min(len(table.rows), MOST_WEIGHTS)


def weights(figure: Figure, table: WeightTable) -> None:
    """Draw weights before and after, and how much they say where that is known."""
    rows = table.rows[:MOST_WEIGHTS]
    has_spread = any(row.spread is not None for row in rows)
    panels = figure.subplots(1, 2 if has_spread else 1, sharey=True, squeeze=False)[0]
    places = np.arange(len(rows))
    every = np.array([[row.start, row.tuned] for row in table.rows]).T
    start, tuned = _of_size(*every)[: len(rows)], every[1, : len(rows)]
    axes = panels[0]
    axes.hlines(places, start, tuned, color="#bbbbbb", linewidth=2.0)
    before = {"linestyle": "none", "marker": "o", "markerfacecolor": "white"}
    axes.plot(start, places, color="#666666", label="start, scaled alike", **before)
    axes.plot(tuned, places, "o", color=COLOURS[0], label="tuned")
    axes.axvline(0.0, color="#444444", linewidth=0.8)
    axes.set_yticks(places, [displayed(row.feature) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("weight")
    _scale(axes.set_xscale, np.concatenate([start, tuned]))
    left_out = table.left_out + len(table.rows) - len(rows)
    more = f", the first {len(rows)} of {len(rows) + left_out}" if left_out else ""
    axes.set_title(f"weights{more}", loc="left", fontsize=12)
    if has_spread:
        says = [abs(row.tuned) * (row.spread or 0.0) for row in rows]
        panels[1].barh(places, says, color=COLOURS[0], height=0.6)
        panels[1].set_xlabel("size of the weight × spread of the feature")
        panels[1].set_title("how much each says", loc="left", fontsize=12)
    for panel in panels:
        panel.grid(alpha=0.25, axis="x")
        if panel.get_xscale() == "linear":
            panel.locator_params(axis="x", nbins=6)
    _legend(figure)


def weights_by_round(figure: Figure, table: WeightTable) -> None:
    """Draw the weights that say most by round, named where they end."""
    axes = figure.subplots()
    rows = table.rows[:MOST_LINES]
    places = range(len(table.rounds))
    lines = []
    for k, row in enumerate(rows):
        by_round = [np.nan if value is None else value for value in row.by_round]
        # Runs do not follow on each other.
        style = ":" if table.unit == "run" else ("-", "--")[k // 8 % 2]
        marker = ("o", "s")[k // 8 % 2]
        lines += axes.plot(
            places, by_round, marker=marker, markersize=4.0, color=_colour(k), linestyle=style
        )
    axes.axhline(0.0, color="#444444", linewidth=0.8)
    axes.grid(alpha=0.25)
    values = np.array([v for row in rows for v in row.by_round if v is not None])
    _scale(axes.set_yscale, values)
    _name_rows(axes, RoundsView(table.unit, table.rounds, {}, {}, None))
    axes.set_ylabel("weight, all scaled alike")
    more = f", the first {len(rows)}" if len(rows) < len(table.rows) or table.left_out else ""
    axes.set_title(f"weights by {table.unit}{more}", loc="left", fontsize=12)
    names = [label(row.feature, 28) for row in rows]
    figure.legend(lines, names, loc="outside right upper", frameon=False, fontsize=9)


def _colour(k: int) -> str:
    more = "#000000", "#999999", "#E69F00"
    return (*COLOURS, *more)[k % (len(COLOURS) + len(more))]


def _of_size(values: Floats, other: Floats) -> Floats:
    """Scale weights to the sum of sizes of others: the scale has no influence."""
    size, wanted = float(np.abs(values).sum()), float(np.abs(other).sum())
    return values * (wanted / size) if size > 0.0 and wanted > 0.0 else values


def _scale(set_scale: Callable[..., None], values: Floats) -> None:
    """Choose a scale on which both small and large weights can be seen."""
    sizes = np.sort(np.abs(values[values != 0.0]))
    if not len(sizes) or sizes[-1] <= WIDE * np.median(sizes):
        return
    set_scale("symlog", linthresh=float(np.median(sizes)))
