"""The best score, or the worst, that derivations of forests can have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Stats
from tunesmith.data.candidates import Texts, pack_texts
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.inference.forests.derivations import (
    best_derivations,
    check_length,
    spell,
    texts_of,
    unfold,
    viterbi,
)
from tunesmith.inference.forests.edits import NO_LATTICE, lattice_kind, wer_hope
from tunesmith.inference.forests.expectation import edge_gains
from tunesmith.inference.forests.hope_fear import rerank_choice
from tunesmith.inference.forests.lists import kbest_lists
from tunesmith.inference.forests.ngrams.counts import can_count, counted_once
from tunesmith.inference.forests.ngrams.exact import ExactStatistics
from tunesmith.inference.forests.units import Units
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.metrics.scored_forests import ScoredForests
from tunesmith.parallel.engine import map_over

#: How often at most each forest in turn takes a better derivation.
ROUNDS = 10


class ForestOracle(NamedTuple):
    """The best choice there is, or the best that was found.

    Attributes
    ----------
    stats : [S, K]
        What the metric counts in the derivation of each forest.
    texts
        Their words.
    score
        On the customary scale.
    exact
        Whether no choice is better; otherwise the score is only a bound.
    """

    stats: Stats
    texts: Texts
    score: float
    exact: bool


def forest_oracle(
    tuning: ScoredForests, weights: Floats, worst: bool = False
) -> tuple[float, bool]:
    """Return the best score that was found, and whether there is none better.

    It is never worse than that of the weights.
    """
    exact = ExactStatistics(tuning.forests, tuning.metric)
    best = oracle(tuning.forests, tuning.metric, exact, weights, worst, tuning.options.size)
    return best.score, best.exact


def oracle(
    forests: Forests,
    metric: Metric,
    exact: ExactStatistics,
    weights: Floats,
    worst: bool = False,
    size: int = 100,
) -> ForestOracle:
    """Choose a derivation of each forest for the best score.

    For BLEU each forest in turn takes a derivation that forest reranking finds, with the others as
    they are, where that is better in fact. The fewest errors on lattices, of words or characters,
    are found exactly. For all else it is the best choice among the ``size`` best texts of each
    forest; if no forest has more of them, all texts are among them.

    Parameters
    ----------
    forests
        What is chosen from.
    exact
        Counts texts.
    weights
        What is chosen first, and which texts are listed.
    worst
        Look for the lowest score, or the highest error rate.
    """
    if can_count(metric):
        return _of_bleu(forests, metric, exact, weights, worst)
    units = None if worst else Units.of(forests, metric)
    if units is not None and _are_lattices(forests):
        return _of_errors(forests, metric, exact, weights, units)
    return _of_lists(forests, metric, weights, worst, size)


def _of_bleu(
    forests: Forests, metric: BLEU, exact: ExactStatistics, weights: Floats, worst: bool
) -> ForestOracle:
    stats, start_texts, _, _ = _chosen(forests, metric, exact, weights)
    texts = [start_texts[s] for s in range(forests.groups)]
    total: Stats = stats.sum(axis=0)
    sign = -1.0 if worst else 1.0
    searched = counted_once(forests, metric)
    for _ in range(ROUNDS):
        changed = False
        for piece in searched.pieces():
            arrays, begin, _ = searched.block(piece.start, piece.stop)
            for s in range(piece.start, piece.stop):
                others = total - stats[s]
                top = sign * float(metric.gain(total))
                for words in _better_texts(arrays, begin + s - piece.start, metric, others, sign):
                    row = exact.of_text(s, words)
                    gain = sign * float(metric.gain(others + row))
                    if gain > top:
                        top, stats[s], texts[s] = gain, row, words
                        total = others + row
                        changed = True
        if not changed:
            break
    return ForestOracle(stats, pack_texts(texts), float(metric.score(total)), False)


def _better_texts(
    arrays: ForestArrays, forest: int, metric: BLEU, others: Stats, sign: float
) -> list[Ids]:
    """Return texts that may score higher, given the choices of the other forests."""
    edges = arrays.edge_start[arrays.node_start[forest : forest + 2]]
    nothing = np.zeros(edges[1] - edges[0])
    document = others.astype(np.float64)
    by_linear = edge_gains(arrays, forest, sign * metric.slope(document))
    choices = [
        rerank_choice(arrays, forest, nothing, document, 1.0, *metric.scoring, sign),
        viterbi(arrays, forest, by_linear)[1],
    ]
    derivations = [unfold(arrays, forest, choice) for choice in choices]
    return [spell(arrays, forest, derivation) for derivation in derivations if len(derivation)]


def _are_lattices(forests: Forests) -> bool:
    return all(map_over(forests, _look, forests.pieces()))


def _look(forests: Forests, piece: slice) -> bool:
    arrays, first, last = forests.block(piece.start, piece.stop)
    return all(lattice_kind(arrays, s) != NO_LATTICE for s in range(first, last))


def _of_errors(
    forests: Forests, metric: Metric, exact: ExactStatistics, weights: Floats, units: Units
) -> ForestOracle:
    """Find the fewest errors of each lattice.

    Where references of a sentence differ in length, a text with more errors may still have the
    better rate: then it is a bound.
    """
    references = units.references
    parts = map_over((forests, units), _with_fewest, forests.pieces(), metric)
    texts = pack_texts([text for part in parts for text in part])
    stats = exact.of_texts(np.arange(forests.groups), texts)
    lengths: list[Ints] = np.split(units.lengths, references.group_start[1:-1])
    same = all(len(np.unique(lengths_of_group)) == 1 for lengths_of_group in lengths)
    best = ForestOracle(stats, texts, float(metric.score(stats.sum(axis=0))), same)
    start_choice = _chosen(forests, metric, exact, weights)
    return start_choice if start_choice.score < best.score else best


def _with_fewest(data: tuple[Forests, Units], piece: slice, metric: Metric) -> list[Ids]:
    """Return the words with the fewest errors of each of some lattices."""
    forests, units = data
    exact = ExactStatistics(forests, metric)
    references = units.references
    block = forests.block(piece.start, piece.stop)
    seen = units.seen(block)
    fewest = []
    for s in range(piece.start, piece.stop):
        place = s - piece.start
        group_references = [references.texts[r] for r in range(*references.group_start[s : s + 2])]
        # Without words as well: the space that follows characters does not follow none.
        group_references.append(np.empty(0, np.int32))
        edges = [
            _fewest_edits(seen.arrays, seen.first + place, reference)
            for reference in group_references
        ]
        lengths = [0, *(-1 if len(derivation) == 0 else 1 for derivation in edges)]
        check_length(np.array(lengths), forests, np.full(len(edges), s))
        texts = [spell(block.arrays, block.first + place, derivation) for derivation in edges]
        errors = [int(exact.of_text(s, text)[0]) for text in texts]
        fewest.append(texts[int(np.argmin(errors))])
    return fewest


def _fewest_edits(arrays: ForestArrays, forest: int, reference: Ids) -> Ids:
    edges = arrays.edge_start[arrays.node_start[forest : forest + 2]]
    return wer_hope(arrays, forest, np.zeros(edges[1] - edges[0]), reference, 1.0)


def _chosen(
    forests: Forests, metric: Metric, exact: ExactStatistics, weights: Floats
) -> ForestOracle:
    """Return what the weights choose."""
    first = best_derivations(forests, weights)
    texts = texts_of(forests, first)
    stats = exact.of_texts(first.forest, texts)
    return ForestOracle(stats, texts, float(metric.score(stats.sum(axis=0))), False)


def _of_lists(
    forests: Forests, metric: Metric, weights: Floats, worst: bool, size: int
) -> ForestOracle:
    listed = ScoredCandidates(kbest_lists(forests, weights, size), metric)
    start = listed.candidates.start
    best = listed.oracle(worst, begin=start[:-1])
    complete = bool((np.diff(start) < size).all())
    texts = listed.candidates.texts.take(best.chosen)
    return ForestOracle(listed.stats[best.chosen], texts, best.score, best.exact and complete)
