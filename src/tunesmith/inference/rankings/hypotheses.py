"""Hypotheses on rankings: what tuners ask of runs and judgements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeVar

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import TunesmithError
from tunesmith.inference.hypotheses import Axes, Direction, Envelope, Expectation, Line, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.inference.rankings.events import Crossings, Relevant, changes_of, crossings_of
from tunesmith.inference.rankings.values import order_of, values_of
from tunesmith.inference.sharing import share_out_lines
from tunesmith.metrics.base import Metric
from tunesmith.metrics.rankings.scored import ScoredRankings
from tunesmith.metrics.rankings.terms import CASCADE
from tunesmith.parallel.local import map_pieces, pieces_of

if TYPE_CHECKING:
    from tunesmith.inference.hypotheses import TuningHypotheses

R = TypeVar("R")

#: All of a line.
EVERYWHERE = (-np.inf, np.inf)


@dataclass(frozen=True)
class _Scored:
    """The scores of all documents at a point."""

    scores: Floats


class RankingHypotheses:
    """Answers about rankings: what wins a query is an order of its documents.

    Parameters
    ----------
    tuning
        Rankings with features and a metric.
    """

    is_costly: ClassVar[bool] = False

    def __init__(self, tuning: ScoredRankings) -> None:
        self.tuning = tuning
        self.metric: Metric = tuning.metric
        self.features = tuning.features
        self.names = tuning.names
        self.groups = tuning.groups
        self.start = tuning.rankings.start
        self.terms = tuning.terms

    @cached_property
    def _documents(self) -> ListHypotheses:
        """The documents as candidates: spread and axes are theirs, whatever wins."""
        return ListHypotheses(self.tuning.documents)

    def spread(self) -> Floats:
        """Return the pooled standard deviation of each feature within queries."""
        return self._documents.spread()

    def sizes(self) -> Floats:
        """Return the same: all features are dense."""
        return self._documents.sizes()

    def axes(self, directions: Sequence[Direction]) -> Axes | None:
        """Return axes of the variables along which scores vary independently."""
        return self._documents.axes(directions)

    def renewed(self, weights: Floats, before: TuningHypotheses | None = None) -> RankingHypotheses:
        """Return themselves: there is no more than the runs have."""
        del weights, before
        return self

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        return self._point(weights, self.features.dot(weights))

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line from scratch: ranks have to be found again anyway."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        return self.point(weights)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two: all scores keep their digits."""
        scored = _Scored(factor * point.cache.scores)
        return Point(factor * point.weights, point.total, point.gain, scored)

    def _point(self, weights: Floats, scores: Floats) -> Point:
        total = np.array([self.values(scores)[1].sum(), self.groups])
        return Point(weights, total, float(self.metric.gain(total)), _Scored(scores))

    def values(self, scores: Floats) -> tuple[Floats, Ints]:
        """Return the value of each query [S], and the same in the unit of whole numbers."""
        values, units = np.zeros(self.groups), np.zeros(self.groups, np.int64)

        def fill(piece: slice) -> None:
            values_of(scores, self.start, self.terms, piece.start, piece.stop, values, units)

        map_pieces(fill, pieces_of(self.groups, np.diff(self.start)))
        return values, units

    def order(self, weights: Floats) -> Ints:
        """Return all documents [N] in the order of their ranks, query by query."""
        order: Ints = order_of(self.features.dot(weights), self.start)
        return order

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow the rankings along many lines; each is one worker's."""
        return share_out_lines(self, work, lines)

    def envelope(
        self, point: Point, direction: Direction, limits: tuple[float, float] = EVERYWHERE
    ) -> Envelope:
        """Follow the rankings along a line through the point.

        Between two limits, where both are finite: the total is that right of the first, and what
        lies beyond is not looked at.
        """
        slopes = self.features.dot(direction.vector(len(self.names)))
        scores = point.cache.scores

        relevant = self._relevant()

        def cross(piece: slice) -> Crossings:
            crossings: Crossings = crossings_of(
                slopes, scores, self.start, self.terms, relevant, piece.start, piece.stop, *limits
            )
            return crossings

        parts = map_pieces(cross, pieces_of(self.groups, np.diff(self.start)))
        crossings = Crossings(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        order = np.argsort(crossings.at)
        begin, edges, units = changes_of(crossings, order, self.terms, relevant)
        change = np.zeros((len(units), 2), np.int64)
        change[:, 0] = units
        return Envelope(np.array([begin, self.groups]), edges, change)

    def _relevant(self) -> Relevant:
        """Return the relevant documents, none of which has a rank yet."""
        rows, start = self._relevant_rows
        columns = max(2, len(self.terms.gain)) if self.terms.kind == CASCADE else 2
        nothing = np.zeros((len(rows), columns), np.int64)
        return Relevant(rows, start, np.zeros(len(rows), np.int64), nothing)

    @cached_property
    def _relevant_rows(self) -> tuple[Ints, Ints]:
        """The relevant documents, and where those of each query begin."""
        rows = np.flatnonzero(self.terms.level > 0)
        return rows, np.searchsorted(rows, self.start)

    def deviation(self, point: Point) -> float:
        """Return the pooled standard deviation of the scores within queries."""
        return self._documents.deviation(point)

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Refuse: metrics of rankings have no gradient here."""
        self._refuse()

    def covariance(self, expectations: Sequence[Expectation], vectors: Floats) -> Floats:
        """Refuse: metrics of rankings have no gradient here."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TunesmithError(
            f"{self.metric.name} has no gradient; use --directions coordinate, powell or random"
        )
