"""Sentences of forests, one at a time.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
section 5 and appendix A. What a derivation is worth is always that of its text, counted exactly;
how it was looked for is another matter, see :class:`WholeForest` and :class:`AmongBest`.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Stats
from tunesmith.data.candidates import Texts
from tunesmith.data.forests import Block, Forests
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.inference.examples import Derivation, Risk, expected_of
from tunesmith.inference.forests.derivations import (
    LONGEST,
    check_length,
    describe,
    edge_scores,
    spell_all,
    unfold,
    viterbi,
)
from tunesmith.inference.forests.edits import NO_LATTICE, lattice_kind, wer_hope
from tunesmith.inference.forests.expectation import combine_edges, edge_gains, expected_gain
from tunesmith.inference.forests.hope_fear import reference_derivation, rerank_choice
from tunesmith.inference.forests.kbest.search import kbest_of
from tunesmith.inference.forests.ngrams.counts import counted_once
from tunesmith.inference.forests.ngrams.exact import ExactStatistics
from tunesmith.inference.forests.units import Units
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.candidate_scorer import CandidateScorer, DocumentScorer
from tunesmith.metrics.scored_forests import ScoredForests

#: Where only the gain counts, scores are scaled so far down that they only break ties.
NEARLY_NOTHING = 1e-9
#: Scores over a temperature stay below it: sums of them are finite.
SHARPEST = 1e100


class ForestExamples:
    """The derivations of each forest.

    Forests on disk are loaded one at a time. Not for several threads at once.
    """

    def __init__(self, tuning: ScoredForests) -> None:
        self.tuning = tuning
        self.names = tuning.names
        self.groups = tuning.groups
        self.plain = BlockCache(tuning.forests)
        # Room for the features of one derivation: all 0, but while it is written down.
        self.sums = np.zeros(len(self.names))
        self.seen = np.zeros(len(self.names), np.bool_)
        self._metric: Metric | None = None

    def example(self, group: int, scorer: CandidateScorer) -> ForestExample:
        """Return a forest, valued as of now."""
        metric = getattr(scorer, "metric", None)
        if metric is None:
            raise TunesmithError(
                f"{type(scorer).__name__} does not say which metric counts its statistics; give it "
                "a metric and a method 'of', or use another --objective"
            )
        if metric is not self._metric:
            self._metric = metric
            self.exact = ExactStatistics(self.tuning.forests, metric)
            for name in ("counted", "units"):
                self.__dict__.pop(name, None)
        is_kbest = self.tuning.options.search == "kbest"
        if isinstance(scorer, DocumentScorer) and type(metric) is BLEU and not is_kbest:
            return WholeForest(self, group, scorer, metric)
        return AmongBest(self, group, scorer)

    @cached_property
    def counted(self) -> BlockCache:
        """The forests with what BLEU counts at hyperedges, for the current scorer."""
        assert isinstance(self._metric, BLEU)  # only whole forests ask
        return BlockCache(counted_once(self.tuning.forests, self._metric))

    @cached_property
    def units(self) -> Units | None:
        """What the error rate of the moment counts; None if it is another metric."""
        assert self._metric is not None  # only examples ask
        return Units.of(self.tuning.forests, self._metric)

    @cached_property
    def reference_lengths(self) -> Floats:
        """The mean length of each forest's references; 0 where there is none."""
        references = self.tuning.forests.references
        if references is None:
            return np.zeros(self.groups)
        ends = offsets(references.texts.lengths)
        sums = np.diff(ends[references.group_start])
        means: Floats = sums / np.maximum(references.counts, 1)
        return means


class BlockCache:
    """Forests, of which the one read last stays in memory."""

    def __init__(self, forests: Forests) -> None:
        self.forests = forests
        self._group = -1

    def of(self, group: int) -> Block:
        """Return one forest."""
        if group != self._group:
            self._block = self.forests.block(group, group + 1)
            self._group = group
        return self._block


class KBest(NamedTuple):
    """The best derivations of a forest by the model, no text twice.

    Attributes
    ----------
    start : int64[n + 1], edges : int32[...]
        Their hyperedges.
    scores : float64[n]
        w·h, descending.
    stats : [n, K], values : float64[n]
        Exact statistics, and what they are worth.
    """

    start: Ints
    edges: Ids
    scores: Floats
    stats: Stats
    values: Floats


class _AtWeights:
    """What has been found out about an example at some weights."""

    def __init__(self, example: ForestExample, weights: Floats) -> None:
        # Without a circle, so that a forest that was loaded goes when its example does.
        self._example: ForestExample = weakref.proxy(example)
        self.weights = weights
        self._listed: dict[int, KBest] = {}

    @cached_property
    def scores(self) -> Floats:
        """Scores of the hyperedges."""
        return edge_scores(self._example.block.arrays, self._example.block.first, self.weights)

    @cached_property
    def searched_scores(self) -> Floats:
        """The same of the forest that is searched, whose nodes may have been split."""
        arrays, forest, _ = self._example.searched
        return edge_scores(arrays, forest, self.weights)

    @cached_property
    def best(self) -> Derivation:
        """The 1-best."""
        block = self._example.block
        _, choice = viterbi(block.arrays, block.first, self.scores)
        return self._example.derivation_of(block, choice)

    @cached_property
    def nearly_nothing(self) -> float:
        """The factor that makes scores far less than 1, where only the gain counts."""
        largest = max(abs(self.best.score(self.weights)), float(np.abs(self.scores).max()))
        return NEARLY_NOTHING / largest if largest > 0.0 else 1.0

    def listed(self, size: int) -> KBest:
        """Return the ``size`` best."""
        if size not in self._listed:
            self._listed[size] = self._example.list_of(self.scores, size)
        return self._listed[size]


class ForestExample(ABC):
    """One forest: what does not depend on how derivations with a high gain are searched for.

    The key of a derivation is made of its words and features: what differs in neither is the
    same to learners, and a forest whose nodes were split has other hyperedges.
    """

    def __init__(self, examples: ForestExamples, group: int, scorer: CandidateScorer) -> None:
        self.examples = examples
        self.group = group
        self.scorer = scorer
        self.block = self.searched = examples.plain.of(group)
        self._last: _AtWeights | None = None

    def at(self, weights: Floats) -> _AtWeights:
        """Return what is known at some weights; learners change theirs in place."""
        if self._last is None or not np.array_equal(self._last.weights, weights):
            self._last = _AtWeights(self, weights.copy())
        return self._last

    def best(self, weights: Floats) -> Derivation:
        """Return the derivation with the highest score, of the first hyperedges among equals."""
        return self.at(weights).best

    @abstractmethod
    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return a derivation with a high w·h + factor · B, never lower than the 1-best's."""

    def oracle(self, weights: Floats, among: int | None = None) -> Derivation:
        """Return the derivation with the highest gain, of the ``among`` best texts or of all."""
        if among is None:
            return self._oracle(weights)
        listed = self.at(weights).listed(among)
        return self.of_list(listed, int(np.argmax(listed.values)))

    @abstractmethod
    def _oracle(self, weights: Floats) -> Derivation:
        """Return the derivation with the highest gain that is found, at least the 1-best's."""

    @abstractmethod
    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected gain, and its derivative."""

    def reference(self, weights: Floats) -> Derivation | None:
        """Return the best derivation whose text is a reference's."""
        references = self.examples.tuning.forests.references
        if references is None:
            raise TunesmithError(
                "which derivations are references is not known without references; give "
                "--references, or use another --reference than bold"
            )
        best: Derivation | None = None
        scores, (arrays, forest, _) = self.at(weights).scores, self.block
        lo, hi = references.group_start[self.group : self.group + 2]
        for r in range(lo, hi):
            edges = reference_derivation(arrays, forest, scores, references.texts[r])
            if len(edges):
                derivation = self.derivation(self.block, edges)
                if best is None or derivation.score(weights) > best.score(weights):
                    best = derivation
        return best

    def values(self, stats: Stats) -> Floats:
        """Return the gains of statistics [n, K]."""
        scorer = self.scorer
        if not isinstance(scorer, DocumentScorer):
            return scorer.of(stats)
        # As ``scorer.of``, with one factor for all derivations, and without scoring the document
        # again for each of them.
        gains = scorer.metric.gain(scorer.document + stats)
        values: Floats = self.factor * (gains - self._document_gain)
        return values

    @cached_property
    def _document_gain(self) -> float:
        assert isinstance(self.scorer, DocumentScorer)
        return float(self.scorer.metric.gain(self.scorer.document))

    @cached_property
    def factor(self) -> float:
        """The factor of differences in the document's score, the same for all derivations."""
        assert isinstance(self.scorer, DocumentScorer)
        usual = np.full((1, 2), self.examples.reference_lengths[self.group])
        return self.scorer.factor(usual)

    def derivation_of(self, block: Block, choice: Ids) -> Derivation:
        """Return the derivation that has the chosen hyperedge at each node."""
        return self.derivation(block, unfold(block.arrays, block.first, choice))

    def derivation(self, block: Block, edges: Ids, stats: Stats | None = None) -> Derivation:
        """Return a derivation with the exact statistics of its text, if need be counted now."""
        examples = self.examples
        described = None
        if len(edges):
            described = describe(block.arrays, block.first, edges, examples.sums, examples.seen)
        if described is None or len(described[0]) > LONGEST:
            check_length(np.array([0, -1]), examples.tuning.forests, np.array([self.group]))
            raise AssertionError("a derivation that is too long is an error")
        words, features, values, key = described
        if stats is None:
            stats = examples.exact.of_text(self.group, words)
        gain = float(self.values(stats[None, :])[0])
        return Derivation(features, values, stats, gain, int(key))

    def list_of(self, scores: Floats, size: int) -> KBest:
        """Return the best texts by some scores, with their gains."""
        arrays, forest, _ = self.block
        start, edges, totals = kbest_of(arrays, forest, scores, size, True)
        groups = np.full(len(totals), self.group)
        check_length(start, self.examples.tuning.forests, groups)
        ends, words = spell_all(arrays, np.full(len(totals), forest), start, edges)
        check_length(ends, self.examples.tuning.forests, groups)
        stats = self.examples.exact.of_texts(groups, Texts(ends, words))
        return KBest(start, edges, totals, stats, self.values(stats))

    def of_list(self, listed: KBest, place: int) -> Derivation:
        """Return a member of a list."""
        edges = listed.edges[listed.start[place] : listed.start[place + 1]]
        return self.derivation(self.block, edges, listed.stats[place])


class AmongBest(ForestExample):
    """One forest, of which the best texts by the model are looked at, each valued exactly.

    So it is for all metrics but BLEU, for all objectives but the document's, and where the user
    asks for it. How many they are is the ``size`` of the options. Risks are over them, too.

    For WER of lattices, derivations with few edits are also searched for in the whole forest (the
    model's score and edits to one reference are weighed against each other exactly): with one
    reference, hope and oracle are exact over all derivations.
    """

    def _listed(self, weights: Floats) -> KBest:
        return self.at(weights).listed(self.examples.tuning.options.size)

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return the one with the highest w·h + factor · B."""
        listed = self._listed(weights)
        chosen = self.of_list(listed, int(np.argmax(listed.scores + factor * listed.values)))
        others = self._with_few_edits(self.at(weights).scores, factor)
        return max([chosen, *others], key=lambda d: d.score(weights) + factor * d.gain)

    def _oracle(self, weights: Floats) -> Derivation:
        listed, at = self._listed(weights), self.at(weights)
        chosen = self.of_list(listed, int(np.argmax(listed.values)))
        others = self._with_few_edits(at.scores * at.nearly_nothing, 1.0)
        return max([chosen, *others], key=lambda d: (d.gain, d.score(weights)))

    def _with_few_edits(self, scores: Floats, factor: float) -> list[Derivation]:
        """Return the best derivation by scores and edits to each reference, of a lattice."""
        units = self.examples.units if factor > 0.0 else None
        if units is None or lattice_kind(*self.block[:2]) == NO_LATTICE:
            return []
        arrays, forest, _ = self._in_units
        references, close = units.references, []
        for r in range(*references.group_start[self.group : self.group + 2]):
            # What an error costs is the same for all of them, as long as the reference is.
            length = int(units.lengths[r])
            none, per_word = self.values(np.array([[0, length, 0], [1, length, 0]]))
            cost = factor * float(none - per_word)
            edges = wer_hope(arrays, forest, scores, references.texts[r], cost)
            if len(edges):
                close.append(self.derivation(self.block, edges))
        return close

    @cached_property
    def _in_units(self) -> Block:
        assert self.examples.units is not None  # the only case in which it is called
        return self.examples.units.seen(self.block)

    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected gain, and its derivative."""
        listed = self._listed(weights)
        gain, coefficients = expected_of(listed.scores, listed.values, temperature)
        arrays, forest, _ = self.block
        each = np.repeat(coefficients, np.diff(listed.start))
        count = len(self.at(weights).scores)
        of_edges = np.bincount(listed.edges, each, count).astype(np.float64)
        features, slope = combine_edges(arrays, forest, of_edges, len(weights))
        return Risk(gain, features, slope)


class WholeForest(ForestExample):
    """One forest, searched whole for what adds to BLEU of a document, or takes from it.

    While searching, matches are not clipped and the reference length is the mean one, apportioned
    to hyperedges (section 5.1). ``rerank`` is the dynamic programme of section 5.2, which may miss
    the optimum; ``linear`` finds that of BLEU's linear approximation (A.3). What is found is valued
    exactly. Should the 1-best then turn out to be better, it is taken: what is returned is
    never worse. Risks are over all derivations, of linear BLEU.
    """

    scorer: DocumentScorer

    def __init__(
        self, examples: ForestExamples, group: int, scorer: DocumentScorer, metric: BLEU
    ) -> None:
        super().__init__(examples, group, scorer)
        self._metric = metric
        self.searched = examples.counted.of(group)

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return a derivation with a high w·h + factor · B."""
        best = self.best(weights)
        if factor == 0.0:
            return best
        chosen = self._search(self.at(weights).searched_scores, factor)
        return max(chosen, best, key=lambda d: d.score(weights) + factor * d.gain)

    def _search(self, scores: Floats, factor: float) -> Derivation:
        arrays, forest, _ = self.searched
        if self.examples.tuning.options.search == "linear":
            values = edge_gains(arrays, forest, factor * self._slope)
            return self.derivation_of(self.searched, viterbi(arrays, forest, scores + values)[1])
        choice = rerank_choice(
            *(arrays, forest, scores, self.scorer.document, self.factor * abs(factor)),
            *(*self._metric.scoring, float(np.sign(factor))),
        )
        return self.derivation_of(self.searched, choice)

    @cached_property
    def _slope(self) -> Floats:
        """The derivative of B by what is counted, at the document."""
        return self.factor * self._metric.slope(self.scorer.document)

    def _oracle(self, weights: Floats) -> Derivation:
        best, at = self.best(weights), self.at(weights)
        chosen = self._search(at.searched_scores * (at.nearly_nothing * self.factor), 1.0)
        return max(chosen, best, key=lambda d: (d.gain, d.score(weights)))

    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected gain by linear BLEU, and its derivative."""
        arrays, forest, _ = self.searched
        scores = self.at(weights).searched_scores
        # Sharper than that, it is the winner alone in any case.
        temperature = max(temperature, float(np.abs(scores).max()) / SHARPEST)
        values = edge_gains(arrays, forest, self._slope)
        gain, coefficients = expected_gain(arrays, forest, scores / temperature, values)
        features, slope = combine_edges(arrays, forest, coefficients / temperature, len(weights))
        return Risk(gain, features, slope)
