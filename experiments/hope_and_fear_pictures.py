"""The pictures of hope_and_fear.py: BLEU on Dev by epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hope_and_fear_known import TUNERS, Known, way
from hope_and_fear_parts import Parts
from hope_and_fear_runs import Run
from regularized_mert_pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, save

Row = dict[str, Any]
#: A label, and runs that differ in their seeds.
Curve = tuple[str, Sequence[Run]]
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, GREY)
MARKS = "os^Dv<"


def draw(rows: Sequence[Row], parts: Parts, folder: Path) -> None:
    """Draw all pictures for which there are runs."""
    known = Known(rows)
    for number, panels in enumerate(figures(parts), 2):
        if any(known.of(runs) for curves in panels.values() for _, runs in curves):
            save(figure(known, panels), folder / f"hope-and-fear-{number}.png")


def figures(parts: Parts) -> list[dict[str, list[Curve]]]:
    """Return the panels of figures 2 to 6, and of the large model, with their curves."""
    learners = way(parts.usual("small", "sgd"))
    both = {model: _seeds(parts, model) for model in ("small", "large")}
    return [
        {
            **{
                f"({letter}) {TUNERS[tuner]}, {learners}": _named(
                    parts.by_rate(tuner), lambda one: f"η = {one.rate:g}"
                )
                for letter, tuner in zip("abc", ("sgd", "mira", "min-risk"), strict=True)
            },
            "(d) η = 0.01, and MERT": _named(
                [*(parts.usual("small", t) for t in ("sgd", "mira", "min-risk")), parts.mert],
                lambda one: TUNERS[one.tuner],
            ),
        },
        {
            "(a) SGD: how hope and fear are searched": _named(
                parts.by_search(), lambda one: one.search
            ),
            "(b) MIRA: weight of the loss": _named(parts.by_loss(), lambda one: f"μ = {one.mu:g}"),
        },
        {f"MIRA, {model} model": curves for model, curves in both.items()},
        {
            "Asynchronous MIRA, large model": _named(
                parts.by_number(), lambda one: f"p = {one.learners}"
            )
        },
        {
            "(a) AROW, λ = 0.01": _named(parts.by_variance(), lambda one: f"η₀ = {one.rate:g}"),
            "(b) AROW, η₀ = 1": _named(
                parts.by_confidence(), lambda one: f"λ = {one.confidence:g}"
            ),
        },
        {"Large model": _ordering(parts)},
    ]


def _named(runs: Sequence[Run], name: Callable[[Run], str]) -> list[Curve]:
    return [(name(one), [one]) for one in runs]


def _seeds(parts: Parts, model: str) -> list[Curve]:
    every = zip(*(parts.by_way(model, seed) for seed in parts.protocol.seeds), strict=True)
    return [(way(same[0]), same) for same in every]


def _ordering(parts: Parts) -> list[Curve]:
    every = zip(*(parts.ordering(seed) for seed in parts.protocol.seeds), strict=True)
    return [(f"{TUNERS[same[0].tuner]}, {same[0].parallel}", same) for same in every]


def figure(known: Known, panels: dict[str, list[Curve]]) -> Figure:
    """Draw panels side by side, at most two in a row."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    made = Figure(figsize=(4.8 * columns + (columns == 1), 4.1 * rows), layout="constrained")
    axes = made.subplots(rows, columns, sharey=True, squeeze=False)
    for axis, (title, curves) in zip(axes.flat, panels.items(), strict=True):
        _panel(axis, known, curves)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
        axis.xaxis.get_major_locator().set_params(integer=True)
        # Below, where no curve is.
        axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    for axis in axes[:, 0]:
        axis.set_ylabel("BLEU on Dev")
    return made


def _panel(axis: Axes, known: Known, curves: Sequence[Curve]) -> None:
    """Draw means over seeds, and their range where there are several."""
    for k, (name, runs) in enumerate(curves):
        rows = known.of(runs)
        if not rows:
            continue
        colour, mark = COLOURS[k % len(COLOURS)], MARKS[k % len(MARKS)]
        found = np.array([row["dev"] for row in rows])
        epochs = np.arange(found.shape[1])
        if len(found) > 1:
            low, high = found.min(axis=0), found.max(axis=0)
            axis.fill_between(epochs, low, high, color=colour, alpha=0.12, lw=0)
        axis.plot(epochs, found.mean(axis=0), mark + "-", color=colour, ms=4, label=name)
