"""Kernels: passes over lists that step from a fear candidate towards a hope candidate.

Cherry and Foster, "Batch tuning strategies for statistical machine translation" (NAACL 2012),
section 3. A group's hope candidate is that of the greatest w·h + B, its fear candidate that of
the greatest w·h − B, where B is what a candidate is worth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tunesmith.arrays import Floats, Ids, Ints, Number, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.inference.examples import write_difference
from tunesmith.kernels import kernel
from tunesmith.metrics.bleu import Scoring, score_rows

#: The order of BLEU whose root these kernels draw.
ORDER = 4
#: Weights do not step beyond this: rates and features of any size leave them finite.
GREATEST = 1e250


class ListArrays(NamedTuple):
    """Features of lists, as passes read them.

    Attributes
    ----------
    start : int64[S + 1]
        Where groups begin.
    dense : float64[D_dense, N]
        A contiguous row a feature: scores of neighbours are computed side by side.
    sparse_start : int64[N + 1], sparse_features : int32[nnz], sparse_values : float64[nnz]
        The sparse features of each candidate; their indices count on after the dense ones.
    """

    start: Ints
    dense: Floats
    sparse_start: Ints
    sparse_features: Ids
    sparse_values: Floats

    @staticmethod
    def of(candidates: CandidateSet) -> ListArrays:
        """Turn the sparse block round; the dense one stays as it is."""
        features = candidates.features
        rows = csr_array(features.sparse)
        return ListArrays(
            candidates.start,
            features.dense,
            rows.indptr.astype(np.int64),
            (rows.indices + len(features.dense)).astype(np.int32),
            rows.data,
        )


class PassState(NamedTuple):
    """Weights on their way, changed in place.

    Attributes
    ----------
    weights : float64[D]
        As of now.
    late : float64[D]
        The sum of all changes, each times the number of its sentence: what the weights have more
        than their average, times the number of vectors that it is taken of.
    counts : int64[2]
        How many sentences were seen, and how many led to a step.
    """

    weights: Floats
    late: Floats
    counts: Ints

    @staticmethod
    def begin(weights: Floats) -> PassState:
        """Return a copy of weights that has not changed yet."""
        return PassState(weights.copy(), np.zeros(len(weights)), np.zeros(2, np.int64))

    def average(self) -> Floats:
        """Return the mean of the first weights and those after each sentence.

        Daumé's way: the change of the k-th sentence is missing in the k vectors before it. Were
        only vectors counted that have changed, a change that is nothing but a rounding error
        would count.
        """
        mean: Floats = self.weights - self.late / (self.counts[0] + 1.0)
        return mean


class HopeFearDifference(NamedTuple):
    """Room for the features of one candidate minus those of another.

    Attributes
    ----------
    features : int32[n], values : float64[n]
    """

    features: Ids
    values: Floats


class Descent(NamedTuple):
    """Weights on their way down a ramp loss, changed in place.

    Attributes
    ----------
    weights, mean : float64[D]
        As of now, and the mean of those after each sentence.
    origin : float64[D]
        Where a penalty draws.
    rate, back : float
        How far a step goes, and how much of the way back to the origin.
    """

    weights: Floats
    mean: Floats
    origin: Floats
    rate: float
    back: float


@kernel
def fixed_pass(
    order: Ints, lists: ListArrays, values: Floats, c: float, learned: PassState
) -> None:
    """Go over groups in an order; ``values`` [N] are the gains of candidates."""
    start = lists.start
    scores = np.empty(np.max(start[1:] - start[:-1]))
    away = _room(lists)
    for at in range(order.shape[0]):
        first, last = start[order[at]], start[order[at] + 1]
        group_scores = scores[: last - first]
        _score(lists, learned.weights, first, group_scores)
        hope, fear = _hope_fear(group_scores, values[first:last])
        gap = values[first + hope] - values[first + fear]
        _step(lists, first + hope, first + fear, gap, c, learned, away)


@kernel
def document_pass(
    order: Ints,
    begin: int,
    lists: ListArrays,
    stats: Stats,
    length_scale: float,
    decay: float,
    adds_hope: bool,
    document: Floats,
    c: float,
    learned: PassState,
) -> Number:
    """Go over groups; the gain of a candidate is what it adds to BLEU of a document.

    Parameters
    ----------
    order, begin
        Groups in an order, and which to begin with.
    stats : [K, N]
        Statistics of BLEU, one row per statistic.
    length_scale
        What reference lengths are multiplied by.
    decay, document : float64[K]
        ``DocumentScorer``'s; the document is changed.
    adds_hope
        Whether the hope candidate is added to the document, or the one of the best score.

    Returns
    -------
    The number of groups done when the document has less than one match of some order: there
    smoothing begins, which is not done here. Otherwise the number of all groups.
    """
    start = lists.start
    longest = np.max(start[1:] - start[:-1])
    scores, values = np.empty(longest), np.empty(longest)
    away = _room(lists)
    for at in range(begin, order.shape[0]):
        if np.min(document[2 : 2 + ORDER]) < 1.0:
            return at
        first, last = start[order[at]], start[order[at] + 1]
        group_scores, gains = scores[: last - first], values[: last - first]
        _score(lists, learned.weights, first, group_scores)
        _document_values(stats, first, length_scale, document, gains)
        hope, fear = _hope_fear(group_scores, gains)
        chosen = first + (hope if adds_hope else np.argmax(group_scores))
        _step(lists, first + hope, first + fear, gains[hope] - gains[fear], c, learned, away)
        for k in range(document.shape[0]):
            document[k] = decay * (document[k] + stats[k, chosen])
    return order.shape[0]


@kernel
def ramp_pass(
    order: Ints,
    begin: int,
    lists: ListArrays,
    hopes: Ints,
    stats: Stats,
    scoring: Scoring,
    decay: float,
    document: Floats,
    number: int,
    descent: Descent,
) -> Number:
    """Go over groups, away from the fear candidate of the moment, towards a given hope candidate.

    Parameters
    ----------
    order, begin
        Groups in an order, and which to begin with.
    hopes : int64[S]
        The hope candidate of each group.
    stats : [N, K]
        Statistics of BLEU.
    decay, document : float64[K]
        ``DocumentScorer``'s; hope candidates are added to the document.
    number
        How many weight vectors there are in the mean.

    Returns
    -------
    The number of groups done when the document has less than one word: there its length counts
    otherwise. Else the number of all groups.
    """
    start = lists.start
    longest = np.max(start[1:] - start[:-1])
    scores, values = np.empty(longest), np.empty(longest + 1)
    rows = np.empty((longest + 1, stats.shape[1]))
    away = _room(lists)
    for at in range(begin, order.shape[0]):
        if not document[0] >= 1.0:
            return at
        first, last = start[order[at]], start[order[at] + 1]
        size = last - first
        _score(lists, descent.weights, first, scores[:size])
        for i in range(size):
            for k in range(stats.shape[1]):
                rows[i, k] = document[k] + stats[first + i, k]
        rows[size] = document
        score_rows(
            rows[: size + 1],
            scoring.order,
            scoring.smoothing,
            scoring.smoothing_value,
            scoring.length_scale,
            values[: size + 1],
        )
        now = values[size] / 100.0
        fear = 0
        for i in range(size):
            scores[i] -= document[0] * (values[i] / 100.0 - now)
            if scores[i] > scores[fear]:
                fear = i
        hope = hopes[order[at]]
        n = _subtract(lists, hope, first + fear, away)
        descend(away.features[:n], away.values[:n], descent)
        number += 1
        take_in(descent, number)
        for k in range(document.shape[0]):
            document[k] = decay * (document[k] + stats[hope, k])
    return order.shape[0]


@kernel
def descend(features: Ids, values: Floats, descent: Descent) -> None:
    """Step by a difference of hope and fear, and a bit of the way back to the origin."""
    weights, origin, rate, back = descent.weights, descent.origin, descent.rate, descent.back
    for d in range(weights.shape[0]):
        weights[d] -= back * (weights[d] - origin[d])
    for k in range(features.shape[0]):
        moved = weights[features[k]] + rate * values[k]
        if abs(moved) < GREATEST:
            weights[features[k]] = moved


@kernel
def take_in(descent: Descent, number: int) -> None:
    """Add the so-manieth vector to a mean; what never changes keeps its last digit."""
    weights, mean = descent.weights, descent.mean
    for d in range(weights.shape[0]):
        mean[d] += (weights[d] - mean[d]) / number


@kernel
def _room(lists: ListArrays) -> HopeFearDifference:
    """Return room for the difference of any two candidates."""
    start = lists.sparse_start
    most = lists.dense.shape[0] + 2 * np.max(start[1:] - start[:-1])
    return HopeFearDifference(np.empty(most, np.int32), np.empty(most))


@kernel
def _score(lists: ListArrays, weights: Floats, first: int, scores: Floats) -> None:
    """Compute w·h of a group, with the bits of ``Features.dot``."""
    dense, sparse_start = lists.dense, lists.sparse_start
    last = first + scores.shape[0]
    scores[:] = 0.0
    fours = dense.shape[0] - dense.shape[0] % 4
    for d in range(0, fours, 4):
        # One after the other, as of single rows, with a quarter of the traffic to the scores.
        w0, w1, w2, w3 = weights[d], weights[d + 1], weights[d + 2], weights[d + 3]
        r0, r1 = dense[d, first:last], dense[d + 1, first:last]
        r2, r3 = dense[d + 2, first:last], dense[d + 3, first:last]
        for i in range(scores.shape[0]):
            scores[i] = (((scores[i] + w0 * r0[i]) + w1 * r1[i]) + w2 * r2[i]) + w3 * r3[i]
    for d in range(fours, dense.shape[0]):
        w, row = weights[d], dense[d, first:last]
        for i in range(scores.shape[0]):
            scores[i] += w * row[i]
    if sparse_start[first] == sparse_start[last]:
        return
    features, values = lists.sparse_features, lists.sparse_values
    for i in range(scores.shape[0]):
        total = scores[i]
        for k in range(sparse_start[first + i], sparse_start[first + i + 1]):
            total += weights[features[k]] * values[k]
        scores[i] = total


@kernel
def _document_values(
    stats: Stats, first: int, length_scale: float, document: Floats, values: Floats
) -> None:
    """Compute n · (BLEU(b̄ + b) − BLEU(b̄)) of a group: equation 3 of "Hope and fear".

    No order lacks a match. Of matches over n-grams, each multiplied over all orders, the fourth
    root is drawn: a compiler turns this into vector instructions, unlike logarithms.
    """
    last = first + values.shape[0]
    d0, d1 = document[0], document[1]
    d2, d3, d4, d5 = document[2], document[3], document[4], document[5]
    d6, d7, d8, d9 = document[6], document[7], document[8], document[9]
    s0, s1 = stats[0, first:last], stats[1, first:last]
    s2, s3 = stats[2, first:last], stats[3, first:last]
    s4, s5 = stats[4, first:last], stats[5, first:last]
    s6, s7 = stats[6, first:last], stats[7, first:last]
    s8, s9 = stats[8, first:last], stats[9, first:last]
    for i in range(values.shape[0]):
        matches = (d2 + s2[i]) * (d3 + s3[i]) * (d4 + s4[i]) * (d5 + s5[i])
        totals = (d6 + s6[i]) * (d7 + s7[i]) * (d8 + s8[i]) * (d9 + s9[i])
        values[i] = np.sqrt(np.sqrt(matches / totals))
    now = np.sqrt(np.sqrt((d2 * d3 * d4 * d5) / (d6 * d7 * d8 * d9)))
    if d0 < length_scale * d1:
        now *= np.exp(1.0 - length_scale * d1 / d0)
    for i in range(values.shape[0]):
        length, reference = d0 + s0[i], length_scale * (d1 + s1[i])
        bleu = values[i]
        if length < reference:
            bleu *= np.exp(1.0 - reference / length)
        values[i] = d0 * (bleu - now)


@kernel
def _hope_fear(scores: Floats, values: Floats) -> tuple[int, int]:
    """Return where scores plus values are greatest, and where scores minus values are."""
    hope = fear = 0
    most, worst = scores[0] + values[0], scores[0] - values[0]
    for i in range(1, scores.shape[0]):
        if scores[i] + values[i] > most:
            most, hope = scores[i] + values[i], i
        if scores[i] - values[i] > worst:
            worst, fear = scores[i] - values[i], i
    return hope, fear


@kernel
def _step(
    lists: ListArrays,
    hope: int,
    fear: int,
    gap: float,
    c: float,
    learned: PassState,
    away: HopeFearDifference,
) -> None:
    """Step as far as the margin of hope over fear falls short of the gap between their values.

    η = min(C, (B(hope) − B(fear) − w·d) / ‖d‖²), w ← w + η d, where d = h(hope) − h(fear).
    """
    learned.counts[0] += 1
    if not gap > 0.0:
        return
    n = _subtract(lists, hope, fear, away)
    weights, late = learned.weights, learned.late
    features, values = away.features[:n], away.values[:n]
    margin, square = 0.0, 0.0
    for k in range(n):
        margin += weights[features[k]] * values[k]
        square += values[k] * values[k]
    loss = gap - margin
    # Differences beyond all bounds, or without a size, say nothing.
    if not (0.0 < loss < np.inf and 0.0 < square < np.inf):
        return
    learned.counts[1] += 1
    step, number = min(c, loss / square), float(learned.counts[0])
    for k in range(n):
        change = step * values[k]
        weights[features[k]] += change
        late[features[k]] += number * change


@kernel
def _subtract(lists: ListArrays, hope: int, fear: int, away: HopeFearDifference) -> Number:
    """Write the features of one candidate minus those of another; return how many there are."""
    dense, ids, values = lists.dense, lists.sparse_features, lists.sparse_values
    n = dense.shape[0]
    for d in range(n):
        away.features[d] = d
        away.values[d] = dense[d, hope] - dense[d, fear]
    i, last_i = lists.sparse_start[hope], lists.sparse_start[hope + 1]
    j, last_j = lists.sparse_start[fear], lists.sparse_start[fear + 1]
    return n + write_difference(
        *(ids[i:last_i], values[i:last_i], ids[j:last_j], values[j:last_j]),
        *(away.features[n:], away.values[n:]),
    )
