"""What single sentences are worth, for those who look at them one by one."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.sentence_bleu import SentenceBLEU

#: What a scorer of sentences takes over from BLEU.
TEXT_OPTIONS = (
    "order",
    "tokenize",
    "lowercase",
    "reference_length",
    "reference_length_scale",
)


def alone(metric: Metric) -> Metric:
    """Return the metric of a single sentence: the metric itself, or BLEU's stand-in.

    BLEU of a sentence is 0 without a match of four words; BLEU+1 tells sentences apart.
    """
    if not isinstance(metric, BLEU):
        return metric
    return SentenceBLEU(**{option: getattr(metric, option) for option in TEXT_OPTIONS})


def scores_alone(metric: Metric, stats: Stats) -> Floats:
    """Return the score of each sentence, on the customary scale, from its statistics [..., K].

    It may not be finite, as where a reference is empty.
    """
    single = alone(metric)
    if isinstance(single, SentenceBLEU) and single is not metric:
        return single.scale * single.sentence_scores(stats)
    with np.errstate(all="ignore"):
        return np.asarray(single.score(stats), np.float64)
