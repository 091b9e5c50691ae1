"""What learning in parallel costs: constants as measured, and what they predict for many workers.

Sentences are decoded live by the hierarchical decoder, with a model that `make example-hiero` has
trained (``--model`` names another). Predictions are of the formulas in scaling_model.py, beside a
simulation with the same constants.
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tunesmith as ts
from common import announce
from scaling_model import Constants, predicted, simulated
from tunesmith.hiero.decoder import HieroDecoder
from tunesmith.loop.forests import DecodedSentences
from tunesmith.loop.inputs import Inputs
from tunesmith.parallel.engine import Engine, working_on
from tunesmith.parallel.local import threads
from tunesmith.parallel.remote.processes import ProcessEngine
from tunesmith.randomness import generator_of
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.live import LiveTuning
from tunesmith.tuners.online.training import Training

TEXT = Path(__file__).parent.parent / "examples" / "catalogs"
MODEL = Path(__file__).parent.parent / "examples" / "hiero" / "model"
#: Epochs that a learner has behind it when it is measured: the first one is unlike the others.
BEFORE = 1
#: Epochs that are timed, after a first one.
EPOCHS = 3


@dataclass(frozen=True)
class Sets:
    """A decoder, and sentences with references."""

    decoder: HieroDecoder
    inputs: Inputs

    def training(self, sentences: int, **options: Any) -> Training:
        """Return MIRA that begins with the model's weights, on some of the sentences."""
        inputs = Inputs(self.inputs.sentences[:sentences], self.inputs.references[:sentences])
        begin = self.decoder.start()
        assert begin is not None
        tuning = LiveTuning(DecodedSentences(self.decoder, inputs), begin, "bleu")
        tuner = ts.MIRA(**options)
        start = begin.aligned(self.decoder.names)
        training = tuner.start_training(tuning, start, generator_of(1))
        tuning.forget()
        return training


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def volume(sets: Sets, sentences: int, learners: int) -> dict[str, float]:
    """Return what an epoch of learners in lockstep sends, for each sentence."""
    training = sets.training(sentences, learners=learners, parallel="async")
    for epoch in range(BEFORE):
        training.epoch(epoch)
    entry = training.epoch(BEFORE).entry
    sent = max(1, entry["sets_sent"])
    return {
        "share": entry["sets_sent"] / sentences,
        "bytes of a set": entry["bytes_sent"] / sent,
        "sent": entry["bytes_sent"] / sentences,
        "received": entry["bytes_received"] / sentences,
    }


def single(sets: Sets, sentences: int) -> tuple[list[float], list[SharedSet], Training]:
    """Return the seconds of each example of a learner that hears of no other, and its sets."""
    training = sets.training(sentences, learners=2, parallel="async")
    for epoch in range(BEFORE):
        training.epoch(epoch)
    learner = training.learners[0]
    seconds, made = [], []
    for group in range(sentences):
        begun = time.perf_counter()
        step = learner.step(group, BEFORE)
        learner.apply(step)
        seconds.append(time.perf_counter() - begun)
        if step.update.working_set is not None:
            made.append(step.update.working_set)
    return seconds, made, training


def with_received(training: Training, made: list[SharedSet], most: int, sentences: int) -> float:
    """Return the seconds that one more received set adds to an example."""
    learner = training.learners[0]
    differences = []
    for group in range(sentences):
        taken = []
        for count in (0, most):
            begun = time.perf_counter()
            learner.step(group, BEFORE, made[-count:] if count else ())
            taken.append(time.perf_counter() - begun)
        differences.append((taken[1] - taken[0]) / most)
    return float(np.median(differences))


def hub_seconds(sets: Sets, sentences: int, engine: Engine, **options: Any) -> tuple[float, float]:
    """Return the hub's CPU seconds for one more sentence, and the sets received with each.

    An epoch of half the sentences is taken off: what each epoch costs once is not of interest.
    """
    used, received = [], 0.0
    for count in (sentences // 2, sentences):
        training = sets.training(count, **options)
        with working_on(engine):
            training.epoch(0)
            begun = time.process_time()
            entry = training.epoch(1).entry
            used.append(time.process_time() - begun)
        if entry.get("sets_sent"):
            size = entry["bytes_sent"] / entry["sets_sent"]
            received = entry["bytes_received"] / size / count
    return (used[1] - used[0]) / (sentences - sentences // 2), received


def hub(sets: Sets, sentences: int, workers: int) -> tuple[float, float, float]:
    """Return the hub's seconds for an example: mixing; async; and for a set that it passes on.

    The latter two of few and of many learners: these have more sets with each example.
    """
    with ProcessEngine(workers) as engine:
        mixed, _ = hub_seconds(sets, sentences, engine, learners=2)
        found = [
            hub_seconds(sets, sentences, engine, learners=learners, parallel="async")
            for learners in (2, 24)
        ]
    (few, its), (many, theirs) = found
    passing = max(0.0, (many - few) / (theirs - its))
    return max(0.0, mixed), few - its * passing, passing


def measured(sets: Sets, options: argparse.Namespace) -> Constants:
    """Measure, and say what was found."""
    seconds, made, training = single(sets, options.sentences)
    per_received = with_received(training, made, min(48, len(made)), min(100, options.sentences))
    mixed, step, passing = hub(sets, options.sentences, options.workers)
    held = sum(len(pickle.dumps(part, protocol=5)) for part in (sets.decoder, sets.inputs))
    return Constants(
        np.array(seconds),
        float(np.mean([one.bytes for one in made])),
        len(made) / len(seconds),
        per_received,
        mixed,
        step,
        passing,
        len(sets.decoder.names),
        held,
    )


def show_volume(sets: Sets, most: int, learners: int) -> None:
    """Print what is exchanged, for sets of several sizes."""
    print(f"\nexchanged for each example, {learners} learners in lockstep (bytes)")
    print(f"{'sentences':>10} {'sending':>8} {'a set':>7} {'sent':>7} {'received':>9}")
    for sentences in (most // 4, most // 2, most):
        found = volume(sets, sentences, learners)
        print(
            f"{sentences:>10} {found['share']:>8.0%} {found['bytes of a set']:>7.0f} "
            f"{found['sent']:>7.0f} {found['received']:>9.0f}"
        )


def show_constants(found: Constants) -> None:
    """Print what was measured."""
    print(f"\nfeatures {found.features:,}; a worker has {found.data_bytes / 1e6:.0f} MB of data")
    print(f"an example                  {1e3 * found.seconds:8.2f} ms")
    print(f"a received set adds         {1e6 * found.per_received:8.1f} us")
    print(f"the hub, mixing             {1e6 * found.hub_mixing:8.1f} us an example")
    print(f"the hub, async              {1e6 * found.hub_step:8.1f} us an example")
    print(f"                            {1e6 * found.hub_set:8.1f} us a set that it passes on")
    print(f"a set                       {found.set_bytes:8.0f} bytes, of {found.share_sent:.0%}")
    print(f"a learner's state           {found.state_bytes / 1e3:8.0f} kB")


def show_epochs(sets: Sets, sentences: int, workers: int) -> None:
    """Print how long an epoch takes here, by one learner and by one for each worker."""
    ways: dict[str, dict[str, Any]] = {
        "one learner": {},
        "mixing": {"learners": workers},
        "async, lockstep": {"learners": workers, "parallel": "async"},
        "async, free": {"learners": workers, "parallel": "async", "clock": "free"},
    }
    found: dict[str, list[float]] = {}
    warnings.simplefilter("ignore", UserWarning)  # a free clock is told of
    with ProcessEngine(workers) as engine, working_on(engine):
        for name, options in ways.items():
            training = sets.training(sentences, **options)
            for epoch in range(1 + EPOCHS):
                begun = time.perf_counter()
                training.epoch(epoch)
                found.setdefault(name, []).append(time.perf_counter() - begun)
    print(f"\nan epoch of {sentences} sentences on {workers} processes, median of {EPOCHS}")
    serial = statistics.median(found["one learner"][1:])
    for name, (_, *seconds) in found.items():
        taken = statistics.median(seconds)
        print(f"{name:<24} {taken:7.2f} s {serial / taken:8.2f}x")


def show_predictions(found: Constants, sentences: int, inbox: int) -> None:
    """Print what is predicted, beside what the simulation says."""
    serial = sentences * found.seconds
    print(
        f"\nan epoch of {sentences:,} sentences that take {1e3 * found.seconds:,.0f} ms each; "
        f"one learner: {serial:,.0f} s"
    )
    print("(simulated with the first 100,000, scaled)")
    print(
        f"{'':>9} {'mixing':>20} {'async, inbox ' + str(inbox):>38}\n"
        f"{'learners':>9} {'seconds':>10} {'speed-up':>9} {'seconds':>10} {'simulated':>10} "
        f"{'speed-up':>9} {'received':>9} {'hub':>5} {'dropped':>8} {'states':>8}"
    )
    few = min(sentences, 100_000)
    for learners in (1, 2, 8, 20, 50, 200, 1000):
        mixed = predicted(found, sentences, learners, 0)
        one = predicted(found, sentences, learners, inbox)
        other = simulated(found, few, learners, inbox).epoch * sentences / few
        states = learners * found.state_bytes / 1e6
        print(
            f"{learners:>9} {mixed.epoch:>10,.1f} {mixed.speedup(serial):>9.1f} "
            f"{one.epoch:>10,.1f} {other:>10,.1f} {one.speedup(serial):>9.1f} "
            f"{one.received / 1e3:>6.1f} kB {one.hub:>5.0%} {one.dropped:>8.0%} {states:>5.0f} MB"
        )


def main() -> None:
    """Measure and predict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--pop-limit", type=int, default=30)
    parser.add_argument("--lexical", type=int, default=0, help="frequent words of lexical features")
    parser.add_argument("--sentences", type=int, default=240)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--inbox", type=int, default=64)
    parser.set_defaults(threads=1, repetitions=1)
    options = parser.parse_args()
    if not options.model.exists():
        parser.error(f"{options.model}: there is no model; run `make example-hiero`, or --model")
    announce(options, os.fspath(options.model.name))
    decoder = HieroDecoder(
        model=os.fspath(options.model), pop_limit=options.pop_limit, lexical=options.lexical
    )
    source, target = (read_lines(TEXT / f"tune.{side}") for side in ("de", "en"))
    sets = Sets(decoder, Inputs.of(source, target))
    with threads(1):
        show_volume(sets, options.sentences, 8)
        found = measured(sets, options)
        show_epochs(sets, options.sentences, options.workers)
    show_constants(found)
    slow = replace(found, example=found.example / found.seconds)
    for constants, sentences in ((found, 3_000), (slow, 3_000), (slow, 10_000_000)):
        show_predictions(constants, sentences, options.inbox)


if __name__ == "__main__":
    main()
