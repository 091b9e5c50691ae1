"""Features of a candidate among the others of its group: agreement, votes, ranks."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet, References
from tunesmith.data.features import Features
from tunesmith.derived.base import DERIVED, Derived
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.metrics.base import METRICS, Metric

#: Metrics of whole sets, and what takes their place for one sentence.
OF_SENTENCES = {"": "chrf", "bleu": "sentence-bleu"}
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)", re.ASCII)
LETTER = re.compile(r"\b[A-J]\b", re.ASCII)


@DERIVED.register("agreement")
@dataclass(frozen=True)
class Agreement(Derived):
    """How good a text is with each of the others of its group as reference, on average.

    It is what minimum Bayes risk decoding maximises (Kumar and Byrne 2004), with equal
    probabilities. The metric is chrF unless another is named: bleu, which is sentence-bleu here,
    or any other metric of texts; error rates are negated. Alone in a group it is 0.
    """

    argument_is = "[METRIC]"

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(c.isspace() or c == "#" for c in self.argument):
            raise UsageError(f"the metric '{self.argument}' has a space or # in it; drop it")
        metric = self._metric()
        if metric.columns or not metric.needs_references:
            raise UsageError(f"{metric.name} does not compare texts; name chrf, bleu, ter or wer")

    def _metric(self) -> Metric:
        return METRICS.create(OF_SENTENCES.get(self.argument, self.argument))

    def values(self, candidates: CandidateSet) -> Floats:
        """Return the means; of equal texts of a group one is scored, and counts for all."""
        distinct, owner, count = _distinct(candidates)
        metric = self._metric()
        bare = _bare(candidates, distinct)
        size = np.diff(bare.start)
        sums = np.zeros(len(bare))
        for k in range(int(size.max())):
            groups = np.flatnonzero(size > k)
            part = bare if len(groups) == bare.groups else bare.with_groups(groups)
            chosen = bare.start[groups] + k
            references = References(np.arange(len(groups) + 1), bare.texts.take(chosen))
            gains = metric.gain(metric.candidate_stats(replace(part, references=references)))
            rows = np.flatnonzero(np.repeat(size > k, size))
            sums[rows] += np.repeat(count[chosen], size[groups]) * gains
            sums[chosen] -= gains[part.start[:-1] + k]  # not a reference for itself
        others = np.repeat(np.diff(candidates.start) - 1, np.diff(candidates.start))
        values: Floats = sums[owner] / np.maximum(others, 1)
        return np.where(others > 0, values, 0.0)


def _distinct(candidates: CandidateSet) -> tuple[Ints, Ints, Ints]:
    """Return the first of equal texts of each group, whose text each has, and their numbers."""
    owner = np.empty(len(candidates), np.int64)
    first: list[int] = []
    for lo, hi in zip(candidates.start, candidates.start[1:], strict=False):
        known: dict[bytes, int] = {}
        for i in range(lo, hi):
            key = candidates.texts[i].tobytes()
            if key not in known:
                known[key] = len(first)
                first.append(i)
            owner[i] = known[key]
    return np.array(first), owner, np.bincount(owner, minlength=len(first))


def _bare(candidates: CandidateSet, rows: Ints) -> CandidateSet:
    """Return some candidates with their texts alone."""
    n = len(candidates)
    nothing = Features((), np.zeros((0, n)), (), csc_array((n, 0)))
    bare = CandidateSet(
        candidates.ids, candidates.start, nothing, candidates.texts, candidates.vocabulary
    )
    return bare.with_candidates(rows)


@DERIVED.register("vote")
@dataclass(frozen=True)
class VoteShare(Derived):
    r"""The share of the group that gives the same answer; 0 where a text has none.

    The answer is the text without case and punctuation, the last-line so, the last number, the
    last letter from A to J that stands alone, or what is in the last \boxed{...}.
    """

    argument_is = "[ANSWER]"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.argument and self.argument not in ANSWERS:
            raise UnknownNameError("answer of feature 'vote'", self.argument, ANSWERS)

    def values(self, candidates: CandidateSet) -> Floats:
        """Count equal answers."""
        answer = ANSWERS[self.argument or "text"]
        values = np.empty(len(candidates))
        for lo, hi in zip(candidates.start, candidates.start[1:], strict=False):
            answers = [answer(candidates.original(i)) for i in range(lo, hi)]
            votes = Counter(answers)
            values[lo:hi] = [0.0 if a is None else votes[a] / (hi - lo) for a in answers]
        return values


def plain_text(text: str) -> str | None:
    """Return a text without case, punctuation and white space of its own."""
    unpunctuated = "".join(
        " " if unicodedata.category(c)[0] == "P" else c for c in unicodedata.normalize("NFKC", text)
    )
    return " ".join(unpunctuated.casefold().split()) or None


def last_line(text: str) -> str | None:
    """Return the last line that has an answer."""
    return next(filter(None, map(plain_text, reversed(text.splitlines()))), None)


def last_number(text: str) -> str | None:
    """Return the last number: 1,000.50 and 1000.5 are the same."""
    numbers = NUMBER.findall(text)
    if not numbers:
        return None
    digits = numbers[-1].replace(",", "").replace("−", "-")
    sign = "-" if digits[0] == "-" else ""
    whole, _, fraction = digits.lstrip("+-").partition(".")
    fraction = fraction.rstrip("0")
    plain = (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")
    return plain if plain == "0" else sign + plain


def last_letter(text: str) -> str | None:
    """Return the last letter that stands alone, as answers to a choice of several do."""
    letters = LETTER.findall(text)
    return letters[-1] if letters else None


def boxed(text: str) -> str | None:
    r"""Return what is in the last \boxed{...}, white space apart."""
    _, mark, rest = text.rpartition("\\boxed{")
    depth = 1
    for k, character in enumerate(rest if mark else ""):
        depth += (character == "{") - (character == "}")
        if not depth:
            return "".join(rest[:k].split()) or None
    return None


ANSWERS: dict[str, Callable[[str], str | None]] = {
    "text": plain_text,
    "last-line": last_line,
    "number": last_number,
    "letter": last_letter,
    "boxed": boxed,
}


@DERIVED.register("rank")
@dataclass(frozen=True)
class Rank(Derived):
    """The place in the list, from 1; with a feature, 1 and how many have more of it."""

    argument_is = "[FEATURE]"

    def values(self, candidates: CandidateSet) -> Floats:
        """Return the places."""
        start = candidates.start
        if not self.argument:
            first = np.repeat(start[:-1], np.diff(start))
            return (np.arange(len(candidates)) - first + 1).astype(np.float64)
        names = candidates.features.names
        if self.argument not in names:
            raise UnknownNameError("feature", self.argument, names)
        column = candidates.features.values(names.index(self.argument))
        values = np.empty(len(candidates))
        for lo, hi in itertools.pairwise(start):
            ascending = np.sort(column[lo:hi])
            values[lo:hi] = 1 + (hi - lo) - np.searchsorted(ascending, column[lo:hi], "right")
        return values
