"""A small decoder for tests: ranks sentences' own candidates, made from their words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.helpers.builders import candidate_set
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, Sentence, with_ids

WORDS = ("ba", "bo", "bu", "da", "do", "du")
NAMES = ("f0", "f1", "f2")


@dataclass(frozen=True)
class Toy(Decoder):
    """Every word may be kept, left out or doubled; the features count what was done."""

    name = "toy"
    nbest_size: int = 4
    quirk: str = ""

    def candidates(self, text: str) -> list[tuple[str, tuple[float, ...]]]:
        found = []
        words = text.split()[:4]
        for ways in itertools.product(range(3), repeat=len(words)):
            out = [w for word, way in zip(words, ways, strict=True) for w in [word] * way]
            vowels = sum(word.endswith("a") for word in out)
            found.append((" ".join(out), (float(len(out)), float(vowels), float(ways.count(2)))))
        return found

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> Any:
        values = np.array([weights.get(name, 0.0) for name in NAMES])
        groups, texts = [], []
        for sentence in sentences:
            every = self.candidates(sentence.text)
            scores = np.array([vector for _, vector in every]) @ values
            chosen = np.argsort(-scores, kind="stable")[: self.nbest_size]
            groups.append([every[k][1] for k in chosen])
            texts += [every[k][0] for k in chosen]
        return with_ids(candidate_set(groups, texts=texts), [s.id for s in sentences])

    def start(self) -> Weights:
        return Weights(NAMES, np.array([0.1, 1.0, 1.0]))


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return texts, and references that leave out some words and double others."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 5))) for _ in range(count)]
    references = [
        " ".join(w for w in text.split() if not w.endswith("u")) or "ba" for text in texts
    ]
    return texts, references
