"""Which metrics the device scores itself, as numbers that kernels take."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.lists.device import intervals
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.column import Column, Cost
from tunesmith.metrics.sentence_bleu import SentenceBLEU
from tunesmith.metrics.ter.metric import TER
from tunesmith.metrics.wer import CER, WER


def formula_of(metric: Metric) -> Floats | None:
    """Return the formula of a metric; None for one that the processor scores.

    Classes are compared, not instances of subclasses: a plug-in that derives from a metric may
    score in another way.
    """
    numbers = np.zeros(6)
    kind = type(metric)
    if isinstance(metric, BLEU) and kind is BLEU:
        order, smoothing, value, scale = metric.scoring
        numbers[:5] = intervals.BLEU, order, smoothing, value, scale
    elif kind in (TER, WER, CER):
        numbers[0] = intervals.RATE
    elif kind in (Column, SentenceBLEU):
        numbers[:2] = intervals.MEAN, 1.0
    elif kind is Cost:
        numbers[:2] = intervals.MEAN, -1.0
    return numbers if numbers[0] != intervals.NO_FORMULA else None
