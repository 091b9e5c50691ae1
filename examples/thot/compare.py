"""Tune the same model with sil-machine's own tuner, a Nelder-Mead search, and compare.

Run train.py and tune.py first. Both tuners begin with the weights 1 1 1 1 1 1 1 0 and see the
same sentences; all translations are made with the same settings of the search. Thot's search is
wider with smaller weights, and tunesmith brings them to one scale, so Nelder-Mead's are shown at
both: as they come out, and at that scale.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from machine.translation.thot import ThotSmtParameters, ThotWordAlignmentModelType
from machine.translation.thot.simplex_model_weight_tuner import SimplexModelWeightTuner
from machine.translation.trainer import TrainStats

from tunesmith import BLEU, Inputs, Weights
from tunesmith.decoders.thot import ThotDecoder
from tunesmith.integrations.sil_machine import TunesmithParameterTuner

HERE = Path(__file__).parent
METRIC = BLEU()


class CountingTuner(SimplexModelWeightTuner):
    """sil-machine's tuner, which says how many sentences it has decoded."""

    decodings = 0

    def _generate_translations(
        self, parameters: ThotSmtParameters, source_corpus: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[str]]:
        self.decodings += len(source_corpus)
        return super()._generate_translations(parameters, source_corpus)


def statistics(model: Path, weights: Sequence[float], norm: float, inputs: Inputs) -> np.ndarray:
    """Translate, and return the statistics of BLEU of each sentence."""
    decoder = ThotDecoder(str(model / "filtered" / "smt.cfg"), norm=norm)
    start = decoder.start()
    found = decoder.translate(Weights(start.names, np.array(weights)), inputs.sentences)
    decoder.close()
    return np.array(
        [METRIC.stats(text, held) for text, held in zip(found, inputs.references, strict=True)]
    )


def bleu(rows: np.ndarray) -> float:
    """Return BLEU of all sentences."""
    return float(METRIC.score(rows.sum(axis=0)))


def bootstrap(first: np.ndarray, second: np.ndarray, samples: int = 1000) -> np.ndarray:
    """Return how much better the second is, from and to: 95 % of paired resamples.

    Koehn, "Statistical significance tests for machine translation evaluation" (EMNLP 2004).
    """
    rng = np.random.default_rng(1)
    drawn = rng.integers(len(first), size=(samples, len(first)))
    differences = METRIC.score(second[drawn].sum(axis=1)) - METRIC.score(first[drawn].sum(axis=1))
    return np.quantile(differences, [0.025, 0.975])


def main() -> None:
    """Tune twice, evaluate on the sentences to tune on and to test on."""
    parser = argparse.ArgumentParser(description="Compare with sil-machine's own tuner.")
    parser.add_argument("--data", type=Path, default=HERE.parent / "catalogs")
    parser.add_argument("--model", type=Path, default=HERE / "model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    sets = {
        name: Inputs.read(given.data / f"{name}.de", given.data / f"{name}.en")
        for name in ("tune", "test")
    }
    source = [sentence.text.split() for sentence in sets["tune"].sentences]
    target = [held[0].split() for held in sets["tune"].references]
    kind = ThotWordAlignmentModelType.HMM
    ours = TunesmithParameterTuner(kind, rounds=given.rounds, seed=given.seed)
    theirs = CountingTuner(kind)
    tuned = {}
    for name, tuner in (("tunesmith", ours), ("Nelder-Mead", theirs)):
        parameters = ThotSmtParameters.load(given.model / "filtered" / "smt.cfg")
        parameters.model_weights = [1.0] * 7 + [0.0]
        begun = time.perf_counter()
        found = tuner.tune(parameters, source, target, TrainStats(), lambda status: None)
        tuned[name] = [float(weight) for weight in found.model_weights]
        seconds = time.perf_counter() - begun
        print(f"{name}: {tuner.decodings} sentences decoded in {seconds:.0f} s", flush=True)

    rows = {
        "start": ([1.0] * 7 + [0.0], 0.0),
        "start, tunesmith's scale": ([1.0] * 7 + [0.0], ours.norm),
        "Nelder-Mead": (tuned["Nelder-Mead"], 0.0),
        "Nelder-Mead, tunesmith's scale": (tuned["Nelder-Mead"], ours.norm),
        "tunesmith": (tuned["tunesmith"], 0.0),
    }
    found = {
        row: {name: statistics(given.model, *how, inputs) for name, inputs in sets.items()}
        for row, how in rows.items()
    }
    print(f"{'BLEU':30}  tune   test  test, tunesmith minus this (95 %)")
    for row, own in found.items():
        scores = "  ".join(f"{bleu(own[name]):5.2f}" for name in sets)
        line = f"{row:30} {scores}"
        if row != "tunesmith":
            more = bleu(found["tunesmith"]["test"]) - bleu(own["test"])
            low, high = bootstrap(own["test"], found["tunesmith"]["test"])
            line += f"  {more:+.2f} ({low:+.2f} to {high:+.2f})"
        print(line)
    share = ours.decodings / theirs.decodings
    print(f"sentences decoded: {ours.decodings} and {theirs.decodings}, a share of {share:.3f}")
    (given.model / "compared.json").write_text(json.dumps(tuned, indent=2) + "\n")


if __name__ == "__main__":
    main()
