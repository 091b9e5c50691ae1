"""The tables of forest_search.py."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
STARTS = {"paper": "as the paper's", "decoder": "the decoder's"}

#: Of which hope and fear are looked for.
WEIGHTS = {
    "start": "the decoder's",
    "larger": "the decoder's × 16",
    "paper": "as the paper's start",
    "tuned": "tuned by MIRA",
}


def all_of(rows: Sequence[Row]) -> dict[str, str]:
    """Return all tables by name."""
    return {
        "fear": fear(rows),
        "searches": curves(rows, "searches", "search"),
        "mu": curves(rows, "mu", "μ"),
        "mert": mert(rows),
        "tuners": tuners(rows),
    }


def rows_of(rows: Sequence[Row], part: str, **wanted: str) -> list[Row]:
    """Return the rows of a part, those of one label or about one thing, by seed."""
    found = [row for row in rows if row["part"] == part]
    found = [row for row in found if all(row[key] == value for key, value in wanted.items())]
    return sorted(found, key=lambda row: int(row["seed"]))


def labels(rows: Sequence[Row], part: str) -> list[str]:
    """Return the labels of a part, as they came."""
    return list(dict.fromkeys(row["label"] for row in rows if row["part"] == part))


def fear(rows: Sequence[Row]) -> str:
    """Show how often the forest has a derivation that the list lacks, and how much better it is."""
    some = [row for about in WEIGHTS for row in rows_of(rows, "fear", about=about)]
    if not some:
        return ""
    sizes = sorted({one["size"] for one in some[0]["gains"]})
    heads = ["weights", "deviation of w·h", "of B", "looked for", "search"]
    for size in sizes:
        heads += [f"{size}-best: forest better", "worse", "mean gain"]
    lines = table_head(heads)
    for row in some:
        spread = [f"{row['deviations'][key]:.2f}" for key in ("model", "worth")]
        pairs = dict.fromkeys((one["side"], one["search"]) for one in row["gains"])
        for pair in pairs:
            cells = [WEIGHTS[row["about"]], *spread, *pair]
            for one in row["gains"]:
                if (one["side"], one["search"]) == pair:
                    cells += [f"{100 * one[key]:.1f} %" for key in ("better", "worse")]
                    cells += [f"{one['mean']:.2f}"]
            lines.append(line(cells))
    return "\n".join(lines)


def curves(rows: Sequence[Row], part: str, what: str) -> str:
    """Show BLEU on Dev after some epochs: the mean over seeds."""
    some = rows_of(rows, part)
    if not some:
        return ""
    count = len(some[0]["dev"])
    epochs = [k for k in (0, 1, 2, 3, 5, 10, 20, 30) if k < count]
    heads = ["start", what, *(f"epoch {k}" for k in epochs), "best", "dev.", "Tune, last", "s"]
    lines = table_head(heads)
    for about, shown in STARTS.items():
        for label in labels(rows, part):
            found = rows_of(rows, part, label=label, about=about)
            if found:
                means = [f"{mean(row['dev'][k] for row in found):.2f}" for k in epochs]
                cells = [shown, label, *means, f"{mean(max(row['dev']) for row in found):.2f}"]
                cells += [deviation([row["dev"][-1] for row in found])]
                cells += [f"{mean(row['tune'][-1] for row in found):.2f}"]
                lines.append(line([*cells, f"{mean(row['seconds'] for row in found):.0f}"]))
    return "\n".join(lines)


def mert(rows: Sequence[Row]) -> str:
    """Show how many rounds lists take, and where both end."""
    heads = ["forests", "MERT on", "seed", "start", "round 1", "2", "3", "5", "best", "last"]
    heads += ["rounds", "ended by", "candidates", "BLEU on the lists", "s"]
    lines = table_head(heads)
    order = sorted(rows_of(rows, "mert"), key=lambda row: (row["about"], row["seed"], row["label"]))
    for row in order:
        rounds = row["rounds"]
        bleu = [one["bleu"] for one in rounds]
        some = [f"{bleu[k]:.2f}" if k < len(bleu) else "" for k in (0, 1, 2, 3, 5)]
        last = rounds[-1]
        cells = [row["about"], row["label"], str(row["seed"]), *some]
        cells += [f"{max(bleu):.2f}", f"{bleu[-1]:.2f}", str(len(bleu) - 1), row["stopped"]]
        cells += [f"{last['candidates']:,}" if "candidates" in last else "all"]
        cells += [f"{last['list_bleu']:.2f}" if "list_bleu" in last else ""]
        lines.append(line([*cells, f"{last['seconds']:.0f}"]))
    return "\n".join(lines)


def tuners(rows: Sequence[Row]) -> str:
    """Show what each tuner reaches on a part of the sentences, on others, and on all."""
    heads = ["tuner", "350: Tune", "Dev", "ratio on Dev", "s", "all 500: Tune", "ratio", "s"]
    lines = table_head(heads)
    parts, alls = (rows_of(rows, "tuners", about=about) for about in ("part", "all"))
    if parts and alls:
        begin = [f"{parts[0]['tune_start']:.2f}", f"{parts[0]['dev_start']:.2f}", "", ""]
        lines.append(line(["start", *begin, f"{alls[0]['tune_start']:.2f}", "", ""]))
    for label in labels(rows, "tuners"):
        cells = [label]
        for about, keys in (("part", ("tune", "dev", "dev_ratio")), ("all", ("tune", "ratio"))):
            found = rows_of(rows, "tuners", label=label, about=about)
            if label == "mert" and about == "all":
                found = [_as_tuned(row) for row in rows_of(rows, "mert", label="forests")]
                found = [row for row in found if row["about"] == "nc-wmt11"]
            for key in keys:
                digits = 3 if "ratio" in key else 2
                shown = [row[key] for row in found if key in row]
                cells.append(f"{mean(shown):.{digits}f}" if shown else "")
            cells.append(f"{mean(row['seconds'] for row in found):.0f}" if found else "")
        lines.append(line(cells))
    return "\n".join(lines)


def _as_tuned(row: Row) -> Row:
    """Return a row of MERT as one of tuners."""
    last = row["rounds"][-1]
    return row | {"tune": last["bleu"], "seconds": last["seconds"]}


def mean(values: Any) -> float:
    """Return the mean of what is given."""
    return statistics.mean(list(values))


def deviation(values: Sequence[float]) -> str:
    """Return the standard deviation, where there is one."""
    return f"{statistics.stdev(values):.2f}" if len(values) > 1 else ""


def table_head(heads: Sequence[str]) -> list[str]:
    """Return the first two lines of a table."""
    return [line(heads), "|---" * len(heads) + "|"]


def line(cells: Sequence[str]) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(cells) + " |"
