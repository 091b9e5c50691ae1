"""The tables of pro_length.py: means and deviations over the seeds, and what follows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import pro_length_ways as ways

Rows = Sequence[dict[str, Any]]
SETS = ("tune", "dev", "test")


def of(rows: Rows, **same: Any) -> list[dict[str, Any]]:
    """Return the rows with some values."""
    return [row for row in rows if all(row[key] == value for key, value in same.items())]


def mean(rows: Rows, key: str) -> float:
    """Return the mean of a column."""
    return statistics.mean(row[key] for row in rows)


def spread(rows: Rows, key: str) -> float:
    """Return the standard deviation of a column over the seeds."""
    return statistics.stdev(row[key] for row in rows) if len(rows) > 1 else 0.0


def shown(rows: Rows, key: str, digits: int) -> str:
    """Return a mean, and its deviation if there are several rows."""
    text = f"{mean(rows, key):.{digits}f}"
    return text if len(rows) < 2 else f"{text} ± {spread(rows, key):.{digits}f}"


def names_of(rows: Rows) -> list[str]:
    """Return the names of the data sets."""
    return list(dict.fromkeys(row["data"] for row in rows))


def table(rows: Rows, number: int) -> str:
    """Show one of the paper's tables, for each data set."""
    labels = [way.label for way in ways.WAYS if number in way.tables]
    if number == 1:  # the row with tunesmith's own defaults goes last
        labels.sort(key=lambda label: label.startswith("`"))
    heads = [f"{which.capitalize()} {what}" for which in SETS for what in ("BLEU", "length")]
    if number == 4:
        heads += ["Tune sent-BLEU", "Test sent-BLEU"]
    lines = []
    for data in names_of(rows):
        lines += [f"| {data} | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
        for label in labels:
            same = of(rows, data=data, label=label)
            if not same:
                continue
            cells = [label]
            for which in SETS:
                cells += [shown(same, f"{which}_bleu", 2), shown(same, f"{which}_ratio", 3)]
            if number == 4:
                cells += [shown(same, f"{which}_sentence_bleu", 2) for which in ("tune", "test")]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def advice(rows: Rows, modes: Rows) -> str:
    """Show what is chosen among the objectives by length and on Dev, with every seed."""
    labels = [way.label for way in ways.OBJECTIVES]
    lines = [
        "| data | chosen by | chosen, by seed | Tune length | Dev BLEU | Test BLEU |",
        "|---|---|---|---|---|---|",
    ]
    remarks = []
    for data in names_of(rows):
        known = [row for row in of(rows, data=data) if row["label"] in labels]
        seeds = sorted({row["seed"] for row in known})
        seeds = [seed for seed in seeds if len(of(known, seed=seed)) == len(labels)]
        if not seeds:
            continue
        ways_to_choose = {
            "nothing: plain PRO": lambda row: row["label"] != ways.PRO.label,
            "length on Tune (the paper's advice)": lambda row: abs(row["tune_ratio"] - 1.0),
            "BLEU on Dev": lambda row: -row["dev_bleu"],
            "BLEU on Test (cannot be known)": lambda row: -row["test_bleu"],
        }
        for how, key in ways_to_choose.items():
            chosen = [min(of(known, seed=seed), key=key) for seed in seeds]
            found = [row["label"].removeprefix("PRO, ") for row in chosen]
            told = "; ".join(found) if len(set(found)) > 1 else found[0]
            cells = [data, how, told, shown(chosen, "tune_ratio", 3)]
            cells += [shown(chosen, f"{which}_bleu", 2) for which in ("dev", "test")]
            lines.append("| " + " | ".join(cells) + " |")
            for mode in of(modes, data=data):
                if "advice" in how and mode["seed"] in seeds:
                    same = mode["label"] == chosen[seeds.index(mode["seed"])]["label"]
                    remarks.append(
                        f'{data}, seed {mode["seed"]}: `choose_by="length"` itself chose '
                        f"{mode['label']}, {'as' if same else 'not as'} in the table."
                    )
    return "\n".join([*lines, "", *remarks])


def claims(rows: Rows) -> str:
    """Say whether plain PRO is short, and whether brevity smoothing brings it closer to 1."""
    lines = []
    for data in names_of(rows):
        plain, smoothed = (
            of(rows, data=data, label=way.label) for way in (ways.PRO, ways.SMOOTHED)
        )
        if not plain or not smoothed:
            continue
        ratios = mean(plain, "tune_ratio"), mean(smoothed, "tune_ratio")
        short = all(row["tune_ratio"] < 1.0 for row in plain)
        pairs = [(p, s) for p in plain for s in smoothed if p["seed"] == s["seed"]]
        closer = all(abs(s["tune_ratio"] - 1.0) < abs(p["tune_ratio"] - 1.0) for p, s in pairs)
        lines += [
            f"- {data}: plain PRO's tuning length ratio is {ratios[0]:.4f}; below 1 with every "
            f"seed: {'yes' if short else 'NO'}.",
            f"- {data}: with brevity smoothing it is {ratios[1]:.4f}; closer to 1 with every "
            f"seed: {'yes' if closer else 'NO'}.",
        ]
    return "\n".join(lines)
