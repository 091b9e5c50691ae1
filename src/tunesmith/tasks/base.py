"""What every task answers, whatever form its candidates have.

Tuners and commands ask a :class:`Task`, so that they need not know whether they sit on lists or on
forests, on a processor or on a GPU. A new kind of task is one class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.forests import Forests
from tunesmith.inference.examples import Examples
from tunesmith.inference.hypotheses import TuningHypotheses
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import Scored

if TYPE_CHECKING:
    from tunesmith.tasks.lists import TuningSet


R = TypeVar("R")


class Task(Scored):
    """Candidates of any form with a metric, and what can be asked of them given weights."""

    #: Whether candidates are derivations of forests, of which lists can be made.
    has_forests: ClassVar[bool] = False
    #: Whether what weights choose is an order of documents, and no single candidate.
    has_rankings: ClassVar[bool] = False
    #: Whether candidates are with workers, each of which has a part of them.
    is_sharded: ClassVar[bool] = False
    #: Whether candidates are made under the weights of the moment, so that nothing is fixed.
    is_live: ClassVar[bool] = False

    @property
    def is_portable(self) -> bool:
        """Whether it can be sent to other processes."""
        return True

    @property
    def is_thread_safe(self) -> bool:
        """Whether several threads may learn from it at the same time."""
        return True

    @property
    def lists(self) -> TuningSet | None:
        """The task itself where its candidates are listed once and for all."""
        return None

    @property
    def inputs(self) -> CandidateSet | Forests | None:
        """What was read: ids, references, sources and a vocabulary; None before it is decoded."""
        return None

    @property
    def freedom(self) -> int:
        """How many candidates are listed beside one for each group; 0 where there are no lists."""
        return 0

    def correlations(self) -> Floats:
        """Return the correlations of dense features within groups, where there are lists."""
        raise NotImplementedError(f"{type(self).__name__} has no lists")

    @abstractmethod
    def hypotheses(self) -> TuningHypotheses:
        """Return what line searches and gradients ask."""

    @abstractmethod
    def examples(self) -> Examples:
        """Return the sentences, one at a time: what online learners ask."""

    @abstractmethod
    def winners(self, weights: Floats) -> TuningSet:
        """Return what weights choose: a set with one candidate per group, and no features."""

    @abstractmethod
    def usual_lists(self, weights: Floats) -> TuningSet:
        """Return lists that tell what is usual: all candidates, or a few of the best."""

    @abstractmethod
    def learning_lists(self, weights: Floats, rng: np.random.Generator) -> TuningSet:
        """Return lists to learn from, made under some weights where they must be made."""

    def round_lists(self, weights: Floats, most: int) -> TuningSet:
        """Return lists for one round of a search on lists: at most about that many candidates."""
        raise NotImplementedError(f"{type(self).__name__} has no forests to make lists of")

    @abstractmethod
    def oracle_at(self, weights: Floats, worst: bool = False) -> tuple[float, bool]:
        """Return the best score that any choice has, and whether none is better.

        Where it is not exact it is a bound: never worse than what the weights choose.
        """

    def winners_by(self, metric: Metric, weights: Floats) -> TuningSet:
        """Return what weights choose, with the statistics of another metric."""
        from tunesmith.tasks.lists import TuningSet

        return TuningSet(self.winners(weights).candidates, metric)

    def total_at(self, weights: Floats) -> Stats:
        """Return the sum of the statistics [K] of what weights choose."""
        total: Stats = self.winners(weights).stats.sum(axis=0)
        return total

    def score_at(self, weights: Floats) -> float:
        """Score what weights choose, on the customary scale."""
        return self.winners(weights).output_score()

    def changed_choices(self, before: Floats, after: Floats) -> int:
        """Return how many groups choose another candidate with other weights."""
        texts_before, texts_after = (
            self.winners(weights).candidates.texts for weights in (before, after)
        )
        return sum(
            texts_before[g].tobytes() != texts_after[g].tobytes() for g in range(self.groups)
        )

    def each(
        self, work: Callable[..., R], arguments: Sequence[tuple[Any, ...]] | None = None
    ) -> list[R]:
        """Return what a function makes of the candidates of each shard."""
        raise NotImplementedError(f"{type(self).__name__} has no shards")

    def part(self, groups: Sequence[int] | Ints) -> Task:
        """Return the same with some of the groups, in the order given."""
        raise NotImplementedError(f"{type(self).__name__} cannot be split")

    def split_for_workers(self) -> tuple[Callable[[Any], Task] | None, Any]:
        """Return what makes a copy elsewhere, and what is large in it, which workers may have."""
        return None, None
