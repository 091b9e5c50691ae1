"""How long candidates and their references are, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.rows import offsets
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.metrics.wer import CER


@dataclass(frozen=True)
class Lengths:
    """Words of all candidates, and of the references that they are compared with.

    Attributes
    ----------
    candidates, references : float64[N]
    """

    candidates: Floats
    references: Floats


def lengths_of(tuning: ScoredCandidates) -> Lengths | None:
    """Return lengths as the metric counts them, otherwise as tokens; None if neither is known.

    Of several references the mean length counts where the metric does not say which. A metric
    of characters is not asked.
    """
    names = tuning.metric.stat_names
    if {"length", "reference_length"} <= set(names) and not _counts_characters(tuning.metric):
        columns = (tuning.stats[:, names.index(n)] for n in ("length", "reference_length"))
        return Lengths(*(np.asarray(column, np.float64) for column in columns))
    candidates = tuning.candidates
    if not candidates.has_texts or candidates.references is None:
        return None
    references = candidates.references
    ends = offsets(references.texts.lengths)
    sums = np.diff(ends[references.group_start])
    means = sums / np.maximum(references.counts, 1)
    sizes = np.diff(candidates.start)
    return Lengths(candidates.texts.lengths.astype(np.float64), np.repeat(means, sizes))


def _counts_characters(metric: Metric) -> bool:
    return isinstance(metric, CER) or getattr(metric, "tokenize", "none") == "char"
