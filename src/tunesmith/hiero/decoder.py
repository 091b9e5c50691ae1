"""The hierarchical decoder: sentences in, lists or forests out.

Sentences are shared out among threads, or processes with a copy of the model each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.forests import ForestSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, Decoder, DecoderError, Sentence
from tunesmith.errors import UsageError
from tunesmith.hiero.assembly import Input, Parts, parts_of
from tunesmith.hiero.engine import HieroEngine
from tunesmith.hiero.sharing import search_sentences, search_traced, share
from tunesmith.hiero.traces import Trace
from tunesmith.inference.forests.derivations import joined_derivations
from tunesmith.inference.forests.lists import candidates_of, kbest_lists, outputs
from tunesmith.registry import option

#: No limit is greater.
MOST = 1_000_000_000


@DECODERS.register("hiero")
@dataclass(frozen=True)
class HieroDecoder(Decoder):
    """Hierarchical phrase-based translation, in process.

    Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007): CKY over
    synchronous rules, cube pruning with n-gram language models. It has a model that ``tunesmith
    train`` made, or a grammar and language models, or what a joshua.config names.
    """

    model: str = option("", "a folder that `tunesmith train` made", "FOLDER")
    grammar: tuple[str, ...] = option((), "rules, instead of a model", "FILE")
    lm: tuple[str, ...] = option(
        (),
        "a language model (ARPA, or KenLM's probing binary), instead of the model's; NAME=FILE "
        "names its feature",
        "FILE",
    )
    joshua: str = option("", "a joshua.config, instead of a model", "FILE")
    nbest_size: int = option(100, "candidates per sentence", least=1, most=MOST)
    pop_limit: int | None = option(
        None,
        "hyperedges per span and category: higher limits take longer and "
        "find better translations; 0 for no limit [default: the model's, or 200]",
        least=0,
        most=MOST,
    )
    span_limit: int | None = option(
        None,
        "most source words that a rule may cover, except glue [default: the model's, or 15]",
        least=1,
        most=MOST,
    )
    option_limit: int | None = option(
        None,
        "rules tried per source side, best first; 0 for all [default: a joshua.config's, or 0]",
        least=0,
        most=MOST,
    )
    passes: Literal["all", "unknown", "none"] | None = option(
        None,
        "which words may be copied: all, those without a rule of their own, or none [default: all]",
    )
    unknown: Literal["copy", "drop"] = option(
        "copy", "what to do with a word without a rule: copy it, or leave it out"
    )
    glue: bool = option(True, "add glue rules if no file has them")
    xml_input: Literal["exclusive", "inclusive"] | None = option(
        None,
        'read <x translation="...">words</x>, as Moses does: these words have this translation '
        "alone, or it is tried beside the others [default: refuse such elements]",
    )
    lattice_input: Literal["plain", "probabilities"] | None = option(
        None,
        "read lattices (PLF) in place of sentences: the scores of their arcs are features as they "
        "stand, or they are probabilities, whose logarithms are, as in Moses [default: refuse "
        "lattices]",
    )
    lexical: int = option(
        0,
        "add lexical features of this many words of each side, the most frequent ones; all "
        "others count as one word",
        least=0,
        most=MOST,
    )

    #: It gives whole forests, several threads may use it, and workers can have a copy of the model.
    gives_forests = is_portable = is_thread_safe = shares_out = True

    _owner_is = "decoder"

    def __post_init__(self) -> None:
        super().__post_init__()
        sources = [name for name in ("model", "grammar", "joshua") if getattr(self, name)]
        if not sources and not self.lm:
            raise UsageError(
                "decoder 'hiero' has no model; give a folder that `tunesmith train` made, or a "
                "grammar and a language model"
            )
        if len(sources) > 1:
            raise UsageError(f"decoder 'hiero' has both {sources[0]} and {sources[1]}; give one")
        if self.lattice_input and self.xml_input:
            raise UsageError(
                "elements of XML stand in sentences, not in lattices; drop xml-input or "
                "lattice-input"
            )
        if not self.glue and (self.model or self.joshua):
            raise UsageError(
                "without glue is for a grammar alone: a model and a joshua.config have glue rules "
                "of their own; drop no-glue"
            )

    @cached_property
    def _parts(self) -> Parts:
        return parts_of(self)

    @property
    def engine(self) -> HieroEngine:
        """What searches; built at first use."""
        return self._parts.engine

    @property
    def names(self) -> tuple[str, ...]:
        """All features; those of a sentence's own grammar once it has been read."""
        return self._parts.names

    def start(self) -> Weights | None:
        """Return the weights of the model, or of the configuration."""
        return self._parts.start

    # Sentences may be plain texts, whose ids are their places, and weights any mapping.

    def decode(
        self, weights: Mapping[str, float], sentences: Sequence[Sentence | str]
    ) -> CandidateSet:
        """Translate: the best derivations of each sentence, no text twice."""
        weights = Weights.from_dict(weights)
        if self.nbest_size == 1:
            return self.outputs(weights, sentences)
        forests = self.forests(weights, sentences)
        return kbest_lists(forests, weights.aligned(forests.names), self.nbest_size)

    def outputs(
        self, weights: Mapping[str, float], sentences: Sequence[Sentence | str]
    ) -> CandidateSet:
        """Translate: the best derivation of each sentence alone."""
        weights = Weights.from_dict(weights)
        forests = self._forests(weights, sentences, best_only=True)
        return outputs(forests, weights.aligned(forests.names))

    def forests(
        self, weights: Mapping[str, float], sentences: Sequence[Sentence | str]
    ) -> ForestSet:
        """Translate: all derivations of each sentence that the search has met."""
        return self._forests(Weights.from_dict(weights), sentences, best_only=False)

    def traced(
        self,
        weights: Mapping[str, float],
        sentences: Sequence[Sentence | str],
        size: int = 1,
        unique: bool = True,
    ) -> tuple[CandidateSet, list[Trace]]:
        """Translate, and say how each candidate was derived.

        Parameters
        ----------
        weights, sentences
            What is translated, and under which weights.
        size
            How many of the best derivations of each sentence.
        unique
            Only the best derivation of each text.

        Returns
        -------
        candidates
            Those of :meth:`decode`, or with ``size`` 1 of :meth:`outputs`.
        traces
            One of each candidate, in their order.
        """
        if size < 1:
            raise UsageError(f"{size} derivations of each sentence are asked for; give 1 or more")
        named = Weights.from_dict(weights)
        ids, inputs, vector = self._given(named, sentences)
        parts = self._parts
        pieces = share(search_traced, parts, ids, inputs, vector, size, unique)
        results = list(chain.from_iterable(pieces))
        texts = [sentence.text for sentence in inputs]
        forests = parts.forest_set([result.forest for result in results], ids, texts)
        counts = [len(result.traces) for result in results]
        derivations = joined_derivations(
            np.repeat(np.arange(len(results)), counts),
            [(result.start, result.edges) for result in results],
        )
        traces = [trace for result in results for trace in result.traces]
        return candidates_of(forests, derivations), traces

    def translate(
        self, weights: Mapping[str, float], sentences: Sequence[Sentence | str]
    ) -> list[str]:
        """Return the best translation of each sentence."""
        if not sentences:
            return []
        best = self.outputs(weights, sentences)
        return [best.text(k) for k in range(len(best))]

    def meet(self, sentences: Sequence[Sentence | str]) -> None:
        """Learn the features that the own grammars of sentences have beside those of ``names``."""
        self._parts.learn(self._inputs(_numbered(sentences)))

    def check(self, text: str) -> None:
        """Raise an error if a text cannot be taken apart: a lattice, or elements within it."""
        self._parts.read(text)

    def forget(self) -> None:
        """Let go of what is kept of sentences: they do not come again."""
        self._parts.forget()

    def _inputs(self, sentences: Sequence[Sentence]) -> list[Input]:
        """Take sentences apart; an error says which it is of."""
        inputs = []
        for sentence in sentences:
            try:
                inputs.append(self._parts.read(sentence.text))
            except DecoderError as error:
                raise DecoderError(f"sentence {sentence.id}: {error}") from None
        return inputs

    def _forests(
        self, weights: Weights, unnumbered: Sequence[Sentence | str], best_only: bool
    ) -> ForestSet:
        ids, inputs, vector = self._given(weights, unnumbered)
        forests = search_sentences(self._parts, ids, inputs, vector, best_only)
        return self._parts.forest_set(forests, ids, [sentence.text for sentence in inputs])

    def _given(
        self, weights: Weights, unnumbered: Sequence[Sentence | str]
    ) -> tuple[list[GroupId], list[Input], Floats]:
        """Return the names of sentences, what they are, and weights in the order of features."""
        sentences = _numbered(unnumbered)
        if not sentences:
            raise UsageError("there are no sentences to translate; give at least one")
        inputs = self._inputs(sentences)
        self._parts.learn(inputs)
        return [s.id for s in sentences], inputs, _finite(weights, self._parts.names)

    def __getstate__(self) -> dict[str, Any]:
        """Return all that is needed where its files are not."""
        return {**self._options, "_parts": self._parts}

    @property
    def _options(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def parted(self) -> tuple[Callable[[Any], HieroDecoder], Parts]:
        """Return what makes a copy in a worker, and the model, which is sent with it."""
        return partial(_with_parts, type(self), self._options, self._parts.added), self._parts

    def configuration(self) -> dict[str, Any]:
        """Return the options, and digests of what the model is made of."""
        return {**super().configuration(), "files": self._parts.digests()}

    def rewritten(self, weights: Weights) -> bytes | None:
        """Return the joshua.config, or its weights file, with other weights, if there is one."""
        from tunesmith.decoders.joshua import JoshuaDecoder

        return JoshuaDecoder(config=self.joshua).rewritten(weights) if self.joshua else None

    def close(self) -> None:
        """Let go of the model."""
        self.__dict__.pop("_parts", None)


def _with_parts(
    kind: type[HieroDecoder], options: dict[str, Any], added: tuple[str, ...], parts: Parts
) -> HieroDecoder:
    """Put a copy together; the model may have been sent before some features were met."""
    parts.take(added)
    decoder = kind(**options)
    decoder.__dict__["_parts"] = parts
    return decoder


def _numbered(sentences: Sequence[Sentence | str]) -> list[Sentence]:
    """Return sentences; plain texts are numbered by their places."""
    if isinstance(sentences, str):
        raise UsageError("one text is no list of sentences; give [text]")
    return [Sentence(k, s) if isinstance(s, str) else s for k, s in enumerate(sentences)]


def _finite(weights: Weights, names: tuple[str, ...]) -> Floats:
    vector = weights.aligned(names)
    if not np.isfinite(vector).all():
        wrong = names[int(np.argmax(~np.isfinite(vector)))]
        raise DecoderError(f"the weight of '{wrong}' is not finite; give other weights")
    return vector
