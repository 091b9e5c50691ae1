"""Word and character error rate; rapidfuzz counts the edits.

The edits are substitutions, deletions and insertions, each of cost 1 (Levenshtein 1966).
Errors and lengths equal jiwer's.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.errors import UsageError
from tunesmith.metrics.base import METRICS, Metric, error_rate, error_rate_slope, same_in_groups
from tunesmith.metrics.ngrams.counts import check_references
from tunesmith.metrics.preparation import (
    characters_of,
    numbered,
    replace_tokens,
    text_by_text,
)
from tunesmith.metrics.wer.counting import batches, fill_edits, window
from tunesmith.metrics.wer.normalisation import TextNormalisation, fillers_of
from tunesmith.metrics.wer.numerals import check_language
from tunesmith.metrics.wer.transform import transform_of
from tunesmith.registry import option

if TYPE_CHECKING:
    TransformOption = Any
else:
    TransformOption = str


@dataclass(frozen=True)
class ErrorRate(Metric):
    """Edits that turn the reference into the hypothesis, per unit of the reference.

    Of several references the one with the fewest errors counts, for each candidate by
    itself; among equals the first. Where a reference is empty, all of the hypothesis is
    inserted. The score of a sum without any reference unit is 0 if there is no error, and
    100 otherwise; jiwer's is the number of insertions.
    """

    higher_is_better = False

    lowercase: bool = option(False, "ignore case")
    numbers: str = option("", "write numerals out in this language of num2words, as en", "LANGUAGE")
    contractions: bool = option(False, "expand English contractions: don't is do not")
    no_punct: bool = option(False, "remove punctuation")
    fillers: str = option("", "words that do not count: english, or a list as uh+um", "WORDS")
    transform: TransformOption = option(
        "",
        "a transform of jiwer, or a function from text to text, in a file, "
        "which is run; it is applied first",
        "path/to/file.py:Name",
        convert=lambda flag, given: transform_of(given),
    )
    by_word: bool = option(
        False,
        "apply the transform to each word separately, so that lattices can be searched exactly",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_language(self.numbers)
        fillers_of(self.fillers)
        if self.by_word and not self.transform:
            raise UsageError("by-word says what a transform is given; give one, or drop it")

    @functools.cached_property
    def normalisation(self) -> TextNormalisation:
        """What is done to texts before they are compared."""
        return TextNormalisation(
            self.transform or None,
            self.by_word,
            self.lowercase,
            self.numbers,
            self.contractions,
            self.no_punct,
            fillers_of(self.fillers),
            isinstance(self, CER),
        )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Errors and lengths."""
        return ("errors", "reference_length", "length")

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        check_references(self.name, references)
        known: dict[str, int] = {}
        units, *others = [
            [known.setdefault(unit, len(known)) for unit in self.units_of(text)]
            for text in (hypothesis, *references)
        ]
        # min() keeps the first among equals.
        errors, length = min(
            ((Levenshtein.distance(units, other), len(other)) for other in others),
            key=lambda alignment: alignment[0],
        )
        return np.array([errors, length, len(units)], np.int32)

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        assert candidates.references is not None
        raw_references = candidates.references
        into = self._into_units(candidates)
        references = References(raw_references.group_start, into(raw_references.texts))
        stats = np.empty((len(candidates), 3), np.int32)
        for groups in batches(candidates):
            lo, hi = candidates.start[groups.start], candidates.start[groups.stop]
            start = candidates.start[groups.start : groups.stop + 1] - lo
            of_groups = references.group_start[groups.start : groups.stop + 1]
            texts = into(window(candidates.texts, lo, hi))
            fill_edits(start, texts, References(of_groups, references.texts), stats[lo:hi])
        return stats

    def units_of(self, text: str) -> Sequence[str]:
        """Return what is compared of a text."""
        return self.joined(self.normalisation.words(text))

    @abstractmethod
    def joined(self, words: Sequence[str]) -> Sequence[str]:
        """Return what is counted in a text of some words."""

    @abstractmethod
    def _of_words(self, vocabulary: Sequence[str]) -> Callable[[Texts], Texts]:
        """Return what turns the ids of words into what is counted."""

    def _into_units(self, candidates: CandidateSet) -> Callable[[Texts], Texts]:
        """Return what turns token ids into what is counted."""
        normalisation, vocabulary = self.normalisation, candidates.vocabulary
        known: dict[str, int] = {}
        if not normalisation.is_word_by_word:
            return lambda texts: text_by_text(candidates, texts, known, self.units_of)
        if normalisation.is_plain:
            return self._of_words(vocabulary)
        words = [normalisation.words(word) for word in vocabulary]
        if all(len(parts) == 1 for parts in words) and isinstance(self, CER):
            return self._of_words([word for (word,) in words])  # at once
        parts = numbered(words, known)
        of_words = self._of_words([*known])
        return lambda texts: of_words(replace_tokens(texts, parts))

    def score(self, stats: Stats) -> Floats:
        """Return the error rate in per cent."""
        return 100.0 * error_rate(stats)

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of minus the rate; the hypothesis' length is for information."""
        return error_rate_slope(stats)

    def is_sum_on(self, stats: Stats, start: Ints) -> bool:
        """Tell whether the reference that counts is as long for all candidates of a group."""
        return same_in_groups(stats[:, 1], start)

    def details(self, stats: Stats) -> dict[str, float]:
        """Return the length ratio."""
        return {"length_ratio": float(stats[2] / stats[1]) if stats[1] > 0 else 0.0}

    def signature(self) -> str:
        """Return name, normalisation and version."""
        parts = {
            "case": "lc" if self.lowercase else "mixed",
            "numbers": self.numbers,
            "contractions": "expanded" if self.contractions else "",
            "punct": "no" if self.no_punct else "",
            "fillers": self.fillers,
            "transform": str(self.transform) + (",by-word" if self.by_word else ""),
            "tok": "none",
        }
        options = "|".join(f"{name}:{value}" for name, value in parts.items() if value)
        return f"{self.name}|{options}|version:tunesmith-{__version__}"


@METRICS.register("wer")
@dataclass(frozen=True)
class WER(ErrorRate):
    """Word error rate."""

    def joined(self, words: Sequence[str]) -> Sequence[str]:
        """Return the words."""
        return words

    def _of_words(self, vocabulary: Sequence[str]) -> Callable[[Texts], Texts]:
        return lambda texts: texts


@METRICS.register("cer")
@dataclass(frozen=True)
class CER(ErrorRate):
    """Character error rate, with one space between words."""

    def joined(self, words: Sequence[str]) -> Sequence[str]:
        """Return the characters."""
        return " ".join(words)

    def _of_words(self, vocabulary: Sequence[str]) -> Callable[[Texts], Texts]:
        parts, space = characters_of(vocabulary)
        return lambda texts: replace_tokens(texts, parts, space)
