"""The F-score of chrF from its statistics, and its slope.

Statistics are, for each order, n-grams of the hypothesis, of the reference, and matches.
Expected ones need not be whole: an order of which less than one n-gram is expected, in the
hypothesis or in the reference, counts by that much, so that nothing jumps where an order just
becomes possible.
"""

from __future__ import annotations

from tunesmith.arrays import Floats, Stats
from tunesmith.kernels import kernel

#: Fewer n-grams than this count as none in a slope, which stays finite.
NONE_AT_ALL = 1e-100


@kernel
def f_scores(rows: Stats, factor: float, smooth: bool, out: Floats) -> None:
    """Compute the F-score of each row with sacrebleu's operations in their order."""
    orders = rows.shape[1] // 3
    for r in range(rows.shape[0]):
        row = rows[r]
        score, precisions, recalls = 0.0, 0.0, 0.0
        effective = 0.0
        for k in range(orders):
            hypothesis, reference = float(row[3 * k]), float(row[3 * k + 1])
            match = float(row[3 * k + 2])
            precision = match / hypothesis if hypothesis > 0 else 1e-16
            recall = match / reference if reference > 0 else 1e-16
            below = factor * precision + recall
            order_score = (1 + factor) * precision * recall / below if below > 0 else 1e-16
            if hypothesis >= 1 and reference >= 1:
                precisions += precision
                recalls += recall
                effective += 1.0
            elif hypothesis > 0 and reference > 0:
                share = min(hypothesis, reference, 1.0)
                precisions += share * precision
                recalls += share * recall
                effective += share
                order_score *= share
            score += order_score
        if smooth:
            out[r] = 100 * score / orders
        elif precisions + recalls > 0:
            precisions /= effective
            recalls /= effective
            score = (1 + factor) * precisions * recalls
            out[r] = 100 * (score / (factor * precisions + recalls))
        else:
            out[r] = 0.0


@kernel
def f_slopes(rows: Stats, factor: float, smooth: bool, out: Floats) -> None:
    """Compute the derivative of the F-score in [0, 1] by each statistic; ``out`` is 0.

    With F = (1 + β²) P R / (β² P + R) it is (1 + β²) (R / (β² P + R))² by P, and
    (1 + β²) β² (P / (β² P + R))² by R.
    """
    orders = rows.shape[1] // 3
    for r in range(rows.shape[0]):
        row, slope = rows[r], out[r]
        precisions, recalls, effective = 0.0, 0.0, 0.0
        for k in range(orders):
            hypothesis, reference = float(row[3 * k]), float(row[3 * k + 1])
            match = float(row[3 * k + 2])
            share = min(hypothesis, reference, 1.0)
            if share <= NONE_AT_ALL:
                continue
            if smooth:  # the order's own F-score is (1 + β²) m / (β² r + h)
                by_hypothesis = (1 + factor) / (factor * reference + hypothesis) / orders
                by_length = -share * by_hypothesis * match / (factor * reference + hypothesis)
                slope[3 * k], slope[3 * k + 1] = by_length, factor * by_length
                slope[3 * k + 2] = share * by_hypothesis
                if share < 1:
                    slope[3 * k if hypothesis < reference else 3 * k + 1] += by_hypothesis * match
            precisions += share * match / hypothesis
            recalls += share * match / reference
            effective += share
        if smooth or precisions + recalls <= 0:
            continue
        precisions /= effective
        recalls /= effective
        below = factor * precisions + recalls
        by_precision = (1 + factor) * (recalls / below) ** 2
        by_recall = (1 + factor) * factor * (precisions / below) ** 2
        for k in range(orders):
            hypothesis, reference = float(row[3 * k]), float(row[3 * k + 1])
            share = min(hypothesis, reference, 1.0)
            if share <= NONE_AT_ALL:
                continue
            precision, recall = row[3 * k + 2] / hypothesis, row[3 * k + 2] / reference
            weight = share / effective
            by_hypothesis, other = (
                weight * by_precision / hypothesis,
                weight * by_recall / reference,
            )
            slope[3 * k], slope[3 * k + 1] = -by_hypothesis * precision, -other * recall
            slope[3 * k + 2] = by_hypothesis + other
            if share < 1:
                fewer = 3 * k if hypothesis < reference else 3 * k + 1
                more = by_precision * (precision - precisions) + by_recall * (recall - recalls)
                slope[fewer] += more / effective
