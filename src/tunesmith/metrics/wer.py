"""Word and character error rate; rapidfuzz counts the edits.

The edits are substitutions, deletions and insertions, each of cost 1 (Levenshtein 1966).
Errors and lengths equal jiwer's.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ids, Ints, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.kernels import kernel
from tunesmith.metrics.base import METRICS, Metric, error_rate, error_rate_slope, same_in_groups
from tunesmith.metrics.ngrams.counts import check_references
from tunesmith.metrics.preparation import Preparation, characters_of, numbered, replace_tokens
from tunesmith.parallel.local import thread_count
from tunesmith.registry import option

#: Tokens that are in memory as Python strings at a time.
BATCH = 1 << 20
#: The greatest number that a character of a string can have.
LAST_CHARACTER = 0x10FFFF


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

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Errors and lengths."""
        return ("errors", "reference_length", "length")

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        check_references(self.name, references)
        words = Preparation(lowercase=self.lowercase).words
        units, *others = self._units([words(text) for text in (hypothesis, *references)])
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
        into = self._into_units(candidates.vocabulary)
        references = References(raw_references.group_start, into(raw_references.texts))
        stats = np.empty((len(candidates), 3), np.int32)
        for groups in _batches(candidates):
            lo, hi = candidates.start[groups.start], candidates.start[groups.stop]
            start = candidates.start[groups.start : groups.stop + 1] - lo
            of_groups = references.group_start[groups.start : groups.stop + 1]
            texts = into(_window(candidates.texts, lo, hi))
            _fill(start, texts, References(of_groups, references.texts), stats[lo:hi])
        return stats

    @abstractmethod
    def _units(self, texts: Sequence[Sequence[str]]) -> list[Sequence[int]]:
        """Return what is counted in some texts, given their words, as numbers."""

    @abstractmethod
    def _into_units(self, vocabulary: Sequence[str]) -> Callable[[Texts], Texts]:
        """Return what turns token ids into what is counted."""

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
        """Return name, case and version."""
        case = "lc" if self.lowercase else "mixed"
        return f"{self.name}|case:{case}|tok:none|version:tunesmith-{__version__}"


@METRICS.register("wer")
@dataclass(frozen=True)
class WER(ErrorRate):
    """Word error rate."""

    def _units(self, texts: Sequence[Sequence[str]]) -> list[Sequence[int]]:
        known: dict[str, int] = {}
        return [[known.setdefault(word, len(known)) for word in words] for words in texts]

    def _into_units(self, vocabulary: Sequence[str]) -> Callable[[Texts], Texts]:
        if not self.lowercase:
            return lambda texts: texts
        parts = numbered([[word.lower()] for word in vocabulary], {})
        return lambda texts: replace_tokens(texts, parts)


@METRICS.register("cer")
@dataclass(frozen=True)
class CER(ErrorRate):
    """Character error rate, with one space between words."""

    def _units(self, texts: Sequence[Sequence[str]]) -> list[Sequence[int]]:
        return [[ord(character) for character in " ".join(words)] for words in texts]

    def _into_units(self, vocabulary: Sequence[str]) -> Callable[[Texts], Texts]:
        words = [word.lower() for word in vocabulary] if self.lowercase else vocabulary
        parts, space = characters_of(words)
        return lambda texts: replace_tokens(texts, parts, space)


def _window(texts: Texts, first: int, last: int) -> Texts:
    """Return some of the texts, as if there were no others."""
    start = texts.start[first : last + 1]
    return Texts(start - start[0], texts.ids[start[0] : start[-1]])


def _batches(candidates: CandidateSet) -> list[slice]:
    """Cut the groups into runs of a bounded number of tokens."""
    done = candidates.texts.start[candidates.start]
    edges = [0]
    while edges[-1] < candidates.groups:
        after = int(np.searchsorted(done, done[edges[-1]] + BATCH, side="right")) - 1
        edges.append(max(after, edges[-1] + 1))
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _fill(start: Ints, texts: Texts, references: References, stats: Stats) -> None:
    """Compute the statistics of some groups.

    Parameters
    ----------
    start : int64[S + 1]
        The texts of each group.
    texts, references
        In units.
    stats : int32[N, 3]
        To be filled.
    """
    hypotheses, others = _as_strings(start, texts, references)
    sizes = np.diff(start)
    lengths = np.diff(references.texts.start)
    first = references.group_start[0]
    stats[:, 0] = np.iinfo(np.int32).max
    stats[:, 2] = texts.lengths
    for k in range(int(references.counts.max())):
        # The k-th reference of every group that has that many.
        has = np.repeat(references.counts > k, sizes)
        which = np.repeat(references.group_start[:-1] + k, sizes)[has]
        errors = process.cpdist(
            [others[r] for r in (which - first).tolist()],
            hypotheses if has.all() else [hypotheses[i] for i in np.flatnonzero(has).tolist()],
            scorer=Levenshtein.distance,
            dtype=np.int32,
            workers=thread_count(),
        )
        rows = np.flatnonzero(has)
        fewer = errors < stats[rows, 0]
        stats[rows[fewer], 0] = errors[fewer]
        stats[rows[fewer], 1] = lengths[which[fewer]]


def _as_strings(start: Ints, texts: Texts, references: References) -> tuple[list[Any], list[Any]]:
    """Write texts and references of some groups with one character for each unit.

    Units are numbered anew in each group, and those that are in none of its references are
    all the same: they match nothing. So one byte is nearly always enough, and no vocabulary
    is too large.
    """
    reference_window = _window(
        references.texts, references.group_start[0], references.group_start[-1]
    )
    size = 1 + max(int(texts.ids.max(initial=0)), int(reference_window.ids.max(initial=0)))
    codes = np.empty(len(texts.ids), np.int32)
    held_codes = np.empty(len(reference_window.ids), np.int32)
    most = _number(
        start,
        texts.start,
        texts.ids,
        references.group_start - references.group_start[0],
        reference_window.start,
        reference_window.ids,
        np.zeros(size, np.int32),
        codes,
        held_codes,
    )
    return _cut(_string(codes, most), texts.start), _cut(
        _string(held_codes, most), reference_window.start
    )


def _string(codes: Ids, most: int) -> str | list[int]:
    """Return codes as characters; as numbers where there are more codes than characters."""
    if most < 256:
        return codes.astype(np.uint8).tobytes().decode("latin-1")
    if most <= LAST_CHARACTER:
        # Halves of surrogate pairs are characters like others here.
        return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    numbers: list[int] = codes.tolist()
    return numbers


def _cut(units: str | list[int], start: Ints) -> list[Any]:
    edges = start.tolist()
    return [units[a:b] for a, b in itertools.pairwise(edges)]


@kernel
def _number(
    start: Ints,
    text_start: Ints,
    units: Ids,
    group_references: Ints,
    reference_start: Ints,
    reference_units: Ids,
    place: Ids,
    codes: Ids,
    reference_codes: Ids,
) -> int:
    """Give numbers from 1 to the units of each group's references; return the greatest.

    ``place`` is 0 for all units, before and after.
    """
    most = 0
    for g in range(start.shape[0] - 1):
        lo = reference_start[group_references[g]]
        hi = reference_start[group_references[g + 1]]
        used = 0
        for i in range(lo, hi):
            unit = reference_units[i]
            if place[unit] == 0:
                used += 1
                place[unit] = used
            reference_codes[i] = place[unit]
        most = max(most, used)
        for i in range(text_start[start[g]], text_start[start[g + 1]]):
            codes[i] = place[units[i]]
        for i in range(lo, hi):
            place[reference_units[i]] = 0
    return most
