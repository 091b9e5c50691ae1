"""The tables and the pictures of pro_live.py."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import pro_live_loop as loops
from regularized_mert_pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, save

Row = dict[str, Any]
COLOURS = (VERMILION, GREY, ORANGE, BLUE, GREEN, PURPLE)
MARKS = "o^sDv<>pXhP*"


def all_of(rows: Sequence[Row]) -> dict[str, str]:
    """Return all tables by name."""
    return {
        "lengths": lengths(rows),
        "rounds": by_round(rows),
        **{f"monsters-{start.split()[-1]}": monsters(rows, start) for start in loops.STARTS},
        "pairs": pairs(rows),
    }


def rows_of(rows: Sequence[Row], part: str, start: str, label: str) -> list[Row]:
    """Return the rows of a way of tuning, by seed."""
    wanted = (part, start, label)
    found = [row for row in rows if (row["part"], row["start"], row["label"]) == wanted]
    return sorted(found, key=lambda row: int(row["seed"]))


def lengths(rows: Sequence[Row]) -> str:
    """Show BLEU and length after the last round, for each objective."""
    keys = [f"{which}_{what}" for which in ("tune", "test") for what in ("bleu", "ratio")]
    heads = [
        key.capitalize().replace("_bleu", " BLEU").replace("_ratio", " length") for key in keys
    ]
    lines = [_line(["", *heads, "rounds"]), "|---" * (len(keys) + 2) + "|"]
    begun = rows_of(rows, "lengths", "as configured", loops.PRO.label)
    if begun:
        lines.append(_line(["start", *(_shown(begun, key, 0) for key in keys), "0"]))
    for way in loops.LENGTHS:
        found = rows_of(rows, "lengths", "as configured", way.label)
        if found:
            cells = [_shown(found, key, -1) for key in keys]
            lines.append(_line([way.label, *cells, str(len(found[0]["rounds"]) - 1)]))
    return "\n".join(lines)


def by_round(rows: Sequence[Row]) -> str:
    """Show the length on Tune after each round, first seed."""
    found = [
        (way.label, same[0]["rounds"])
        for way in loops.LENGTHS
        if (same := rows_of(rows, "lengths", "as configured", way.label))
    ]
    most = max((len(rounds) for _, rounds in found), default=0)
    lines = [_line(["Tune length", *map(str, range(most))]), "|---" * (most + 1) + "|"]
    for label, rounds in found:
        cells = [f"{one['tune_ratio']:.3f}" for one in rounds]
        lines.append(_line([label, *cells, *[""] * (most - len(cells))]))
    return "\n".join(lines)


def monsters(rows: Sequence[Row], start: str) -> str:
    """Show tuning on the longest half, from one start."""
    keys = ("tune_bleu", "tune_ratio", "test_bleu", "test_ratio")
    lines = [
        "| | Tune BLEU | length | Test BLEU | length | longest Tune length after a round "
        "| rounds with the warning |",
        "|---" * 7 + "|",
    ]
    begun = rows_of(rows, "monsters", start, loops.PRO.label)
    if begun:
        lines.append(_line(["start", *(_shown(begun, key, 0) for key in keys), "", ""]))
    for way in loops.MONSTERS:
        found = rows_of(rows, "monsters", start, way.label)
        if not found:
            continue
        learnt = [one for row in found for one in row["rounds"][1:]]
        fitted = [one for row in found for one in row["rounds"][:-1]]
        warned = sum(one["monsters"] for one in fitted)
        cells = [_shown(found, key, -1) for key in keys]
        cells.append(f"{max(one['tune_ratio'] for one in learnt):.3f}")
        cells.append(f"{warned} of {len(fitted)}" if way.tuner == "pro" else "")
        lines.append(_line([way.label, *cells]))
    return "\n".join(lines)


def pairs(rows: Sequence[Row]) -> str:
    """Show what PRO's pairs are like in each round, from each start, as the paper's Table 1."""
    lines = [
        "| start | | round | length pos | neg | ref | BLEU+1 pos | neg | warning "
        "| Tune BLEU | length |",
        "|---" * 11 + "|",
    ]
    for start in loops.STARTS:
        for way in loops.MONSTERS:
            if way.tuner != "pro":
                continue
            for row in rows_of(rows, "monsters", start, way.label)[:1]:
                for k, one in enumerate(row["rounds"][:-1]):
                    after = row["rounds"][k + 1]
                    cells = [start, way.label, str(k + 1)]
                    cells += [f"{one[key]:.1f}" if key in one else "" for key in loops.PAIRS]
                    cells += ["monsters" if one["monsters"] else "no"]
                    cells += [f"{after['tune_bleu']:.2f}", f"{after['tune_ratio']:.3f}"]
                    lines.append(_line(cells))
    return "\n".join(lines)


def _shown(rows: Sequence[Row], key: str, number: int) -> str:
    """Return a figure of a round: the mean over seeds, and its deviation if there are several."""
    values = [row["rounds"][number][key] for row in rows]
    digits = 2 if key.endswith("bleu") else 3
    text = f"{statistics.mean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def draw_lengths(rows: Sequence[Row], path: Path) -> None:
    """Draw the length ratio over the rounds, on Tune and on Test, a line for each way."""
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, which in zip(axes, ("tune", "test"), strict=True):
        for k, way in enumerate(loops.LENGTHS):
            for row in rows_of(rows, "lengths", "as configured", way.label)[:1]:
                _curve(axis, row, f"{which}_ratio", k, way.label)
        axis.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
        axis.set_title(which.capitalize())
        axis.set_xlabel("round")
    axes[0].set_ylabel("length ratio")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


def draw_monsters(rows: Sequence[Row], path: Path) -> None:
    """Draw the length ratio and BLEU on Tune over the rounds, from each start."""
    figure = Figure(figsize=(11.0, 5.6), layout="constrained")
    axes = figure.subplots(2, len(loops.STARTS), sharex=True, sharey="row")
    for column, start in enumerate(loops.STARTS):
        for k, way in enumerate(loops.MONSTERS):
            for row in rows_of(rows, "monsters", start, way.label)[:1]:
                for axis, key in zip(axes[:, column], ("tune_ratio", "tune_bleu"), strict=True):
                    _curve(axis, row, key, k, way.label)
        axes[0, column].axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
        axes[0, column].set_title(f"start: {start}")
        axes[1, column].set_xlabel("round")
    axes[0, 0].set_ylabel("length ratio, Tune")
    axes[1, 0].set_ylabel("BLEU, Tune")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


def _curve(axis: Any, row: Row, key: str, number: int, label: str) -> None:
    values = [one[key] for one in row["rounds"]]
    style = "-" if number < len(COLOURS) else "--"
    colour = COLOURS[number % len(COLOURS)]
    axis.set_xticks(range(len(values)) if len(values) < 12 else range(0, len(values), 5))
    axis.plot(values, style, marker=MARKS[number], color=colour, ms=4, lw=1.2, label=label)
