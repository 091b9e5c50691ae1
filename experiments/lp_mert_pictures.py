"""The pictures of lp_mert.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from regularized_mert_pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, save

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, GREY)
MARKS = "os^Dv<>pXh*P"


def figure2(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the seconds of QuickHull and of tests against the number of features."""
    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    axis = figure.subplots()
    rows = sorted(rows, key=lambda row: row["features"])
    for which, label, colour, mark in (
        ("hull_seconds", "QuickHull", VERMILION, "^"),
        ("all_seconds", "every point tested", BLUE, "o"),
        ("algorithm1_seconds", "the best point only (Algorithm 1)", GREEN, "s"),
    ):
        shown = [row for row in rows if row[which] is not None]
        x, y = [row["features"] for row in shown], [row[which] for row in shown]
        axis.plot(x, y, color=colour, marker=mark, label=label)
    axis.set_yscale("log")
    axis.set_xlabel("number of features D")
    axis.set_ylabel("seconds")
    axis.legend(fontsize=8)
    save(figure, path)


def figure5(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw sorted differences between exact search and MERT."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        sizes = sorted({row["size"] for row in rows if row["data"] == name})
        for size, colour, mark in zip(sizes, COLOURS, MARKS, strict=False):
            more = sorted(
                row["exact"] - row["mert"]
                for row in rows
                if (row["data"], row["size"], row["mert_counts"]) == (name, size, True)
            )
            x = [100.0 * (k + 0.5) / len(more) for k in range(len(more))]
            axis.plot(x, more, color=colour, marker=mark, markersize=3, label=f"S = {size}")
        axis.axhline(0.0, color=GREY, linewidth=0.6, linestyle=":")
        axis.set_title(name)
        axis.set_xlabel("tuning sets, sorted, per cent")
    axes[0].set_ylabel("exact search − MERT, sentence BLEU")
    axes[0].legend(fontsize=8)
    save(figure, path)


def sweep(rows: Sequence[dict[str, Any]], which: str, label: str, path: Path) -> None:
    """Draw seconds against features or cosine, a line for each number of sentences."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    places = sorted({row[which] for row in rows}, reverse=which == "cosine")
    for axis, name in zip(axes, names, strict=True):
        sizes = sorted({row["size"] for row in rows if row["data"] == name})
        for k, size in enumerate(sizes):
            same = [r for r in rows if (r["data"], r["size"], r["optimal"]) == (name, size, True)]
            if not same:
                continue
            same.sort(key=lambda row: places.index(row[which]))
            x, y = [places.index(row[which]) for row in same], [row["seconds"] for row in same]
            colour, mark = COLOURS[k % len(COLOURS)], MARKS[k % len(MARKS)]
            axis.plot(x, y, color=colour, marker=mark, markersize=5, label=f"S = {size}")
        limit = max(row["limit"] for row in rows)
        axis.axhline(limit, color=GREY, linewidth=0.6, linestyle=":")
        axis.set_yscale("log")
        axis.set_xticks(range(len(places)), [f"{place:g}" for place in places])
        axis.set_xlabel(label)
        axis.set_title(name)
    axes[0].set_ylabel("seconds")
    axes[-1].legend(fontsize=8)
    save(figure, path)


def within(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw how much better weights within an angle can be, a line for each time."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        same = sorted((r for r in rows if r["data"] == name), key=lambda row: row["degrees"])
        limits = sorted({row["limit"] for row in same})
        for limit, colour, mark in zip(limits, COLOURS, MARKS, strict=False):
            shown = [row for row in same if row["limit"] == limit]
            x, y = [row["degrees"] for row in shown], [row["gap"] for row in shown]
            axis.plot(x, y, color=colour, marker=mark, markersize=4, label=f"{limit:.0f} s")
        best: dict[float, float] = {}
        for row in same:
            best[row["degrees"]] = max(best.get(row["degrees"], 0.0), row["found"] - row["score"])
        axis.plot([*best], [*best.values()], color=GREY, linestyle=":", label="best found")
        axis.set_title(name)
        axis.set_xlabel("degrees around the weights of MERT")
    axes[0].set_ylabel("sentence BLEU above these weights, at most")
    axes[0].legend(fontsize=8)
    save(figure, path)
