"""What weights reach on tuning sets, for tests of exact searches."""

from __future__ import annotations

from collections.abc import Mapping

from tunesmith.data.weights import Weights
from tunesmith.inference.lists.hypotheses import best
from tunesmith.tasks.lists import TuningSet


def sign_of(tuning: TuningSet) -> float:
    """Return 1 where more is better, -1 for error rates and costs."""
    return 1.0 if tuning.metric.higher_is_better else -1.0


def reached(tuning: TuningSet, weights: Mapping[str, float]) -> float:
    """Return the score of the winners under weights."""
    values = Weights.from_dict(weights).aligned(tuning.candidates.features.names)
    return tuning.score(best(tuning.candidates, values))
