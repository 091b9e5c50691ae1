"""MERT on lists, round after round, and on forests at once."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any

import tunesmith as ts
from forest_search_data import Source
from tunesmith.inference.forests.lists import kbest_lists

#: Derivations of each forest that a round adds to the lists.
SIZE = 100
#: As many climbs on both; as many as is usual on lists; as many restarts on forests; and what is
#: usual on forests, which begins with rounds on lists.
WAYS = {
    "lists": ts.MERT(restarts=4, walks=0),
    "lists, 20 restarts": ts.MERT(restarts=20, walks=2),
    "forests": ts.MERT(restarts=4, walks=0, list_rounds=0),
    "forests, 20 restarts": ts.MERT(restarts=20, walks=0, list_rounds=0),
    "forests, after lists": ts.MERT(),
}
QUICK = ("lists", "lists, 20 restarts", "forests", "forests, after lists")


def in_rounds(source: Source, tuner: ts.MERT, rounds: int, seed: int) -> dict[str, Any]:
    """Tune on lists that grow by the best of each forest under the weights of the moment.

    As a loop with a decoder would do it, each round climbs from the weights of earlier ones
    too. It ends when the lists do not grow, or the weights stay.
    """
    forests, weights = source.forests, source.start
    tuner = dataclasses.replace(tuner, fix=source.fix)
    history, known = [weights], None
    found: list[dict[str, Any]] = [{"bleu": _score(forests, weights), "seconds": 0.0}]
    begun = time.perf_counter()
    stopped = f"{rounds} rounds"
    for number in range(1, rounds + 1):
        more = kbest_lists(forests, weights.aligned(forests.names), SIZE)
        merged = more if known is None else ts.merge([known, more])
        if known is not None and len(merged) == len(known):
            stopped = "nothing new"
            break
        known = merged
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = tuner.after(history).fit(ts.TuningSet(known), weights, rng=seed + number)
        passed = time.perf_counter() - begun
        found.append(
            {
                "bleu": _score(forests, fitted.weights),
                "list_bleu": round(fitted.score, 3),
                "candidates": len(known),
                "seconds": round(passed, 1),
            }
        )
        is_same = dict(fitted.weights) == dict(weights)
        weights = fitted.weights
        history.append(weights)
        if is_same:
            stopped = "the same weights"
            break
    return {"rounds": found, "stopped": stopped, "weights": dict(weights)}


def at_once(source: Source, tuner: ts.MERT, seed: int) -> dict[str, Any]:
    """Tune on the forests themselves."""
    tuner = dataclasses.replace(tuner, fix=source.fix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tuner.fit(ts.ForestTuning(source.forests), source.start, rng=seed)
    rounds = [
        {"bleu": round(found.initial_score, 3), "seconds": 0.0},
        {"bleu": round(found.score, 3), "seconds": round(found.seconds, 1)},
    ]
    return {
        "rounds": rounds,
        "stopped": "one run",
        "weights": dict(found.weights),
        "line_searches": found.line_searches,
        "oracle": round(found.oracle_score, 3),
        "ratio": round(found.length_ratio or 0.0, 4),
    }


def _score(forests: ts.ForestSet, weights: ts.Weights) -> float:
    tuning = ts.ForestTuning(forests)
    return round(tuning.score_at(weights.aligned(forests.names)), 3)
