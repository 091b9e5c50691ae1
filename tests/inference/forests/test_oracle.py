"""The best that forests hold, against the enumeration of all derivations."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from tests.helpers.forests import Edge, derivations, drawn_forest, forest_arrays, forest_set
from tests.helpers.inference.derivations import drawn_scores
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays, ForestSet
from tunesmith.inference.forests.edits import (
    NO_LATTICE,
    TAIL_FIRST,
    TAIL_LAST,
    lattice_kind,
    wer_hope,
)
from tunesmith.inference.forests.lists import kbest_lists
from tunesmith.inference.forests.ngrams.exact import ExactStatistics
from tunesmith.inference.forests.oracle import ForestOracle, forest_oracle, oracle
from tunesmith.io.forests.read import read_forests
from tunesmith.metrics.base import METRICS
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet

FEW = examples(60, interpreted=5)
WORDS = 3
references = st.lists(st.integers(0, WORDS - 1), max_size=5)


@st.composite
def lattices(draw: st.DrawFn, kind: int = TAIL_FIRST) -> ForestArrays:
    """Draw a forest of arity one, whose tails all stand at one end."""
    edges: list[Edge] = []
    nodes = draw(st.integers(1, 4))
    for head in range(nodes):
        for _ in range(draw(st.integers(1, 3))):
            words = draw(st.lists(st.integers(0, WORDS - 1), max_size=2))
            tails = [draw(st.integers(0, head - 1))] if head and draw(st.booleans()) else []
            slot = [-1] * len(tails)
            side = slot + words if kind == TAIL_FIRST else words + slot
            edges.append((head, tails, side, {0: draw(st.integers(-2, 2)) * 1.0}))
    return forest_arrays(edges, nodes - 1)


@settings(max_examples=3 * FEW)
@given(st.data(), references, st.sampled_from([TAIL_FIRST, TAIL_LAST]))
def test_hope_by_edits_is_exact_on_lattices(
    data: st.DataObject, reference: list[int], kind: int
) -> None:
    arrays = data.draw(lattices(kind))
    factor = data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    scores = drawn_scores(data, arrays)
    values = {
        tree.edges: scores[list(tree.edges)].sum()
        - factor * Levenshtein.distance(tree.words, reference)
        for tree in derivations(arrays)
    }
    found = wer_hope(arrays, 0, scores, np.array(reference, np.int32), factor)
    assert values[tuple(found.tolist())] == max(values.values())


def test_what_is_a_lattice() -> None:
    first = [(0, [], [0], {}), (1, [0], [-1, 1], {}), (1, [0], [-1], {})]
    assert lattice_kind(forest_arrays(first, 1), 0) == TAIL_FIRST
    last = [(0, [], [0], {}), (1, [0], [-1], {}), (1, [0], [1, -1], {})]
    assert lattice_kind(forest_arrays(last, 1), 0) == TAIL_LAST
    both = [(0, [], [0], {}), (1, [0], [-1, 1], {}), (2, [1], [1, -1], {})]
    assert lattice_kind(forest_arrays(both, 2), 0) == NO_LATTICE
    two = [(0, [], [0], {}), (1, [0, 0], [-1, -2], {})]
    no_lattice = forest_arrays(two, 1)
    assert lattice_kind(no_lattice, 0) == NO_LATTICE
    assert len(wer_hope(no_lattice, 0, np.zeros(2), np.zeros(1, np.int32), 1.0)) == 0


def found_in(forests: ForestSet, spec: str, worst: bool = False, size: int = 5000) -> ForestOracle:
    metric = METRICS.create(spec)
    weights = np.ones(len(forests.names))
    return oracle(forests, metric, ExactStatistics(forests, metric), weights, worst, size)


def all_scores(forests: ForestSet, spec: str) -> list[float]:
    """Return the score of every choice of derivations, with different words."""
    metric = METRICS.create(spec)
    exact = ExactStatistics(forests, metric)
    rows = [
        [
            exact.of_text(s, np.array(words, np.int32))
            for words in {tree.words for tree in derivations(forests.arrays, s)}
        ]
        for s in range(forests.groups)
    ]
    totals = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*rows)])
    scores: list[float] = metric.score(totals).tolist()
    return scores


@pytest.mark.parametrize("spec", ["wer", "cer", "cer:lowercase=true"])
@settings(max_examples=FEW)
@given(st.lists(st.tuples(lattices(), references), min_size=1, max_size=2))
def test_the_fewest_errors_are_found(
    spec: str, drawn: list[tuple[ForestArrays, list[int]]]
) -> None:
    forests = forest_set([arrays for arrays, _ in drawn], 1, WORDS, [[own] for _, own in drawn])
    forests = replace(forests, vocabulary=("a", "Ab", "bb"))
    found = found_in(forests, spec, size=1)
    assert found.exact
    assert found.score == pytest.approx(min(all_scores(forests, spec)))


@settings(max_examples=FEW)
@given(lattices(), st.lists(references, min_size=2, max_size=3))
def test_references_of_different_lengths_make_it_a_bound(
    arrays: ForestArrays, held: list[list[int]]
) -> None:
    forests = forest_set([arrays], 1, WORDS, [held])
    found = found_in(forests, "wer")
    assert found.exact == (len({len(own) for own in held}) == 1)
    # Never worse than what the weights choose.
    assert found.score <= ForestTuning(forests, "wer").score_at(np.ones(1))
    assert found.score >= min(all_scores(forests, "wer")) - 1e-9


@settings(max_examples=FEW)
@given(
    st.lists(
        st.tuples(drawn_forest(words=WORDS, most_nodes=3), references), min_size=1, max_size=2
    ),
    st.booleans(),
    st.sampled_from(["bleu", "bleu:order=1", "bleu:order=2,smoothing=add-k"]),
)
def test_bleu_is_between_that_of_the_weights_and_the_best(
    drawn: list[tuple[ForestArrays, list[int]]], worst: bool, spec: str
) -> None:
    forests = forest_set([arrays for arrays, _ in drawn], 3, WORDS, [[own] for _, own in drawn])
    found = found_in(forests, spec, worst)
    assert not found.exact
    tuning = ForestTuning(forests, spec)
    begun = tuning.score_at(np.ones(3))
    scores = all_scores(forests, spec)
    if worst:
        assert min(scores) - 1e-9 <= found.score <= begun + 1e-9
    else:
        assert begun - 1e-9 <= found.score <= max(scores) + 1e-9
    assert forest_oracle(tuning, np.ones(3), worst) == (found.score, found.exact)
    # It is the score of what it returns.
    assert tuning.metric.score(found.stats.sum(axis=0)) == pytest.approx(found.score)
    exact = ExactStatistics(forests, tuning.metric)
    counted_again = exact.of_texts(np.arange(forests.groups), found.texts)
    np.testing.assert_array_equal(counted_again, found.stats)
    for s in range(forests.groups):
        texts = {tree.words for tree in derivations(forests.arrays, s)}
        assert tuple(found.texts[s].tolist()) in texts


def test_matches_that_are_far_apart_in_the_model_are_found() -> None:
    # Each of ten places has a right word, which the weights do not want, and a wrong one.
    edges: list[Edge] = [(0, [], [0], {})]
    for n in range(1, 11):
        edges += [(n, [n - 1], [-1, 50], {0: 1.0}), (n, [n - 1], [-1, n], {})]
    forests = forest_set([forest_arrays(edges, 10)] * 2, 1, 60, [[list(range(11))]] * 2)
    assert found_in(forests, "bleu").score == pytest.approx(100.0)
    assert found_in(forests, "bleu", size=10, worst=True).score < 5.0


@settings(max_examples=FEW // 2)
@given(
    st.lists(
        st.tuples(drawn_forest(words=WORDS, most_nodes=3), references), min_size=1, max_size=2
    ),
    st.booleans(),
)
def test_a_list_of_all_texts_is_exact_for_sums(
    drawn: list[tuple[ForestArrays, list[int]]], worst: bool
) -> None:
    forests = forest_set([arrays for arrays, _ in drawn], 3, WORDS, [[own] for _, own in drawn])
    found = found_in(forests, "sentence-bleu", worst)
    scores = all_scores(forests, "sentence-bleu")
    assert found.exact
    assert found.score == pytest.approx(min(scores) if worst else max(scores))
    assert not found_in(forests, "sentence-bleu", worst, size=1).exact


def test_more_errors_beside_a_longer_reference_may_be_better() -> None:
    edges: list[Edge] = [(0, [], [1], {}), (0, [], [0] * 7, {0: 1.0})]
    forests = forest_set([forest_arrays(edges, 0)], 1, 3, [[[2], [0] * 9]])
    found = found_in(forests, "wer")
    # One error of one word, or two of nine, which is what the weights choose.
    assert found.score == pytest.approx(100.0 * 2 / 9)
    assert not found.exact


def test_a_text_without_words_has_no_space() -> None:
    edges: list[Edge] = [(0, [], [0], {}), (0, [], [], {})]
    forests = forest_set([forest_arrays(edges, 0)], 1, 2, [[[1]]])
    forests = replace(forests, vocabulary=("xyz", "ab"))
    found = found_in(forests, "cer")
    assert (found.score, found.exact) == (100.0, True)


def test_words_of_a_lattice_are_seen_as_the_metric_sees_them() -> None:
    edges: list[Edge] = [(0, [], [0], {}), (0, [], [1], {0: 1.0}), (1, [0], [-1, 2], {})]
    forests = replace(
        forest_set([forest_arrays(edges, 1)], 1, 4, [[[3, 2]]]), vocabulary=("The", "a", "X", "the")
    )
    assert found_in(forests, "wer").score == 50.0
    found = found_in(forests, "wer:lowercase=true")
    assert (found.score, found.exact) == (0.0, True)
    assert forests.join(found.texts[0]) == "The X"


def test_bleu_of_other_tokens_is_that_of_lists() -> None:
    edges: list[Edge] = [(0, [], [0, 1], {}), (0, [], [2], {}), (0, [], [2, 1], {0: 1.0})]
    forests = forest_set([forest_arrays(edges, 0)], 1, 3, [[[0, 1]]])
    found = found_in(forests, "bleu:tokenize=intl,order=2")
    assert found.score == pytest.approx(100.0)
    assert forests.join(found.texts[0]) == "w0 w1"
    assert not found.exact


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_real_graphs_hold_more_than_lists_of_them(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "m30k-forests"
    paths = [folder / "hg" / f"{k}.txt.gz" for k in range(10)]
    held = (folder / "ref").read_text().splitlines()[:10]
    (tmp_path / "ref").write_text("\n".join(held) + "\n")
    forests = read_forests(paths, tmp_path / "ref")
    lines = (folder / "hg" / "weights").read_text().splitlines()
    given = {name: float(value) for name, value in (line.split() for line in lines)}
    weights = np.array([given[name] for name in forests.names])
    for spec in ("bleu", "wer", "cer"):
        metric = METRICS.create(spec)
        lists = TuningSet(kbest_lists(forests, weights, 100), metric)
        exact = ExactStatistics(forests, metric)
        found = oracle(forests, metric, exact, weights)
        sign = 1.0 if metric.higher_is_better else -1.0
        assert sign * found.score > sign * lists.oracle().score
        assert found.exact == (spec != "bleu")
        worst = oracle(forests, metric, exact, weights, worst=True)
        assert sign * worst.score < sign * ForestTuning(forests, metric).score_at(weights)
