"""What a distribution over the derivations of a forest expects.

Under P(d) ∝ exp(μ w·h(d)), with the sharpness μ: expected counts, and covariances with the
features, of which the gradient of an expected metric is made (equation 11 of Chiang 2012).

Appendix A.4 carries E[h] and E[Bh], vectors of all features, at every node. The same covariance
is Σ_e c_e h(e) over the hyperedges, with c_e = E[uses of e · B] − E[uses of e] E[B], so one number
a hyperedge is enough: from the goal down,

    c_e = share(e) (C(v) + uses(v) (expect_B(e) − expect_B(v))),

where v is what e makes, and C(v) adds up c_e over all uses of v as a tail: how much more the
derivations around v are worth, each as often as it uses v, than all are. Differences of expected
values enter alone, so no digits cancel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.derivations import edge_scores
from tunesmith.inference.forests.inside import check_sum, expected_uses, shares, sharpened
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import sorted_copy
from tunesmith.parallel.engine import current_engine, map_over

#: Hyperedges of one piece of work, about; fixed, so that sums do not depend on the engine.
PIECE = 1 << 15


def sum_over_forests(forests: Forests, work: Callable[..., Floats], *common: Any) -> Floats:
    """Add up what ``work(forests, run, *common)`` finds for runs of forests.

    The runs and the order of the sum are the same for any number of workers. A few results are
    held at a time, however many there are: each may be as long as there are features.
    """
    before = np.cumsum(forests.edges) - forests.edges
    cuts = np.flatnonzero(np.diff(before // PIECE)) + 1
    runs = [slice(a, b) for a, b in itertools.pairwise([0, *cuts.tolist(), forests.groups])]
    at_once = 4 * current_engine().workers
    total: Floats | None = None
    for first in range(0, len(runs), at_once):
        for part in map_over(forests, work, runs[first : first + at_once], *common):
            with np.errstate(over="ignore"):  # reported below
                total = part if total is None else total + part
    if total is None:
        raise TunesmithError("there is no forest; give some")
    if not np.isfinite(total).all():
        raise TunesmithError("features or statistics are too large to be added up; scale them down")
    return total


def expected_counts(forests: Forests, weights: Floats, sharpness: float) -> Floats:
    """Return E[b], what a metric is expected to count, of each forest [S, K]."""
    sharp = sharpened(weights, sharpness)
    return np.concatenate(map_over(forests, _expect_counts, forests.pieces(), sharp))


def _finite_values(forests: Forests, piece: slice, result: tuple[int, Floats]) -> Floats:
    """Return what was found of a run of forests, unless one of them cannot be added up."""
    wrong, values = result
    check_sum(forests, wrong if wrong < 0 else piece.start + wrong)
    return values


def _expect_counts(forests: Forests, piece: slice, weights: Floats) -> Floats:
    block = forests.block(piece.start, piece.stop)
    return _finite_values(forests, piece, _counts_of_block(*block, weights))


def covariance_with_counts(
    forests: Forests, weights: Floats, sharpness: float, slope: Floats
) -> tuple[Floats, float]:
    """Return the sums over forests of Cov(slope·b, h) [D] and of Var(slope·b).

    The former times the sharpness is the gradient of Σ E[slope·b] by the weights (equation 11
    with w/T for w, where the sharpness is 1/T).
    """
    sharp = sharpened(weights, sharpness)
    moments = sum_over_forests(forests, _add_count_moments, sharp, slope)
    return moments[:-1], float(moments[-1])


def _add_count_moments(forests: Forests, piece: slice, weights: Floats, slope: Floats) -> Floats:
    block = forests.block(piece.start, piece.stop)
    return _finite_values(forests, piece, _count_moments(*block, weights, slope))


def covariance_with_features(
    forests: Forests, weights: Floats, sharpness: float, vectors: Floats
) -> Floats:
    """Return the sum over forests of Cov(v·h, h) for each vector v: [B, D] for [B, D]."""
    sharp = sharpened(weights, sharpness)
    return sum_over_forests(forests, _add_feature_moments, sharp, vectors)


def _add_feature_moments(
    forests: Forests, piece: slice, weights: Floats, vectors: Floats
) -> Floats:
    block = forests.block(piece.start, piece.stop)
    return _finite_values(forests, piece, _feature_moments(*block, weights, vectors))


def score_deviation(forests: Forests, weights: Floats) -> float:
    """Return the pooled standard deviation of w·h within forests, all derivations being equal.

    Every forest counts alike: by their derivations, one of them would be all that counts.
    """
    variances = np.concatenate(map_over(forests, _vary, forests.pieces(), weights))
    return float(np.sqrt(variances.mean()))


def _vary(forests: Forests, piece: slice, weights: Floats) -> Floats:
    block = forests.block(piece.start, piece.stop)
    return _finite_values(forests, piece, _score_variances(*block, weights))


@kernel
def expected_gain(
    arrays: ForestArrays, forest: int, scores: Floats, edge_values: Floats
) -> tuple[float, Floats]:
    """Return E[B] and the coefficients c_e: Cov(B, h) is Σ c_e h(e).

    B is the sum of the hyperedges' values; scores have the sharpness in them.
    """
    _, share = shares(arrays, forest, scores)
    mean, _, coefficients = deviations(arrays, forest, share, edge_values)
    return mean, coefficients


@kernel
def combine_edges(
    arrays: ForestArrays, forest: int, coefficients: Floats, width: int
) -> tuple[Ids, Floats]:
    """Return Σ c_e h(e) of a forest: the features that are not 0, ascending, and their values."""
    sums = np.zeros(width)
    seen: Flags = np.zeros(width, np.bool_)
    fired = np.empty(width, np.int32)
    position = 0
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    feature_start, ids, values = arrays.feature_start, arrays.feature_ids, arrays.feature_values
    for e in range(coefficients.shape[0]):
        factor = coefficients[e]
        if factor == 0.0:
            continue
        for k in range(feature_start[edge0 + e], feature_start[edge0 + e + 1]):
            feature = ids[k]
            if not seen[feature]:
                seen[feature] = True
                fired[position] = feature
                position += 1
            sums[feature] += factor * values[k]
    features = sorted_copy(fired[:position])
    features = features[sums[features] != 0.0]
    return features, sums[features]


@kernel
def deviations(
    arrays: ForestArrays, forest: int, share: Floats, edge_values: Floats
) -> tuple[float, float, Floats]:
    """Return E[B] (equations 12 and 13), Var(B), and c_e of each hyperedge.

    What is put in place of two tails is independent, so the variance within a node is the
    mean of the variances of its hyperedges' tails, added up, plus that of their means.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    mean, variance = np.empty(nodes), np.empty(nodes)
    result = np.empty(share.shape[0])
    for n in range(nodes):
        first, last = edge_start[n], edge_start[n + 1]
        likeliest = first - edge0
        within = 0.0
        for e in range(first, last):
            value, varies = edge_values[e - edge0], 0.0
            for k in range(tail_start[e], tail_start[e + 1]):
                value += mean[tails[k]]
                varies += variance[tails[k]]
            result[e - edge0] = value
            within += share[e - edge0] * varies
            if share[e - edge0] > share[likeliest]:
                likeliest = e - edge0
        # From the likeliest on, which in a sharp distribution all but is the mean: its distance
        # from it would be rounding alone otherwise.
        origin = result[likeliest]
        away = 0.0
        for i in range(first - edge0, last - edge0):
            away += share[i] * (result[i] - origin)
        for i in range(first - edge0, last - edge0):
            result[i] = result[i] - origin - away
            within += share[i] * result[i] * result[i]
        mean[n] = origin + away
        variance[n] = within
    goal_mean, goal_variance = mean[nodes - 1], variance[nodes - 1]
    # From the goal down, with the arrays used again: uses(v) and C(v).
    uses, excess = mean, variance
    uses[:], excess[:] = 0.0, 0.0
    uses[nodes - 1] = 1.0
    for n in range(nodes - 1, -1, -1):
        for e in range(edge_start[n], edge_start[n + 1]):
            used = uses[n] * share[e - edge0]
            result[e - edge0] = share[e - edge0] * excess[n] + used * result[e - edge0]
            for k in range(tail_start[e], tail_start[e + 1]):
                uses[tails[k]] += used
                excess[tails[k]] += result[e - edge0]
    return goal_mean, goal_variance, result


@kernel
def edge_gains(arrays: ForestArrays, forest: int, slope: Floats) -> Floats:
    """Return slope·b of each hyperedge of a forest: its part in linear BLEU (A.3), say.

    With the slope of the metric at a document, hope and fear of the linear approximation are the
    best derivations under w·h ± these values.
    """
    nodes = arrays.node_start[forest], arrays.node_start[forest + 1]
    counts = arrays.counts[arrays.edge_start[nodes[0]] : arrays.edge_start[nodes[1]]]
    gains = np.empty(counts.shape[0])
    for e in range(counts.shape[0]):
        row = counts[e]
        gain = 0.0
        for k in range(row.shape[0]):
            gain += slope[k] * row[k]
        gains[e] = gain
    return gains


@kernel
def _add_edges(arrays: ForestArrays, forest: int, coefficients: Floats, total: Floats) -> None:
    """Add Σ c_e h(e) of a forest to a vector [D]."""
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    feature_start, ids, values = arrays.feature_start, arrays.feature_ids, arrays.feature_values
    for e in range(coefficients.shape[0]):
        factor = coefficients[e]
        if factor != 0.0:
            for k in range(feature_start[edge0 + e], feature_start[edge0 + e + 1]):
                total[ids[k]] += factor * values[k]


@kernel
def _counts_of_block(
    arrays: ForestArrays, first: int, last: int, weights: Floats
) -> tuple[int, Floats]:
    """Return E[b] of each forest, and which one cannot be added up; -1 is none."""
    totals = np.zeros((last - first, arrays.counts.shape[1]))
    for s in range(first, last):
        sums, share = shares(arrays, s, edge_scores(arrays, s, weights))
        if not np.isfinite(sums[-1]):
            return s - first, totals
        uses = expected_uses(arrays, s, share)
        edge0 = arrays.edge_start[arrays.node_start[s]]
        counts = arrays.counts[edge0 : edge0 + uses.shape[0]]
        total = totals[s - first]
        for e in range(uses.shape[0]):
            if uses[e] != 0.0:
                row = counts[e]
                for k in range(row.shape[0]):
                    total[k] += uses[e] * row[k]
    return -1, totals


@kernel
def _count_moments(
    arrays: ForestArrays, first: int, last: int, weights: Floats, slope: Floats
) -> tuple[int, Floats]:
    """Return Σ Cov(slope·b, h) with Σ Var(slope·b) after it, and which forest is wrong."""
    moments = np.zeros(weights.shape[0] + 1)
    for s in range(first, last):
        sums, share = shares(arrays, s, edge_scores(arrays, s, weights))
        if not np.isfinite(sums[-1]):
            return s - first, moments
        _, variance, coefficients = deviations(arrays, s, share, edge_gains(arrays, s, slope))
        _add_edges(arrays, s, coefficients, moments)
        moments[-1] += variance
    return -1, moments


@kernel
def _feature_moments(
    arrays: ForestArrays, first: int, last: int, weights: Floats, vectors: Floats
) -> tuple[int, Floats]:
    """Return Σ Cov(v·h, h) for each vector, and which forest is wrong; -1 is none."""
    moments = np.zeros(vectors.shape)
    for s in range(first, last):
        sums, share = shares(arrays, s, edge_scores(arrays, s, weights))
        if not np.isfinite(sums[-1]):
            return s - first, moments
        for b in range(vectors.shape[0]):
            values = edge_scores(arrays, s, vectors[b])
            _, _, coefficients = deviations(arrays, s, share, values)
            _add_edges(arrays, s, coefficients, moments[b])
    return -1, moments


@kernel
def _score_variances(
    arrays: ForestArrays, first: int, last: int, weights: Floats
) -> tuple[int, Floats]:
    """Return Var(w·h) of each forest over its derivations, and which forest is wrong."""
    variances = np.empty(last - first)
    for s in range(first, last):
        scores = edge_scores(arrays, s, weights)
        sums, share = shares(arrays, s, np.zeros(scores.shape[0]))
        _, variances[s - first], _ = deviations(arrays, s, share, scores)
        if not (np.isfinite(sums[-1]) and np.isfinite(variances[s - first])):
            return s - first, variances
    return -1, variances
