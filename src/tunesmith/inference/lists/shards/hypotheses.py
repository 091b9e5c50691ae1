"""Hypotheses on lists whose parts are with workers."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.memory import budget
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Axes, Direction, Envelope, Expectation, Line, Point
from tunesmith.inference.lists.axes import (
    MOST_AXES,
    axes_of_sample,
    correlations_of_sample,
    step_of_sample,
)
from tunesmith.inference.lists.shards.envelopes import PackedEnvelope, merged
from tunesmith.inference.lists.shards.pool import Shards
from tunesmith.inference.lists.shards.questions import (
    Evaluate,
    FeatureNames,
    Scale,
    ShardPoint,
    StepRequest,
)
from tunesmith.inference.lists.variables import among_all, dense_variables, spread_of
from tunesmith.inference.meeting import Meetings
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import Scored
from tunesmith.parallel.local import map_pieces

if TYPE_CHECKING:
    from tunesmith.inference.hypotheses import TuningHypotheses

R = TypeVar("R")

#: Bytes that the breakpoints of a group take while a line is scored: some seven, 300 bytes each.
PER_GROUP = 2048
#: Groups up to which climbs ask together. Of more, one line is work enough for all workers.
MANY = 100_000
#: Values of sparse features that are here at once, while their squares are added up.
AT_ONCE = 4_000_000


class ShardedHypotheses:
    """Answers of all shards, put together: what one machine with all lists would say.

    Parameters
    ----------
    tuning
        The task.
    shards
        Who has the lists.
    selection, dense, sparse
        The features that take part, those that are stored as dense and the others.
    """

    is_costly: ClassVar[bool] = False

    def __init__(
        self,
        tuning: Scored,
        shards: Shards,
        selection: FeatureNames,
        dense: tuple[str, ...],
        sparse: tuple[str, ...],
    ) -> None:
        self.tuning = tuning
        self.metric: Metric = tuning.metric
        self.names = dense + sparse
        self.groups = shards.whole.groups
        self._shards, self._selection = shards, selection
        self._dense, self._sparse = len(dense), sparse
        self._points = shards.points(selection)
        self._meetings = Meetings()

    # Points.

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        ((place, total),) = self._meetings.ask(self._points.make, [Evaluate(weights.copy())])
        return self._point(weights, place, total)

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line; shards add to the scores that they have."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        move = StepRequest(point.cache.record, direction, step)
        ((place, total),) = self._meetings.ask(self._points.make, [move])
        return self._point(weights, place, total)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two: all scores keep their digits."""
        ((place, _),) = self._meetings.ask(self._points.make, [Scale(point.cache.record, factor)])
        return Point(factor * point.weights, point.total, point.gain, place)

    def _point(self, weights: Floats, place: ShardPoint, total: Stats) -> Point:
        return Point(weights, total, float(self.metric.gain(total)), place)

    # Lines.

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow the winners along many lines: where they change in any of the shards."""
        most = max(1, budget() // (PER_GROUP * self.groups))
        results: list[R] = []
        for first in range(0, len(lines), most):
            some = lines[first : first + most]
            numbered = [(point.cache.number, direction) for point, direction in some]
            answers = self._meetings.ask(self._follow, numbered)
            answered = list(zip(some, answers, strict=True))
            results += map_pieces(lambda pair: work(*pair[0], merged(pair[1])), answered)
        return results

    def _follow(
        self, many: Sequence[tuple[int, Direction]]
    ) -> Sequence[tuple[PackedEnvelope, ...]]:
        answers = self._shards.ask("follow", self._selection, list(many))
        self._shards.traffic.count(answers)
        return list(zip(*answers, strict=True))

    def side_by_side(
        self,
        work: Callable[..., R],
        pieces: Sequence[Any],
        *common: Any,
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Return ``[work(self, piece, *common)]``; what the pieces ask is answered in batches."""
        if self.groups <= MANY:
            return self._meetings.hold(lambda piece: work(self, piece, *common), pieces, results)
        finished = {} if results is None else results
        for number, piece in enumerate(pieces):
            finished[number] = work(self, piece, *common)
        return [finished[number] for number in range(len(pieces))]

    # What does not depend on a point.

    def spread(self) -> Floats:
        """Return the pooled standard deviation of each feature within groups."""
        return self._spread.copy()

    @cached_property
    def _spread(self) -> Floats:
        candidates = self._shards.whole.candidates
        squares, sizes = np.zeros(len(self.names)), np.zeros(len(self.names))
        factors = np.ones(len(self.names))
        dense = slice(0, self._dense)
        squares[dense], sizes[dense] = self._dense_squares(factors[dense])
        large = np.flatnonzero(~np.isfinite(sizes[dense]))  # no square of 1e300
        if len(large):
            maxima = self._shards.ask("largest", self._selection, large.tolist())
            factors[large] = np.max(maxima, axis=0)
            again = self._dense_squares(factors[dense])
            squares[large], sizes[large] = again[0][large], again[1][large]
        if self._sparse:
            means = np.zeros(len(self._sparse))
            for number in self._shards.order:
                means = self._shards.ask_one(number, "sparse_means", self._selection, means)
            with np.errstate(over="ignore", invalid="ignore"):
                sizes[self._dense :] = self._sparse_squares()
                squares[self._dense :] = sizes[self._dense :] - means
        return spread_of(squares, sizes, factors, candidates)

    def _dense_squares(self, factors: Floats) -> tuple[Floats, Floats]:
        """Add up group by group, in the order of the groups: one shard after the other."""
        sums = np.zeros(self._dense), np.zeros(self._dense)
        for number in self._shards.order:
            sums = self._shards.ask_one(number, "dense_squares", self._selection, *sums, factors)
        return sums

    def _sparse_squares(self) -> Floats:
        """Add up the squares of sparse features as numpy does where all values are in one array."""
        index = {name: d for d, name in enumerate(self._shards.whole.sparse_names)}
        counts = self._shards.nonzero[[index[name] for name in self._sparse]]
        ends = np.cumsum(counts)
        sums = np.zeros(len(counts))
        first = 0
        while first < len(counts):
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + AT_ONCE, "right")))
            parts = self._shards.ask("sparse_squares", self._selection, first, last)
            sums[first:last] = _summed(parts)
            first = last
        return sums

    def sizes(self) -> Floats:
        """Refuse: who asks for it needs more than lines and points."""
        raise self._no_lists()

    def axes(self, directions: Sequence[Direction]) -> Axes | None:
        """Return axes of the variables that have dense features alone."""
        dense = dense_variables(directions, self._dense)
        if not 1 < len(dense) <= MOST_AXES:
            return None
        basis = np.array([directions[k].vector(len(self.names))[: self._dense] for k in dense])
        rows, start = self._sample(basis)

        def row_of(v: int) -> Floats:
            row: Floats = rows[v]
            return row

        axes = axes_of_sample(row_of, len(dense), start)
        return among_all(axes, dense, len(directions))

    def correlations(self) -> Floats:
        """Return the correlations of dense features within groups."""
        rows, start = self._sample(np.eye(self._dense))
        return correlations_of_sample(lambda d: rows[d], self._dense, start)

    def _sample(self, basis: Floats) -> tuple[Floats, Ints]:
        """Return what variables change in the groups that are looked at, and where they begin."""
        step = step_of_sample(len(basis), self._shards.whole.candidates)
        parts = self._shards.ask("sample", self._selection, basis, step)
        rows = np.concatenate([rows for rows, _ in parts], axis=1)
        return rows, np.concatenate([[0], np.cumsum(np.concatenate([s for _, s in parts]))])

    def renewed(self, weights: Floats, before: TuningHypotheses | None = None) -> ShardedHypotheses:
        """Return themselves: there is no more than the lists have."""
        del weights, before
        return self

    # What would need more than lines and points.

    def deviation(self, point: Point) -> float:
        """Refuse: it is asked for gradients."""
        raise self._no_lists()

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Refuse: shards answer no gradients."""
        raise self._no_lists()

    def covariance(self, expectations: Sequence[Expectation], vectors: Floats) -> Floats:
        """Refuse: shards answer no gradients."""
        raise self._no_lists()

    @staticmethod
    def _no_lists() -> UsageError:
        return UsageError(
            "shards answer lines and points, and no gradients; use --directions coordinate, "
            "powell or random, or tune without --sharded"
        )


def _summed(parts: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Return the sum of each column, whose values are in several parts."""
    width = len(parts[0][0])
    starts = [np.cumsum([0, *counts]) for counts, _ in parts]
    values = [
        data[start[d] : start[d + 1]]
        for d in range(width)
        for (_, data), start in zip(parts, starts, strict=True)
    ]
    together = np.sum([counts for counts, _ in parts], axis=0)
    rows = np.concatenate([np.arange(count) for count in together])
    shape = (int(together.max(initial=0)), width)
    every = np.concatenate(values), rows, np.cumsum([0, *together])
    sums: Floats = csc_array(every, shape=shape).sum(axis=0)
    return sums
