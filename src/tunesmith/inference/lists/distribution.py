"""A distribution over the candidates of lists, and the features' covariance under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.features import Features
from tunesmith.inference.lists.expectation import deviations

#: A candidate with less of its group's probability does not count.
LIKELY = 1e-5
#: Candidates that count are looked at by themselves if they are at most this share of all.
FEW = 0.25


@dataclass(frozen=True)
class Distribution:
    """Probabilities of the candidates of each group.

    Attributes
    ----------
    features
        Of the N candidates.
    start : int64[S + 1]
        Where groups begin.
    chances : float64[N]
        The probabilities; they add up to 1 in each group.
    """

    features: Features
    start: Ints
    chances: Floats

    @cached_property
    def likely(self) -> Distribution | None:
        """The distribution over likely candidates alone, if these are few.

        Sharp distributions leave a few candidates of each group, and the many products with a
        covariance need not look at all the others.
        """
        rows = np.flatnonzero(self.chances > LIKELY)
        start = np.searchsorted(rows, self.start)
        # In a very large group no candidate may be likely.
        if len(rows) > FEW * len(self.chances) or not np.diff(start).all():
            return None
        chances = self.chances[rows]
        sums = np.add.reduceat(chances, start[:-1])
        return Distribution(
            self.features.of(rows), start, chances / np.repeat(sums, np.diff(start))
        )


def covariance(distributions: Sequence[Distribution], vectors: Floats) -> Floats:
    """Return covariances times vectors [B, D] under distributions over the same candidates.

    The covariance is that within groups, added up over them. All vectors together take two
    passes over the features.
    """
    features = distributions[0].features
    scores = features.dot(vectors)
    for k, distribution in enumerate(distributions):
        scores[k], _ = deviations(distribution.chances, scores[k], distribution.start)
    return features.combine(scores)
