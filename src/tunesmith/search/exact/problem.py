"""What an exact search sees of a tuning set: distinct points, and losses that are whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array

from tunesmith.arrays import Floats, Ints
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import Metric
from tunesmith.tasks.lists import TuningSet

#: Losses that are not counts become multiples of a unit, as fine as numbers are, rounded down:
#: what is proven stays true. Sums of whole numbers are exact in any order; so large they may be.
FINEST, LARGEST = 2.0**-50, 2.0**56
#: A loss this near to a multiple of the least one is that multiple.
WHOLE = 1e-6
#: Features, scaled, that differ by less are equal but for rounding: so many decimals count.
DECIMALS = 9
#: Points of the same loss that are nearer to each other are kin. Input has about six digits.
NEAR = 1e-4
#: Digits of a number that are written out.
MOST_DIGITS = 400
#: Points are held without gaps, and a search has matrices of the features' number: more than
#: this are more than it can use.
MOST_NUMBERS, MOST_FEATURES = 2**30, 1000


@dataclass(frozen=True)
class Problem:
    """Points and losses of the groups in which a choice matters.

    Candidates with the same features cannot be told apart: the first read stands for all of
    them, as in reranking. Features are scaled to a pooled deviation of 1 and centred within
    each group. Groups whose points all have the same loss restrict nothing and are left out.

    Where features differ by rounding alone nobody knows which candidate will win: such points
    are one, with the least of their losses, so that what is proven stays true.

    Attributes
    ----------
    start : int64[S + 1]
        Group s has the points ``start[s]`` to ``start[s + 1] - 1``, in the order of their loss.
    points : float64[N * D]
        Group after group; within one, feature after feature.
    loss : int64[N]
        How much worse than the best point of its group, in units.
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

    @classmethod
    def of(cls, tuning: TuningSet, spread: Floats | None = None) -> Problem:
        """Take what matters from a tuning set whose metric is a sum over its groups."""
        features, start = tuning.candidates.features, tuning.candidates.start
        size = len(features.names)
        if size > MOST_FEATURES or features.candidates * size > MOST_NUMBERS:
            raise TunesmithError(
                f"an exact search needs too much memory for {features.candidates} candidates "
                f"with {size} features; keep fewer, at most {MOST_FEATURES} features"
            )
        if spread is None:
            spread = tuning.hypotheses().spread()
        gains = _gains(tuning)
        points = _points(features, spread)
        chosen = start[:-1].copy()
        kept = []
        for g in range(len(chosen)):
            rows = start[g] + _first_of_equals(points[start[g] : start[g + 1]])
            rows = _best_of_alike(points, rows, gains)
            rows = rows[np.argsort(-gains[rows], kind="stable")]
            chosen[g] = rows[0]
            kept.append(rows)
        below = [gains[rows[0]] - gains[rows] for rows in kept]
        unit = _unit(np.concatenate(below), len(below))
        losses = [np.floor(one / unit + 2 * WHOLE).astype(np.int64) for one in below]
        groups = np.array([g for g, loss in enumerate(losses) if loss[-1] > 0], np.int64)
        which = [kept[g] for g in groups]
        blocks = [(points[rows] - points[rows].mean(axis=0)).T.ravel() for rows in which]
        return cls(
            np.cumsum([0, *(len(rows) for rows in which)]),
            np.concatenate([np.zeros(0), *blocks]),
            np.concatenate([np.zeros(0, np.int64), *(losses[g] for g in groups)]),
            _kin(points, which, [losses[g] for g in groups]),
            np.concatenate([np.zeros(0, np.int64), *which]),
            groups,
            spread,
            unit,
            float(tuning.metric.gain(tuning.total(chosen))),
            tuning.metric,
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
        return math.prod(int(n) for n in np.diff(self.start))

    @property
    def total(self) -> int | str:
        """The combinations as they are written: a text where they are many."""
        digits = float(np.log10(np.diff(self.start)).sum())
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
        return vector / self.spread

    def vector(self, weights: Floats) -> Floats:
        """Return the vector that chooses among the points as weights of the features do."""
        return weights * self.spread

    def part(self, groups: Sequence[int] | Ints) -> Problem:
        """Return the problem of some of the groups; its gains leave out the others' losses."""
        starts = self.start
        size = self.dimensions
        ranges = [np.arange(starts[g], starts[g + 1]) for g in groups]
        rows = np.concatenate([np.zeros(0, np.int64), *ranges])
        blocks = [self.points[starts[g] * size : starts[g + 1] * size] for g in groups]
        return replace(
            self,
            start=np.cumsum([0, *(len(one) for one in ranges)]),
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


def _points(features: Features, spread: Floats) -> Floats:
    """Return the features [N, D], scaled."""
    points = np.empty((features.candidates, len(features.names)))
    dense = len(features.dense)
    points[:, :dense] = features.dense.T
    if features.sparse.shape[1]:
        points[:, dense:] = features.sparse.toarray()
    points /= spread
    return points


def _first_of_equals(points: Floats) -> Ints:
    """Return which rows are the first of their kind, ascending."""
    # 0.0 and -0.0 are equal, but not as bytes.
    rows = np.ascontiguousarray(points + 0.0)
    if rows.shape[1] == 0:
        return np.zeros(1, np.int64)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(whole, return_index=True)[1])


def _best_of_alike(points: Floats, rows: Ints, gains: Floats) -> Ints:
    """Return which rows are the best of those that differ by rounding alone."""
    first = _first_of_equals(np.round(points[rows], DECIMALS))
    if len(first) == len(rows):
        return rows
    order = np.argsort(-gains[rows], kind="stable")
    return np.sort(rows[order[_first_of_equals(np.round(points[rows[order]], DECIMALS))]])


def _kin(points: Floats, kept: list[Ints], losses: list[Ints]) -> Ints:
    """Return the families of points of the same loss that nearly coincide, -1 for none.

    On a line that all points are projected to, near ones are near; so few pairs are measured.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import

    if not kept:
        return np.zeros(0, np.int64)
    rows, loss = np.concatenate(kept), np.concatenate(losses)
    group = np.repeat(np.arange(len(kept)), [len(one) for one in kept])
    line = np.random.default_rng(1).standard_normal((points.shape[1],))
    order = np.lexsort((points[rows] @ line, loss, group))
    pairs = []
    for apart in range(1, min(4, len(order))):
        a, b = order[:-apart], order[apart:]
        same = (group[a] == group[b]) & (loss[a] == loss[b])
        a, b = a[same], b[same]
        away = points[rows[a]] - points[rows[b]]
        near = (away**2).sum(axis=1) < NEAR * NEAR
        pairs.append(np.stack([a[near], b[near]]))
    a, b = np.concatenate(pairs, axis=1)
    links = coo_array((np.ones(len(a)), (a, b)), shape=(len(rows), len(rows)))
    _, family = connected_components(links, directed=False)
    alone = np.bincount(family)[family] == 1
    return np.where(alone, -1, family).astype(np.int64)


def _unit(losses: Floats, groups: int) -> float:
    """Return what all losses are multiples of: exactly for counts, to many digits otherwise."""
    most = float(losses.max(initial=0.0))
    if most <= 0.0:
        return 1.0
    finest = most * max(FINEST, groups / LARGEST)
    least = float(losses[losses > finest].min())
    multiples = losses / least
    whole = np.rint(multiples)
    if multiples.max() < 1.0 / WHOLE**2 and (np.abs(multiples - whole) < WHOLE).all():
        return most / float(np.rint(most / least))
    return finest
