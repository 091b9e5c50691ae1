"""The small decoder in process, as a class of a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzz.toy import NAMES, START, candidates
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, Sentence
from tunesmith.io.collector import Collector


@dataclass(frozen=True)
class Toy(Decoder):
    """Words are kept, left out or doubled."""

    name = "fuzz-toy"
    nbest_size: int = 4

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Return the best candidates of each sentence."""
        values = [weights.get(name, 0.0) for name in NAMES]
        collector = Collector()
        for sentence in sentences:
            for text, vector in candidates(sentence.text, values, self.nbest_size):
                collector.add(sentence.id, text, dict(zip(NAMES, vector, strict=True)))
        return collector.finish()

    def start(self) -> Weights:
        """Return the weights to begin with."""
        return Weights.from_dict(dict(zip(NAMES, START, strict=True)))
