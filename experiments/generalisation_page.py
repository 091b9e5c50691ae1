"""The tables and the picture of generalisation.py."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

DESIGN = Path(__file__).parent.parent / "docs" / "results" / "generalisation-design.json"
CHOOSING = Path(__file__).parent.parent / "docs" / "choosing.md"
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "generalisation.png"
#: Two-sided 95 % quantiles of Student's t by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78}
#: Kinds of cases that are not told by their number of sentences.
KINDS = {"news": "250 of news", "tuned start": "50 to 200, tuned start"}
COLOURS = {
    "auto": "#d62728",
    "mert": "#1f77b4",
    "batch-mira": "#2ca02c",
    "mira": "#9467bd",
    "ramp": "#8c564b",
    "pro": "#ff7f0e",
    "min-risk": "#7f7f7f",
}


def render(rows_file: Path) -> None:
    """Write tables between the marks of the page beside the rows, and the picture."""
    rows = [json.loads(line) for line in rows_file.read_text("utf-8").splitlines()]
    gains = [row for row in rows if row["kind"] == "gain" and "tuned" in row]
    design = json.loads(DESIGN.read_text("utf-8"))
    write(
        rows_file.with_suffix(".md"),
        {
            "all": "\n\n".join(tables_of_all(gains)),
            "hindsight": hindsight_lines(gains),
            "design": design_table(design),
            "sizes": table_of_sizes(gains),
            "verdicts": verdict_lines([row for row in rows if row["kind"] != "gain"]),
        },
    )
    write(CHOOSING, {"design": design_table(design, alone=True)})
    draw(gains, PICTURE)


def write(page: Path, parts: dict[str, str]) -> None:
    """Write parts between their marks."""
    text = page.read_text("utf-8")
    for name, content in parts.items():
        text = re.sub(
            f"(<!-- {name} -->\n).*?(<!-- end {name} -->)",
            lambda match, content=content: f"{match[1]}{content}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
    page.write_text(text, "utf-8")


def gain_of(row: Row) -> float:
    """Return the gain on Test over the start."""
    return float(row["tuned"] - row["start"])


def with_interval(values: Sequence[float]) -> str:
    """Return a mean and half of its 95 % interval over draws or seeds; nothing of nothing."""
    if not values:
        return ""
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:+.2f}"
    half = STUDENT.get(len(values) - 1, 2.0) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return f"{mean:+.2f} ± {half:.2f}"


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by their values of some keys."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return found


def ordered(rows: Iterable[Row], key: str) -> list[Any]:
    """Return the values of a key in the order in which they come first."""
    return list(dict.fromkeys(row[key] for row in rows))


def tables_of_all(rows: Sequence[Row]) -> list[str]:
    """Return the table of runs on whole sets: the start, and what each tuner reaches."""
    whole = [row for row in rows if row["size"] == 0]
    sets, cells = ordered(whole, "set"), grouped(whole, "set", "tuner")
    lines = ["| | " + " | ".join(sets) + " |", "|---|" + "--:|" * len(sets)]
    starts = [next(row["start"] for row in whole if row["set"] == name) for name in sets]
    lines.append("| the start | " + " | ".join(f"{start:.2f}" for start in starts) + " |")
    for tuner in ordered(whole, "tuner"):
        shown = []
        for name in sets:
            some = cells.get((name, tuner), [])
            if not some:
                shown.append("")
                continue
            tuned = [row["tuned"] for row in some]
            ratio = np.mean([row["length_ratio"] for row in some])
            spread = f"{min(tuned):.2f} to {max(tuned):.2f}" if len(tuned) > 1 else "one seed"
            shown.append(f"{np.mean(tuned):.2f} ({spread}; {ratio:.3f})")
        lines.append(f"| `{tuner}` | " + " | ".join(shown) + " |")
    return ["\n".join(lines)]


def hindsight_lines(rows: Sequence[Row]) -> str:
    """Compare the default with whichever single tuner has the best mean on Test."""
    whole = [row for row in rows if row["size"] == 0]
    lines = []
    for name in ordered(whole, "set"):
        cells = grouped([row for row in whole if row["set"] == name], "tuner")
        means = {t: float(np.mean([row["tuned"] for row in some])) for (t,), some in cells.items()}
        ours, some = means.pop("auto", None), cells.get(("auto",), [])
        if ours is None or not means:
            continue
        gain, low, high = (
            float(np.mean([row["verdict"][key] for row in some])) for key in ("gain", "low", "high")
        )
        best = max(means, key=means.__getitem__)
        above = sum(ours > other for other in means.values())
        lines.append(
            f"- `{name}`: {gain:+.2f} over the start (95 %: {low:+.2f} to {high:+.2f}), mean of "
            f"{len(some)} seeds. {ours - means[best]:+.2f} from the best single tuner in "
            f"hindsight, `{best}`; above {above} of {len(means)} of them, and "
            f"{ours - float(np.mean([*means.values()])):+.2f} from their mean."
        )
    return "\n".join(lines)


def design_table(rows: Sequence[Row], *, alone: bool = False) -> str:
    """Return the mean gain of each variant of the committee, by kind of case.

    ``alone`` leaves the default and single tuners.
    """
    kinds = ordered(rows, "kind")
    counts = [sum(row["kind"] == kind for row in rows) for kind in kinds]
    heads = [
        f"{KINDS.get(kind, f'{kind} sentences')} ({count})"
        for kind, count in zip(kinds, counts, strict=True)
    ]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(kinds)]
    for name in rows[0]["gains"]:
        if alone and not name.endswith(" alone") and name != "the default":
            continue
        means = [
            np.mean([row["gains"][name] for row in rows if row["kind"] == kind]) for kind in kinds
        ]
        label = name.removesuffix(" alone") if alone else name
        lines.append(f"| {label} | " + " | ".join(f"{mean:+.2f}" for mean in means) + " |")
    return "\n".join(lines)


def table_of_sizes(rows: Sequence[Row]) -> str:
    """Return gains by the number of sentences: means over sets and draws, and what follows."""
    some = [
        row for row in rows if row["set"] in {"catalogs-nbest", "catalogs-neural", "m30k-de-en"}
    ]
    sizes = sorted({row["size"] for row in some}, key=lambda size: size or math.inf)
    heads = [str(size) if size else "all" for size in sizes]
    lines = [
        "| | " + " | ".join(heads) + " | worse than the start, 50 to 200 | mean rank |",
        "|---|" + "--:|" * (len(sizes) + 2),
    ]
    cells, ranks = grouped(some, "tuner", "size"), ranks_of(some)
    few = [row for row in some if 0 < row["size"] <= 200]
    for tuner in ordered(some, "tuner"):
        shown = [with_interval([*map(gain_of, cells.get((tuner, s), []))]) for s in sizes]
        mine = [row for row in few if row["tuner"] == tuner]
        worse = sum(gain_of(row) < 0.0 for row in mine)
        lines.append(
            f"| `{tuner}` | "
            + " | ".join(shown)
            + f" | {worse} of {len(mine)} | {np.mean(ranks[tuner]):.1f} |"
        )
    return "\n".join(lines)


def ranks_of(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return the ranks of each tuner on the same sentences, 1 being the best."""
    ranks: dict[str, list[float]] = defaultdict(list)
    everybody = len(ordered(rows, "tuner"))
    for same in grouped(rows, "set", "size", "draw").values():
        if len(same) < everybody:
            continue
        order = sorted(same, key=lambda row: -row["tuned"])
        for rank, row in enumerate(order, 1):
            ranks[row["tuner"]].append(rank)
    return defaultdict(lambda: [math.nan], ranks)


def verdict_lines(rows: Sequence[Row]) -> str:
    """Return how often intervals hold the gain on other sentences, and what is said of noise."""
    lines = []
    splits = [row for row in rows if row["kind"] == "coverage"]
    if splits:
        inside = [r["verdict"]["low"] <= r["gain"] <= r["verdict"]["high"] for r in splits]
        bias = np.mean([row["verdict"]["gain"] - row["gain"] for row in splits])
        use = sum(row["verdict"]["recommendation"] == "use" for row in splits)
        right = sum(row["verdict"]["recommendation"] == "use" and row["gain"] > 0 for row in splits)
        gains = [row["gain"] for row in splits]
        worse, smallest, largest = sum(gain < 0 for gain in gains), min(gains), max(gains)
        lines.append(
            f"- {len(splits)} random splits: the interval held the gain on all other sentences in "
            f"{sum(inside)} ({100 * np.mean(inside):.0f} %). The estimated gain was "
            f"{bias:+.2f} BLEU off on average. `use` was said {use} times, and was right "
            f"{right} times. The weights were worse than the start on the other sentences in "
            f"{worse} of {len(splits)} splits; the gain was {smallest:+.2f} to {largest:+.2f}."
        )
    noise = [row for row in rows if row["kind"] == "shuffled"]
    if noise:
        kept = sum(row["verdict"]["recommendation"] != "use" for row in noise)
        lines.append(
            f"- {len(noise)} sets with shuffled labels: `keep-start` was said {kept} times "
            f"({100 * kept / len(noise):.0f} %)."
        )
    return "\n".join(lines)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the gain on Test against the number of tuning sentences, a line for each tuner."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sets = [
        name
        for name in ordered(rows, "set")
        if len({r["size"] for r in rows if r["set"] == name}) > 2
    ]
    figure, axes = plt.subplots(1, len(sets), figsize=(4.2 * len(sets), 4.0), squeeze=False)
    for axis, name in zip(axes[0], sets, strict=True):
        some = [row for row in rows if row["set"] == name]
        for tuner in ordered(some, "tuner"):
            cells = grouped([row for row in some if row["tuner"] == tuner], "size")
            points = sorted(
                (size or 1000, np.mean([*map(gain_of, c)])) for (size,), c in cells.items()
            )
            axis.plot(
                *zip(*points, strict=True),
                marker="o",
                label=tuner,
                color=COLOURS.get(tuner),
                linewidth=2.5 if tuner == "auto" else 1.2,
                markersize=4,
                zorder=3 if tuner == "auto" else 2,
            )
        axis.axhline(0.0, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xticks([50, 100, 200, 500, 1000], ["50", "100", "200", "500", "all"])
        axis.minorticks_off()
        axis.set_ylim(bottom=-1.5)
        axis.set_title(name, loc="left", fontsize=10)
        axis.set_xlabel("tuning sentences")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("BLEU on Test, over the start")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
