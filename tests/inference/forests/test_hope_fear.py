"""Hope, fear and reference derivations, against the enumeration of all derivations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays, forest_set
from tests.helpers.inference.derivations import drawn_scores, references, unclipped
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays
from tunesmith.inference.forests.derivations import unfold, viterbi
from tunesmith.inference.forests.expectation import edge_gains
from tunesmith.inference.forests.hope_fear import (
    add_k,
    natural_bleu,
    reference_derivation,
    rerank,
    rerank_choice,
)
from tunesmith.inference.forests.ngrams.counts import forests_with_counts
from tunesmith.metrics.bleu import BLEU

FEW = examples(100, interpreted=10)
signs = st.sampled_from([1.0, -1.0, 0.3])


@st.composite
def metrics(draw: st.DrawFn) -> BLEU:
    """Draw BLEU of any order and smoothing."""
    return BLEU(
        order=draw(st.integers(1, 6)),
        smoothing=draw(st.sampled_from(["none", "floor", "add-k", "exp"])),
        reference_length_scale=draw(st.sampled_from([1.0, 0.7, 1.5])),
    )


@st.composite
def statistics(draw: st.DrawFn, metric: BLEU, most: float) -> np.ndarray:
    """Draw statistics in which no more n-grams match than there are."""
    numbers = st.floats(0, most, width=16)
    length, reference = draw(numbers), draw(numbers)
    totals = [max(length - n, 0.0) for n in range(metric.order)]
    matches = [draw(st.sampled_from([0.0, 0.3, 1.0])) * total for total in totals]
    return np.array([length, reference, *matches, *totals])


@settings(max_examples=3 * FEW)
@given(metrics(), st.data())
def test_bleu_beside_a_document_is_the_metrics(metric: BLEU, data: st.DataObject) -> None:
    row = data.draw(statistics(metric, data.draw(st.sampled_from([3.0, 30.0]))))
    found = natural_bleu(add_k(row, metric.scoring, 1.0), metric.scoring)
    assert found == pytest.approx(float(metric.gain(row)), rel=1e-9, abs=1e-12)


@settings(max_examples=FEW)
@given(metrics(), signs, st.sampled_from([0.0, 1.0, 1000.0]), st.data())
def test_on_a_list_reranking_is_exact(
    metric: BLEU, sign: float, factor: float, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, 5))
    rows = np.array([data.draw(statistics(metric, 8.0)) for _ in range(size)])
    arrays = forest_arrays([(0, [], [k], {}) for k in range(size)], 0)._replace(counts=rows)
    document = data.draw(statistics(metric, 30.0))
    scores = drawn_scores(data, arrays)
    chosen = rerank_choice(arrays, 0, scores, document, factor, *metric.scoring, sign)
    gains = metric.gain(document + rows) - metric.gain(document)
    values = scores + sign * factor * gains
    assert values[chosen[0]] == pytest.approx(values.max(), abs=1e-9)


@settings(max_examples=FEW)
@given(drawn_forest(words=3, most_nodes=4), references, metrics(), signs, st.data())
def test_what_is_reported_is_that_of_the_derivation(
    arrays: ForestArrays, held: list[list[int]], metric: BLEU, sign: float, data: st.DataObject
) -> None:
    after = forests_with_counts(forest_set([arrays], 3, 3, [held]), metric, 1e9).in_memory().arrays
    scores = drawn_scores(data, after)
    document = data.draw(statistics(metric, 30.0))
    choice, value, stats = rerank(after, 0, scores, document, 5.0, metric.scoring, sign)
    edges = unfold(after, 0, choice)
    (words,) = [tree.words for tree in derivations(after) if tree.edges == tuple(edges)]
    expected = unclipped(words, [tuple(r) for r in held], metric.order)
    np.testing.assert_allclose(stats[-1], expected, atol=1e-9)
    assert value[-1] == scores[edges].sum()
    # At the goal there is none better of the same derivations below.
    top = value[-1] + 5.0 * sign * metric.gain(document + stats[-1])
    for e in range(after.edge_start[-2], after.edge_start[-1]):
        below = after.tails[after.tail_start[e] : after.tail_start[e + 1]]
        row = document + after.counts[e] + stats[below].sum(axis=0)
        other = scores[e] + value[below].sum() + 5.0 * sign * metric.gain(row)
        assert other <= top + 1e-9


@settings(max_examples=FEW)
@given(drawn_forest(), signs, st.data())
def test_where_bleu_is_linear_reranking_is_exact(
    arrays: ForestArrays, sign: float, data: st.DataObject
) -> None:
    edges = len(arrays.word_start) - 1
    matches = data.draw(st.lists(st.integers(0, 4), min_size=edges, max_size=edges))
    counts = np.zeros((edges, 4))
    counts[:, 2] = matches  # and the length is that of the document: BLEU-1 is (m + 1) / 64
    arrays = arrays._replace(counts=counts)
    scores = drawn_scores(data, arrays)
    document = np.array([64.0, 60.0, 1.0, 64.0])
    choice = rerank_choice(arrays, 0, scores, document, 64.0, *BLEU(order=1).scoring, sign)
    values = scores + sign * np.array(matches)
    best = max(values[list(tree.edges)].sum() for tree in derivations(arrays))
    assert values[unfold(arrays, 0, choice)].sum() == pytest.approx(best)


@settings(max_examples=FEW)
@given(drawn_forest(words=3, most_nodes=4), references, signs, st.data())
def test_linear_values_find_the_best_of_all(
    arrays: ForestArrays, held: list[list[int]], sign: float, data: st.DataObject
) -> None:
    metric = BLEU(order=2)
    after = forests_with_counts(forest_set([arrays], 3, 3, [held]), metric, 1e9).in_memory().arrays
    document = np.array([40.0, 42.0, 20.0, 8.0, 40.0, 37.0])
    slope = 40.0 * metric.slope(document)
    scores = drawn_scores(data, after)
    top, _ = viterbi(after, 0, scores + sign * edge_gains(after, 0, slope))
    values = [
        scores[list(tree.edges)].sum()
        + sign * slope @ unclipped(tree.words, [tuple(r) for r in held], 2)
        for tree in derivations(after)
    ]
    assert top[-1] == pytest.approx(max(values), abs=1e-9)


def test_values_of_a_forest_among_others_are_its_own() -> None:
    one = forest_arrays([(0, [], [0, 1], {}), (1, [0], [-1, 2], {})], 1)
    whole = forests_with_counts(forest_set([one, one], 1, 3, [[[2]], [[0, 1, 2]]]), BLEU(order=2))
    arrays = whole.in_memory().arrays
    slope = np.array([0.0, 0.0, 1.0, 10.0, 0.0, 0.0])
    assert edge_gains(arrays, 0, slope).tolist() == [0.0, 1.0]
    assert edge_gains(arrays, 1, slope).tolist() == [12.0, 11.0]
    document = np.array([9.0, 9.0, 5.0, 3.0, 9.0, 8.0])
    given = (np.zeros(2), document, 1.0, BLEU(order=2).scoring, 1.0)
    assert rerank(arrays, 1, *given)[2][-1].tolist() == [3.0, 3.0, 3.0, 2.0, 3.0, 2.0]


@settings(max_examples=2 * FEW)
@given(drawn_forest(words=2), st.data())
def test_the_best_derivation_of_a_reference(arrays: ForestArrays, data: st.DataObject) -> None:
    trees = derivations(arrays)
    scores = drawn_scores(data, arrays)
    known = st.sampled_from(sorted({tree.words for tree in trees}))
    words = data.draw(st.one_of(known, st.lists(st.integers(0, 2), max_size=6).map(tuple)))
    own = {tree.edges: scores[list(tree.edges)].sum() for tree in trees if tree.words == words}
    found = tuple(reference_derivation(arrays, 0, scores, np.array(words, np.int32)).tolist())
    if own:
        assert own[found] == max(own.values())
    else:
        assert found == ()
