"""The pictures of regularized_mert.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import regularized_mert_real as real
import tunesmith as ts
from regularized_mert_synthetic import FINDERS, NOISE
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.line.search import totals_along

#: Okabe and Ito's colours, which the colour-blind can tell apart; marks differ as well.
BLUE, VERMILION, GREEN, PURPLE, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
GREY, SKY = "#555555", "#56B4E9"
COLOURS = (BLUE, GREEN, SKY, VERMILION, PURPLE, ORANGE)
STYLES = dict(zip(FINDERS, zip(COLOURS, "osP^Dv", strict=True), strict=True))
#: The feature whose weight figure 1 varies, and the penalties' strengths there.
FEATURE, L2, L0 = "LexicalReordering0_1", 0.5, 0.01


def save(figure: Figure, path: Path) -> None:
    """Write a picture, with nothing in it that changes from run to run."""
    figure.savefig(path, dpi=110, metadata={"Software": None})


def figure1(sets: real.Sets, path: Path) -> None:
    """Draw BLEU along one weight, and what penalties make of it."""
    candidates = sets.tune.candidates.with_features(real.SMALL)
    tuning = ts.TuningSet(candidates, sets.tune.metric, sets.tune.stats)
    names = candidates.features.names
    found = ts.MERT(restarts=0, walks=0).fit(tuning, real.uniform(names), normalise="l1")
    hypotheses = ListHypotheses(tuning)
    weights = found.weights.aligned(names)
    feature = names.index(FEATURE)
    line = hypotheses.point(weights), Direction.along(feature, names[feature])
    edges_along, totals = totals_along(hypotheses.envelope(*line))
    gains_along = tuning.metric.gain(totals)
    width = 0.25
    inside = np.abs(edges_along + weights[feature]) < width
    edges = np.concatenate([[-width], edges_along[inside] + weights[feature], [width]])
    first = int(np.argmax(inside))
    gains = 100.0 * gains_along[first : first + len(edges) - 1]
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    titles = ("unregularised", f"ℓ2, strength {L2:g}", f"ℓ0, strength {L0:g}")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title)
        axis.set_xlabel(f"weight of {FEATURE}")
        axis.axvline(0.0, color=GREY, linewidth=0.6, linestyle=":")
    axes[0].set_ylabel("100 × objective")
    for k, gain in enumerate(gains):
        low, high = edges[k], edges[k + 1]
        x = np.linspace(low, high, 9)
        axes[0].plot([low, high], [gain, gain], color=BLUE)
        axes[1].plot(x, gain - 100.0 * L2 * x**2, color=BLUE)
        axes[2].plot([low, high], [gain - 100.0 * L0] * 2, color=BLUE)
        if low < 0.0 < high:
            axes[2].plot([0.0], [gain], "o", color=BLUE, markersize=4)
    _mark_best(axes, edges, gains)
    save(figure, path)


def _mark_best(axes: Sequence[Axes], edges: Any, gains: Any) -> None:
    """Put a ring around the best point under each objective."""
    k = int(np.argmax(gains))
    best = [(0.5 * (edges[k] + edges[k + 1]), gains[k])]
    nearest = np.clip(0.0, edges[:-1], edges[1:])
    values = gains - 100.0 * L2 * nearest**2
    best.append((nearest[int(np.argmax(values))], values.max()))
    at_zero = float(gains[int(np.searchsorted(edges, 0.0)) - 1])
    else_best = float(gains[k] - 100.0 * L0)
    best.append((0.0, at_zero) if at_zero > else_best else (best[0][0], else_best))
    for axis, (x, y) in zip(axes, best, strict=True):
        axis.plot([x], [y], "o", markersize=11, color=VERMILION, fillstyle="none")


def figure2(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw objective and cosine against the number of features."""
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for line, noise in zip(axes, (0.0, NOISE), strict=True):
        title = "without noise" if noise == 0.0 else f"with noise, σ = {noise:g}"
        for axis, which in zip(line, ("objective", "cosine"), strict=True):
            for finder, label in FINDERS.items():
                same = [r for r in rows if r["noise"] == noise and r["finder"] == finder]
                same.sort(key=lambda row: row["features"])
                colour, mark = STYLES[finder]
                if same:
                    x, y = [r["features"] for r in same], [r[which] for r in same]
                    axis.plot(x, y, color=colour, marker=mark, markersize=5, label=label)
            gold = sorted({(r["features"], r["at_gold"]) for r in rows if r["noise"] == noise})
            if which == "objective":
                axis.plot(*zip(*gold, strict=True), ":", color=GREY, label="the gold weights")
            axis.set_xscale("log")
            axis.set_xticks([d for d, _ in gold], [str(d) for d, _ in gold])
            axis.minorticks_off()
            axis.set_title(title)
            axis.set_ylabel("mean pseudo-BLEU" if which == "objective" else "cosine to w*")
    for axis in axes[1]:
        axis.set_xlabel("number of features D")
    axes[0][0].legend(fontsize=8)
    save(figure, path)


def figure3(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the objective against line searches and seconds."""
    widths = sorted({row["features"] for row in rows})
    width = 500 if 500 in widths else widths[-1]
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for finder in ("gradient", "gradient:steps=0", "coordinate"):
        for noise, style in ((0.0, "-"), (NOISE, "--")):
            same = [
                r
                for r in rows
                if (r["finder"], r["noise"], r["features"]) == (finder, noise, width)
            ]
            for row in same:
                trace = np.array(row["trace"])
                label = FINDERS[finder] + (", noisy" if noise else "")
                for axis, column in zip(axes, (0, 1), strict=True):
                    x = np.append(trace[:, column], row[("line_searches", "seconds")[column]])
                    y = np.append(trace[:, 2], trace[-1, 2])
                    colour = STYLES[finder][0]
                    axis.step(x, y, style, where="post", color=colour, label=label)
    axes[0].set_xscale("symlog", linthresh=1.0)
    axes[1].set_xscale("symlog", linthresh=0.1)
    axes[0].set_xlabel("line searches")
    axes[1].set_xlabel("seconds")
    axes[0].set_ylabel("mean pseudo-BLEU")
    axes[0].set_title(f"D = {width}")
    axes[1].set_title(f"D = {width}")
    axes[1].legend(fontsize=8)
    for axis in axes:
        axis.set_xlim(left=0.0)
    save(figure, path)


def figure4(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw BLEU against the strength of the penalty, the seeds' mean."""
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    axes = figure.subplots(1, 3)
    label = real.PENALTIES["l2-prior"]
    for axis, which in zip(axes, ("score", "dev_score", "test_score"), strict=True):
        for directions, colour, mark in (("gradient", BLUE, "o"), ("coordinate", VERMILION, "^")):
            found: dict[float, list[float]] = {}
            for row in rows:
                if row["start"] == "w0" and row["label"] == f"{label}, {directions}":
                    for entry in row["path"]:
                        found.setdefault(entry["strength"], []).append(entry[which])
            x = sorted(found)
            mean = [float(np.mean(found[s])) for s in x]
            axis.plot(x, mean, color=colour, marker=mark, label=f"v1, {directions}")
            least, most = [min(found[s]) for s in x], [max(found[s]) for s in x]
            axis.fill_between(x, least, most, color=colour, alpha=0.2, linewidth=0.0)
        name = {"score": "tune", "dev_score": "dev", "test_score": "test"}[which]
        for text, whose, start, style in (
            ("14 features", real.BASE, "uniform", "-."),
            ("all, unregularised", "MERT, gradient", "w0", ":"),
        ):
            same = [r[name] for r in rows if (r["label"], r["start"]) == (whose, start)]
            if same:
                axis.axhline(float(np.mean(same)), color=GREY, linestyle=style, label=text)
        axis.set_xscale("log")
        axis.set_title(name.capitalize())
        axis.set_xlabel("strength, 1/(2σ²)")
    axes[0].set_ylabel("BLEU")
    axes[0].legend(fontsize=8)
    save(figure, path)
