"""Draws the pictures of the pages about algorithms, from the bundled lists and the example forests.

``python docs/images/make_pictures.py`` draws all of them beside itself, in about a minute; names
of pictures after it draw those alone.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from scipy.spatial import ConvexHull

import tunesmith as ts
from tunesmith.inference.forests.lists import kbest_lists
from tunesmith.inference.lists.hypotheses import ListHypotheses

HERE = Path(__file__).parent
FORESTS = HERE.parents[1] / "examples" / "forests"
DATA = resources.files("tunesmith") / "bundled"
BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#d9700f", "#2c7d3f", "#9a9a9a"
#: The sentences of the tuning set that pictures of one sentence show.
SENTENCE, MANY_WINNERS = 41, 55


def lists(name: str = "tune", metric: str = "bleu") -> ts.TuningSet:
    """Return one of the two bundled sets."""
    read = ts.read(DATA / f"{name}.nbest.gz", references=DATA / f"{name}.ref")
    return ts.TuningSet(read, metric)


def start() -> ts.Weights:
    """Return the weights to begin with."""
    return ts.read_weights(DATA / "weights.initial").weights


def worth(tuning: ts.TuningSet) -> np.ndarray:
    """Return the BLEU+1 of every candidate, in per cent."""
    sentences = ts.TuningSet(tuning.candidates, "sentence-bleu")
    return np.asarray(sentences.metric.score(sentences.stats))


def members(tuning: ts.TuningSet, group: int = SENTENCE) -> slice:
    """Return where the candidates of a sentence are."""
    return slice(*tuning.candidates.start[group : group + 2])


def dense(tuning: ts.TuningSet) -> np.ndarray:
    """Return the features [D, N]."""
    return np.asarray(tuning.candidates.features.dense)


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / f"{name}.png", dpi=110, bbox_inches="tight")
    plt.close(figure)


def mert_envelope() -> None:
    """Draw one sentence's candidates as lines, their envelope, and BLEU of all sentences below."""
    tuning, weights = lists(), start()
    names = tuning.candidates.features.names
    feature, rows = names.index("LM0"), members(tuning, MANY_WINNERS)
    slopes = dense(tuning)[feature, rows]
    others = weights.aligned(names) @ dense(tuning)[:, rows] - weights["LM0"] * slopes
    x = np.linspace(-0.2, 1.4, 1601)
    lines = others[:, None] + slopes[:, None] * x
    lines -= lines.mean(axis=0)  # the same at every weight, so that differences are seen
    winners = lines.argmax(axis=0)
    changes = np.flatnonzero(np.diff(winners)) + 1

    figure, (above, below) = plt.subplots(2, 1, figsize=(7.5, 6.5), sharex=True)
    above.plot(x, lines.T, color=GREY, lw=0.6, alpha=0.6)
    for first, last in zip([0, *changes], [*changes, len(x)], strict=True):
        part = slice(first, min(last + 1, len(x)))
        above.plot(x[part], lines[winners[first], part], lw=2.5, color=BLUE)
    above.plot(x[changes], lines.max(axis=0)[changes], "o", color=ORANGE, ms=6)
    above.set_ylim(-2, None)
    above.set_ylabel("model score of a candidate,\nminus the mean of all")
    above.set_title("One sentence: the highest line wins; winners change at the dots", fontsize=10)

    curve = ts.error_surface([tuning], weights, features=["LM0"]).lines[0].curves[0]
    below.step(curve.edges, curve.scores[1:], where="post", color=BLUE, lw=0.9)
    below.axvline(weights["LM0"], color=ORANGE, lw=1)
    inside = (curve.edges > x[0]) & (curve.edges < x[-1])
    below.set(xlim=(x[0], x[-1]), xlabel="weight of LM0", ylabel="BLEU of 200 sentences")
    said = f"All sentences: {inside.sum()} such changes here, and BLEU between them"
    below.set_title(said, fontsize=10)
    save(figure, "mert-envelope")


def pro_pairs() -> None:
    """Draw pairs of candidates as points: the better minus the worse one, and the plane between."""
    tuning, rng = lists(), np.random.default_rng(1)
    names = tuning.candidates.features.names
    chosen = ["LM0", "TranslationModel0_1"]
    values = dense(tuning)[[names.index(name) for name in chosen]]
    gain, first, second = worth(tuning), [], []
    for group in range(tuning.candidates.groups):
        low, high = tuning.candidates.start[group : group + 2]
        pair = rng.integers(low, high, (2, 40))
        kept = np.abs(gain[pair[0]] - gain[pair[1]]) > 15
        first += pair[0, kept].tolist()
        second += pair[1, kept].tolist()
    differences = values[:, first] - values[:, second]
    is_better = gain[first] > gain[second]
    found = ts.PRO().fit(tuning, keep=chosen, rng=1).weights
    direction = np.array([found[name] for name in chosen])

    figure, axes = plt.subplots(figsize=(6.5, 5.5))
    for label, kept, color in (("better", is_better, BLUE), ("worse", ~is_better, ORANGE)):
        axes.plot(*differences[:, kept], ".", color=color, ms=3.5, alpha=0.5, label=label)
    span = np.array([-12.0, 12.0])
    axes.plot(span, -span * direction[0] / direction[1], color="black", lw=1.5)
    length = 5 * direction / np.linalg.norm(direction)
    arrow = {"arrowstyle": "-|>", "lw": 2, "color": GREEN}
    axes.annotate("", length, (0, 0), arrowprops=arrow)
    axes.text(*(length * 1.12), "weights", color=GREEN, ha="center")
    axes.set(xlim=(-12, 12), ylim=(-8, 8), xlabel=f"difference in {chosen[0]}")
    axes.set_ylabel(f"difference in {chosen[1]}")
    axes.legend(
        title="the first of the pair is", ncols=2, frameon=False, markerscale=3,
        loc="lower center", bbox_to_anchor=(0.5, 1),
    )  # fmt: skip
    save(figure, "pro-pairs")


def hope_fear() -> None:
    """Draw the candidates of one sentence by model score and BLEU+1, with hope and fear."""
    tuning = lists()
    rows, names = members(tuning), tuning.candidates.features.names
    model = start().aligned(names) @ dense(tuning)[:, rows]
    model = model - model.max()
    gain = worth(tuning)[rows]
    scale = 100 / np.ptp(gain) * np.ptp(model) / 100  # both of one size, to be seen
    hope, fear = (model + scale * gain).argmax(), (model - scale * gain).argmax()

    figure, axes = plt.subplots(figsize=(7, 4.8))
    axes.plot(model, gain, "o", color=GREY, ms=5, alpha=0.7)
    for k, label, color, side in ((hope, "hope", GREEN, 14), (fear, "fear", ORANGE, -18)):
        axes.plot(model[k], gain[k], "o", color=color, ms=10)
        axes.annotate(
            label, (model[k], gain[k]), (0, side), textcoords="offset points", color=color
        )
    best = model.argmax()
    axes.plot(model[best], gain[best], "o", mfc="none", mec=BLUE, ms=15, mew=2)
    axes.annotate(
        "best of\nthe model", (model[best], gain[best]), (0, -38), ha="center",
        textcoords="offset points", color=BLUE,
    )  # fmt: skip
    axes.annotate(
        "", (model[hope], gain[hope]), (model[fear], gain[fear]), zorder=0,
        arrowprops={"arrowstyle": "-|>", "lw": 1.5, "color": "black", "shrinkA": 8, "shrinkB": 8},
    )  # fmt: skip
    axes.set(xlabel="model score, minus that of the best", ylabel="BLEU+1 of the candidate")
    axes.set_xlim(None, 0.4)
    save(figure, "hope-fear")


def min_risk() -> None:
    """Draw expected BLEU along a weight, flat and sharp, and the steps of BLEU itself."""
    tuning, weights = lists(), start()
    names = tuning.candidates.features.names
    feature, hypotheses = names.index("LM0"), ListHypotheses(tuning)
    x = np.linspace(-0.2, 1.4, 161)
    points = []
    for value in x:
        vector = weights.aligned(names).copy()
        vector[feature] = value
        points.append(hypotheses.point(vector))
    figure, axes = plt.subplots(figsize=(7.5, 4.8))
    curve = ts.error_surface([tuning], weights, features=["LM0"]).lines[0].curves[0]
    axes.step(curve.edges, curve.scores[1:], where="post", color=ORANGE, lw=0.8, label="BLEU")
    unit = 1 / hypotheses.deviation(points[len(points) // 2])
    for sharpness, color in ((0.5, "#a8c8e8"), (2, "#5b95cf"), (8, "#0c2f57")):
        expected = hypotheses.expected(points, [sharpness * unit] * len(points))
        axes.plot(x, [100 * one.gain for one in expected], color=color, label=f"μ = {sharpness}")
    axes.set(xlim=(x[0], x[-1]), xlabel="weight of LM0", ylabel="BLEU, and expected BLEU")
    axes.legend(frameon=False)
    save(figure, "min-risk")


def online() -> None:
    """Draw BLEU by epoch of the tuners that learn from one sentence after the other."""
    tuning, test, begin = lists(), lists("test"), start()
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True)
    tuners = {"perceptron": ts.Perceptron, "sgd": ts.SGD, "mira": ts.MIRA, "arow": ts.AROW}
    for (name, tuner), color in zip(tuners.items(), (GREY, GREEN, BLUE, ORANGE), strict=True):
        path = tuner(epochs=15, pick="dev").fit(tuning, begin, dev=test, rng=1).path
        for axes, key in zip(panels, ("score", "dev_score"), strict=True):
            found = [(entry["round"], entry[key]) for entry in path or []]
            axes.plot(*zip(*found, strict=True), color=color, label=name, marker=".", lw=1.2)
    for axes, said in zip(panels, ("the 200 sentences learnt from", "200 others"), strict=True):
        axes.set(xlabel="epoch", ylabel="BLEU")
        axes.set_title(said, fontsize=10)
        axes.set_xticks(range(0, 16, 5))
    panels[0].legend(frameon=False)
    figure.tight_layout()
    save(figure, "online")


def lp_mert_hull() -> None:
    """Draw which candidates of a sentence can win: the corners of the hull of their points."""
    tuning = lists()
    names, rows = tuning.candidates.features.names, members(tuning)
    chosen = ["LM0", "TranslationModel0_1"]
    points = dense(tuning)[[names.index(name) for name in chosen]][:, rows].T
    gain = worth(tuning)[rows]
    corners = ConvexHull(points).vertices
    figure, axes = plt.subplots(figsize=(7, 5))
    ring = [*corners, corners[0]]
    axes.fill(*points[corners].T, color=GREY, alpha=0.12)
    axes.plot(*points[ring].T, color=GREY, lw=1)
    seen = axes.scatter(*points.T, c=gain, cmap="viridis", s=30)
    axes.plot(*points[corners].T, "o", mfc="none", mec=ORANGE, ms=12, mew=1.5)
    figure.colorbar(seen, label="BLEU+1 of the candidate")
    axes.set(xlabel=f"feature {chosen[0]}", ylabel=f"feature {chosen[1]}")
    save(figure, "lp-mert-hull")


def forest_line() -> None:
    """Draw BLEU along a weight on forests, and on the lists that their best derivations make."""
    begin = ts.Weights.from_dict({"model": 0.3, "phrases": -0.01, "swaps": -0.02, "words": 0.1})
    forests = ts.read_forests(FORESTS / "tune.jsonl.gz", references=FORESTS / "tune.ref")
    feature = "words"
    figure, axes = plt.subplots(figsize=(7.5, 4.5))
    for size, color in ((5, "#a8c8e8"), (50, "#5b95cf")):
        found = ts.TuningSet(kbest_lists(forests, begin.aligned(forests.names), size), "bleu")
        curve = ts.error_surface([found], begin, features=[feature]).lines[0].curves[0]
        edges = np.concatenate([LIMITS[:1], curve.edges, LIMITS[1:]])
        scores = np.append(curve.scores, curve.scores[-1])
        axes.step(edges, scores, where="post", color=color, label=f"{size}-best")
    hypotheses = ts.ForestTuning(forests, "bleu").hypotheses()
    vector = begin.aligned(forests.names)
    x = np.linspace(*LIMITS, 241)
    scores = []
    for value in x:
        vector[forests.names.index(feature)] = value
        scores.append(100 * hypotheses.point(vector).gain)
    axes.plot(x, scores, color="#0c2f57", label="forests", drawstyle="steps-mid")
    axes.axvline(begin[feature], color=ORANGE, lw=1)
    axes.set(xlim=LIMITS, xlabel=f"weight of {feature}", ylabel="BLEU of 30 sentences")
    axes.legend(frameon=False)
    save(figure, "forest-line")


#: The weights that the picture of forests shows.
LIMITS = (-1.0, 1.0)
PICTURES = (mert_envelope, pro_pairs, hope_fear, min_risk, online, lp_mert_hull, forest_line)

if __name__ == "__main__":
    for draw in PICTURES:
        if len(sys.argv) == 1 or draw.__name__.replace("_", "-") in sys.argv[1:]:
            draw()
