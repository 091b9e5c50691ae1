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
from tunesmith.tasks.lists import TuningSet
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


@dataclass(frozen=True)
class Gathered:
    """The accepted pairs of all groups.

    Attributes
    ----------
    better, worse : int64[P]
        Rows of candidates.
    groups
        How many there are, with pairs or without.
    groups_without
        How many gave no pair.
    """

    better: Ints = field(repr=False)
    worse: Ints = field(repr=False)
    groups: int
    groups_without: int

    def __len__(self) -> int:
        return len(self.better)


def gather(
    tuning: TuningSet,
    scorer: CandidateScorer,
    steps: PairSteps,
    lengths: Lengths | None,
    rng: np.random.Generator,
) -> Gathered:
    """Sample, select and accept pairs of all groups, in random order.

    What a group's candidates are worth is asked when its turn comes; the positives of accepted
    pairs are reported to the scorer, which may value later groups differently for it. It is an
    error if there were pairs, and selection has removed all of them.
    """
    start = tuning.candidates.start
    groups = len(start) - 1
    sampled, removed = 0, np.zeros(len(steps.selections), np.int64)
    pairs_of: dict[int, Pairs] = {}
    for group in rng.permutation(groups).tolist():
        first, last = int(start[group]), int(start[group + 1])
        if last - first < 2:
            continue
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
    if not pairs_of and sampled:
        raise _nothing_left([name for name, _ in steps.selections], sampled, removed)
    order = sorted(pairs_of)  # so that what is learnt has the order of the data
    none = np.zeros(0, np.int64)
    return Gathered(
        np.concatenate([none, *(pairs_of[group].better for group in order)]),
        np.concatenate([none, *(pairs_of[group].worse for group in order)]),
        groups,
        groups - len(pairs_of),
    )


def _nothing_left(names: Sequence[str], sampled: int, removed: Ints) -> UsageError:
    """Say which selection removes most."""
    worst = int(np.argmax(removed))
    return UsageError(
        f"no pair of candidates is left to learn from: of {sampled} that differ, selection "
        f"{names[worst]} removes {removed[worst]}; relax it, or --select all"
    )


class Describer:
    """Says what the pairs of a set are like: the columns of Table 1 of the monsters paper."""

    def __init__(self, tuning: TuningSet) -> None:
        self.metric = tuning.metric
        self.lengths = lengths_of(tuning)
        self.scores = sentence_scores(tuning)

    def describe(self, pairs: Gathered) -> dict[str, Any]:
        """Return averages over the pairs; without pairs there are none."""
        entry: dict[str, Any] = {
            "pairs": len(pairs),
            "pairs_per_sentence": len(pairs) / pairs.groups if pairs.groups else 0.0,
            "sentences_without_pairs": pairs.groups_without,
        }
        if not len(pairs):
            return entry
        if self.lengths is not None:
            candidate_lengths, references = self.lengths.candidates, self.lengths.references
            entry |= {
                "positive_length": float(candidate_lengths[pairs.better].mean()),
                "negative_length": float(candidate_lengths[pairs.worse].mean()),
                # Of several references each candidate may have its own.
                "reference_length": float(
                    (references[pairs.better].mean() + references[pairs.worse].mean()) / 2.0
                ),
            }
        return entry | {
            "positive_score": float(self.scores[pairs.better].mean()),
            "negative_score": float(self.scores[pairs.worse].mean()),
        }


def sentence_scores(tuning: TuningSet) -> Floats:
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
