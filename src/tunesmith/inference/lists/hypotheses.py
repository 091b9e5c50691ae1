"""Hypotheses on n-best lists."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from scipy.sparse import coo_array, csr_array

from tunesmith.arrays import Floats, Ids, Ints, Stats
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.memory import own_pages
from tunesmith.inference.hypotheses import Axes, Direction, Envelope, Expectation, Line, Point
from tunesmith.inference.lists.axes import MOST_AXES, axes_of_rows
from tunesmith.inference.lists.batch import Breakpoints, LineBatch, Slopes, breakpoints, runs_of
from tunesmith.inference.lists.envelope import winners_of
from tunesmith.inference.lists.expectation import (
    Distribution,
    covariance,
    deviation,
    deviations,
    expected_total,
    linear_gains,
    probabilities,
    squares_within,
)
from tunesmith.inference.lists.sparse_envelope import shift_winners, sparse_envelope
from tunesmith.inference.lists.variables import (
    among_all,
    dense_variables,
    spread_of,
    variable_row,
)
from tunesmith.inference.sharing import share_out_lines, works_elsewhere
from tunesmith.kernels import kernel
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.parallel.device import check_cuda, current_device
from tunesmith.parallel.local import map_pieces, thread_count

if TYPE_CHECKING:
    from tunesmith.inference.hypotheses import TuningHypotheses

R = TypeVar("R")

#: Several features that fire on more than this share of all candidates count as dense.
FEW = 0.25


def best(candidates: CandidateSet, weights: Floats) -> Ints:
    """Return the winner of each group: the highest w·h, the first read among equals."""
    if current_device() == "cuda":
        # Without being asked for a GPU is no gain: sending the features takes longer.
        check_cuda()
        from tunesmith.inference.lists.device.winners import winners

        return winners(candidates, weights)
    return winners_of(candidates.features.dot(weights), candidates.start)


@dataclass(frozen=True)
class _Fired:
    """Candidates on which a direction fires, ascending; their slopes are factor · values."""

    rows: Ids
    values: Floats
    factor: float


@dataclass(frozen=True)
class _Choice:
    """Scores of all candidates at a point, and the winners."""

    scores: Floats
    winners: Ints


class ListHypotheses:
    """Answers about lists; features' extremes are computed once.

    They are threads' work whatever engine is in force: a pass over the lists takes milliseconds
    and waits for memory. What others do is to search several lines, or to climb.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    """

    is_costly: ClassVar[bool] = False

    def __init__(self, tuning: ScoredCandidates) -> None:
        self.tuning = tuning
        self.metric = tuning.metric
        self.features = tuning.candidates.features
        self.names = self.features.names
        self.start = tuning.candidates.start
        self.groups = len(self.start) - 1
        self._longest = int(np.diff(self.start).max(initial=0))
        self._last = threading.local()
        self._recurring: dict[tuple[bytes, bytes], LineBatch] = {}

    @cached_property
    def _group(self) -> Ints:
        """The group of each candidate, which sparse features are looked up by."""
        return np.repeat(np.arange(self.groups), np.diff(self.start))

    @cached_property
    def _dense(self) -> Slopes:
        return Slopes.of(self.features.dense, self.start)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what they are made of, without texts, which workers do not need."""
        candidates = self.tuning.candidates
        nothing = Texts(np.zeros(len(candidates) + 1, np.int64), np.zeros(0, np.int32))
        bare = replace(
            candidates, texts=nothing, vocabulary=(), references=None, columns={}, sources=None
        )
        return type(self), (self.tuning.of(bare, self.tuning.stats),)

    def spread(self) -> Floats:
        """Return the pooled standard deviation of each feature within groups.

        It is 1 where a feature is constant within groups, but for rounding: such a feature
        changes no choice, and a weight in proportion to 1 / rounding would drown the others.
        """
        squares, sizes_of_values = np.zeros(len(self.names)), np.zeros(len(self.names))
        factors = np.ones(len(self.names))

        def measure(d: int) -> None:
            row = self.features.dense[d]
            squares[d], sizes_of_values[d] = squares_within(row, self.start)
            if not np.isfinite(sizes_of_values[d]):  # no square of 1e300
                factors[d] = np.abs(row).max()
                squares[d], sizes_of_values[d] = squares_within(row / factors[d], self.start)

        map_pieces(measure, list(range(len(self.features.dense))))
        sparse = self.features.sparse
        if sparse.shape[1]:
            with np.errstate(over="ignore", invalid="ignore"):  # no square of 1e300
                mean_part = self.squares_of_means().sum(axis=0)
                sizes_of_values[len(self.features.dense) :] = sparse.multiply(sparse).sum(axis=0)
                squares[len(self.features.dense) :] = (
                    sizes_of_values[len(self.features.dense) :] - mean_part
                )
        return spread_of(squares, sizes_of_values, factors, self.features.candidates)

    def squares_of_means(self) -> coo_array:
        """Return the squared mean of each sparse feature in each group, times the group's size."""
        group = self._group
        member = csr_array((np.ones(len(group)), group, np.arange(len(group) + 1)))
        sums = (member.T @ self.features.sparse).tocsc()
        shares = 1.0 / np.diff(self.start)
        # By coordinates they are added up one after the other, so that shards can go on.
        squares: coo_array = sums.multiply(sums).multiply(shares[:, None]).tocoo()
        return squares

    def sizes(self) -> Floats:
        """Return the spread of dense features, and of sparse ones their size where they are on."""
        features = self.features
        sizes = self.spread()
        sparse = features.sparse
        squares = np.asarray(sparse.multiply(sparse).sum(axis=0), np.float64).ravel()
        usual = np.sqrt(squares / np.maximum(np.diff(sparse.indptr), 1))
        sizes[len(features.dense_names) :] = np.where(usual > 0.0, usual, 1.0)
        return sizes

    def axes(self, directions: Sequence[Direction]) -> Axes | None:
        """Return axes of the variables that have dense features alone."""
        rows = self.features.dense
        dense = dense_variables(directions, len(rows))
        if not 1 < len(dense) <= MOST_AXES:
            return None
        basis = [directions[k].vector(len(self.names))[: len(rows)] for k in dense]
        axes = axes_of_rows(
            lambda v, chosen: variable_row(rows, basis[v], chosen), len(dense), self.start
        )
        return among_all(axes, dense, len(directions))

    def renewed(self, weights: Floats, before: TuningHypotheses | None = None) -> ListHypotheses:
        """Return themselves: there is no more than the lists have."""
        del weights, before
        return self

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        return self._point(weights, self.features.dot(weights))

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line, adding to the scores that are there."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        scores = point.cache.scores.copy()
        fired = self._fired(direction)
        if fired is not None:
            return self._shifted(point, weights, scores, fired, step)
        if len(direction.features) == 1:
            self.features.add(scores, int(direction.features[0]), step * direction.values[0])
        else:
            scores += step * self._lines(direction).values
        return self._point(weights, scores)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two: all scores keep their digits."""
        choice = _Choice(factor * point.cache.scores, point.cache.winners)
        return Point(factor * point.weights, point.total, point.gain, choice)

    def _point(self, weights: Floats, scores: Floats) -> Point:
        winners = winners_of(scores, self.start)
        total = self.tuning.total(winners)
        return Point(weights, total, float(self.metric.gain(total)), _Choice(scores, winners))

    def _shifted(
        self, point: Point, weights: Floats, scores: Floats, fired: _Fired, step: float
    ) -> Point:
        """Look again only at the groups in which a direction fires."""
        before, stats = point.cache.winners, self.tuning.stats
        winners = before.copy()
        change = step * fired.factor
        shift_winners(fired.rows, fired.values, change, scores, winners, self.start, self._group)
        if stats.dtype.kind == "f":
            # Differences would leave the rounding of every step in the sum.
            total = self.tuning.total(winners)
        else:
            new = winners != before
            total = point.total + self.tuning.total(winners[new]) - self.tuning.total(before[new])
        return Point(weights, total, float(self.metric.gain(total)), _Choice(scores, winners))

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow the winners along many lines; those through one point together."""
        if works_elsewhere():
            return share_out_lines(self, work, lines)
        self._remember([direction for _, direction in lines])
        runs = runs_of(lines, thread_count(), self.features.candidates)
        parts = map_pieces(partial(self._along, work), runs)
        return [result for part in parts for result in part]

    def _along(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow some lines through one point: those together whose slopes are in one array."""
        results: dict[int, R] = {}
        together: dict[int, tuple[Slopes, list[tuple[int, int]]]] = {}
        for k, (point, direction) in enumerate(lines):
            known = self._known(direction)
            if known is None:
                results[k] = work(point, direction, self.envelope(point, direction))
            else:
                together.setdefault(id(known.slopes), (known.slopes, []))[1].append((k, known.row))
        for slopes, members in together.values():
            changes = self._breakpoints(slopes, [row for _, row in members], lines[0][0])
            for j, (k, _) in enumerate(members):
                results[k] = work(*lines[k], changes.envelope(j))
        return [results[k] for k in range(len(lines))]

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners along a line through the point."""
        fired = self._fired(direction)
        if fired is None:
            line = self._lines(direction)
            return self._breakpoints(line.slopes, [line.row], point).envelope(0)
        stats, total = self.tuning.stats, point.total.copy()
        at, left, right = self._along_fired(fired, point.cache, total)
        change = np.empty((len(at), stats.shape[1]), total.dtype)
        _changes(stats, left, right, change)
        return Envelope(total, at, change)

    def _breakpoints(self, slopes: Slopes, rows: list[int], point: Point) -> Breakpoints:
        choice: _Choice = point.cache
        lists = self.start, self.tuning.stats
        return breakpoints(
            slopes, np.array(rows), choice.scores, choice.winners, *lists, point.total
        )

    def _along_fired(
        self, fired: _Fired, choice: _Choice, total: Stats
    ) -> tuple[Floats, Ints, Ints]:
        room = len(fired.rows)
        at, left, right = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
        count = sparse_envelope(
            fired.rows,
            fired.values,
            fired.factor,
            choice.scores,
            choice.winners,
            self.start,
            self._group,
            self._longest,
            self.tuning.stats,
            total,
            at,
            left,
            right,
        )
        return at[:count].copy(), left[:count], right[:count]

    def _fired(self, direction: Direction) -> _Fired | None:
        """Return where a direction of sparse features fires; None if it is not one."""
        features, split = direction.features, len(self.features.dense)
        if len(features) == 0 or features[0] < split:
            return None
        if len(features) == 1:
            rows, values = self.features.column(int(features[0]))
            return _Fired(rows, values, float(direction.values[0]))
        if not self._are_rare(features):
            return None
        columns = [self.features.column(int(d)) for d in features]
        rows, place = np.unique(np.concatenate([c[0] for c in columns]), return_inverse=True)
        parts = [w * c[1] for w, c in zip(direction.values, columns, strict=True)]
        values = np.zeros(len(rows))
        np.add.at(values, place, np.concatenate(parts))
        return _Fired(rows, values, 1.0)

    def _are_rare(self, features: Ints) -> bool:
        """Tell whether several sparse features together fire on few candidates."""
        columns = features - len(self.features.dense)
        start = self.features.sparse.indptr
        together = (start[columns + 1] - start[columns]).sum()
        return bool(together <= FEW * self.features.candidates)

    def _lines(self, direction: Direction) -> LineBatch:
        known = self._known(direction)
        if known is not None:
            return known
        # A search along a line is often followed by a step on it: a pass over the features
        # that need not be made twice. Each thread has its own, climbs run side by side.
        cached_lines: tuple[Direction, LineBatch] | None = getattr(self._last, "lines", None)
        if cached_lines is None or cached_lines[0] is not direction:
            rows = self.features.dot(direction.vector(len(self.names))[None])
            cached_lines = self._last.lines = direction, LineBatch(Slopes.of(rows, self.start), 0)
        return cached_lines[1]

    def _known(self, direction: Direction) -> LineBatch | None:
        """Return the slopes along a direction if all climbs share them."""
        if len(direction.features) == 1 and direction.values[0] == 1.0:
            feature = int(direction.features[0])
            if feature < len(self.features.dense):
                return LineBatch(self._dense, feature)
        return self._recurring.get(_key(direction)) if direction.recurs else None

    def _remember(self, directions: Sequence[Direction]) -> None:
        """Compute the slopes along directions that all climbs search, on disk if memory is short.

        Climbs that do so at the same time find the same.
        """
        known = self._recurring
        new = {_key(d): d for d in directions if d.recurs and _key(d) not in known}
        new = {key: d for key, d in new.items() if self._fired(d) is None}
        if not new or len(known) + len(new) > MOST_AXES:
            return
        rows = own_pages((len(new), self.features.candidates), np.float64)
        for row, direction in zip(rows, new.values(), strict=True):
            row[:] = self.features.dot(direction.vector(len(self.names)))
        slopes = Slopes.of(rows, self.start)
        known.update({key: LineBatch(slopes, k) for k, key in enumerate(new)})

    def deviation(self, point: Point) -> float:
        """Return the pooled standard deviation of the scores within groups."""
        return deviation(point.cache.scores, self.start)

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Return expected gains and their gradients, with one pass over the features.

        The gradient of E[b] by the weights is μ Σ_i P_i (b_i − E[b]) h_i over each group (the
        factor μ is missing in the paper's equation 9), and the chain rule needs of b_i only
        its product with the metric's slope at E[b].
        """
        coefficients = np.empty((len(points), self.features.candidates))
        parts = []
        for k, (point, sharp) in enumerate(zip(points, sharpness, strict=True)):
            chances = probabilities(point.cache.scores, self.start, sharp)
            total = expected_total(chances, self.tuning.stats, self.start)
            values = linear_gains(self.tuning.stats, self.metric.slope(total), self.start)
            moments, variance = deviations(chances, values, self.start)
            coefficients[k] = sharp * moments
            gain_deviation = (variance / self.groups) ** 0.5
            distribution = Distribution(self.features, self.start, chances)
            parts.append((sharp, float(self.metric.gain(total)), gain_deviation, distribution))
        gradients = self.features.combine(coefficients)
        return [
            Expectation(sharp, gain, gradient, gain_deviation, distribution)
            for (sharp, gain, gain_deviation, distribution), gradient in zip(
                parts, gradients, strict=True
            )
        ]

    def covariance(self, expectations: Sequence[Expectation], vectors: Floats) -> Floats:
        """Return covariances times vectors [B, D], with two passes over the features.

        Where the likely candidates are few, others do not count, and a pass is over the
        features of these few.
        """
        distributions: list[Distribution] = [expectation.cache for expectation in expectations]
        products = np.empty(vectors.shape)
        whole = [k for k, distribution in enumerate(distributions) if distribution.likely is None]
        if whole:
            products[whole] = covariance([distributions[k] for k in whole], vectors[whole])
        for k, distribution in enumerate(distributions):
            if distribution.likely is not None:
                products[k] = covariance([distribution.likely], vectors[k : k + 1])[0]
        return products


def _key(direction: Direction) -> tuple[bytes, bytes]:
    return direction.features.tobytes(), direction.values.tobytes()


@kernel
def _changes(stats: Stats, left: Ints, right: Ints, change: Stats) -> None:
    """Subtract the statistics of those that win before from those that win after."""
    for t in range(left.shape[0]):
        before, after = stats[left[t]], stats[right[t]]
        for k in range(stats.shape[1]):
            change[t, k] = after[k] - before[k]
