"""Hope and fear in n-best lists and in whole forests: figure 1 of the paper."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import tunesmith as ts
from tunesmith.arrays import Floats
from tunesmith.inference.forests.examples import ForestExample, ForestExamples
from tunesmith.inference.forests.lists import candidates_of
from tunesmith.inference.forests.sample import sampled_derivations
from tunesmith.metrics.candidate_scorer import CandidateScorer, DocumentObjective

#: Fear maximises w·h − B, hope w·h + B.
SIDES = {"fear": -1.0, "hope": 1.0}
SEARCHES = ("rerank", "linear")
#: The list that the picture shows, and how many derivations are drawn.
SHOWN, DRAWN = 100, 100
#: Differences below this are rounding.
EQUAL = 1e-9


class Compared(NamedTuple):
    """What was found in forests and in their lists.

    Attributes
    ----------
    gains
        How much higher w·h ∓ B is in the forest, of each sentence, by side and size of the list.
    seconds
        For counting what BLEU counts at hyperedges, once, for searching forests, and for making
        and valuing lists.
    deviations
        Of w·h and of B within the lists, the mean over sentences.
    """

    gains: dict[tuple[str, int], list[float]]
    seconds: dict[str, float]
    deviations: dict[str, float]


def examples(forests: ts.ForestSet, weights: Floats, search: str) -> Iterator[ForestExample]:
    """Yield the sentences in order, valued within a document of the 1-best of those before."""
    tuning = ts.ForestTuning(forests, options=ts.ForestOptions(search=search))
    scorer: CandidateScorer = DocumentObjective().begin(tuning.usual_lists(weights), "examples")
    held = ForestExamples(tuning)
    for group in range(held.groups):
        example = held.example(group, scorer)
        yield example
        scorer.add(example.best(weights).stats)


def compared(forests: ts.ForestSet, weights: Floats, search: str, sizes: Sequence[int]) -> Compared:
    """Search each forest, and its lists."""
    gains: dict[tuple[str, int], list[float]] = {}
    times, spreads = np.zeros(3), np.zeros((0, 2))
    passed = examples(forests, weights, search)
    begun = time.perf_counter()
    for example in passed:
        if example.group == 0:
            times[0] = time.perf_counter() - begun
        example.best(weights)
        begun = time.perf_counter()
        ends = {side: example.augmented(weights, sign) for side, sign in SIDES.items()}
        between = time.perf_counter()
        listed = example.at(weights).listed(max(sizes))
        times[1:] += between - begun, time.perf_counter() - between
        shown = (listed.scores[:SHOWN].std(), listed.values[:SHOWN].std())
        spreads = np.vstack([spreads, shown])
        for side, sign in SIDES.items():
            own = ends[side].score(weights) + sign * ends[side].gain
            totals = listed.scores + sign * listed.values
            for size in sizes:
                gains.setdefault((side, size), []).append(own - float(totals[:size].max()))
    seconds = dict(zip(("count", "forest", "list"), times.round(2).tolist(), strict=True))
    deviations = dict(zip(("model", "worth"), spreads.mean(axis=0).round(3).tolist(), strict=True))
    return Compared(gains, seconds, deviations)


def summary(gains: Sequence[float]) -> dict[str, float]:
    """Return shares of sentences where the forest is better, worse, and by how much."""
    better = [gain for gain in gains if gain > EQUAL]
    worse = [-gain for gain in gains if gain < -EQUAL]
    return {
        "better": len(better) / len(gains),
        "worse": len(worse) / len(gains),
        "mean": statistics.mean(gains),
        "median": statistics.median(gains),
        "mean_better": statistics.mean(better) if better else 0.0,
        "mean_worse": statistics.mean(worse) if worse else 0.0,
    }


def typical(gains: Sequence[float]) -> int:
    """Return the sentence with the median gain of those with any, the lower of two."""
    order = sorted((gain, k) for k, gain in enumerate(gains) if gain > EQUAL)
    return order[(len(order) - 1) // 2][1] if order else 0


def scene(forests: ts.ForestSet, weights: Floats, group: int, seed: int) -> dict[str, Any]:
    """Return what the picture shows of a sentence: pairs of w·h and B."""
    passed = examples(forests, weights, "rerank")
    example = next(one for one in passed if one.group == group)
    listed = example.at(weights).listed(SHOWN)
    shown: dict[str, Any] = {
        "sentence": str(forests.ids[group]),
        "list": _pairs(listed.scores, listed.values),
    }
    for side, sign in SIDES.items():
        best = int(np.argmax(listed.scores + sign * listed.values))
        found = example.augmented(weights, sign)
        shown[f"{side} list"] = shown["list"][best]
        shown[f"{side} forest"] = _pairs([found.score(weights)], [found.gain])[0]
    alone = forests.with_groups([group])
    drawn = candidates_of(alone, sampled_derivations(alone, weights, 1.0, DRAWN, seed))
    values = example.values(ts.TuningSet(drawn).stats)
    shown["samples"] = _pairs(weights @ drawn.features.dense, values)
    return shown


def _pairs(scores: Sequence[float] | Floats, values: Sequence[float] | Floats) -> list[list[float]]:
    return [[round(float(s), 4), round(float(b), 4)] for s, b in zip(scores, values, strict=True)]
