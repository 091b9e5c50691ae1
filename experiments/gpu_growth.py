"""Draw how the times of a GPU grow with the candidates and with the features.

Reads the lines that ``benchmarks/gpu.py --parts growth,wide --results docs/results/gpu.jsonl``
added; of one size the last counts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
RESULTS, PICTURE = DOCS / "results" / "gpu.jsonl", DOCS / "images" / "gpu-growth.png"
#: Candidates of the sets with more and more features.
WIDE = 500_000
BLUE, GREY, ORANGE = "#2a6fbb", "#777777", "#d1741f"


def main() -> None:
    """Draw."""
    lines = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    grown = [line for line in lines if line["what"] == "growth"]
    by_size = {line["candidates"]: line for line in grown if line["candidates"] != WIDE}
    by_width = {line["features"]: line for line in grown if line["candidates"] == WIDE}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
    draw(left, by_size, "candidates, 14 features", ("batch_ms", "one_line_ms", "processor_ms"))
    draw(right, by_width, "features, 500,000 candidates", ("batch_ms", "point_ms", "processor_ms"))
    left.set_ylabel("milliseconds")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=130)


def draw(ax: Any, lines: dict[int, dict[str, float]], label: str, names: tuple[str, ...]) -> None:
    """Draw times over sizes."""
    styles = {
        "batch_ms": ("70 lines, GPU", BLUE, "o-"),
        "processor_ms": ("70 lines, 16 cores", GREY, "s-"),
        "one_line_ms": ("1 line, GPU", ORANGE, "^-"),
        "point_ms": ("1 new point, GPU", ORANGE, "v-"),
    }
    for name in names:
        sizes = sorted(size for size, line in lines.items() if name in line)
        if sizes:
            title, colour, style = styles[name]
            ax.plot(sizes, [lines[s][name] for s in sizes], style, color=colour, label=title)
    ax.set(xscale="log", yscale="log", xlabel=label)
    ax.grid(visible=True, which="major", alpha=0.3)
    ax.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
