"""The runs of hope_and_fear.py: a tuner with options, and what its epochs come to."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tunesmith as ts
from hope_and_fear_data import PROBABILITIES, Task, loaded, start
from tunesmith.loop.forests import DecodedSentences
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.parallel.local import threads
from tunesmith.randomness import generator_of
from tunesmith.tasks.live import LiveTuning

Row = dict[str, Any]
ONLINE: dict[str, type[ts.Tuner]] = {
    "sgd": ts.SGD,
    "mira": ts.MIRA,
    "arow": ts.AROW,
    "min-risk": ts.MinRisk,
}
#: The variance of what begins with 1, in AROW.
CAREFUL = 0.01


@dataclass(frozen=True)
class Run:
    """One run of a tuner; the defaults are those of section 7.

    Attributes
    ----------
    model
        Which features: ``small`` or ``large``.
    tuner
        One of ``ONLINE``, or ``mert``.
    rate
        The learning rate η, or η₀; MERT has none.
    mu, search
        Of hope; how hope and fear are looked for.
    confidence
        AROW's λ.
    learners, parallel
        How many, and how they work together.
    """

    model: str
    tuner: str
    rate: float = 0.01
    mu: float = -1.0
    search: str = "rerank"
    confidence: float = 0.01
    learners: int = 1
    parallel: str = "mixing"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.learners == 1:
            object.__setattr__(self, "parallel", Run.parallel)  # one alone does what all ways do

    @property
    def name(self) -> str:
        """What tells it from others."""
        words = [self.model, self.tuner]
        if self.tuner != "mert":
            words += [f"rate={self.rate:g}", self.way]
        for field in ("mu", "search", "confidence"):
            if getattr(self, field) != getattr(Run, field):
                words.append(f"{field}={getattr(self, field)}")
        return " ".join([*words, f"seed={self.seed}"])

    @property
    def way(self) -> str:
        """How its learners work together."""
        return "serial" if self.learners == 1 else f"{self.parallel} {self.learners}"

    def made(self, epochs: int, restarts: int) -> ts.Tuner:
        """Return the tuner."""
        if self.tuner == "mert":
            return ts.MERT(restarts=restarts, walks=0)
        options: dict[str, Any] = {"epochs": epochs, "rate": self.rate}
        if self.learners > 1:
            options |= {"learners": self.learners, "parallel": self.parallel}
        if self.tuner == "min-risk":
            # One temperature, as the paper has: T = 1, here in units of how scores differ.
            options |= {"method": "online", "cooling": 1.0}
        else:
            options |= {"scale": False, "mu": self.mu}
        if self.tuner == "arow":
            careful = tuple(f"{name}={CAREFUL}" for name in PROBABILITIES)
            options |= {"confidence": self.confidence, "feature_rate": careful}
        return ONLINE[self.tuner](**options)


def run_and_keep(task: Task, one: Run, epochs: int, restarts: int) -> None:
    """Do a run unless it has been done, and keep what it came to."""
    path = kept(task, one)
    if path.exists():
        return
    begun, used = time.perf_counter(), time.process_time()
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tuner = one.made(epochs, restarts)
        found = (
            with_loop(task, one, tuner, epochs) if one.tuner == "mert" else live(task, one, tuner)
        )
    found["seconds"] = round(time.perf_counter() - begun, 1)
    found["cpu"] = round(time.process_time() - used, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps({"run": one.name, **dataclasses.asdict(one), **found}))
    unfinished.replace(path)
    told = " ".join(f"{score:.2f}" for score in found["dev"])
    print(f"{one.name}: dev {told}; test {found['test']:.2f}; {found['cpu']:.0f} s", flush=True)


def kept(task: Task, one: Run) -> Path:
    """Return where a finished run is."""
    return task.folder / "runs" / (re.sub(r"[^\w.=-]+", "_", one.name) + ".json")


def live(task: Task, one: Run, tuner: Any) -> Row:
    """Learn while sentences are decoded; decode Dev with the average after each epoch."""
    decoder, sets = loaded(task, one.model)
    names = decoder.names
    begin = start(names)
    options = ts.ForestOptions(search=one.search)  # type: ignore[arg-type]
    tuning = LiveTuning(DecodedSentences(decoder, sets["tune"]), begin, "bleu", options)
    training = tuner.start_training(tuning, begin.aligned(names), generator_of(one.seed))
    tuning.forget()
    every, learnt, decoded = [begin], 0.0, 0.0
    dev = [score(statistics(decoder, begin, sets["dev"]))]
    for epoch in range(tuner.epochs):
        clock = time.process_time()
        every.append(ts.Weights(names, training.epoch(epoch).weights))
        learnt += time.process_time() - clock
        clock = time.process_time()
        dev.append(score(statistics(decoder, every[-1], sets["dev"])))
        decoded += time.process_time() - clock
    costs = {"learn": learnt / tuner.epochs, "decode": decoded / tuner.epochs}
    return chosen(decoder, every, dev, sets["test"]) | {
        "costs": {key: round(value, 3) for key, value in costs.items()}
    }


def with_loop(task: Task, one: Run, tuner: ts.Tuner, rounds: int) -> Row:
    """Tune on the 100-best lists of all rounds; decode Dev after each."""
    decoder, sets = loaded(task, one.model)
    begin = start(decoder.names)
    found = Loop(rounds=rounds, tune_on="lists").run(
        decoder, tuner, sets["tune"], start=begin, dev=sets["dev"], seed=one.seed
    )
    assert found.rounds is not None
    every = [ts.Weights.from_dict(entry["weights"]) for entry in found.rounds]
    dev = [float(entry["dev_score"]) for entry in found.rounds]
    return chosen(decoder, every, dev, sets["test"]) | {"stopped": found.stopped}


def chosen(decoder: Any, every: list[ts.Weights], dev: list[float], test: Inputs) -> Row:
    """Choose an epoch by Dev, the first among equals, and decode Test with it.

    The start is no epoch.
    """
    epoch = 1 + int(np.argmax(dev[1:]))
    stats = statistics(decoder, every[epoch], test)
    return {
        "dev": [round(value, 3) for value in dev],
        "epoch": epoch,
        "test": round(score(stats), 3),
        "features": int(np.count_nonzero(every[epoch].vector)),
        "weights": {name: value for name, value in every[epoch].items() if value},
        "test_stats": stats.astype(int).tolist(),
    }


def statistics(decoder: Any, weights: ts.Weights, inputs: Inputs) -> NDArray[np.float64]:
    """Return what BLEU counts of each sentence's translation."""
    decoded = inputs.with_references(decoder.outputs(weights, inputs.sentences))
    found: NDArray[np.float64] = ts.TuningSet(decoded, "bleu").stats
    return found


def score(stats: NDArray[np.float64]) -> float:
    """Return BLEU of all sentences."""
    return float(BLEU.score(stats.sum(axis=0)))


BLEU = ts.BLEU()
