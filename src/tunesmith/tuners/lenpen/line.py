"""The best exponent for fixed weights, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.inference.lists.exponents import envelope_of_exponents
from tunesmith.search.line.search import NARROW, totals_along
from tunesmith.tuners.lenpen.normalised import NormalisedLists


@dataclass(frozen=True)
class ExponentSteps:
    """The metric as a function of the exponent.

    Attributes
    ----------
    edges : float64[T]
        Where winners change, within the range.
    gains : float64[T + 1]
        The gain between them.
    low, high
        The range.
    """

    edges: Floats
    gains: Floats
    low: float
    high: float

    def best(self) -> tuple[float, float, float, float]:
        """Return the best interval, of equal ones the widest: gain, exponent, low, high.

        The exponent is as short a decimal number as there is well inside of it.
        """
        ends = np.concatenate([[self.low], self.edges, [self.high]])
        widths = np.diff(ends)
        counts = widths > NARROW * np.maximum(1.0, np.abs(ends[1:]))
        gains = np.where(counts, self.gains, -np.inf)
        top = gains.max()
        k = int(np.argmax(np.where(gains == top, widths, -np.inf)))
        low, high = float(ends[k]), float(ends[k + 1])
        return float(top), short_number(low, high), low, high


def along_exponent(lists: NormalisedLists, weights: Weights) -> ExponentSteps:
    """Return the metric along the exponent, for fixed weights."""
    tuning, lenpen = lists.lists, lists.lenpen
    span = lenpen.low, lenpen.high
    start, stats = tuning.candidates.start, tuning.stats
    envelope = envelope_of_exponents(*lists.parts(weights), lists.lengths, start, stats, span)
    edges, totals = totals_along(envelope)
    gains = np.asarray(tuning.metric.gain(totals), np.float64)
    return ExponentSteps(edges, gains, *span)


def short_number(low: float, high: float) -> float:
    """Return a number with few digits from the middle half of an interval."""
    middle, quarter = 0.5 * (low + high), 0.25 * (high - low)
    for digits in range(max(0, -math.ceil(math.log10(quarter)) - 1) if quarter > 0 else 17, 17):
        rounded = round(middle, digits)
        if abs(rounded - middle) <= quarter:
            return rounded + 0.0
    return middle
