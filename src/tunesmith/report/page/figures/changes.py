"""Pictures of what PRO learnt from, and of the sentences that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tunesmith.report.page.figures.words import displayed
from tunesmith.report.page.view import PairRound, Sentences
from tunesmith.report.surface.panels import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches.
PAIRS_SIZE = (9.6, 4.2)
BETTER, WORSE, SAME = COLOURS[0], COLOURS[1], "#cccccc"
#: Rounds that are named along an axis.
MOST_NAMES = 14


def noted_columns(rounds: Sequence[PairRound]) -> list[str]:
    """Return the statistics of positives and negatives that any round has."""
    sides = [side for round_ in rounds for side in (round_.positive, round_.negative)]
    return [key for key in ("length", "score") if any(s.get(key) is not None for s in sides)]


def pairs(figure: Figure, rounds: Sequence[PairRound]) -> None:
    """Draw lengths and scores of positives and negatives by round."""
    columns = noted_columns(rounds)
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    called = {"length": "words, on average", "score": "score of a sentence, on average"}
    for axes, key in zip(panels, columns, strict=True):
        _line(axes, [round_.positive.get(key) for round_ in rounds], "o", BETTER, "positives")
        _line(axes, [round_.negative.get(key) for round_ in rounds], "s", WORSE, "negatives")
        if key == "length":
            references = [round_.reference_length for round_ in rounds]
            _line(axes, references, "_", "#444444", "references")
        axes.set_title(key, loc="left", fontsize=12)
        axes.set_ylabel(called[key])
        step = -(-len(rounds) // MOST_NAMES)
        places = list(range(0, len(rounds), step))
        axes.set_xticks(places, [displayed(rounds[k].name, 12) for k in places])
        axes.set_xlim(-0.6, len(rounds) - 0.4)
        axes.set_xlabel("round")
        axes.grid(alpha=0.25)
        axes.margins(y=0.15)
        axes.ticklabel_format(axis="y", useOffset=False)
    handles, names = panels[0].get_legend_handles_labels()
    pairs = [r.kept for r in rounds if r.kept is not None]
    total = f": {sum(pairs):,} pairs in all" if pairs else ""
    figure.suptitle(f"what PRO learnt from{total}", x=0.01, ha="left", fontsize=12)
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)


def _line(axes: Axes, values: Sequence[float | None], marker: str, colour: str, name: str) -> None:
    known = [(k, value) for k, value in enumerate(values) if value is not None]
    if known:
        size = 12 if marker == "_" else 6
        axes.plot(
            *zip(*known, strict=True), label=name, marker=marker, color=colour, markersize=size
        )


def sentences_size(sets: Sequence[Sentences]) -> tuple[float, float]:
    """Return the size of the picture of sentences."""
    return 9.6, 0.9 + 3.1 * len(sets)


def sentences(figure: Figure, sets: Sequence[Sentences], metric: str) -> None:
    """Draw how many sentences changed, and the influence of the greatest changes."""
    panels = figure.subplots(len(sets), 2, squeeze=False, width_ratios=(1, 2))
    for (counts, changes), sentence_set in zip(panels, sets, strict=True):
        _counts(counts, sentence_set)
        _influences(changes, sentence_set, metric)


def _counts(axes: Axes, sentence_set: Sentences) -> None:
    rest = sentence_set.changed - sentence_set.better - sentence_set.worse
    bars = {
        "better": (sentence_set.better, BETTER),
        "worse": (sentence_set.worse, WORSE),
        "changed,\nworth the same": (rest, SAME),
        "unchanged": (sentence_set.sentences - sentence_set.changed, SAME),
    }
    values = [count for count, _ in bars.values()]
    drawn = axes.barh(list(bars), values, color=[colour for _, colour in bars.values()])
    axes.bar_label(drawn, [f" {value:,}" for value in values], fontsize=9)
    plural = "" if sentence_set.sentences == 1 else "s"
    title = f"{displayed(sentence_set.which)}: {sentence_set.sentences:,} sentence{plural}"
    axes.set_title(title, loc="left", fontsize=12)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.locator_params(axis="x", nbins=4, integer=True)


def _influences(axes: Axes, sentence_set: Sentences, metric: str) -> None:
    worth = np.sort([sentence.influence for sentence in sentence_set.shown])[::-1]
    places = np.arange(len(worth))
    axes.bar(places, worth, width=0.9, color=np.where(worth >= 0.0, BETTER, WORSE).tolist())
    axes.axhline(0.0, color="#444444", linewidth=0.8)
    several = f"what the {len(worth):,} greatest changes were worth"
    title = {0: "nothing changed", 1: "what the change was worth"}.get(len(worth), several)
    axes.set_title(title, loc="left", fontsize=12)
    axes.set_ylabel(f"{displayed(metric)} of the set")
    axes.set_xlabel("sentences, from the best change to the worst")
    axes.set_xticks([])
    axes.grid(alpha=0.25, axis="y")
