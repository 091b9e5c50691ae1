"""Error rates: errors per unit of the references, and their slope."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.metrics.base import NOTHING, ratio_slope


def error_rate(stats: Stats) -> Floats:
    """Return the errors per unit of summed statistics [..., K]: errors, length, others.

    Without a unit to compare with, one error or more is everything wrong.
    """
    errors, length = np.asarray(stats[..., 0], float), np.asarray(stats[..., 1], float)
    rate = np.array(np.minimum(errors, 1.0))
    np.divide(errors, length, out=rate, where=length > NOTHING)
    return rate


def error_rate_slope(stats: Stats) -> Floats:
    """Return the derivative of the gain, which is minus the rate."""
    slope = -ratio_slope(stats, 0, 1)
    alone = (stats[..., 1] <= NOTHING) & (stats[..., 0] < 1)
    slope[..., 0] = np.where(alone, -1.0, slope[..., 0])
    return slope
