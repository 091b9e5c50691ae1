"""What a distribution over the candidates of lists expects.

Section 4 of Galley et al. (2013): P(i) ∝ exp(μ w·h_i) within each group (equation 8), the
expected statistics E[b] of a set, and the gradient of the metric of E[b], the first-order
Taylor expansion of the expected metric (Smith and Eisner 2006). Then the covariance of features
under the distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.features import Features
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces

#: Candidates of one piece of work, about; fixed, so that sums do not depend on the threads.
PIECE = 1 << 15


def pieces(start: Ints) -> list[tuple[int, int]]:
    """Cut groups into runs of about as many candidates, whatever the number of threads."""
    count = max(1, int(start[-1]) // PIECE)
    if count == 1:
        return [(0, len(start) - 1)]
    edges = np.unique(np.searchsorted(start, np.linspace(0, start[-1], count + 1)))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def deviation(scores: Floats, start: Ints) -> float:
    """Return the pooled standard deviation of scores within groups."""
    parts = map_pieces(lambda p: squares_within(scores, start[p[0] : p[1] + 1]), pieces(start))
    return float(np.sqrt(sum(squares for squares, _ in parts) / len(scores)))


def probabilities(scores: Floats, start: Ints, sharpness: float) -> Floats:
    """Return exp(sharpness × score), normalised within each group."""
    result = np.empty(len(scores))
    map_pieces(lambda p: _normalise(scores, start, sharpness, result, *p), pieces(start))
    return result


def expected_total(chances: Floats, stats: Stats, start: Ints) -> Floats:
    """Return the sum of the statistics [K] that the groups' distributions expect."""
    parts = map_pieces(lambda p: _weigh(chances, stats, start, *p), pieces(start))
    total: Floats = np.sum(parts, axis=0)
    return total


def linear_gains(stats: Stats, slope: Floats, start: Ints) -> Floats:
    """Return the gain of each candidate's statistics, linear in the metric's slope [K]."""
    gains = np.empty(len(stats))
    map_pieces(lambda p: _linearise(stats, slope, start, gains, *p), pieces(start))
    return gains


def deviations(chances: Floats, values: Floats, start: Ints) -> tuple[Floats, float]:
    """Return P_i (v_i − E[v]) of every candidate, E over its group, and the sum of variances.

    The former is the slope of E[v] by the scores, but for the sharpness.
    """
    result = np.empty(len(values))
    parts = map_pieces(lambda p: _deviate(chances, values, start, result, *p), pieces(start))
    return result, sum(parts)


@kernel
def squares_within(values: Floats, start: Ints) -> tuple[float, float]:
    """Return the sum of squared distances from the groups' means, and the sum of squares.

    From one value of a group on, which lies within √M standard deviations of the mean: no more
    than a few digits cancel, and of a constant all of them.
    """
    return add_squares_within(values, start, 0.0, 0.0)


@kernel
def add_squares_within(
    values: Floats, start: Ints, squares: float, size: float
) -> tuple[float, float]:
    """Add both sums of :func:`squares_within` to what other groups have come to before."""
    for g in range(start.shape[0] - 1):
        group = values[start[g] : start[g + 1]]
        first = group[0]
        away, square, whole = 0.0, 0.0, 0.0
        for i in range(group.shape[0]):
            distance = group[i] - first
            away += distance
            square += distance * distance
            whole += group[i] * group[i]
        squares += max(square - away * away / group.shape[0], 0.0)
        size += whole
    return squares, size


@kernel
def _normalise(
    scores: Floats, start: Ints, sharpness: float, result: Floats, first: int, last: int
) -> None:
    for g in range(first, last):
        group, out = scores[start[g] : start[g + 1]], result[start[g] : start[g + 1]]
        top = group[0]
        for i in range(group.shape[0]):
            top = max(top, group[i])
        total = 0.0
        for i in range(group.shape[0]):
            out[i] = np.exp(sharpness * (group[i] - top))
            total += out[i]
        for i in range(group.shape[0]):
            out[i] /= total


@kernel
def _weigh(chances: Floats, stats: Stats, start: Ints, first: int, last: int) -> Floats:
    total = np.zeros(stats.shape[1])
    for i in range(start[first], start[last]):
        chance, row = chances[i], stats[i]
        for k in range(row.shape[0]):
            total[k] += chance * row[k]
    return total


@kernel
def _linearise(
    stats: Stats, slope: Floats, start: Ints, gains: Floats, first: int, last: int
) -> None:
    for i in range(start[first], start[last]):
        row = stats[i]
        gain = 0.0
        for k in range(row.shape[0]):
            gain += slope[k] * row[k]
        gains[i] = gain


@kernel
def _deviate(
    chances: Floats, values: Floats, start: Ints, result: Floats, first: int, last: int
) -> float:
    total = 0.0
    for g in range(first, last):
        chance, value = chances[start[g] : start[g + 1]], values[start[g] : start[g + 1]]
        out = result[start[g] : start[g + 1]]
        # From the value of the likeliest candidate on, which in a sharp distribution all but is
        # the mean: its distance from it would be rounding alone otherwise.
        likeliest = 0
        for i in range(chance.shape[0]):
            if chance[i] > chance[likeliest]:
                likeliest = i
        origin = value[likeliest]
        mean = 0.0
        for i in range(value.shape[0]):
            mean += chance[i] * (value[i] - origin)
        for i in range(value.shape[0]):
            away = value[i] - origin - mean
            out[i] = chance[i] * away
            total += out[i] * away
    return total


#: A candidate with less of its group's probability does not count.
LIKELY = 1e-5
#: Candidates that count are looked at by themselves if they are at most this share of all.
FEW = 0.25


@dataclass(frozen=True)
class Distribution:
    """Probabilities of the candidates of each group.

    Attributes
    ----------
    features
        Of the N candidates.
    start : int64[S + 1]
        Where groups begin.
    chances : float64[N]
        The probabilities; they add up to 1 in each group.
    """

    features: Features
    start: Ints
    chances: Floats

    @cached_property
    def likely(self) -> Distribution | None:
        """The distribution over likely candidates alone, if these are few.

        Sharp distributions leave a few candidates of each group, and the many products with a
        covariance need not look at all the others.
        """
        rows = np.flatnonzero(self.chances > LIKELY)
        start = np.searchsorted(rows, self.start)
        # In a very large group no candidate may be likely.
        if len(rows) > FEW * len(self.chances) or not np.diff(start).all():
            return None
        chances = self.chances[rows]
        sums = np.add.reduceat(chances, start[:-1])
        return Distribution(
            self.features.of(rows), start, chances / np.repeat(sums, np.diff(start))
        )


def covariance(distributions: Sequence[Distribution], vectors: Floats) -> Floats:
    """Return covariances times vectors [B, D] under distributions over the same candidates.

    The covariance is that within groups, added up over them. All vectors together take two
    passes over the features.
    """
    features = distributions[0].features
    scores = features.dot(vectors)
    for k, distribution in enumerate(distributions):
        scores[k], _ = deviations(distribution.chances, scores[k], distribution.start)
    return features.combine(scores)
