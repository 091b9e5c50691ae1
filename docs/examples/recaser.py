"""A decoder of your own: words without capital letters get them back."""

import itertools
from dataclasses import dataclass

from tunesmith.decoders.base import DECODERS, Decoder, with_ids
from tunesmith.io.collector import Collector
from tunesmith.registry import option


@DECODERS.register("recaser")
@dataclass(frozen=True)
class Recaser(Decoder):
    """Each of the first six words may get a capital letter."""

    nbest_size: int = option(10, "candidates of a sentence")

    def decode(self, weights, sentences):
        """Return the best candidates of each sentence, the best first."""
        collector = Collector()
        for number, sentence in enumerate(sentences):
            ways = itertools.product((0, 1), repeat=len(sentence.text.split()[:6]))
            variants = [variant(sentence.text, capitals) for capitals in ways]
            variants.sort(key=lambda v: -sum(weights.get(n, 0.0) * x for n, x in v[1].items()))
            for text, features in variants[: self.nbest_size]:
                collector.add(number, text, features)
        return with_ids(collector.finish(), [sentence.id for sentence in sentences])


def variant(text, capitals):
    """Return a text with some capitals, and its features: how many of which kind there are."""
    words = text.split()
    chosen = [k for k, capital in enumerate(capitals) if capital]
    for k in chosen:
        words[k] = words[k].capitalize()
    features = {"first": 0.0, "short": 0.0, "long": 0.0}
    for k in chosen:
        features["first" if k == 0 else "long" if len(words[k]) > 4 else "short"] += 1.0
    return " ".join(words), features
