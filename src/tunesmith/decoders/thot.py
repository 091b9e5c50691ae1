"""Thot, a phrase-based decoder in process: n-best lists with features, weights set at once.

Ortiz-Martínez and Casacuberta, "The new Thot toolkit for fully automatic and interactive
statistical machine translation" (EACL 2014 demonstrations). Its Python module is sil-thot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.assembly import Piece, assemble
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import (
    DECODERS,
    Decoder,
    DecoderError,
    Sentence,
    digest_of,
    with_ids,
)
from tunesmith.decoders.thot_config import (
    FEATURES,
    MOST,
    ThotConfig,
    expected_value,
    single_precision,
)
from tunesmith.errors import MissingExtraError, UsageError, shortened
from tunesmith.io.text.tokens import Interner, tokenize
from tunesmith.registry import option

if TYPE_CHECKING:
    from thot.translation import SmtDecoder, SmtModel, TranslationData

#: Thot has no answer to a sentence of more words.
MOST_WORDS = 200
#: Thot's files have this between fields, so that a token of theirs stands for it.
BARS, ESCAPED = "|||", "<3bars>"

#: The features whose weights decide which options of a phrase are dropped.
PRUNING = ("WordPenalty", "LanguageModel", "PhraseTargetGivenSource", "PhraseSourceGivenTarget")

#: The restrictions of sil-machine's own tuner, for the option ``bound``: a translation should
#: not be liked for what the models of language, phrases and jumps find improbable.
BOUNDS = (
    "LanguageModel=0:",
    "SourceJump=0:",
    "SourceSegmentLength=0:",
    "PhraseTargetGivenSource=0:",
    "PhraseSourceGivenTarget=0:",
)


@DECODERS.register("thot")
@dataclass(frozen=True)
class ThotDecoder(Decoder):
    """Phrase-based translation by Thot, loaded once and kept in memory.

    The width of Thot's search depends on the scale of the weights: it drops an option for a phrase
    if its weighted score is less than ``w`` times the best one's, and larger weights set options
    further apart. So before each search, weights are scaled such that the absolute weights of the
    language model, the two phrase models and the words add up to ``norm``. :meth:`used` returns
    these weights, and :meth:`rewritten` writes them.

    All features are logarithms of probabilities, 0 or below.
    """

    config: str = option("", "Thot's configuration, as sil-machine's smt.cfg", "FILE")
    nbest_size: int = option(100, "candidates per sentence")
    alignment: Literal["auto", "ibm1", "ibm2", "hmm", "fast-align", "ibm3", "ibm4"] = option(
        "auto", "the kind of alignment model that the model was trained with"
    )
    norm: float = option(
        0.5,
        "ℓ1 norm to which the weights are scaled for the search: smaller "
        "values search more widely; 0 leaves them alone",
    )
    w: float | None = option(
        None,
        "which options of a source phrase are tried: below 1 those whose probability is at least "
        "this share of the best one's, otherwise this many",
    )
    a: int | None = option(None, "most words of a source phrase")
    s: int | None = option(None, "most hypotheses in a stack")
    heuristic: int | None = option(None, "estimate of what is left to translate: 0 none, 4 or 6")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.config:
            raise UsageError("decoder 'thot' needs a configuration; give --decoder-config FILE")
        for name in ("nbest_size", "norm", "w", "a", "s", "heuristic"):
            value = getattr(self, name)
            if value is None and name not in ("nbest_size", "norm"):
                continue
            if (expected := expected_value(name, value)) is not None:
                shown = f"{name.replace('_', '-')} of decoder 'thot' is {value}"
                raise UsageError(f"{shortened(shown)}; give {expected}")

    @cached_property
    def _config(self) -> ThotConfig:
        return ThotConfig.read(self.config)

    @cached_property
    def _model(self) -> SmtModel:
        """The model with the settings of the search; loading is what takes time."""
        config = self._config
        thot = _thot()
        kind = getattr(thot.alignment.AlignmentModelType, self._kind())
        model: SmtModel = thot.translation.SmtModel(kind)
        for role, load, prefix in (
            ("translation", model.load_translation_model, config.translation_model),
            ("language", model.load_language_model, config.language_model),
        ):
            if not load(str(prefix)):
                raise DecoderError(
                    f"{self.config}: Thot cannot load the {role} model {prefix}; train it again"
                )
        model.non_monotonicity = config.non_monotonicity
        for name in ("w", "a", "heuristic"):
            setattr(model, name, self._setting(name))
        return model

    @cached_property
    def _decoder(self) -> SmtDecoder:
        """Reads the settings of the model when it is made, and its weights at each search."""
        decoder: SmtDecoder = _thot().translation.SmtDecoder(self._model)
        decoder.s = self._setting("s")
        decoder.is_breadth_first = self._config.breadth_first
        return decoder

    def _setting(self, name: str) -> Any:
        option = getattr(self, name)
        return getattr(self._config, name) if option is None else option

    def _kind(self) -> str:
        alignment = self.alignment if self.alignment != "auto" else self._config.alignment()
        if alignment is None:
            raise UsageError(
                f"{self.config}: the model does not say of which kind its alignment is; "
                "give alignment, as hmm"
            )
        # As sil-machine loads them: these three can learn from single sentences.
        incremental = "INCR_" if alignment in {"ibm1", "ibm2", "hmm"} else ""
        return incremental + alignment.replace("-", "_").upper()

    def start(self) -> Weights:
        """Return the configuration's weights, or Thot's own where it has none."""
        values = self._config.weights
        return Weights(FEATURES, np.array(self._model.weights if values is None else values))

    def used(self, weights: Weights) -> Weights:
        """Return the weights with which Thot searches, for given ones.

        They are scaled to ``norm``, rounded to single precision, and at least 1e-6 in size,
        because Thot does not accept 0.
        """
        values = weights.matched(FEATURES)
        if np.any(large := np.abs(values) > MOST):
            raise DecoderError(
                f"weight '{FEATURES[int(np.argmax(large))]}' is larger than {MOST:.1e}, the most "
                "that Thot can hold; give smaller weights"
            )
        size = sum(abs(values[FEATURES.index(name)]) for name in PRUNING)
        if self.norm > 0 and size > 0:
            with np.errstate(over="ignore", invalid="ignore"):
                values = values * (self.norm / size)
            if not np.all(np.abs(values) <= MOST):
                raise DecoderError(
                    f"the weights of {', '.join(PRUNING)} are so small beside the others that "
                    f"these are too large for Thot where those have the size {self.norm:g}; give "
                    "weights that differ less, or the norm 0"
                )
        return Weights(FEATURES, single_precision(values))

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Translate; a sentence without words has one candidate without any."""
        self._set(self.used(weights).vector)
        inputs = [_input(sentence) for sentence in sentences]
        # Thot ends the process when it is given a sentence without words.
        worded = [k for k, text in enumerate(inputs) if text]
        lists: list[Sequence[TranslationData]] = [[] for _ in inputs]
        texts = [inputs[k] for k in worded]
        for k, nbest in zip(
            worded, self._decoder.translate_n_batch(texts, self.nbest_size), strict=True
        ):
            if not nbest:
                raise DecoderError(
                    f"Thot found no translation of sentence {sentences[k].id}; widen its search, "
                    "as with more s"
                )
            lists[k] = nbest
        return with_ids(_candidates(lists), [sentence.id for sentence in sentences])

    def translate(self, weights: Weights, sentences: Sequence[Sentence]) -> list[str]:
        """Return the best translation of each sentence: the first of its candidates."""
        decoded = self.decode(weights, sentences)
        return [decoded.text(int(first)) for first in decoded.start[:-1]]

    def _set(self, weights: Floats) -> None:
        self._model.weights = weights.tolist()
        if list(self._model.weights) != weights.tolist():
            raise DecoderError("Thot keeps other weights than it was given; use another version")

    def configuration(self) -> dict[str, Any]:
        """Return the options, the settings of the search, and digests of the model's files."""
        config = self._config
        names = ("w", "a", "s", "heuristic")
        return {
            **super().configuration(),
            **{name: self._setting(name) for name in names},
            "non_monotonicity": config.non_monotonicity,
            "breadth_first": config.breadth_first,
            "files": {file.name: digest_of(file) for file in config.files()},
        }

    def rewritten(self, weights: Weights) -> bytes:
        """Return the configuration with the weights that are used in place of some."""
        return self._config.with_weights(self.used(weights).vector)

    def close(self) -> None:
        """Let go of the model."""
        for name in ("_decoder", "_model"):
            if (loaded := self.__dict__.pop(name, None)) is not None:
                loaded.clear()


def _thot() -> Any:
    try:
        import thot.alignment
        import thot.translation
    except ImportError:
        raise MissingExtraError("the decoder 'thot'", "thot") from None
    return thot


def _input(sentence: Sentence) -> str:
    words = sentence.text.split()
    if len(words) > MOST_WORDS:
        raise DecoderError(
            f"sentence {sentence.id} has {len(words)} words, and Thot translates {MOST_WORDS} at "
            "most; split it, or leave it out"
        )
    return " ".join(ESCAPED if word == BARS else word for word in words)


def _candidates(lists: Sequence[Sequence[TranslationData]]) -> CandidateSet:
    """Return lists as groups 0, 1, ...; an empty list as a candidate without words."""
    group: list[int] = []
    texts: list[str] = []
    rows: list[Sequence[float]] = []
    for k, nbest in enumerate(lists):
        for item in nbest:
            group.append(k)
            texts.append(" ".join(BARS if word == ESCAPED else word for word in item.target))
            rows.append(item.score_components)
        if not nbest:
            group.append(k)
            texts.append("")
            rows.append([0.0] * len(FEATURES))
    vocabulary = Interner()
    block = "".join(f"{text}\n" for text in texts).encode()
    dense = np.ascontiguousarray(np.array(rows, np.float64).reshape(-1, len(FEATURES)).T)
    every, none = np.arange(len(FEATURES)), np.zeros(0, np.int64)
    piece = Piece(
        np.array(group, np.int64),
        tokenize(block, vocabulary),
        every,
        dense,
        none,
        none,
        np.zeros(0),
        every,
        np.full(len(FEATURES), len(group)),
        origin="thot",
    )
    return assemble([piece], range(len(lists)), FEATURES, vocabulary.words())
