"""Reordering candidates by their model scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.inference.lists import best


def rerank(
    candidates: CandidateSet, weights: Mapping[str, float], strict: bool = False
) -> list[str]:
    """Return the text that wins in each group.

    Parameters
    ----------
    candidates
        What to choose from.
    weights
        Weights by name.
    strict
        Make it an error if the names of weights and features differ.
    """
    values = Weights.from_dict(weights).matched(candidates.features.names, strict)
    return [candidates.text(i) for i in best(candidates, values)]


def ranking(candidates: CandidateSet, values: Floats) -> tuple[Ints, Floats]:
    """Return all candidates, the best of each group first, and the scores as they stood.

    Equal scores stay in the order read, so that the first of a group is its winner.
    """
    scores = candidates.features.dot(values)
    group = np.repeat(np.arange(candidates.groups), np.diff(candidates.start))
    return np.lexsort((-scores, group)), scores
