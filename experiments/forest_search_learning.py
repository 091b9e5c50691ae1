"""Learning on forests, epoch by epoch, and what each tuner reaches: figures 3a and 3b."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import tunesmith as ts
from tunesmith.randomness import generator_of

#: How hope and fear are looked for.
SEARCHES = ("rerank", "linear", "kbest")


@dataclass(frozen=True)
class Way:
    """A tuner with options, on forests with options."""

    label: str
    tuner: ts.Tuner
    options: ts.ForestOptions = field(default_factory=ts.ForestOptions)


def curve(
    way: Way, tune: ts.ForestSet, dev: ts.ForestSet, start: ts.Weights, seed: int
) -> dict[str, Any]:
    """Return BLEU on both sets after each epoch, before the first one too.

    The tuner leaves the choice of an epoch to a held-out set, and so has all of them.
    """
    begun = time.perf_counter()
    tuning, held_out = ts.ForestTuning(tune, options=way.options), ts.ForestTuning(dev)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        epochs = list(way.tuner.stages(tuning, start.aligned(tune.names), generator_of(seed)))
    passed = time.perf_counter() - begun
    scale = tuning.metric.scale
    return {
        "tune": [round(scale * one.history[0]["gain"], 3) for one in epochs],
        "dev": [round(held_out.score_at(one.weights), 3) for one in epochs],
        "seconds": round(passed, 1),
    }


def reached(
    way: Way, tune: ts.ForestSet, dev: ts.ForestSet | None, start: ts.Weights, seed: int
) -> dict[str, Any]:
    """Return what a tuner reaches with its own choice of a round."""
    tuning = ts.ForestTuning(tune, options=way.options)
    held_out = None if dev is None else ts.ForestTuning(dev)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = way.tuner.fit(tuning, start, held_out, seed)
    row = {
        "tune": round(found.score, 3),
        "tune_start": round(found.initial_score, 3),
        "ratio": round(found.length_ratio or 0.0, 4),
        "oracle": round(found.oracle_score, 3),
        "seconds": round(found.seconds, 1),
        "warnings": found.warnings,
    }
    if found.dev is not None:
        row |= {"dev": round(found.dev.score, 3), "dev_start": round(found.dev.initial_score, 3)}
        row |= {"dev_ratio": round(found.dev.length_ratio or 0.0, 4)}
    return row


def searches(epochs: int, scale: bool) -> list[Way]:
    """Return figure 3a's: SGD with each way of searching."""
    sgd = ts.SGD(epochs=epochs, rate=0.01, scale=scale, pick="dev")
    return [Way(search, sgd, ts.ForestOptions(search=search)) for search in SEARCHES]


def loss_weights(epochs: int, scale: bool, values: tuple[float, ...]) -> list[Way]:
    """Return figure 3b's: MIRA with several values of μ."""
    return [
        Way(f"{mu:g}", ts.MIRA(epochs=epochs, rate=0.01, scale=scale, mu=mu, pick="dev"))
        for mu in values
    ]


def tuners(passes: int) -> list[Way]:
    """Return all tuners that take forests, as they are usually, but for batch MIRA's passes."""
    samples = ts.ForestOptions(lists="samples")
    return [
        Way("mert", ts.MERT()),
        Way("perceptron", ts.Perceptron()),
        Way("sgd", ts.SGD()),
        Way("mira", ts.MIRA()),
        Way("arow", ts.AROW()),
        Way("batch-mira", ts.BatchMIRA(passes=passes)),
        Way("min-risk", ts.MinRisk()),
        Way("ramp", ts.Ramp()),
        Way("pro, 100-best", ts.PRO()),
        Way("pro, 100 samples", ts.PRO(), samples),
    ]
