"""Hypotheses on n-best lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.inference.envelope import envelope, extremes_of, winners_of
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.kernels import kernel
from tunesmith.metrics.tuning import TuningSet
from tunesmith.parallel.local import map_pieces

#: A variance below this share of the mean square is rounding.
ROUNDING = 1e-13


def best(candidates: CandidateSet, weights: Floats) -> Ints:
    """Return the winner of each group: the highest w·h, the first read among equals."""
    return winners_of(candidates.features.dot(weights), candidates.start)


@dataclass(frozen=True)
class _Lines:
    """Slopes along a direction, and the groups in which they differ."""

    slopes: Floats
    groups: Ints
    ends: Ints


@dataclass(frozen=True)
class _Choice:
    """Scores of all candidates at a point, and the winners."""

    scores: Floats
    winners: Ints


class ListHypotheses:
    """Answers about lists; features' extremes are found once and kept.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    """

    def __init__(self, tuning: TuningSet) -> None:
        self.tuning = tuning
        self.metric = tuning.metric
        self.features = tuning.candidates.features
        self.names = self.features.names
        self.start = tuning.candidates.start
        self._group = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        self._dense = map_pieces(self._lines_of_row, list(range(len(self.features.dense))))

    def spread(self) -> Floats:
        """Return the pooled standard deviation of each feature within groups.

        It is 1 where a feature is constant within groups, but for rounding: such a feature
        changes no choice, and a weight in proportion to 1 / rounding would drown the others.
        """
        sizes = np.diff(self.start)
        squares, sizes_of_values = np.zeros(len(self.names)), np.zeros(len(self.names))
        for d, row in enumerate(self.features.dense):
            sums = np.add.reduceat(row, self.start[:-1])
            squares[d] = np.square(row - np.repeat(sums / sizes, sizes)).sum()
            sizes_of_values[d] = np.square(row).sum()
        sparse = self.features.sparse
        if sparse.shape[1]:
            member = csr_array(
                (np.ones(len(self._group)), self._group, np.arange(len(self._group) + 1))
            )
            sums = (member.T @ sparse).tocsc()
            mean_part = sums.multiply(sums).multiply((1.0 / sizes)[:, None]).sum(axis=0)
            sizes_of_values[len(self._dense) :] = sparse.multiply(sparse).sum(axis=0)
            squares[len(self._dense) :] = sizes_of_values[len(self._dense) :] - mean_part
        varies = squares > ROUNDING * sizes_of_values
        spread = np.sqrt(np.where(varies, squares, 1.0) / self.features.candidates)
        return np.where(varies, spread, 1.0)

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        return self._point(weights, self.features.dot(weights))

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line, adding to the scores that are there."""
        scores = point.cache.scores.copy()
        if len(direction.features) == 1:
            self.features.add(scores, int(direction.features[0]), step * direction.values[0])
        else:
            scores += step * self.features.dot(direction.vector(len(self.names)))
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        return self._point(weights, scores)

    def _point(self, weights: Floats, scores: Floats) -> Point:
        winners = winners_of(scores, self.start)
        total = self.tuning.total(winners)
        return Point(weights, total, float(self.metric.gain(total)), _Choice(scores, winners))

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners along a line through the point."""
        lines = self._lines(direction)
        room = int((self.start[lines.groups + 1] - self.start[lines.groups]).sum())
        at, left, right = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
        total = point.total.copy()
        stats = self.tuning.stats
        count = envelope(
            lines.slopes,
            point.cache.scores,
            point.cache.winners,
            self.start,
            lines.groups,
            lines.ends,
            stats,
            total,
            at,
            left,
            right,
        )
        change = np.empty((count, stats.shape[1]), total.dtype)
        _changes(stats, left[:count], right[:count], change)
        return Envelope(total, at[:count].copy(), change)

    def _lines(self, direction: Direction) -> _Lines:
        if len(direction.features) == 1 and direction.values[0] == 1.0:
            feature = int(direction.features[0])
            if feature < len(self._dense):
                return self._dense[feature]
            return self._lines_of_column(feature)
        slopes = self.features.dot(direction.vector(len(self.names)))
        return self._lines_of(slopes)

    def _lines_of_row(self, row: int) -> _Lines:
        return self._lines_of(self.features.dense[row])

    def _lines_of(self, slopes: Floats) -> _Lines:
        ends = extremes_of(slopes, self.start, np.arange(len(self.start) - 1))
        groups = np.flatnonzero(slopes[ends[0]] < slopes[ends[2]])
        return _Lines(slopes, groups, ends)

    def _lines_of_column(self, feature: int) -> _Lines:
        """Look only at the groups in which a sparse feature fires."""
        rows, values = self.features.column(feature)
        slopes = np.zeros(self.features.candidates)
        slopes[rows] = values
        groups = np.unique(self._group[rows])
        ends = extremes_of(slopes, self.start, groups)
        return _Lines(slopes, groups[slopes[ends[0, groups]] < slopes[ends[2, groups]]], ends)


@kernel
def _changes(stats: Stats, left: Ints, right: Ints, change: Stats) -> None:
    """Subtract the statistics of those that win before from those that win after."""
    for t in range(left.shape[0]):
        before, after = stats[left[t]], stats[right[t]]
        for k in range(stats.shape[1]):
            change[t, k] = after[k] - before[k]
