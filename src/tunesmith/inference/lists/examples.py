"""Sentences of n-best lists, one at a time."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError
from tunesmith.inference.examples import Derivation, Risk, expected_of
from tunesmith.kernels import kernel
from tunesmith.metrics.candidate_scorer import CandidateScorer
from tunesmith.metrics.scored import ScoredCandidates


class ListExamples:
    """The candidates of each group, with the features of one candidate side by side.

    Attributes
    ----------
    start : int64[S + 1]
        Where groups begin.
    dense : float64[N, D_dense]
        A contiguous row a candidate.
    sparse_start : int64[N + 1], sparse_features : int32[nnz], sparse_values : float64[nnz]
        The sparse features of each candidate; their indices count on after the dense ones.
    """

    def __init__(self, tuning: ScoredCandidates) -> None:
        features = tuning.candidates.features
        self.tuning = tuning
        self.names = features.names
        self.start = tuning.candidates.start
        self.groups = len(self.start) - 1
        self.dense: Floats = np.ascontiguousarray(features.dense.T)
        rows = csr_array(features.sparse)
        split = self.dense.shape[1]
        self.sparse_start: Ints = rows.indptr.astype(np.int64)
        self.sparse_features: Ids = (rows.indices + split).astype(np.int32)
        self.sparse_values: Floats = rows.data
        self._dense_features = np.arange(split, dtype=np.int32)

    def example(self, group: int, scorer: CandidateScorer) -> ListExample:
        """Return a group, valued as of now."""
        return ListExample(self, group, scorer)

    def scores(self, weights: Floats, first: int, last: int) -> Floats:
        """Return w·h of the candidates ``first`` to ``last - 1``, with ``Features.dot``'s bits."""
        scores = np.empty(last - first)
        score_rows(
            self.dense,
            self.sparse_start,
            self.sparse_features,
            self.sparse_values,
            weights,
            first,
            scores,
        )
        return scores

    def vector(self, row: int) -> tuple[Ids, Floats]:
        """Return the features of a candidate, ascending, and their values."""
        lo, hi = self.sparse_start[row], self.sparse_start[row + 1]
        if lo == hi:
            return self._dense_features, self.dense[row]
        return (
            np.concatenate([self._dense_features, self.sparse_features[lo:hi]]),
            np.concatenate([self.dense[row], self.sparse_values[lo:hi]]),
        )

    def combination(self, coefficients: Floats, first: int) -> tuple[Ids, Floats]:
        """Return the sum of some candidates' feature vectors, each times its coefficient."""
        last = first + len(coefficients)
        dense = _dense_sum(self.dense, coefficients, first)
        lo, hi = self.sparse_start[first], self.sparse_start[last]
        if lo == hi:
            return self._dense_features, dense
        counts = np.diff(self.sparse_start[first : last + 1])
        products = self.sparse_values[lo:hi] * np.repeat(coefficients, counts)
        features, place = np.unique(self.sparse_features[lo:hi], return_inverse=True)
        sums = np.bincount(place, products, minlength=len(features))
        return np.concatenate([self._dense_features, features]), np.concatenate([dense, sums])

    @cached_property
    def is_reference(self) -> Flags:
        """Whether a candidate's text equals a reference [N]."""
        candidates = self.tuning.candidates
        if candidates.references is None or not candidates.has_texts:
            raise TunesmithError(
                "which candidates are references is not known without texts and references; give "
                "--references, or use another --reference than bold"
            )
        return _equal_texts(candidates)


class ListExample:
    """One group."""

    def __init__(self, examples: ListExamples, group: int, scorer: CandidateScorer) -> None:
        self._examples = examples
        self.first, self.last = (int(row) for row in examples.start[group : group + 2])
        self._stats = scorer.stats
        self.values = scorer.values(self.first, self.last)

    def _scores(self, weights: Floats) -> Floats:
        return self._examples.scores(weights, self.first, self.last)

    def _derivation(self, place: int) -> Derivation:
        row = self.first + place
        vector = self._examples.vector(row)
        return Derivation(*vector, self._stats[row], float(self.values[place]), place)

    def best(self, weights: Floats) -> Derivation:
        """Return the candidate with the highest score, the first among equals."""
        return self._derivation(int(np.argmax(self._scores(weights))))

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return the candidate with the highest score plus ``factor`` times its gain."""
        return self._derivation(int(np.argmax(self._scores(weights) + factor * self.values)))

    def oracle(self, weights: Floats, among: int | None = None) -> Derivation:
        """Return the candidate with the highest gain, of the ``among`` best."""
        scores = self._scores(weights)
        order = np.argsort(-scores, kind="stable")[:among]
        return self._derivation(int(order[np.argmax(self.values[order])]))

    def reference(self, weights: Floats) -> Derivation | None:
        """Return the best candidate whose text is a reference's."""
        references = np.flatnonzero(self._examples.is_reference[self.first : self.last])
        if not len(references):
            return None
        return self._derivation(int(references[np.argmax(self._scores(weights)[references])]))

    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected gain, and its derivative."""
        gain, coefficients = expected_of(self._scores(weights), self.values, temperature)
        features, slope = self._examples.combination(coefficients, self.first)
        return Risk(gain, features, slope)


@kernel
def score_rows(
    dense: Floats,
    sparse_start: Ints,
    sparse_features: Ids,
    sparse_values: Floats,
    weights: Floats,
    first: int,
    scores: Floats,
) -> None:
    """Score candidates from ``first`` on, features in their order."""
    for i in range(scores.shape[0]):
        row = dense[first + i]
        total = 0.0
        for d in range(row.shape[0]):
            total += weights[d] * row[d]
        for k in range(sparse_start[first + i], sparse_start[first + i + 1]):
            total += weights[sparse_features[k]] * sparse_values[k]
        scores[i] = total


@kernel
def _dense_sum(dense: Floats, coefficients: Floats, first: int) -> Floats:
    total = np.zeros(dense.shape[1])
    for i in range(coefficients.shape[0]):
        row, factor = dense[first + i], coefficients[i]
        for d in range(row.shape[0]):
            total[d] += factor * row[d]
    return total


def _equal_texts(candidates: CandidateSet) -> Flags:
    """Compare all candidates with the references of their group."""
    references = candidates.references
    assert references is not None  # callers have checked
    equal = np.zeros(len(candidates), np.bool_)
    for group in range(candidates.groups):
        lo, hi = references.group_start[group : group + 2]
        reference_texts = {references.texts[r].tobytes() for r in range(lo, hi)}
        for row in range(candidates.start[group], candidates.start[group + 1]):
            equal[row] = candidates.texts[row].tobytes() in reference_texts
    return equal
