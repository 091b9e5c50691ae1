"""Parts of tuning sets, and what weights reach on them, for tests of exact searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csc_array

from tunesmith.data.candidates import Texts
from tunesmith.data.features import Features
from tunesmith.data.weights import Weights
from tunesmith.inference.lists import best
from tunesmith.metrics.tuning import TuningSet


def part_of(tuning: TuningSet, groups: Sequence[int] | np.ndarray) -> TuningSet:
    """Return the tuning set of some groups; all features must be dense."""
    lists = tuning.candidates
    rows = np.concatenate([np.arange(lists.start[g], lists.start[g + 1]) for g in groups])
    names, dense = lists.features.dense_names, lists.features.dense[:, rows]
    none = csc_array((len(rows), 0))
    candidates = replace(
        lists,
        ids=tuple(lists.ids[g] for g in groups),
        start=np.cumsum([0, *np.diff(lists.start)[groups]]),
        features=Features(names, np.ascontiguousarray(dense), (), none),
        texts=Texts(np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int32)),
        references=None,
        columns={name: values[rows] for name, values in lists.columns.items()},
        sources=None,
    )
    return TuningSet(candidates, tuning.metric, tuning.stats[rows])


def sign_of(tuning: TuningSet) -> float:
    """Return 1 where more is better, -1 for error rates and costs."""
    return 1.0 if tuning.metric.higher_is_better else -1.0


def reached(tuning: TuningSet, weights: Mapping[str, float]) -> float:
    """Return the score of the winners under weights."""
    values = Weights.from_dict(weights).aligned(tuning.candidates.features.names)
    return tuning.score(best(tuning.candidates, values))
