"""Scores of sums of statistics, with the operations of sacrebleu in their order.

A test compares scores of shuffled data with a score that was measured. Where few sentences
differ, many of them are the same number, and a last digit decides whether they count. So BLEU,
chrF and TER are computed here as sacrebleu's significance tests compute them: in double precision
from whole sums, and in single precision from resamples. Other metrics score themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Flags, Stats
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.chrf.metric import CHRF, CHRFPlusPlus
from tunesmith.metrics.ter.metric import TER

#: What stands for the logarithm of 0.
LOG_OF_0 = -9999999999
#: What stands for a precision or a recall that is not defined.
EPSILON = 1e-16

#: Scores in single or double precision.
Scores = NDArray[Any]


def is_known(metric: Metric) -> bool:
    """Tell whether sacrebleu has the metric, with these options."""
    if type(metric) is BLEU:
        return metric.reference_length == "closest" and metric.reference_length_scale == 1.0
    return type(metric) in (CHRF, CHRFPlusPlus, TER)


def resampled_type(metric: Metric) -> type:
    """Return the type in which statistics of resamples are added up."""
    return np.float32 if is_known(metric) else np.float64


def scores_of(metric: Metric, sums: Stats) -> Scores:
    """Score sums of statistics [N, K], in their own precision where sacrebleu would."""
    if not is_known(metric):
        return np.asarray(metric.score(sums), np.float64)
    if sums.dtype.kind != "f":
        sums = sums.astype(np.float64)
    if isinstance(metric, BLEU):
        return _bleu(metric, sums)
    if isinstance(metric, CHRF):
        return _chrf(metric, sums)
    return _ter(sums)


def _bleu(metric: BLEU, sums: Stats) -> Scores:
    """Compute sacrebleu's ``compute_bleu``; logarithms are those of Python, as there."""
    order, scoring = metric.order, metric.scoring
    precisions = np.zeros((len(sums), order), sums.dtype)
    is_left = np.ones(len(sums), bool)  # without n-grams of an order the higher ones are 0
    halved = np.ones(len(sums))
    for n in range(order):
        match, total = sums[:, 2 + n], sums[:, 2 + order + n]
        if metric.smoothing == "add-k" and n > 0:
            value = sums.dtype.type(scoring.smoothing_value)
            match, total = match + value, total + value
        is_left &= total != 0
        below = np.where(total == 0, 1, total).astype(sums.dtype)
        precision = 100 * match / below
        if metric.smoothing in ("exp", "floor"):
            lacks = is_left & (match == 0)
            halved[lacks] *= 2
            if metric.smoothing == "exp":
                stand_in = 100 / (halved.astype(sums.dtype) * below)
            else:
                stand_in = sums.dtype.type(100.0 * scoring.smoothing_value) / below
            precision = np.where(lacks, stand_in, precision)
        precisions[:, n] = np.where(is_left, precision, 0)
    any_match = (sums[:, 2 : 2 + order] != 0).any(axis=1)
    rows = zip(
        precisions.tolist(), sums[:, 0].tolist(), sums[:, 1].tolist(), any_match, strict=True
    )
    return np.array([_geometric(*row) for row in rows])


def _geometric(precisions: list[float], length: float, reference: float, matches: bool) -> float:
    """Return the geometric mean of precisions times the brevity penalty.

    Python's own ``sum``, whose rounding depends on Python's version, is sacrebleu's too.
    """
    if not matches:
        return 0.0
    penalty = 1.0
    if length < reference:
        penalty = math.exp(1 - reference / length) if length > 0 else 0.0
    logarithms = [LOG_OF_0 if p == 0.0 else math.log(p) for p in precisions]
    return penalty * math.exp(sum(logarithms) / len(precisions))


def _chrf(metric: CHRF, sums: Stats) -> Scores:
    """Compute sacrebleu's ``_compute_f_score``, in the precision of the sums."""
    factor = float(metric.beta) ** 2
    if metric.eps_smoothing:
        return _smoothed_chrf(factor, sums)
    zero = np.zeros(len(sums), sums.dtype)
    precisions, recalls, effective = zero, zero, zero
    for first in range(0, sums.shape[1], 3):
        hypothesis, reference, match = (sums[:, first + k] for k in range(3))
        counts = (hypothesis > 0) & (reference > 0)
        precisions = precisions + np.where(counts, _ratio(match, hypothesis), zero)
        recalls = recalls + np.where(counts, _ratio(match, reference), zero)
        effective = effective + counts.astype(sums.dtype)
    orders = np.maximum(effective, 1)
    precisions, recalls = precisions / orders, recalls / orders
    is_there = precisions + recalls != 0
    above = (1 + factor) * precisions * recalls
    below = np.where(is_there, factor * precisions + recalls, 1)
    return _as_listed(np.where(is_there, 100 * (above / below), zero), is_there)


def _smoothed_chrf(factor: float, sums: Stats) -> Scores:
    """Compute the mean of the F-scores of all orders.

    A sum is one of Python's numbers, of double precision, until something that is computed from
    the sums is added to it.
    """
    kind, orders = sums.dtype, sums.shape[1] // 3
    total, is_computed = np.zeros(len(sums)), np.zeros(len(sums), bool)
    undefined = (1 + factor) * EPSILON * EPSILON / (factor * EPSILON + EPSILON)
    for first in range(0, sums.shape[1], 3):
        hypothesis, reference, match = (sums[:, first + k] for k in range(3))
        precision, recall = _ratio(match, hypothesis), _ratio(match, reference)
        below = factor * precision + recall
        has_some = (hypothesis > 0) | (reference > 0)
        is_own = has_some & (below > 0)
        order_score = (1 + factor) * precision * recall / np.where(is_own, below, 1)
        stand_in = np.where(has_some, EPSILON, undefined)
        is_computed |= is_own
        rounded = total.astype(kind) + np.where(is_own, order_score, stand_in.astype(kind))
        total = np.where(is_computed, rounded, total + stand_in)
    single: Scores = 100 * total.astype(kind) / orders
    return single if is_computed.all() else np.where(is_computed, single, 100 * total / orders)


def _ratio(above: Stats, below: Stats) -> Scores:
    is_there = below > 0
    ratio = above / np.where(is_there, below, 1).astype(below.dtype)
    result: Scores = np.where(is_there, ratio, below.dtype.type(EPSILON))
    return result


def _ter(sums: Stats) -> Scores:
    """Compute sacrebleu's TER, in the precision of the sums."""
    edits, length = sums[:, 0], sums[:, 1]
    is_there = length > 0
    rate = edits / np.where(is_there, length, 1).astype(sums.dtype)
    return _as_listed(100 * np.where(is_there, rate, (edits > 0).astype(sums.dtype)), is_there)


def _as_listed(scores: Scores, is_computed: Flags) -> Scores:
    """Return scores in the precision that sacrebleu's list of them has.

    Where one is not computed from the sums, it is a number of Python's, of double precision.
    """
    if is_computed.all():
        return scores
    doubles: Scores = scores.astype(np.float64)
    return doubles
