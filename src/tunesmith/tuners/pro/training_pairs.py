"""What a ranker learns from: the pairs of a set as vectors, in one place or from its shards.

Each shard samples, selects and accepts the pairs of its own groups. It draws the random numbers of
all groups, so that its pairs are those that the whole set would have there; what it sends are the
differences of features. They are learnt from in one place.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import UsageError
from tunesmith.metrics.candidate_scorer import Objective
from tunesmith.metrics.lengths import lengths_of
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.rounds import Rounds
from tunesmith.tuners.pro.gathering import (
    Counts,
    Describer,
    Gathered,
    Measures,
    PairSteps,
    Part,
    gather,
)
from tunesmith.tuners.pro.ranking import MOST_NUMBERS, difference_vectors, with_short_indices


@dataclass(frozen=True)
class TrainingPairs:
    """The accepted pairs of a set, or of a part of it.

    Attributes
    ----------
    vectors : [P, D]
        Features of the better minus those of the worse.
    measures, counts
        What the pairs are like, and how many there were.
    """

    vectors: csr_array[Any] = field(repr=False)
    measures: Measures
    counts: Counts

    @classmethod
    def of(cls, lists: ScoredCandidates, pairs: Gathered, describer: Describer) -> TrainingPairs:
        """Return the pairs of lists, with their vectors."""
        features = lists.candidates.features
        vectors = difference_vectors(features, pairs.better, pairs.worse)
        return cls(vectors, describer.measures(pairs), pairs.counts)

    def __len__(self) -> int:
        count: int = self.vectors.shape[0]
        return count

    def entry(self) -> dict[str, Any]:
        """Return what the history says of them."""
        return self.measures.entry(self.counts)


class ListPairs:
    """The pairs of lists, or of lists that are made of forests in each round.

    Parameters
    ----------
    tuner
        Who learns.
    tuning
        What it learns from.
    objective
        What candidates are worth.
    steps
        How pairs are made.
    start : float64[D]
        The weights before the first round.
    """

    def __init__(
        self,
        tuner: Rounds,
        tuning: Task,
        objective: Objective,
        steps: PairSteps,
        start: Floats,
        rng: np.random.Generator,
    ) -> None:
        self._tuner, self._tuning, self._objective = tuner, tuning, objective
        self._steps, self._start = steps, start
        self._done: list[Floats] = []
        self._take(tuning.learning_lists(start, rng))

    def _take(self, lists: TuningSet) -> None:
        self._lists, self._describer = lists, Describer(lists)
        self._scorer = self._tuner.scorer_for(self._objective, lists, "pairs", self._start)

    def gather(self, rng: np.random.Generator) -> TrainingPairs:
        """Return the pairs of a round; of forests they are of new lists, beside those before."""
        if self._done and self._tuning.lists is None:
            self._take(self._lists.merged(self._tuning.learning_lists(self._done[-1], rng)))
            for earlier in self._done:
                self._tell(earlier)
        describer = self._describer
        pairs = gather(self._lists, self._scorer, self._steps, describer.lengths, rng)
        return TrainingPairs.of(self._lists, pairs, describer)

    def end_round(self, weights: Floats) -> None:
        """Note what a round has led to."""
        self._done.append(weights)
        self._tell(weights)

    def _tell(self, weights: Floats) -> None:
        if self._objective.changes_by_round:
            self._tuner.end_round(self._objective, self._scorer, self._lists, "pairs", weights)


class ShardedPairs:
    """The pairs of lists in shards.

    Parameters
    ----------
    tuning
        The lists.
    objective
        What candidates are worth: by their own statistics alone.
    steps
        How pairs are made.
    """

    def __init__(self, tuning: Task, objective: Objective, steps: PairSteps) -> None:
        self._tuning, self._objective, self._steps = tuning, objective, steps
        sizes: list[Ints] = tuning.each(_sizes)
        self._sizes = np.concatenate(sizes)
        firsts = np.cumsum([0, *map(len, sizes[:-1])]).tolist()
        self._parts = [Part(self._sizes, first) for first in firsts]

    def gather(self, rng: np.random.Generator) -> TrainingPairs:
        """Have each shard gather its pairs; the generator goes on as if all were here."""
        arguments = [(part, self._objective, self._steps, rng) for part in self._parts]
        answers = self._tuning.each(_pairs_of_part, arguments)
        if len({pickle.dumps(state) for _, state in answers}) > 1:
            raise UsageError(
                "a sampler, selection or acceptance draws other numbers in each shard; declare "
                "is_random in its class, or drop --sharded"
            )
        rng.bit_generator.state = answers[0][1]
        parts = [pairs for pairs, _ in answers]
        counts = parts[0].counts
        for part in parts[1:]:
            counts += part.counts
        counts.check_any(self._steps.names)
        numbers = sum(part.vectors.nnz for part in parts)
        if numbers > MOST_NUMBERS:
            raise UsageError(
                f"{sum(map(len, parts))} accepted pairs have {numbers} values, more than "
                f"{MOST_NUMBERS}; accept fewer, as --accept greatest:pairs=10"
            )
        vectors = with_short_indices(vstack([part.vectors for part in parts], format="csr"))
        return TrainingPairs(vectors, Measures.joined([part.measures for part in parts]), counts)

    def end_round(self, weights: Floats) -> None:
        """Do nothing: what candidates are worth does not change."""


def knows_lengths(tuning: Task) -> bool:
    """Tell whether lengths of candidates and references are known."""
    if tuning.is_sharded:
        return all(tuning.each(_has_lengths))
    # Forests have words, and those of references are counted.
    return tuning.lists is None or _has_lengths(tuning.lists)


def _has_lengths(scored: ScoredCandidates) -> bool:
    return lengths_of(scored) is not None


def _sizes(scored: ScoredCandidates) -> Ints:
    sizes: Ints = np.diff(scored.candidates.start)
    return sizes


def _pairs_of_part(
    scored: ScoredCandidates,
    part: Part,
    objective: Objective,
    steps: PairSteps,
    rng: np.random.Generator,
) -> tuple[TrainingPairs, Any]:
    """Return what a shard's pairs teach, and the state of the generator after all groups."""
    rng = copy.deepcopy(rng)  # a shard may be in a thread of this process
    scorer = objective.begin(scored, "pairs")
    describer = Describer(scored)
    pairs = gather(scored, scorer, steps, describer.lengths, rng, part)
    return TrainingPairs.of(scored, pairs, describer), rng.bit_generator.state
