"""Lists that no process has as a whole: each worker has a part, and the driver asks them all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Flags, Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet, FileDigest, Texts
from tunesmith.data.features import Features, FeatureSelection
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.examples import Examples
from tunesmith.inference.lists.shards.hypotheses import ShardedHypotheses
from tunesmith.inference.lists.shards.pool import Shards
from tunesmith.inference.lists.shards.questions import FeatureNames
from tunesmith.inference.lists.shards.shard import PartFile
from tunesmith.io.parts import part_files
from tunesmith.io.read import warn_of_unused
from tunesmith.io.reading import Reading
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.checks import checked_score
from tunesmith.metrics.scored import reference_signature, sweeps_of
from tunesmith.parallel.engine import Engine, current_engine
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet

R = TypeVar("R")

#: What stands for missing values if all values of a column are known, which no worker does.
OF_ALL_VALUES = ("mean", "worst")
#: How often the best choice is begun anew after a shard was lost.
ATTEMPTS = 5


class ShardedLists(Task):
    """Lists whose parts are with workers, and a metric.

    What needs lines and points alone finds the same on them as on the whole, to the last bit.
    :meth:`read` makes it.

    Parameters
    ----------
    shards
        Who has the lists.
    metric
        What is tuned for.
    selection
        The features that take part.
    """

    is_sharded = True

    def __init__(
        self, shards: Shards, metric: Metric, selection: FeatureNames | None = None
    ) -> None:
        self.shards = shards
        self.metric = metric
        self._selection = selection or FeatureNames()

    @classmethod
    def read(
        cls,
        candidates: str | Sequence[str],
        references: str | Sequence[str] = (),
        metric: Metric | str = "bleu",
        format: str | None = None,  # noqa: A002
        reading: Reading | None = None,
        others: Sequence[Metric] = (),
        engine: Engine | None = None,
    ) -> ShardedLists:
        """Have workers read lists, each a part of them.

        Parameters
        ----------
        candidates
            The files, each of which is a part, or folders of them. A part has all candidates of
            its groups.
        references, format, reading
            As of :func:`tunesmith.read`. All workers read the references.
        metric
            What is tuned for; its statistics must be whole numbers.
        others
            Metrics that are reported; what they take as columns is no feature either.
        engine
            Whose workers these are; the one in force by default.
        """
        metric = METRICS.create(metric) if isinstance(metric, str) else metric
        places, texts = ([p] if isinstance(p, str) else list(p) for p in (candidates, references))
        reading = reading or Reading()
        for way in (reading.gaps.usual, *reading.gaps.by_name.values()):
            if way in OF_ALL_VALUES:
                raise UsageError(
                    f"--missing {way} looks at all values of a column, and shards have some each; "
                    "give zero, drop or a number"
                )
        parts = [
            PartFile(path, tuple(texts), os.getcwd(), format, reading, metric, tuple(others))
            for path in part_files(places)
        ]
        shards = Shards(engine or current_engine(), parts)
        warn_of_unused(shards.whole.facts[0].lines, shards.whole.groups)
        return cls(shards, metric)

    def __repr__(self) -> str:
        whole = self.shards.whole
        return (
            f"<ShardedLists: {whole.candidates} candidates, {whole.groups} groups, "
            f"{len(self.names)} features, {len(self.shards)} shards>"
        )

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        whole, chosen = self.shards.whole, self._selection.names
        if chosen is None:
            return whole.dense_names, whole.sparse_names
        selected = {*chosen}
        dense = tuple(name for name in whole.dense_names if name in selected)
        return dense, tuple(name for name in whole.sparse_names if name in selected)

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        dense, sparse = self._names
        return dense + sparse

    @property
    def dense(self) -> Flags:
        """Which features most candidates have."""
        flags: Flags = np.arange(len(self.names)) < len(self._names[0])
        return flags

    @property
    def groups(self) -> int:
        """The number of groups in all shards."""
        return self.shards.whole.groups

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What workers have read."""
        return self.shards.whole.files

    @property
    def no_features(self) -> tuple[str, ...]:
        """Names that came with the candidates and are no features."""
        return self.shards.whole.no_features

    @property
    def is_portable(self) -> bool:
        """Whether it can be sent to other processes: they have it already, in parts."""
        return False

    def with_features(self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> Self:
        """Return the same candidates with some of their features."""
        selection = FeatureSelection.of(keep, drop)
        selection.check(self.names, others=self.no_features)
        return type(self)(self.shards, self.metric, FeatureNames(selection.select(self.names)))

    def with_metric(self, metric: Metric) -> Self:
        """Return the same statistics, scored in another way."""
        return type(self)(self.shards, metric, self._selection)

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if the candidates lack what another metric needs."""
        self.shards.ask("check_metric", metric)

    def signature(self) -> str:
        """Return the metric's signature, with the number of references."""
        return self._signature(self.metric, self.shards.whole.is_given)

    def _signature(self, metric: Metric, is_given: bool) -> str:
        counts = self.shards.whole.reference_counts
        if is_given:
            return f"{metric.signature()}|statistics:given"
        if counts is None:
            return metric.signature()
        return f"{metric.signature()}|{reference_signature(counts)}"

    def hypotheses(self) -> ShardedHypotheses:
        """Return what line searches ask of the shards."""
        return self._hypotheses

    @cached_property
    def _hypotheses(self) -> ShardedHypotheses:
        return ShardedHypotheses(self, self.shards, self._selection, *self._names)

    @property
    def freedom(self) -> int:
        """How many candidates there are beside one for each group."""
        return self.shards.whole.candidates - self.groups

    def correlations(self) -> Floats:
        """Return the correlations of dense features within groups."""
        return self._hypotheses.correlations()

    def each(
        self, work: Callable[..., R], arguments: Sequence[tuple[Any, ...]] | None = None
    ) -> list[R]:
        """Return ``work(candidates, *arguments)`` of all shards, in the order of their groups.

        Parameters
        ----------
        work
            A function of a module, which the workers find by its name. It is given candidates with
            statistics, as a shard has them, and changes nothing.
        arguments
            Those for each shard; none by default.
        """
        every = arguments or [()] * len(self.shards)
        return self.shards.ask_each("work", [(self._selection, work, *given) for given in every])

    # What weights choose.

    def total_at(self, weights: Floats) -> Stats:
        """Return the sum of the statistics [K] of what weights choose."""
        total: Stats = np.sum(self.shards.ask("total", self._selection, weights), axis=0)
        return total

    def score_at(self, weights: Floats) -> float:
        """Score what weights choose, on the customary scale."""
        return self._score(self.total_at(weights))

    def _score(self, total: Stats) -> float:
        return checked_score(self.metric, self.metric.score(total))

    def changed_choices(self, before: Floats, after: Floats) -> int:
        """Return how many groups choose another candidate with other weights."""
        return sum(self.shards.ask("changed", self._selection, before, after))

    def winners(self, weights: Floats) -> TuningSet:
        """Return what weights choose: one candidate per group, with statistics and nothing else."""
        return self._winners(weights, None)

    def winners_by(self, metric: Metric, weights: Floats) -> TuningSet:
        """Return what weights choose, with the statistics of another metric."""
        return self._winners(weights, metric)

    def _winners(self, weights: Floats, metric: Metric | None) -> TuningSet:
        answers = self.shards.ask("winners", self._selection, weights, metric)
        stats = np.concatenate([stats for stats, _ in answers])
        signature = self._signature(metric or self.metric, all(given for _, given in answers))
        return _Winners(stats, metric or self.metric, signature)

    def gain_range(self) -> float:
        """Return how far apart the gains of single candidates are."""
        ranges = self.shards.ask("gain_range", self.metric)
        most, least = max(high for _, high in ranges), min(low for low, _ in ranges)
        return float(most - least)

    def best_gain(self) -> float:
        """Return the gain of the best choice of candidates, infinite if it is not known."""
        if not self.shards.whole.is_sum:
            return np.inf
        return float(self.metric.gain(self._best_total(None, worst=False)))

    def oracle_at(self, weights: Floats, worst: bool = False) -> tuple[float, bool]:
        """Return the best score that any choice has, and whether none is better."""
        score = self._score(self._best_total(None, worst))
        if self.shards.whole.is_sum:
            return score, True
        other = self._score(self._best_total(weights, worst))
        sign = -1.0 if worst == self.metric.higher_is_better else 1.0
        return (other if sign * other > sign * score else score), False

    def _best_total(self, weights: Floats | None, worst: bool) -> Stats:
        """Return the statistics of the best choice that is found; again if a shard was lost."""
        for _ in range(ATTEMPTS):
            total = self._improved(weights, worst)
            if total is not None:
                return total
        raise TunesmithError(
            "workers were lost again and again while the best candidates were chosen; give each "
            "more memory or time, or make smaller parts"
        )

    def _improved(self, weights: Floats | None, worst: bool) -> Stats | None:
        number = next(_choices)
        begins = self.shards.ask("begin_choice", number, self._selection, weights)
        total: Stats = np.sum(begins, axis=0)
        for _ in range(sweeps_of(self.shards.whole.is_sum)):
            changed = False
            for shard in self.shards.order:  # each goes on where the one before has stopped
                arguments = number, self.metric, total, worst
                answer = self.shards.ask_one(shard, "improve_choice", *arguments)
                if answer is None:
                    return None
                total, has_changed = answer
                changed |= has_changed
            if not changed:
                break
        return total

    # What would need the lists.

    def part(self, groups: Sequence[int] | Ints) -> Task:
        """Refuse: the parts are where they are."""
        raise UsageError(
            "sentences of shards cannot be held out; give a test set, or tune without --sharded"
        )

    def examples(self) -> Examples:
        """Refuse: a worker has its own groups alone."""
        raise self._no_lists()

    def usual_lists(self, weights: Floats) -> TuningSet:
        """Refuse: a worker has its own groups alone."""
        raise self._no_lists()

    def learning_lists(self, weights: Floats, rng: np.random.Generator) -> TuningSet:
        """Refuse: a worker has its own groups alone."""
        raise self._no_lists()

    def _no_lists(self) -> TunesmithError:
        return UsageError("shards are tuned on by mert and pro; use one of them, or drop --sharded")


#: Numbers of choices that shards look for, so that one that is lost is noticed.
_choices = itertools.count()


class _Winners(TuningSet):
    """Statistics of one candidate per group, which itself is with a worker."""

    def __init__(self, stats: Stats, metric: Metric, signature: str) -> None:
        groups = len(stats)
        nothing = Features((), np.zeros((0, groups)), (), csc_array((groups, 0)))
        texts = Texts(np.zeros(groups + 1, np.int64), np.zeros(0, np.int32))
        ids = tuple(range(groups))
        super().__init__(
            CandidateSet(ids, np.arange(groups + 1), nothing, texts, ()), metric, stats
        )
        self._known_signature = signature

    def signature(self) -> str:
        """Return the metric's signature, with the number of references."""
        return self._known_signature
