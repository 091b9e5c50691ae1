"""Compare weights on utterances that none was chosen by: pocketsphinx', a grid's, tuned ones.

After ``recognise.py`` and after tuning on lists and on lattices; see ``make example-speech``.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

import tunesmith as ts

HERE = Path(__file__).resolve().parent
#: Weights of the language model and of a word, where the acoustic one is 1: 21 values of each.
LANGUAGE, WORD = np.linspace(0, 30, 21), np.linspace(-20, 20, 21)


def lists(folder: Path, part: str) -> ts.CandidateSet:
    """Read lists with the number of words."""
    read = ts.read(
        folder / f"{part}.tsv",
        format="nemo:per-source=20",
        references=folder / f"{part}.ref",
        scores={"lm": folder / f"{part}.lm.txt"},
    )
    return ts.derive(read, ["words"])


def best_of_grid(tune: ts.CandidateSet) -> tuple[float, dict[str, float]]:
    """Return the lowest word error rate on a grid, and where it is."""
    tuning = ts.TuningSet(tune, "wer")
    names = tune.features.names
    tried = []
    for language, word in itertools.product(LANGUAGE.tolist(), WORD.tolist()):
        weights = {"score": 1.0, "lm": language, "derived:words": word}
        scores = tune.features.dot(np.array([weights[name] for name in names]))
        spans = itertools.pairwise(tune.start.tolist())
        winners = [first + int(scores[first:last].argmax()) for first, last in spans]
        tried.append((tuning.score(np.array(winners)), weights))
    return min(tried, key=lambda one: one[0])


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description="Compare weights on the sentences to test on.")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    folder = parser.parse_args().data
    error, weights = best_of_grid(lists(folder, "tune"))
    print(f"the best of {len(LANGUAGE) * len(WORD)} points of a grid has {error:.2f} on tune:")
    print(f"  lm {weights['lm']:g}, words {weights['derived:words']:g}")
    test, lattices = lists(folder, "test"), ts.read_forests(folder / "test.lat.gz")
    reference = (folder / "test.ref").read_text(encoding="utf-8").splitlines()
    systems = {
        "pocketsphinx": (folder / "test.heard").read_text(encoding="utf-8").splitlines(),
        "grid": ts.rerank(test, weights),
        "lists": ts.rerank(test, ts.read_weights(folder / "lists.tuned.json").weights),
        "lattices": ts.rerank(lattices, ts.read_weights(folder / "lattices.tuned.json").weights),
    }
    print(ts.compare(systems, ["wer"], references=[reference]))


if __name__ == "__main__":
    main()
