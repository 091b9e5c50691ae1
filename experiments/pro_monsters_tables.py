"""The tables and the picture of pro_monsters.py."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import pro_monsters_loop as loops

#: Okabe and Ito's colours, which the colour-blind can tell apart; lines differ as well.
BLUE, VERMILION = "#0072B2", "#D55E00"
Row = dict[str, Any]
#: From this round on, what was revealed at first no longer counts alone.
LATER = 3


def rows_of(
    rows: Sequence[Row], label: str, tuned: str = "longest", pool: str = "rare"
) -> list[Row]:
    """Return the rows of a way of tuning, by seed."""
    wanted = (label, tuned, pool)
    found = [row for row in rows if (row["label"], row["tuned"], row["pool"]) == wanted]
    return sorted(found, key=lambda row: int(row["seed"]))


def table1(rows: Sequence[Row]) -> str:
    """Show the rounds of plain PRO and of the default, one seed."""
    parts = []
    for way in (loops.PLAIN, loops.DEFAULT):
        found = rows_of(rows, way.label)
        if not found:
            continue
        lines = [
            f"{way.label}, seed {found[0]['seed']}:",
            "",
            "| round | length pos | neg | ref | BLEU+1 pos | neg | warning | Tune BLEU | ratio |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for one in found[0]["rounds"]:
            cells = [str(one["round"]), *_pairs(one), "monsters" if one["monsters"] else "no"]
            cells += [f"{one['bleu']:.2f}", f"{one['ratio']:.3f}"]
            lines.append(_line(cells))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def table2(rows: Sequence[Row]) -> str:
    """Show the optimisers, one seed."""
    lines = [
        "| optimiser | objective | Test: averaged | last | best on Tune | Tune BLEU, later rounds "
        "| rounds with the warning |",
        "|---|---|---|---|---|---|---|",
    ]
    objectives = ("sent-BLEU+1", "corpus-BLEU", "pseudo-doc-BLEU", "pseudo-doc-BLEU")
    objectives += ("sent-BLEU+1", "*fixed* sent-BLEU+1")
    for way, objective in zip(loops.TABLE2, objectives, strict=True):
        for row in rows_of(rows, way.label)[:1]:
            tests = [f"{row['test'][which]:.2f}" for which in ("averaged", "last", "best")]
            warned = _warned([row]) if way.tuner == "pro" else ""
            lines.append(_line([way.label, objective, *tests, _later([row]), warned]))
    return _start(rows) + "\n".join(lines)


def table3(rows: Sequence[Row]) -> str:
    """Show the selections with greatest acceptance."""
    return _start(rows) + _fixes(rows, loops.TABLE3)


def table4(rows: Sequence[Row]) -> str:
    """Show random acceptance."""
    return _fixes(rows, loops.TABLE4)


def _fixes(rows: Sequence[Row], ways: Sequence[loops.Way]) -> str:
    lines = [
        "| PRO fix | Test BLEU | dev. | last | Tune BLEU, later rounds | length pos | neg | ref "
        "| BLEU+1 pos | neg | rounds with the warning | all sentences: Test BLEU | dev. "
        "| with the warning |",
        "|---" * 14 + "|",
    ]
    for way in ways:
        found, control = rows_of(rows, way.label), rows_of(rows, way.label, "all")
        if not found:
            continue
        cells = [f"{way.label} {way.mark}".strip(), *_mean(found, "averaged")]
        cells += [_mean(found, "last")[0], _later(found), *_pairs(found[0]["rounds"][-1])]
        cells += [_warned(found), *(_mean(control, "averaged") if control else ("", ""))]
        lines.append(_line([*cells, _warned(control) if control else ""]))
    return "\n".join(lines)


def sides(rows: Sequence[Row]) -> str:
    """Show pools in which monsters are everywhere."""
    return _by_pool(rows, _pools(rows, "riddled"))


def others(rows: Sequence[Row]) -> str:
    """Show the first pool, and pools made in the same way with other random numbers."""
    return _by_pool(rows, ["rare", *_pools(rows, "rare, seed")])


def _pools(rows: Sequence[Row], begin: str) -> list[str]:
    """Return the pools whose names begin in some way."""
    return sorted({row["pool"] for row in rows if row["pool"].startswith(begin)})


def _by_pool(rows: Sequence[Row], pools: Sequence[str]) -> str:
    lines = [
        "| pool | PRO fix | long ones among what round 2 knows | Test BLEU | last "
        "| Tune BLEU, later rounds | length neg | BLEU+1 neg | rounds with the warning |",
        "|---" * 9 + "|",
    ]
    for pool in pools:
        for way in loops.SIDES:
            for row in rows_of(rows, way.label, pool=pool)[:1]:
                last = row["rounds"][-1]
                cells = [pool, f"{way.label} {way.mark}".strip()]
                cells += [f"{100 * row['rounds'][1]['share']:.0f} %"]
                cells += [f"{row['test']['averaged']:.2f}", f"{row['test']['last']:.2f}"]
                cells += [_later([row]), _pairs(last)[1], _pairs(last)[4], _warned([row])]
                lines.append(_line(cells))
    return "\n".join(lines)


def _start(rows: Sequence[Row]) -> str:
    first = rows[0]
    return (
        f"{len(first['rounds'])} rounds; the starting weights have {first['test_start']:.2f} on "
        f"Test.\n\n"
    )


def _pairs(one: Row) -> list[str]:
    """Return what a round says of its pairs."""
    return [f"{one[key]:.1f}" if key in one else "" for key in loops.PAIRS]


def _mean(rows: Sequence[Row], which: str) -> tuple[str, str]:
    scores = [row["test"][which] for row in rows]
    deviation = f"{statistics.stdev(scores):.3f}" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.2f}", deviation


def _later(rows: Sequence[Row]) -> str:
    """Return the mean BLEU of what the pool's best candidates had, from the third round on."""
    scores = [one["bleu"] for row in rows for one in row["rounds"] if one["round"] >= LATER]
    return f"{statistics.mean(scores):.2f}"


def _warned(rows: Sequence[Row]) -> str:
    """Return how often negatives were monsters by the warning, and how often the output was."""
    rounds = [one for row in rows for one in row["rounds"]]
    won = sum(one.get("win", False) for one in rounds)
    shown = f"{sum(one['monsters'] for one in rounds)} of {len(rounds)}"
    return f"{shown}; output {won} of {len(rounds)}" if won else shown


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def figure1(rows: Sequence[Row], path: Path) -> None:
    """Draw BLEU and the length ratio over the rounds, of plain PRO and of the default."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, way in zip(axes, (loops.PLAIN, loops.DEFAULT), strict=True):
        found = rows_of(rows, way.label)
        if not found:
            continue
        rounds = [one["round"] for one in found[0]["rounds"]]
        other = axis.twinx()
        for side, key, colour, style in (
            (axis, "bleu", BLUE, "o-"),
            (other, "ratio", VERMILION, "s--"),
        ):
            side.plot(rounds, [one[key] for one in found[0]["rounds"]], style, color=colour, ms=4)
            side.tick_params(axis="y", colors=colour)
        other.set_yscale("log")
        other.set_ylim(0.8, 25.0)
        other.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        other.minorticks_off()
        axis.set_ylim(0.0, 40.0)
        axis.set_xticks(rounds if len(rounds) <= 12 else rounds[::4])
        axis.set_title(way.label)
        axis.set_xlabel("round")
        other.set_ylabel("length ratio (squares, logarithmic)", color=VERMILION)
        axis.set_ylabel("BLEU on Tune (circles)", color=BLUE)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
