"""The picture of pro_length.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import pro_length_tables as tables
import pro_length_ways as ways
from regularized_mert_pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, save

MARKS = "os^Dv<>pXhP*"
#: A colour for each table; the row that is in all of them has its own.
COLOURS = {1: ORANGE, 2: BLUE, 3: GREEN, 4: PURPLE}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw test BLEU against the length ratio on the tuning set, a mark for each way."""
    names = tables.names_of(rows)
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axis, data in zip(axes, names, strict=True):
        counts = dict.fromkeys(COLOURS, 0)
        for way in ways.WAYS:
            same = tables.of(rows, data=data, label=way.label)
            mark, colour = _style(way, counts)
            if not same:
                continue
            axis.errorbar(
                tables.mean(same, "tune_ratio"),
                tables.mean(same, "test_bleu"),
                tables.spread(same, "test_bleu"),
                tables.spread(same, "tune_ratio"),
                fmt=mark,
                color=colour,
                markersize=12 if way is ways.PRO else 7,
                zorder=3 if way is ways.PRO else 2,
                elinewidth=0.8,
                label=way.label.replace("`", ""),
            )
        axis.axvline(1.0, color=GREY, linewidth=0.8, linestyle=":")
        axis.set_title(data)
        axis.set_xlabel("length ratio, Tune")
    axes[0].set_ylabel("BLEU, Test")
    keys: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        keys |= dict(zip(labels, handles, strict=True))
    figure.legend(keys.values(), keys.keys(), loc="outside right upper", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


def _style(way: ways.Way, counts: dict[int, int]) -> tuple[str, str]:
    """Return the mark and the colour of a way."""
    if way is ways.PRO:
        return "*", VERMILION
    table = way.tables[0]
    counts[table] += 1
    return MARKS[counts[table] - 1], COLOURS[table]
