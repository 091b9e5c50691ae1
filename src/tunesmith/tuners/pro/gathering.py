"""The pairs of a whole set: sampled, selected and accepted group by group, and described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import UsageError
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.candidate_scorer import CandidateScorer, objective_of
from tunesmith.metrics.lengths import Lengths, lengths_of
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.tuners.pro.acceptance import Acceptance
from tunesmith.tuners.pro.pairs import Pairs, Rivals, Sampler
from tunesmith.tuners.pro.selection import Selection

#: Negatives are monsters if they are more than so many times as long as the references, longer
#: by more than so many words, and score less than this share of what the positives do. In
#: Tables 3 and 4 of the monsters paper this holds for all rows that it says have monsters, and
#: for no other.
LONG, LONGER, LOW = 1.5, 10.0, 0.2


@dataclass(frozen=True)
class PairSteps:
    """The first three steps of PRO.

    Attributes
    ----------
    selections
        Filters, with the names that a user knows them by.
    """

    sampler: Sampler
    selections: Sequence[tuple[str, Selection]]
    acceptance: Acceptance

    @property
    def names(self) -> list[str]:
        """The names of the selections."""
        return [name for name, _ in self.selections]


@dataclass(frozen=True)
class Counts:
    """How many groups and pairs there were.

    Attributes
    ----------
    groups
        With pairs or without.
    groups_without
        Those that gave no pair.
    sampled
        Pairs that were sampled.
    removed : int64[selections]
        Pairs that each selection would remove by itself.
    """

    groups: int
    groups_without: int
    sampled: int
    removed: Ints = field(repr=False)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.groups + other.groups,
            self.groups_without + other.groups_without,
            self.sampled + other.sampled,
            self.removed + other.removed,
        )

    def check_any(self, names: Sequence[str]) -> None:
        """Raise an error if there were pairs, and selection has removed all of them."""
        if self.sampled and self.groups_without == self.groups:
            worst = int(np.argmax(self.removed))
            raise UsageError(
                f"no pair of candidates is left to learn from: of {self.sampled} that differ, "
                f"selection {names[worst]} removes {self.removed[worst]}; relax it, or "
                "--select all"
            )


@dataclass(frozen=True)
class Gathered:
    """The accepted pairs of all groups.

    Attributes
    ----------
    better, worse : int64[P]
        Rows of candidates.
    counts
        Of groups and pairs.
    """

    better: Ints = field(repr=False)
    worse: Ints = field(repr=False)
    counts: Counts

    def __len__(self) -> int:
        return len(self.better)


@dataclass(frozen=True)
class Part:
    """Groups that follow each other in a set whose other groups are elsewhere.

    Attributes
    ----------
    sizes : int64[S]
        How many candidates each group of the set has.
    first
        The number, in the set, of the first group that is here.
    """

    sizes: Ints = field(repr=False)
    first: int


def gather(
    tuning: ScoredCandidates,
    scorer: CandidateScorer,
    steps: PairSteps,
    lengths: Lengths | None,
    rng: np.random.Generator,
    part: Part | None = None,
) -> Gathered:
    """Sample, select and accept pairs of all groups, in random order.

    What a group's candidates are worth is asked when its turn comes; the positives of accepted
    pairs are reported to the scorer, which may value later groups differently for it. It is an
    error if there were pairs, and selection has removed all of them. Of a part the pairs are those
    that the whole set would have there; whether any are left is for the caller to check.
    """
    start = tuning.candidates.start
    sizes, before = (np.diff(start), 0) if part is None else (part.sizes, part.first)
    groups = len(start) - 1
    sampled, removed = 0, np.zeros(len(steps.selections), np.int64)
    pairs_of: dict[int, Pairs] = {}
    for number in rng.permutation(len(sizes)).tolist():
        if sizes[number] < 2:
            continue
        group = number - before
        if not 0 <= group < groups:
            steps.sampler.skip(int(sizes[number]), rng)
            continue
        first, last = int(start[group]), int(start[group + 1])
        candidate_lengths = None if lengths is None else lengths.candidates[first:last]
        rivals = Rivals(scorer.values(first, last), candidate_lengths)
        pairs = Pairs.of(*steps.sampler.sample(rivals, rng), rivals.values)
        # Each looks at all pairs, so that the one that removes most can be named.
        masks = [selection.keep(pairs, rivals, rng) for _, selection in steps.selections]
        sampled += len(pairs)
        removed += np.array([len(mask) - np.count_nonzero(mask) for mask in masks], np.int64)
        pairs = pairs[np.logical_and.reduce(masks)] if masks else pairs
        if not len(pairs):
            continue
        pairs = pairs[steps.acceptance.accept(pairs, rivals, rng)]
        for row in (first + pairs.better).tolist():
            scorer.add(scorer.stats[row])
        if len(pairs):
            pairs_of[group] = Pairs(first + pairs.better, first + pairs.worse)
    counts = Counts(groups, groups - len(pairs_of), sampled, removed)
    if part is None:
        counts.check_any(steps.names)
    order = sorted(pairs_of)  # so that what is learnt has the order of the data
    none = np.zeros(0, np.int64)
    return Gathered(
        np.concatenate([none, *(pairs_of[group].better for group in order)]),
        np.concatenate([none, *(pairs_of[group].worse for group in order)]),
        counts,
    )


@dataclass(frozen=True)
class Measures:
    """Lengths and scores of the members of pairs.

    Attributes
    ----------
    lengths : float64[4, P]
        Of the better, of the worse, and of the references of each; None where they are not known.
    scores : float64[2, P]
        Of the better and of the worse.
    """

    lengths: Floats | None = field(repr=False)
    scores: Floats = field(repr=False)

    @classmethod
    def joined(cls, parts: Sequence[Measures]) -> Measures:
        """Put those of several parts one after the other."""
        lengths = [part.lengths for part in parts if part.lengths is not None]
        scores = np.concatenate([part.scores for part in parts], axis=1)
        return cls(np.concatenate(lengths, axis=1) if lengths else None, scores)

    def entry(self, counts: Counts) -> dict[str, Any]:
        """Return averages over the pairs; without pairs there are none."""
        pairs = self.scores.shape[1]
        entry: dict[str, Any] = {
            "pairs": pairs,
            "pairs_per_sentence": pairs / counts.groups if counts.groups else 0.0,
            "sentences_without_pairs": counts.groups_without,
        }
        if not pairs:
            return entry
        if self.lengths is not None:
            better, worse, for_better, for_worse = (float(row.mean()) for row in self.lengths)
            entry |= {
                "positive_length": better,
                "negative_length": worse,
                # Of several references each candidate may have its own.
                "reference_length": (for_better + for_worse) / 2.0,
            }
        positive, negative = (float(row.mean()) for row in self.scores)
        return entry | {"positive_score": positive, "negative_score": negative}


class Describer:
    """Says what the pairs of a set are like: the columns of Table 1 of the monsters paper."""

    def __init__(self, tuning: ScoredCandidates) -> None:
        self.lengths = lengths_of(tuning)
        self.scores = sentence_scores(tuning)

    def measures(self, pairs: Gathered) -> Measures:
        """Return the lengths and scores of the members of pairs."""
        scores = np.array([self.scores[pairs.better], self.scores[pairs.worse]])
        if self.lengths is None:
            return Measures(None, scores)
        words, references = self.lengths.candidates, self.lengths.references
        lengths = [of[rows] for of in (words, references) for rows in (pairs.better, pairs.worse)]
        return Measures(np.array(lengths), scores)

    def describe(self, pairs: Gathered) -> dict[str, Any]:
        """Return averages over the pairs; without pairs there are none."""
        return self.measures(pairs).entry(pairs.counts)


def sentence_scores(tuning: ScoredCandidates) -> Floats:
    """Return a score [N] of each candidate on the customary scale: BLEU+1 in points for BLEU.

    For other metrics it is their own, as if the sentence were the whole set.
    """
    if isinstance(tuning.metric, BLEU):
        plain = objective_of("bleu+1").begin(tuning, "pairs")
        return 100.0 * plain.values(0, len(tuning.stats))
    return np.asarray(tuning.metric.score(tuning.stats), np.float64)


def has_monsters(entry: dict[str, Any], metric: Metric) -> bool:
    """Tell whether negatives are far longer than references, and score near zero.

    Of error rates counts what is right: 100 − rate. Scores that are not in per cent have no
    zero to be near to.
    """
    if "negative_length" not in entry or metric.scale != 100.0:
        return False
    scores = [entry["positive_score"], entry["negative_score"]]
    if not metric.higher_is_better:
        scores = [max(0.0, 100.0 - score) for score in scores]
    length, reference = entry["negative_length"], entry["reference_length"]
    is_long: bool = length > max(LONG * reference, LONGER + reference)
    return is_long and scores[1] < LOW * scores[0]
