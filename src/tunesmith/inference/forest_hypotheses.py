"""Forests as tuners see them: winners, envelopes and expectations over all derivations.

Macherey et al., "Lattice-based minimum error rate training" (EMNLP 2008), and Kumar et al.,
"Efficient minimum error rate training and minimum Bayes-risk decoding for translation hypergraphs
and lattices" (ACL 2009): the envelope of all derivations along a line is computed on the forest
itself, and only what is on it is spelled and scored, exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import Texts
from tunesmith.data.forests import Forests
from tunesmith.inference.derivations import best_of_block, check_length, spell_all
from tunesmith.inference.forest_counts import counted
from tunesmith.inference.forest_envelope import envelopes_of_block
from tunesmith.inference.forest_exact import ExactStatistics
from tunesmith.inference.forest_expectation import (
    covariance_with_counts,
    covariance_with_features,
    expected_counts,
    score_deviation,
)
from tunesmith.inference.forest_lists import kbest_lists, sampled_lists
from tunesmith.inference.hypotheses import Direction, Envelope, Expectation, Point
from tunesmith.inference.lists import ListHypotheses
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.forest_tuning import ForestTuning
from tunesmith.metrics.tuning import TuningSet
from tunesmith.parallel.local import map_pieces

#: Derivations of each forest that tell how much features vary, drawn from all alike. Of many
#: forests fewer will do, and what they take in memory must not grow with the set.
SAMPLES, SEED = 64, 1
MOST_SAMPLES = 1 << 17


@dataclass(frozen=True)
class _OnForests:
    """A distribution over all derivations."""

    weights: Floats


@dataclass(frozen=True)
class _OnLists:
    """A distribution over some of them, and what it is for lists."""

    expectation: Expectation


class ForestHypotheses:
    """Forests with the statistics of what wins.

    For BLEU, expectations are over all derivations, of statistics that hyperedges have: matches
    are not clipped, and the reference length is apportioned (Chiang 2012, section 5.1). For other
    metrics they are over lists: the best derivations under the first weights that are asked for.
    """

    is_costly: ClassVar[bool] = True

    def __init__(self, tuning: ForestTuning) -> None:
        self.tuning = tuning
        self.metric = tuning.metric
        self.forests = tuning.forests
        self.names = tuning.names
        self.groups = tuning.groups
        self._exact = ExactStatistics(self.forests, self.metric)
        self._lock = threading.Lock()
        self._listed: ListHypotheses | None = None

    def point(self, weights: Floats) -> Point:
        """Evaluate weights: the statistics are those of the best derivations' texts."""

        def find(piece: slice) -> Stats:
            block = self.forests.block(piece.start, piece.stop)
            start, edges = best_of_block(*block, weights)
            own = np.arange(piece.start, piece.stop)
            check_length(start, self.forests, own)
            ends, words = spell_all(block.arrays, own - piece.start + block.first, start, edges)
            check_length(ends, self.forests, own)
            return self._exact.of_texts(own, Texts(ends, words))

        stats = np.concatenate(map_pieces(find, self.forests.pieces()))
        return self._point(weights, stats.sum(axis=0))

    def _point(self, weights: Floats, total: Stats) -> Point:
        return Point(weights, total, float(self.metric.gain(total)), None)

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        return self.point(weights)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two, which changes no choice."""
        return Point(factor * point.weights, point.total, point.gain, None)

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners of all forests along a line through the point."""
        line = (point.weights, direction.vector(len(self.names)))

        def follow(piece: slice) -> tuple[Ints, Floats, Stats]:
            # What wins is spelled and counted at once: derivations of a large set are many.
            block = self.forests.block(piece.start, piece.stop)
            counts, table, start, edges = envelopes_of_block(*block, *line)
            own = np.repeat(np.arange(piece.start, piece.stop), counts)
            check_length(start, self.forests, own)
            ends, words = spell_all(block.arrays, own - piece.start + block.first, start, edges)
            check_length(ends, self.forests, own)
            return own, table[:, 0], self._exact.of_texts(own, Texts(ends, words))

        parts = map_pieces(follow, self.forests.pieces())
        forest, at, stats = (np.concatenate(own) for own in zip(*parts, strict=True))
        is_first = np.diff(forest, prepend=-1) > 0
        later = np.flatnonzero(~is_first)
        change = stats[later] - stats[later - 1]
        return Envelope(stats[is_first].sum(axis=0), at[later], change)

    def deviation(self, point: Point) -> float:
        """Return the pooled standard deviation of the scores of all derivations."""
        return score_deviation(self.forests, point.weights)

    def spread(self) -> Floats:
        """Return the pooled standard deviation of each feature, over samples of derivations."""
        return self._sampled.spread()

    def sizes(self) -> Floats:
        """Return the spread of dense features, and the size of sparse ones where they are on."""
        return self._sampled.sizes()

    @cached_property
    def _sampled(self) -> ListHypotheses:
        flat = np.zeros(len(self.names))
        size = max(2, min(SAMPLES, MOST_SAMPLES // self.groups))
        drawn = sampled_lists(self.forests, flat, 0.0, size, SEED)
        # Nobody asks for their scores.
        nothing = np.zeros((len(drawn), len(self.metric.stat_names)))
        return ListHypotheses(TuningSet(drawn, self.metric, nothing))

    @cached_property
    def _counted(self) -> Forests:
        assert isinstance(self.metric, BLEU)  # only it is counted on hyperedges
        return counted(self.forests, self.metric)

    def _on_lists(self, weights: Floats) -> ListHypotheses:
        """Return the lists that stand for the forests, made at the first weights asked for."""
        with self._lock:
            if self._listed is None:
                size = self.tuning.options.size
                lists = kbest_lists(self.forests, weights, size)
                self._listed = ListHypotheses(TuningSet(lists, self.metric))
            return self._listed

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Return expected gains and their gradients."""
        if isinstance(self.metric, BLEU):
            with self._lock:
                forests = self._counted
            pairs = zip(points, sharpness, strict=True)
            return [self._expected(forests, point.weights, sharp) for point, sharp in pairs]
        listed = self._on_lists(points[0].weights)
        own = [listed.point(point.weights) for point in points]
        return [
            Expectation(e.sharpness, e.gain, e.gradient, e.worth, _OnLists(e))
            for e in listed.expected(own, sharpness)
        ]

    def _expected(self, forests: Forests, weights: Floats, sharpness: float) -> Expectation:
        """Go over the forests twice: the second time the metric's slope is known."""
        total = expected_counts(forests, weights, sharpness).sum(axis=0)
        slope = self.metric.slope(total)
        moments, variance = covariance_with_counts(forests, weights, sharpness, slope)
        return Expectation(
            sharpness,
            float(self.metric.gain(total)),
            sharpness * moments,
            float(np.sqrt(variance / self.groups)),
            _OnForests(weights),
        )

    def covariance(self, expectations: Sequence[Expectation], vectors: Floats) -> Floats:
        """Return covariances times vectors [B, D]."""
        found = np.empty(vectors.shape)
        for k, expectation in enumerate(expectations):
            own = expectation.cache
            rows = vectors[k : k + 1]
            if isinstance(own, _OnLists):
                listed = self._on_lists(own.expectation.cache)
                found[k] = listed.covariance([own.expectation], rows)[0]
            else:
                sharp = expectation.sharpness
                found[k] = covariance_with_features(self.forests, own.weights, sharp, rows)[0]
        return found
