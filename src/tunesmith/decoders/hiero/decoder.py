"""The hierarchical decoder: sentences in, lists or forests out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.forests import ForestArrays, ForestSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, Decoder, DecoderError, Sentence
from tunesmith.decoders.hiero.assembly import Parts, assembled
from tunesmith.decoders.hiero.engine import Engine
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.forest_lists import kbest_lists, outputs
from tunesmith.parallel.local import map_pieces, pieces_of
from tunesmith.progress import progress
from tunesmith.registry import option

CHOICES = {"passes": ("all", "unknown", "none"), "unknown": ("copy", "drop")}


@DECODERS.register("hiero")
@dataclass(frozen=True)
class HieroDecoder(Decoder):
    """Hierarchical phrase-based translation, in process.

    Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007): CKY over
    synchronous rules, cube pruning with n-gram language models. It has a model that ``tunesmith
    train`` made, or a grammar and language models, or what a joshua.config names.
    """

    model: str = option("", "a folder that `tunesmith train` made", "FOLDER")
    grammar: tuple[str, ...] = option((), "files of rules, in place of a model", "FILE")
    lm: tuple[str, ...] = option(
        (), "language models, in place of a model's: ARPA files, or NAME=FILE", "FILE"
    )
    joshua: str = option("", "a joshua.config, in place of a model", "FILE")
    nbest_size: int = option(100, "candidates of a sentence")
    pop_limit: int | None = option(
        None, "hyperedges of a span and category at most, 0 for no limit; 200 if not said elsewhere"
    )
    span_limit: int | None = option(
        None, "words that a rule may cover, but for glue; 15 if not said elsewhere"
    )
    option_limit: int | None = option(
        None, "rules of a source side that are tried, the best first; 0 for all"
    )
    passes: Literal["all", "unknown", "none"] | None = option(
        None, "which words may stay as they are: all, those without a rule of their own, or none"
    )
    unknown: Literal["copy", "drop"] = option(
        "copy", "what becomes of a word without a rule: it stays as it is, or is left out"
    )
    glue: bool = option(True, "join spans by glue rules, where no file has them")
    lexical: int = option(
        0, "lexical features of so many most frequent words of each side; others are one word"
    )

    #: Whole forests can be asked for.
    gives_forests = True

    def __post_init__(self) -> None:
        given = [name for name in ("model", "grammar", "joshua") if getattr(self, name)]
        if not given:
            raise UsageError(
                "decoder 'hiero' needs a model; give --model FOLDER, or a grammar and a language "
                "model"
            )
        if len(given) > 1:
            raise UsageError(f"decoder 'hiero' has both {given[0]} and {given[1]}; give one")
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in known:
                raise UnknownNameError(name, str(value), known)
        least = {"nbest_size": 1, "pop_limit": 0, "span_limit": 1, "option_limit": 0, "lexical": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and value < smallest:
                shown = name.replace("_", "-")
                raise UsageError(f"{shown} of decoder 'hiero' is {value}; give {smallest} or more")

    @cached_property
    def _parts(self) -> Parts:
        return assembled(self)

    @property
    def engine(self) -> Engine:
        """What searches; made when it is first asked for."""
        return self._parts.engine

    @property
    def names(self) -> tuple[str, ...]:
        """All features."""
        return self.engine.names

    def start(self) -> Weights | None:
        """Return the weights of the model, or of the configuration."""
        return self._parts.start

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Translate: the best derivations of each sentence, no text twice."""
        if self.nbest_size == 1:
            return self._best(weights, sentences)
        found = self.forests(weights, sentences)
        return kbest_lists(found, weights.aligned(found.names), self.nbest_size)

    def forests(self, weights: Weights, sentences: Sequence[Sentence]) -> ForestSet:
        """Translate: all derivations of each sentence that the search has met."""
        return self._forests(weights, sentences, best_alone=False)

    def translate(self, weights: Weights, sentences: Sequence[Sentence]) -> list[str]:
        """Return the best translation of each sentence."""
        found = self._best(weights, sentences)
        return [found.text(k) for k in range(len(found))]

    def _best(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        found = self._forests(weights, sentences, best_alone=True)
        return outputs(found, weights.aligned(found.names))

    def _forests(
        self, weights: Weights, sentences: Sequence[Sentence], best_alone: bool
    ) -> ForestSet:
        parts = self._parts
        inputs = [parts.read(sentence.text) for sentence in sentences]
        engines = parts.engines(inputs)
        vector = _finite(weights, engines[0].names if engines else self.names)
        done = [0]

        def search(piece: slice) -> list[ForestArrays]:
            found = []
            for k in range(piece.start, piece.stop):
                try:
                    found.append(engines[k].search(inputs[k].words, vector).forest(best_alone))
                except TunesmithError as error:
                    raise DecoderError(f"sentence {sentences[k].id}: {error}") from None
                done[0] += 1
                progress("decoding", done[0], len(sentences))
            return found

        lengths = np.array([1 + len(one.words) for one in inputs])
        pieces = pieces_of(len(inputs), lengths, per_thread=8)
        arrays = [part for held in map_pieces(search, pieces) for part in held]
        ids, texts = [s.id for s in sentences], [s.text for s in sentences]
        return parts.forest_set(arrays, engines, ids, texts)

    def configuration(self) -> dict[str, Any]:
        """Return the options, and digests of what the model is made of."""
        return {**super().configuration(), "files": self._parts.digests()}

    def close(self) -> None:
        """Let go of the model."""
        self.__dict__.pop("_parts", None)


def _finite(weights: Weights, names: tuple[str, ...]) -> Floats:
    vector = weights.aligned(names)
    if not np.isfinite(vector).all():
        wrong = names[int(np.argmax(~np.isfinite(vector)))]
        raise DecoderError(f"the weight of '{wrong}' is not finite; give other weights")
    return vector
