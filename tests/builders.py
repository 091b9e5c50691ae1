"""Small candidate sets for tests, from plain Python values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_array

from tunesmith.data.candidates import CandidateSet, References, pack_texts
from tunesmith.data.features import Features
from tunesmith.metrics.base import Metric
from tunesmith.metrics.tuning import TuningSet


class Mean(Metric):
    """The mean of one number per candidate; its statistics are (value, 1)."""

    name = "mean"
    is_sum = True
    needs_references = False
    scale = 1.0

    @property
    def stat_names(self):
        return ("value", "count")

    def stats(self, hypothesis, references):
        return np.array([float(hypothesis), 1.0])

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def signature(self):
        return "mean"


class Loss(Mean):
    """The same number, less of it being better."""

    name = "loss"
    higher_is_better = False


def candidate_set(
    groups: Sequence[Sequence[Sequence[float]]],
    sparse_columns: Sequence[int] = (),
    texts: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
) -> CandidateSet:
    """Make a set from feature vectors; some columns are kept sparse."""
    rows = np.array([vector for group in groups for vector in group], float)
    n, width = rows.shape
    dense = [d for d in range(width) if d not in set(sparse_columns)]
    features = Features(
        tuple(f"f{d}" for d in dense),
        np.ascontiguousarray(rows[:, dense].T),
        tuple(f"f{d}" for d in sparse_columns),
        csc_array(rows[:, list(sparse_columns)]),
    )
    words: dict[str, int] = {}

    def ids(text: str):
        return np.array([words.setdefault(w, len(words)) for w in text.split()], np.int32)

    held = [ids(text) for text in (texts if texts is not None else [""] * n)]
    if references is None:
        refs = None
    else:
        counts = np.concatenate([[0], np.cumsum([len(r) for r in references])]).astype(np.int64)
        refs = References(counts, pack_texts([ids(t) for r in references for t in r]))
    start = np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int64)
    return CandidateSet(
        tuple(range(len(groups))), start, features, pack_texts(held), tuple(words), refs
    )


def tuning_set(
    groups: Sequence[Sequence[Sequence[float]]],
    values: Sequence[Sequence[float]],
    sparse_columns: Sequence[int] = (),
    metric: Metric | None = None,
) -> TuningSet:
    """Make a set whose metric is the mean of one number per candidate."""
    flat = [value for group in values for value in group]
    stats = np.array([[value, 1] for value in flat])
    return TuningSet(candidate_set(groups, sparse_columns), metric or Mean(), stats)


def best_by_hand(vectors, weights) -> int:
    """Return the winner of one group: the highest score, the first among equals."""
    scores = [sum(w * h for w, h in zip(weights, v, strict=True)) for v in vectors]
    return scores.index(max(scores))
