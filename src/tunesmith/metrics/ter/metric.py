"""TER (Snover et al. 2006), digit for digit as sacrebleu (Post 2018) computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.errors import MissingExtraError, TunesmithError
from tunesmith.metrics.base import METRICS, Metric, error_rate, error_rate_slope, same_in_groups
from tunesmith.metrics.preparation import numbered, replace_tokens
from tunesmith.metrics.ter.edits import count_edits
from tunesmith.parallel.local import map_pieces, pieces_of
from tunesmith.registry import option

Split = Callable[[str], list[str]]


@METRICS.register("ter")
@dataclass(frozen=True)
class TER(Metric):
    """Translation edit rate of a corpus: edits, shifts among them, per word of the reference.

    The statistics are sacrebleu's: the edits towards the reference that needs fewest, and
    the mean length of the references.
    """

    higher_is_better: ClassVar[bool] = False

    case_sensitive: bool = option(False, "tell upper from lower case")
    normalized: bool = option(False, "split off punctuation, resolve XML entities, as Tercom")
    no_punct: bool = option(False, "remove punctuation")
    asian_support: bool = option(
        False, "normalized and no-punct also handle Chinese and Japanese characters"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Edits and reference length."""
        return ("edits", "reference_length")

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        split = self._split()
        known: dict[str, int] = {}
        text = numbered([split(hypothesis)], known)
        reference_ids = numbered([_twice(split)(reference) for reference in references], known)
        group = References(np.array([0, len(references)]), reference_ids)
        stats: Stats = _count(np.array([0, 1]), text, group, len(known))[0]
        return stats

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        references = candidates.references
        assert references is not None
        texts, reference_texts, size = (
            candidates.texts,
            references.texts,
            len(candidates.vocabulary),
        )
        if self != TER(case_sensitive=True):
            split = self._split()
            known: dict[str, int] = {}
            if self.normalized:
                # Depends on what stands next to a word.
                texts = _again(candidates, texts, split, known)
                reference_texts = _again(candidates, reference_texts, _twice(split), known)
            else:
                parts = numbered([split(word) for word in candidates.vocabulary], known)
                texts, reference_texts = (
                    replace_tokens(texts, parts),
                    replace_tokens(reference_texts, parts),
                )
            size = len(known)
        return _count(
            candidates.start, texts, References(references.group_start, reference_texts), size
        )

    def _split(self) -> Split:
        """Return what makes words of a text."""
        if not (self.normalized or self.no_punct):
            return str.split if self.case_sensitive else _lower_words
        try:
            from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer
        except ImportError:
            option = "normalized" if self.normalized else "no-punct"
            raise MissingExtraError(f"{option} of ter", "tokenizers") from None
        tokenizer: Callable[[str], str] = TercomTokenizer(
            self.normalized, self.no_punct, self.asian_support, self.case_sensitive
        )
        return lambda text: tokenizer(text.rstrip()).split()

    def score(self, stats: Stats) -> Floats:
        """Return TER in per cent."""
        return 100 * error_rate(stats)

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of minus the rate."""
        return error_rate_slope(stats)

    def is_sum_on(self, stats: Stats, start: Ints) -> bool:
        """Tell whether the reference length is the same for all candidates of a group."""
        return same_in_groups(stats[:, 1], start)

    def signature(self) -> str:
        """Return sacrebleu's fields and our own."""

        def shown(flag: bool) -> str:
            return "yes" if flag else "no"

        return "|".join(
            [
                "ter",
                f"case:{'mixed' if self.case_sensitive else 'lc'}",
                "tok:tercom",
                f"norm:{shown(self.normalized)}",
                f"punct:{shown(not self.no_punct)}",
                f"asian:{shown(self.asian_support)}",
                f"version:tunesmith-{__version__}",
            ]
        )


def _lower_words(text: str) -> list[str]:
    return text.lower().split()


def _twice(split: Split) -> Split:
    """Prepare references as sacrebleu does: twice, which is not always the same as once."""
    return lambda text: split(" ".join(split(text)))


def _again(candidates: CandidateSet, texts: Texts, split: Split, known: dict[str, int]) -> Texts:
    """Split texts anew, each distinct one once."""
    rows_of_text: dict[bytes, list[str]] = {}
    words = []
    for i in range(len(texts)):
        key = texts[i].tobytes()
        if key not in rows_of_text:
            rows_of_text[key] = split(candidates.join(texts[i]))
        words.append(rows_of_text[key])
    return numbered(words, known)


def _count(start: Ints, texts: Texts, references: References, size: int) -> Stats:
    if (references.counts < 1).any():
        raise TunesmithError("ter needs a reference for each group; give one or more")
    edits = np.empty(len(texts), np.int64)

    def count(groups: slice) -> None:
        count_edits(
            start,
            groups.start,
            groups.stop,
            texts.start,
            texts.ids,
            references.group_start,
            references.texts.start,
            references.texts.ids,
            size,
            edits,
        )

    work = np.diff(texts.start[start])
    map_pieces(count, pieces_of(len(start) - 1, weights=work, per_thread=16))
    words = np.diff(references.texts.start[references.group_start])
    lengths = words if (references.counts == 1).all() else words / references.counts
    stats = np.empty((len(texts), 2), np.int32 if lengths.dtype.kind == "i" else np.float64)
    stats[:, 0] = edits
    stats[:, 1] = np.repeat(lengths, np.diff(start))
    return stats
