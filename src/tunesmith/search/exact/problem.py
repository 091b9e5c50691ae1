"""What an exact search sees of a tuning set: distinct points, and losses that are whole."""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array

from tunesmith.arrays import Bytes, Floats, Ints
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import Metric
from tunesmith.search.exact.region import Region
from tunesmith.tasks.lists import TuningSet

#: Losses that are not counts become multiples of a unit, as fine as numbers are, rounded down:
#: what is proven stays true. Sums of whole numbers are exact in any order; so large they may be.
FINEST, LARGEST = 2.0**-50, 2.0**56
#: A loss this near to a multiple of the least one is that multiple: by so many roundings of the
#: greatest gain, and never farther than this.
ROUNDINGS, WHOLE = 16 * 2.0**-52, 1e-6
#: Points nearer than this, or than so much of their size, differ by rounding alone.
ROUNDING, PRECISION = 1e-9, 2.0**-48
#: Points of the same loss that are nearer to each other are kin. Input has about six digits.
NEAR = 1e-4
#: A value this many times farther from the median of its group than is usual is an outlier, if
#: no more than one in so many is, or one in all.
OUTLIER, ONE_IN = 100.0, 50
#: Digits of a number that are written out.
MOST_DIGITS = 400
#: Points are held without gaps, and a search has matrices of the features' number: more than
#: this are more than it can use.
MOST_NUMBERS, MOST_FEATURES = 2**30, 1000


@dataclass(frozen=True)
class Problem:
    """Points and losses of the groups in which a choice matters.

    Candidates with the same features cannot be told apart: the first read stands for all of
    them, as in reranking. Features are scaled to a pooled deviation of 1, outliers counting as
    no farther away than values that are just none, and centred within each group. Groups whose
    points all have the same loss restrict nothing and are left out.

    Where features differ by rounding alone nobody knows which candidate will win: all such points
    have the least of their losses, so that what is proven stays true.

    Attributes
    ----------
    start : int64[S + 1]
        Group s has the points ``start[s]`` to ``start[s + 1] - 1``, in the order of their loss.
    points : float64[N * D]
        Group after group; within one, feature after feature.
    loss : int64[N]
        How much worse than the best point of its group, in units. Of points that differ by
        rounding alone it is the least of what they lose: candidates may lose more.
    kin : int64[N]
        Points of a group with the same number have the same loss and nearly coincide, as a text
        does that a decoder wrote twice with other rounding; -1 for the others. Whichever of
        them wins, no more is lost, so none has to be ahead of its kin.
    candidate : int64[N]
        Which candidate of the tuning set a point is.
    groups : int64[S]
        Which groups of the tuning set these are.
    spread : float64[D]
        What features were divided by: weights of these points, divided by it, are weights of
        the features.
    unit
        What a loss of 1 takes off the gain.
    top
        The gain of a loss of 0.
    metric
        What the gain is of.
    region
        Which weights count. Where not all do, points are of the region's variables, and the
        first group is no sentence: its first point wins inside of the region alone, and the
        others lose more than is lost inside.
    """

    start: Ints
    points: Floats
    loss: Ints
    kin: Ints
    candidate: Ints
    groups: Ints
    spread: Floats
    unit: float
    top: float
    metric: Metric
    region: Region | None = None

    @classmethod
    def of(
        cls, tuning: TuningSet, spread: Floats | None = None, region: Region | None = None
    ) -> Problem:
        """Take what matters from a tuning set whose metric is a sum over its groups."""
        features, start = tuning.candidates.features, tuning.candidates.start
        size = len(features.names)
        if size > MOST_FEATURES or features.candidates * size > MOST_NUMBERS:
            raise TunesmithError(
                f"an exact search needs too much memory for {features.candidates} candidates "
                f"with {size} features; keep fewer, at most {MOST_FEATURES} features"
            )
        points = _points(features)
        if region is not None:
            points = points @ region.matrix
        limits = _usual_ranges(points, start)
        if spread is None:
            plain = tuning.hypotheses().spread() if region is None else _spread(points, start)
            spread = _robust_spread(points, start, limits, plain)
        gains = _gains(tuning)
        points /= spread
        chosen = start[:-1].copy()
        rows_by_group, optimistic = [], gains.copy()
        for g in range(len(chosen)):
            rows = start[g] + _first_of_equals(points[start[g] : start[g + 1]])
            optimistic[rows] = _best_of_alike(points[rows], gains[rows])
            rows = rows[np.lexsort((-gains[rows], -optimistic[rows]))]
            chosen[g] = rows[0]
            rows_by_group.append(rows)
        below = [gains[rows[0]] - optimistic[rows] for rows in rows_by_group]
        unit, is_whole = _unit(np.concatenate(below), len(below), float(np.abs(gains).max()))
        round_off = np.rint if is_whole else np.floor
        losses = [round_off(part / unit).astype(np.int64) for part in below]
        groups = np.array([g for g, loss in enumerate(losses) if loss[-1] > 0], np.int64)
        changing_rows = [rows_by_group[g] for g in groups]
        middles = _middles(points, start, limits / spread)
        blocks = [
            (points[rows] - middles[g]).T.ravel()
            for g, rows in zip(groups, changing_rows, strict=True)
        ]
        problem = cls(
            np.cumsum([0, *(len(rows) for rows in changing_rows)]),
            np.concatenate([np.zeros(0), *blocks]),
            np.concatenate([np.zeros(0, np.int64), *(losses[g] for g in groups)]),
            _kin(points, changing_rows, [losses[g] for g in groups]),
            np.concatenate([np.zeros(0, np.int64), *changing_rows]),
            groups,
            spread,
            unit,
            float(tuning.metric.gain(tuning.total(chosen))),
            tuning.metric,
        )
        return problem if region is None else problem.within(region)

    def within(self, region: Region) -> Problem:
        """Return the problem with a first group whose best point wins inside of a region alone."""
        rows = region.rows / self.spread
        rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return dataclasses.replace(self.bounded(rows), region=region)

    def bounded(self, rows: Floats) -> Problem:
        """Return the problem with a first group whose best point wins where rows are above 0."""
        block = np.concatenate([np.zeros((1, self.dimensions)), -rows])
        starts = self.start
        outside = int(self.loss[starts[1:] - 1].sum()) + 1
        nothing = np.full(len(block), -1)
        return dataclasses.replace(
            self,
            start=np.concatenate([[0], starts + len(block)]),
            points=np.concatenate([block.T.ravel(), self.points]),
            loss=np.concatenate([[0], np.full(len(rows), outside), self.loss]),
            kin=np.concatenate([nothing, self.kin]),
            candidate=np.concatenate([nothing, self.candidate]),
            groups=np.concatenate([[-1], self.groups]),
        )

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.start) - 1

    @property
    def dimensions(self) -> int:
        """The number of features."""
        return len(self.spread)

    @property
    def combinations(self) -> int:
        """How many choices of a point per group there are."""
        return math.prod(int(n) for n in np.diff(self.start)[self.groups >= 0])

    @property
    def total(self) -> int | str:
        """The combinations as they are written: a text where they are many."""
        digits = float(np.log10(np.diff(self.start)[self.groups >= 0]).sum())
        if digits > MOST_DIGITS:
            return f"10^{int(digits)}"
        return self.combinations if self.combinations < 2**53 else str(self.combinations)

    def gain(self, loss: int | float) -> float:
        """Return the gain of a loss of all groups together, in natural units."""
        return self.top - self.unit * float(loss)

    def score(self, loss: int | float) -> float:
        """Return the score of a loss of all groups together, on the customary scale."""
        metric = self.metric
        return self.gain(loss) * (metric.scale if metric.higher_is_better else -metric.scale)

    def weights(self, vector: Floats) -> Floats:
        """Return weights of the features that choose as a vector chooses among the points."""
        values = vector / self.spread
        return values if self.region is None else self.region.weights(values)

    def vector(self, weights: Floats) -> Floats:
        """Return the vector that chooses among the points as weights of the features do."""
        return (weights if self.region is None else self.region.variables(weights)) * self.spread

    def among(self, alive: Bytes) -> Problem:
        """Return the problem in which only some points can win, at least one of each group.

        Groups in which nothing is left to lose are left out; what the best of these points lose
        is taken off the top.
        """
        rows_by_group, losses, lost = [], [], 0
        for lo, hi in itertools.pairwise(self.start):
            rows = lo + np.flatnonzero(alive[lo:hi])
            least = int(self.loss[rows[0]])
            lost += least
            rows_by_group.append(rows)
            losses.append(self.loss[rows] - least)
        groups = [g for g, loss in enumerate(losses) if loss[-1] > 0]
        rows = np.concatenate([np.zeros(0, np.int64), *(rows_by_group[g] for g in groups)])
        blocks = [self.block(g)[:, rows_by_group[g] - self.start[g]].ravel() for g in groups]
        return dataclasses.replace(
            self,
            start=np.cumsum([0, *(len(rows_by_group[g]) for g in groups)]),
            points=np.concatenate([np.zeros(0), *blocks]),
            loss=np.concatenate([np.zeros(0, np.int64), *(losses[g] for g in groups)]),
            kin=self.kin[rows],
            candidate=self.candidate[rows],
            groups=self.groups[np.array(groups, np.int64)],
            top=self.gain(lost),
        )

    def part(self, groups: Sequence[int] | Ints) -> Problem:
        """Return the problem of some of the groups; its gains leave out the others' losses."""
        starts = self.start
        size = self.dimensions
        ranges = [np.arange(starts[g], starts[g + 1]) for g in groups]
        rows = np.concatenate([np.zeros(0, np.int64), *ranges])
        blocks = [self.points[starts[g] * size : starts[g + 1] * size] for g in groups]
        return dataclasses.replace(
            self,
            start=np.cumsum([0, *(len(group_rows) for group_rows in ranges)]),
            points=np.concatenate([np.zeros(0), *blocks]),
            loss=self.loss[rows],
            kin=self.kin[rows],
            candidate=self.candidate[rows],
            groups=self.groups[np.asarray(groups, np.int64)],
        )

    def block(self, group: int) -> Floats:
        """Return the points [D, M] of a group."""
        lo, hi = self.start[group], self.start[group + 1]
        return self.points[lo * self.dimensions : hi * self.dimensions].reshape(-1, hi - lo)


def _gains(tuning: TuningSet) -> Floats:
    """Return what each candidate [N] adds to the gain, up to a constant for each group."""
    start, stats = tuning.candidates.start, tuning.stats
    first = np.repeat(start[:-1], np.diff(start))
    base = tuning.total(start[:-1])
    return np.asarray(tuning.metric.gain(base - stats[first] + stats), np.float64)


def _points(features: Features) -> Floats:
    """Return the features [N, D]."""
    points = np.empty((features.candidates, len(features.names)))
    dense = len(features.dense)
    points[:, :dense] = features.dense.T
    if features.sparse.shape[1]:
        points[:, dense:] = features.sparse.toarray()
    return points


def _usual_ranges(values: Floats, start: Ints) -> Floats:
    """Return the least and the greatest value [2, S, D] of each feature that is no outlier."""
    bounds = list(itertools.pairwise(start))
    medians = np.array([np.median(values[lo:hi], axis=0) for lo, hi in bounds])
    away = np.abs(values - np.repeat(medians, np.diff(start), axis=0))
    away[away == 0.0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a feature that never varies
        usual = np.nan_to_num(np.nanmedian(away, axis=0), nan=0.0)
    with np.errstate(over="ignore"):
        far = OUTLIER * usual
    return np.array([medians - far, medians + far])


def _spread(values: Floats, start: Ints) -> Floats:
    """Return the pooled deviation of each feature within groups, 1 where it is rounding."""
    sizes = np.diff(start)
    means = np.add.reduceat(values, start[:-1], axis=0) / sizes[:, None]
    squares = ((values - np.repeat(means, sizes, axis=0)) ** 2).mean(axis=0)
    deviations: Floats = np.sqrt(squares)
    return np.where(
        deviations > ROUNDING * np.abs(values).max(axis=0, initial=0.0), deviations, 1.0
    )


def _robust_spread(values: Floats, start: Ints, limits: Floats, spread: Floats) -> Floats:
    """Return the pooled deviation of each feature, with outliers brought to their limits."""
    sizes = np.diff(start)
    deviations = spread.copy()
    for d in range(values.shape[1]):
        low, high = (np.repeat(limit[:, d], sizes) for limit in limits)
        many = int(((values[:, d] < low) | (values[:, d] > high)).sum())
        if 0 < many <= max(1, len(values) // ONE_IN):
            near = np.clip(values[:, d], low, high)
            means = np.add.reduceat(near, start[:-1]) / sizes
            with np.errstate(over="ignore", under="ignore"):
                deviation = float(np.sqrt(((near - np.repeat(means, sizes)) ** 2).mean()))
            if np.isfinite(deviation) and deviation > 0.0:
                deviations[d] = deviation
    return deviations


def _middles(points: Floats, start: Ints, limits: Floats) -> Floats:
    """Return the mean of each group [S, D], with outliers brought to their limits.

    It changes no choice; but numbers around it should be small, so that differences are exact.
    """
    parts = enumerate(itertools.pairwise(start))
    return np.array([np.clip(points[lo:hi], *limits[:, g]).mean(axis=0) for g, (lo, hi) in parts])


def _first_of_equals(points: Floats) -> Ints:
    """Return which rows are the first of their kind, ascending."""
    # 0.0 and -0.0 are equal, but not as bytes.
    rows = np.ascontiguousarray(points + 0.0)
    if rows.shape[1] == 0:
        return np.zeros(1, np.int64)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(whole, return_index=True)[1])


def _best_of_alike(points: Floats, gains: Floats) -> Floats:
    """Return the best gain of the points that differ by rounding alone from each of some."""
    reach = max(ROUNDING, PRECISION * float(np.abs(points).max(initial=0.0)))
    family = _linked(points, np.zeros(len(points), np.int64), reach)
    best = gains.copy()
    for number in np.unique(family[family >= 0]):
        best[family == number] = gains[family == number].max()
    return best


def _kin(points: Floats, rows_by_group: list[Ints], losses: list[Ints]) -> Ints:
    """Return the families of points of the same loss that nearly coincide, -1 for none."""
    if not rows_by_group:
        return np.zeros(0, np.int64)
    rows, loss = np.concatenate(rows_by_group), np.concatenate(losses)
    group = np.repeat(np.arange(len(rows_by_group)), [len(part) for part in rows_by_group])
    _, label = np.unique(np.stack([group, loss]), axis=1, return_inverse=True)
    chosen = points[rows]
    return _linked(chosen, label.ravel(), max(NEAR, PRECISION * float(np.abs(chosen).max())))


def _linked(points: Floats, label: Ints, reach: float) -> Ints:
    """Return the families of points of one label that are nearer than so much, -1 for none.

    They may be near through others. On a line that all points are projected to, near ones are
    near; so few pairs are measured.
    """
    line = np.random.default_rng(1).standard_normal((points.shape[1],))
    place = points @ line
    far = reach * float(np.sqrt((line**2).sum())) + PRECISION * np.abs(place).max(initial=0.0)
    order = np.lexsort((place, label))
    links = [np.zeros((2, 0), np.int64)]
    for apart in range(1, len(order)):
        a, b = order[:-apart], order[apart:]
        may_be = (label[a] == label[b]) & (place[b] - place[a] <= far)
        if not may_be.any():
            break
        a, b = a[may_be], b[may_be]
        near = ((points[a] - points[b]) ** 2).sum(axis=1) < reach * reach
        links.append(np.stack([a[near], b[near]]))
    a, b = np.concatenate(links, axis=1)
    if not len(a):
        return np.full(len(points), -1, np.int64)
    from scipy.sparse.csgraph import connected_components  # slow to import

    graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(points), len(points)))
    _, family = connected_components(graph, directed=False)
    alone = np.bincount(family)[family] == 1
    return np.where(alone, -1, family).astype(np.int64)


def _unit(losses: Floats, groups: int, greatest: float) -> tuple[float, bool]:
    """Return what losses are counted in, and whether all are multiples of it, as counts are.

    Otherwise it is as fine as numbers are. ``greatest`` is the greatest of the gains whose
    differences the losses are.
    """
    most = float(losses.max(initial=0.0))
    if most <= 0.0:
        return 1.0, True
    finest = most * max(FINEST, groups / LARGEST)
    least = float(losses[losses > finest].min())
    multiples = losses / least
    near = min(ROUNDINGS * greatest / least * float(multiples.max()), WHOLE)
    if multiples.max() < 1.0 / WHOLE**2 and (np.abs(multiples - np.rint(multiples)) < near).all():
        return most / float(np.rint(most / least)), True
    return finest, False
