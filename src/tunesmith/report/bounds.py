"""The bound against the angle to weights, as a static picture."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.io.streams import writing
from tunesmith.report.drawing import DPI, METADATA, drawing, require_matplotlib

ENDINGS = ("png", "svg", "pdf")
#: Inches.
SIZE = (6.4, 4.0)
#: Share of the angles that a step must have for its number.
ROOM = 0.06
MINUS = "\u2212"
BOUND, SCORE, GAP = "#0072b2", "#333333", "#0072b2"


def check_picture(path: str) -> str:
    """Return the kind of picture that a name asks for; an error if it cannot be made."""
    kind = os.path.splitext(path)[1].lstrip(".").lower()
    if kind not in ENDINGS:
        known = ", ".join(f".{ending}" for ending in ENDINGS)
        raise UsageError(f"{path}: the ending is none of {known}; name one of these")
    require_matplotlib()
    return kind


def write_bounds(
    path: str, curve: Sequence[Mapping[str, Any]], score: float, best: float, metric: str
) -> None:
    """Draw what weights within each angle reach at most, above what the given ones reach."""
    kind = check_picture(path)
    from matplotlib.figure import Figure

    angles = [0.0, *(float(point["degrees"]) for point in curve)]
    bounds = [score, *(float(point["bound"]) for point in curve)]
    with drawing():
        figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
        axes = figure.add_subplot()
        # Between two angles the bound of the greater one holds.
        axes.fill_between(angles, score, bounds, step="pre", color=GAP, alpha=0.12, linewidth=0)
        axes.plot(angles, bounds, color=BOUND, drawstyle="steps-pre")
        axes.plot(angles[1:], bounds[1:], color=BOUND, marker="o", markersize=4, linestyle="none")
        up = bounds[-1] >= score
        for before, point in zip(angles, curve, strict=False):
            place = (float(point["degrees"]), float(point["bound"]))
            if place[0] - before < ROOM * angles[-1]:
                continue
            text = f"{'+' if up else MINUS}{point['gap']:.2f}"
            away: dict[str, Any] = {
                "xytext": (-3, 4 if up else -11),
                "textcoords": "offset points",
                "ha": "right",
            }
            axes.annotate(text, place, fontsize=8, **away)
        _level(axes, score, f"these weights, {score:.2f}", angles[-1], "-", not up)
        if best != score:
            _level(axes, best, f"best found, {best:.2f}", angles[-1], ":", up)
        axes.set_xlim(0.0, angles[-1] * 1.04)
        axes.margins(y=0.15)
        axes.set_xlabel("angle to the weights in degrees, features scaled by their deviation")
        axes.set_ylabel(metric)
        axes.set_title("No weights within the angle do better than the line", fontsize=10)
        with writing(path) as file:
            figure.savefig(file, format=kind, dpi=DPI, metadata=METADATA[kind])


def _level(axes: Any, level: float, words: str, right: float, style: str, above: bool) -> None:
    """Draw a level line, with words at its end."""
    axes.axhline(level, color=SCORE, linewidth=1.0, linestyle=style)
    away: dict[str, Any] = {
        "xytext": (0, 4 if above else -12),
        "textcoords": "offset points",
        "ha": "right",
    }
    axes.annotate(words, (right, level), fontsize=9, **away)
