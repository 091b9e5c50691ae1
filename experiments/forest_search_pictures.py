"""The pictures of forest_search.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from forest_search_tables import STARTS, WEIGHTS, labels, rows_of
from regularized_mert_pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, save

Row = dict[str, Any]
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
MARKS = "os^Dv"
SHOWN = ("start", "paper", "tuned")
PANELS = {"searches": "SGD: how hope and fear are searched", "mu": "MIRA: weight of the loss"}


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Draw all pictures for which there are rows."""
    folder.mkdir(exist_ok=True)
    if rows_of(rows, "fear"):
        shown = [row for about in SHOWN for row in rows_of(rows, "fear", about=about)]
        save(figure1(shown), folder / "forest-search-fear.png")
    if rows_of(rows, "searches") and rows_of(rows, "mu"):
        save(figure3(rows), folder / "forest-search-curves.png")
    if rows_of(rows, "mert"):
        save(rounds(rows), folder / "forest-search-mert.png")


def figure1(rows: Sequence[Row]) -> Figure:
    """Draw derivations of one sentence: the score of the model, and the loss."""
    figure = Figure(figsize=(4.4 * len(rows), 4.7), layout="constrained")
    axes = figure.subplots(1, len(rows), squeeze=False)[0]
    for axis, row in zip(axes, rows, strict=True):
        scene = row["scene"]
        _scene(axis, scene)
        axis.set_title(f"weights {WEIGHTS[row['about']]}; sentence {scene['sentence']}")
        axis.set_xlabel("model score w·h")
    axes[0].set_ylabel("loss: B of hope in the forest − B")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=6, fontsize=9)
    return figure


def _scene(axis: Axes, scene: dict[str, Any]) -> None:
    least = scene["hope forest"][1]

    def loss(points: Sequence[Sequence[float]]) -> Any:
        found = np.array(points)
        return found[:, 0], least - found[:, 1]

    listed = loss(scene["list"])
    axis.scatter(*loss(scene["samples"]), s=14, facecolors="none", edgecolors=GREY, label="samples")
    axis.scatter(*listed, s=10, color=BLUE, label="100-best")
    for side, colour, mark in (("fear", VERMILION, "s"), ("hope", GREEN, "D")):
        for where, filled in (("list", "none"), ("forest", colour)):
            point = loss([scene[f"{side} {where}"]])
            name = f"{side}: {'100-best' if where == 'list' else 'forest'}"
            axis.scatter(
                *point, s=60, marker=mark, facecolors=filled, edgecolors=colour, label=name
            )
    low = [float(one.min()) for one in listed]
    size = [float(np.ptp(one)) for one in listed]
    spans = [
        np.ptp(np.concatenate([a, b])) for a, b in zip(listed, loss(scene["samples"]), strict=True)
    ]
    pad = [0.02 * float(span) for span in spans]
    box = Rectangle(
        (low[0] - pad[0], low[1] - pad[1]),
        size[0] + 2 * pad[0],
        size[1] + 2 * pad[1],
        fill=False,
        edgecolor=BLUE,
        linewidth=0.8,
    )
    axis.add_patch(box)


def figure3(rows: Sequence[Row]) -> Figure:
    """Draw BLEU on Dev after each epoch: a row of panels for each start."""
    abouts = [about for about in STARTS if rows_of(rows, "searches", about=about)]
    figure = Figure(figsize=(9.6, 3.8 * len(abouts)), layout="constrained")
    axes = figure.subplots(len(abouts), 2, sharey="row", squeeze=False)
    for pair, about in zip(axes, abouts, strict=True):
        for axis, (part, title) in zip(pair, PANELS.items(), strict=True):
            _curves(axis, rows, part, about)
            axis.set_title(f"{title}; start {STARTS[about]}" if len(abouts) > 1 else title)
            axis.set_xlabel("epoch")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8, loc="lower right")
        pair[0].set_ylabel("BLEU on Dev")
    return figure


def _curves(axis: Axes, rows: Sequence[Row], part: str, about: str) -> None:
    """Draw the mean over seeds, and their range."""
    for label, colour, mark in zip(labels(rows, part), COLOURS, MARKS, strict=False):
        found = rows_of(rows, part, label=label, about=about)
        if not found:
            continue
        curves = np.array([row["dev"] for row in found])[:, 1:]
        epochs = np.arange(1, curves.shape[1] + 1)
        low, high = curves.min(axis=0), curves.max(axis=0)
        axis.fill_between(epochs, low, high, color=colour, alpha=0.12, lw=0)
        shown = f"μ = {label}" if part == "mu" else label
        axis.plot(epochs, curves.mean(axis=0), mark + "-", color=colour, ms=4, label=shown)


def rounds(rows: Sequence[Row]) -> Figure:
    """Draw BLEU of the forests' own best after each round of MERT on lists."""
    names = list(dict.fromkeys(row["about"] for row in rows_of(rows, "mert")))
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        for label, colour, mark in zip(labels(rows, "mert"), COLOURS, MARKS, strict=False):
            for k, row in enumerate(rows_of(rows, "mert", label=label, about=name)):
                bleu = [one["bleu"] for one in row["rounds"]]
                shown = label if k == 0 else None
                if label.startswith("forests"):
                    style = "--" if label == "forests" else "-."
                    axis.axhline(bleu[-1], color=colour, linestyle=style, lw=1.0, label=shown)
                else:
                    axis.plot(range(len(bleu)), bleu, mark + "-", color=colour, ms=4, label=shown)
        axis.set_title(name)
        axis.set_xlabel("round")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("BLEU of the forests' best")
    # The first set has all ways of running it.
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, fontsize=9)
    return figure
