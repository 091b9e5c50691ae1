"""Forests as tuners see them: winners, envelopes and expectations over all derivations.

Macherey et al., "Lattice-based minimum error rate training" (EMNLP 2008), and Kumar et al.,
"Efficient minimum error rate training and minimum Bayes-risk decoding for translation hypergraphs
and lattices" (ACL 2009): the envelope of all derivations along a line is computed on the forest
itself, and only what is on it is spelled and scored, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Stats
from tunesmith.data.candidates import Texts
from tunesmith.data.forests import Block, Forests
from tunesmith.inference.forests.cache import cached
from tunesmith.inference.forests.derivations import best_of_block, check_length, spell_all
from tunesmith.inference.forests.envelope.search import envelopes_of_block
from tunesmith.inference.forests.expectation import (
    covariance_with_counts,
    covariance_with_features,
    expected_counts,
    score_deviation,
)
from tunesmith.inference.forests.lists import kbest_lists, merged, sampled_lists
from tunesmith.inference.forests.ngrams.counts import can_count, counted_once
from tunesmith.inference.forests.ngrams.exact import ExactStatistics
from tunesmith.inference.hypotheses import Axes, Direction, Envelope, Expectation, Line, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.inference.sharing import share_out, share_out_lines
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.metrics.scored_forests import ForestOptions, ScoredForests

if TYPE_CHECKING:
    from tunesmith.inference.hypotheses import TuningHypotheses

R = TypeVar("R")

#: Derivations drawn uniformly from each forest to estimate how much features vary. Fewer will
#: do for many forests: the memory that they take must not grow with the set.
SAMPLES, SEED = 64, 1
MOST_SAMPLES = 1 << 17


@dataclass(frozen=True)
class _OnForests:
    """A distribution over all derivations."""

    weights: Floats


@dataclass(frozen=True)
class _OnLists:
    """An expectation over listed derivations, and the hypotheses of those lists."""

    lists: ListHypotheses
    expectation: Expectation


class _ClimbStart:
    """Where a climb began, of which all its points know, and the lists made there."""

    def __init__(self, hypotheses: ForestHypotheses, weights: Floats) -> None:
        self._hypotheses = hypotheses
        self._weights = weights

    def __getstate__(self) -> dict[str, Any]:
        """Leave the forests out: line searches elsewhere have them, and ask for no lists."""
        return {"_weights": self._weights}

    @cached_property
    def lists(self) -> ListHypotheses:
        """The best derivations under those weights, computed at first use."""
        return self._hypotheses.best_lists(self._weights)


class ForestHypotheses:
    """Forests with the statistics of what wins.

    For BLEU, expectations are over all derivations, of statistics that hyperedges have: matches
    are not clipped, and the reference length is apportioned (Chiang 2012, section 5.1).

    For other metrics, and where BLEU tokenises whole texts, they are over lists: the best
    derivations under the weights of the point from which others were reached by ``move``. So the
    directions of a climb are those of lists made where it began, while its line searches go over
    all derivations. Use :meth:`renewed` for lists that follow the weights.
    """

    is_costly: ClassVar[bool] = True

    def __init__(self, tuning: ScoredForests) -> None:
        self.tuning = tuning
        self.metric = tuning.metric
        self.forests = tuning.forests
        self.names = tuning.names
        self.groups = tuning.groups
        self._exact = ExactStatistics(self.forests, self.metric)

    def made_of(self) -> tuple[Forests, tuple[Metric, ForestOptions]]:
        """Return what other processes make them of: what is large, and the rest."""
        return self.forests, (self.metric, self.tuning.options)

    @classmethod
    def made_from(cls, forests: Forests, rest: tuple[Metric, ForestOptions]) -> ForestHypotheses:
        """Make them again; what the metric counts with is kept with the forests."""
        return cls(ScoredForests(forests, *rest))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what they are made of; the other process builds them again."""
        return type(self), (self.tuning,)

    def point(self, weights: Floats) -> Point:
        """Evaluate weights: the statistics are those of the best derivations' texts."""
        return self._point(weights, _ClimbStart(self, weights))

    def _point(self, weights: Floats, winners: _ClimbStart) -> Point:
        parts = share_out(self, _winners, self.forests.pieces(), weights)
        stats = np.concatenate(parts)
        total: Stats = stats.sum(axis=0)
        return Point(weights, total, float(self.metric.gain(total)), winners)

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        return self._point(weights, point.cache)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two, which changes no choice."""
        return Point(factor * point.weights, point.total, point.gain, point.cache)

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow the winners along many lines; a single one is shared out among all workers."""
        return share_out_lines(self, work, lines)

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners of all forests along a line through the point."""
        line = (point.weights, direction.vector(len(self.names)))
        parts = share_out(self, _winners_along_line, self.forests.pieces(), *line)
        forest, at, stats = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        is_first = np.diff(forest, prepend=-1) > 0
        later = np.flatnonzero(~is_first)
        change = stats[later] - stats[later - 1]
        return Envelope(stats[is_first].sum(axis=0), at[later], change)

    def deviation(self, point: Point) -> float:
        """Return the pooled standard deviation of the scores of what expectations are over."""
        if can_count(self.metric):
            return score_deviation(self.forests, point.weights)
        lists: ListHypotheses = point.cache.lists
        return lists.deviation(lists.point(point.weights))

    def spread(self) -> Floats:
        """Return the pooled standard deviation of each feature, over samples of derivations."""
        return self._sampled.spread()

    def sizes(self) -> Floats:
        """Return the spread of dense features, and the size of sparse ones where they are on."""
        return self._sampled.sizes()

    def axes(self, directions: Sequence[Direction]) -> Axes | None:
        """Return axes of the variables that have dense features alone, over the same samples."""
        return self._sampled.axes(directions)

    @cached_property
    def _sampled(self) -> ListHypotheses:
        flat = np.zeros(len(self.names))
        size = max(2, min(SAMPLES, MOST_SAMPLES // self.groups))
        setting = self.forests, flat, 0.0, size, SEED
        drawn = cached(self.forests, "samples", (size, SEED), lambda: sampled_lists(*setting))
        # Their scores are not needed.
        nothing = np.zeros((len(drawn), len(self.metric.stat_names)))
        return ListHypotheses(ScoredCandidates(drawn, self.metric, nothing))

    @cached_property
    def _counted(self) -> Forests:
        assert can_count(self.metric)  # the only case in which it is called
        return counted_once(self.forests, self.metric)

    def best_lists(self, weights: Floats) -> ListHypotheses:
        """Return the best derivations under some weights, as many as the options say."""
        lists = kbest_lists(self.forests, weights, self.tuning.options.size)
        return ListHypotheses(ScoredCandidates(lists, self.metric))

    def renewed(self, weights: Floats, before: TuningHypotheses | None = None) -> TuningHypotheses:
        """Return themselves where all derivations have expectations.

        Otherwise it is the lists of the best ones, with all that those before have.
        """
        if can_count(self.metric):
            return self
        new = self.best_lists(weights)
        if not isinstance(before, ListHypotheses):
            return new
        return ListHypotheses(merged(before.tuning, new.tuning))

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Return expected gains and their gradients."""
        find = self._over_all if can_count(self.metric) else self._over_lists
        return [find(point, sharp) for point, sharp in zip(points, sharpness, strict=True)]

    def _over_lists(self, point: Point, sharpness: float) -> Expectation:
        lists: ListHypotheses = point.cache.lists
        (expectation,) = lists.expected([lists.point(point.weights)], [sharpness])
        return replace(expectation, cache=_OnLists(lists, expectation))

    def _over_all(self, point: Point, sharpness: float) -> Expectation:
        """Go over the forests twice: the second time the metric's slope is known."""
        forests, weights = self._counted, point.weights
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
        products = np.empty(vectors.shape)
        for k, expectation in enumerate(expectations):
            cache = expectation.cache
            rows = vectors[k : k + 1]
            if isinstance(cache, _OnLists):
                products[k] = cache.lists.covariance([cache.expectation], rows)[0]
            else:
                sharp = expectation.sharpness
                products[k] = covariance_with_features(self.forests, cache.weights, sharp, rows)[0]
        return products

    def counted(self, block: Block, first: int, groups: Ints, start: Ints, edges: Ids) -> Stats:
        """Return the exact statistics [n, K] of derivations in a block.

        They are spelled and counted at once: derivations of a large set are many.

        Parameters
        ----------
        block, first
            Some forests, and the number of the first in the set.
        groups : int64[n]
            Whose derivations they are, ascending.
        start, edges
            The derivations.
        """
        check_length(start, self.forests, groups)
        ends, words = spell_all(block.arrays, groups - first + block.first, start, edges)
        check_length(ends, self.forests, groups)
        return self._exact.of_texts(groups, Texts(ends, words))


def _winners(hypotheses: ForestHypotheses, piece: slice, weights: Floats) -> Stats:
    """Return the statistics of the best derivations of a run of forests."""
    block = hypotheses.forests.block(piece.start, piece.stop)
    groups = np.arange(piece.start, piece.stop)
    return hypotheses.counted(block, piece.start, groups, *best_of_block(*block, weights))


def _winners_along_line(
    hypotheses: ForestHypotheses, piece: slice, weights: Floats, direction: Floats
) -> tuple[Ints, Floats, Stats]:
    """Return what wins along a line: whose derivation it is, from where on, its statistics."""
    block = hypotheses.forests.block(piece.start, piece.stop)
    counts, table, start, edges = envelopes_of_block(*block, weights, direction)
    groups = np.repeat(np.arange(piece.start, piece.stop), counts)
    return groups, table[:, 0], hypotheses.counted(block, piece.start, groups, start, edges)
