"""Scores of single sentences, for reports and comparisons that list them one by one."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.sentence_bleu import SentenceBLEU

#: Options that sentence BLEU takes from BLEU.
TEXT_OPTIONS = (
    "order",
    "tokenize",
    "lowercase",
    "reference_length",
    "reference_length_scale",
)


def sentence_level(metric: Metric) -> Metric:
    """Return a metric for single sentences: BLEU+1 for BLEU, any other metric itself.

    BLEU of a sentence is 0 without a matching 4-gram; BLEU+1 tells sentences apart.
    """
    if not isinstance(metric, BLEU):
        return metric
    return SentenceBLEU(**{option: getattr(metric, option) for option in TEXT_OPTIONS})


def scores_by_sentence(metric: Metric, stats: Stats) -> Floats:
    """Return the score of each sentence, on the customary scale, from its statistics [..., K].

    Scores need not be finite: a reference may be empty.
    """
    single = sentence_level(metric)
    if isinstance(single, SentenceBLEU) and single is not metric:
        return single.scale * single.sentence_scores(stats)
    with np.errstate(all="ignore"):
        return np.asarray(single.score(stats), np.float64)
