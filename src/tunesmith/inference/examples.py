"""What a tuner asks of one sentence at a time, whatever form its candidates have.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
sections 3 and 4. On lists a derivation is a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tunesmith.arrays import Floats, Ids, Stats
from tunesmith.kernels import kernel
from tunesmith.metrics.candidate_scorer import CandidateScorer


@dataclass(frozen=True)
class Derivation:
    """One way to translate a sentence: a candidate.

    Attributes
    ----------
    features : int32[n]
        Indices of the features that it has, ascending.
    values : float64[n]
        Their values.
    stats : [K]
        Statistics of the metric.
    gain
        Its metric score within the example, more is better: B of the paper.
    key
        What tells it from the others of its example.
    """

    features: Ids = field(repr=False)
    values: Floats = field(repr=False)
    stats: Stats = field(repr=False)
    gain: float
    key: int

    def score(self, weights: Floats) -> float:
        """Return w·h."""
        return float(sparse_score(self.features, self.values, weights))


@dataclass(frozen=True)
class Risk:
    """What the distribution exp(w·h / T) over the derivations of an example expects.

    Attributes
    ----------
    gain
        E[B].
    features : int32[n], slope : float64[n]
        Its derivative by the weights, (E[B h] − E[B] E[h]) / T (equation 11).
    """

    gain: float
    features: Ids = field(repr=False)
    slope: Floats = field(repr=False)


class Example(Protocol):
    """One sentence, with the gains of its derivations under the current scorer."""

    def best(self, weights: Floats) -> Derivation:
        """Return the derivation with the highest w·h: the 1-best."""
        ...

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return the derivation with the highest w·h + factor · B.

        It is the fear derivation for −1, and the hope derivation for −μ (equation 9).
        """
        ...

    def oracle(self, weights: Floats, among: int | None = None) -> Derivation:
        """Return the derivation with the highest gain, of the ``among`` with the highest w·h.

        Among equals the one with the highest w·h. Max-BLEU and local updating (section 4).
        """
        ...

    def reference(self, weights: Floats) -> Derivation | None:
        """Return the best derivation of a reference translation, if there is one."""
        ...

    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected gain at a temperature, and its derivative."""
        ...


class Examples(Protocol):
    """All sentences of a set."""

    names: tuple[str, ...]
    groups: int

    def example(self, group: int, scorer: CandidateScorer) -> Example:
        """Return one sentence, valued as of now."""
        ...


def expected_of(scores: Floats, values: Floats, temperature: float) -> tuple[float, Floats]:
    """Return E[B] over some candidates, and what their features count in its derivative.

    Parameters
    ----------
    scores, values : float64[n]
        w·h and B of each.
    temperature
        T of the distribution exp(w·h / T).

    Returns
    -------
    E[B], and coefficients [n]: the derivative is the sum of the features times these.
    """
    with np.errstate(over="ignore"):  # what is far behind has no chance
        chances = np.exp((scores - scores.max()) / temperature)
    chances /= chances.sum()
    # From the likeliest value on: of sharp distributions no digit is lost.
    origin = float(values[np.argmax(chances)])
    away = values - origin
    mean = float((chances * away).sum())
    return origin + mean, chances * (away - mean) / temperature


@kernel
def sparse_score(features: Ids, values: Floats, weights: Floats) -> float:
    """Return the sum of values times the weights of their features."""
    total = 0.0
    for k in range(features.shape[0]):
        total += values[k] * weights[features[k]]
    return total


@kernel
def difference(
    features: Ids, values: Floats, other_features: Ids, other_values: Floats
) -> tuple[Ids, Floats]:
    """Subtract a sparse vector from another; entries that are 0 are left out."""
    room = features.shape[0] + other_features.shape[0]
    fired, entries = np.empty(room, np.int32), np.empty(room)
    count = write_difference(features, values, other_features, other_values, fired, entries)
    return fired[:count], entries[:count]


@kernel
def write_difference(
    features: Ids,
    values: Floats,
    other_features: Ids,
    other_values: Floats,
    fired: Ids,
    entries: Floats,
) -> int:
    """Write a difference of sparse vectors, features ascending; return how long it is."""
    i = j = count = 0
    size, other_size = features.shape[0], other_features.shape[0]
    while i < size or j < other_size:
        if j == other_size or (i < size and features[i] < other_features[j]):
            feature, entry = features[i], values[i]
            i += 1
        elif i == size or other_features[j] < features[i]:
            feature, entry = other_features[j], -other_values[j]
            j += 1
        else:
            feature, entry = features[i], values[i] - other_values[j]
            i += 1
            j += 1
        if entry != 0.0:
            fired[count] = feature
            entries[count] = entry
            count += 1
    return count
