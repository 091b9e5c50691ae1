"""What hyperedges count adds up, over every derivation, to what its text has."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import Tree, derivations, drawn_forest, forest_arrays, forest_set
from tests.helpers.inference.derivations import WORDS, references, unclipped
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays, ForestSet
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.forests.derivations import best_derivations, texts_of
from tunesmith.inference.forests.ngrams import counts as forest_counts
from tunesmith.inference.forests.ngrams.counts import counted_once, forests_with_counts
from tunesmith.io.forests.arrow.temporary import stored_like
from tunesmith.io.forests.read import read_forests
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.local import threads

FEW = examples(80, interpreted=10)
forests = drawn_forest(words=WORDS, most_nodes=4)


def summed(arrays: ForestArrays, tree: Tree, forest: int = 0) -> np.ndarray:
    """Add up the counts of a derivation."""
    edge0 = int(arrays.edge_start[arrays.node_start[forest]])
    total: np.ndarray = arrays.counts[edge0 + np.array(tree.edges)].sum(axis=0)
    return total


@settings(max_examples=FEW)
@given(st.lists(st.tuples(forests, references), min_size=1, max_size=2), st.integers(1, 4))
def test_counts_of_a_derivation_are_those_of_its_text(
    drawn: list[tuple[ForestArrays, list[list[int]]]], order: int
) -> None:
    held = [own for _, own in drawn]
    before = forest_set([arrays for arrays, _ in drawn], 3, WORDS, held)
    after = forests_with_counts(before, BLEU(order=order), 1e9).in_memory().arrays
    for s, own in enumerate(held):
        trees = derivations(after, s)
        texts = sorted(tree.words for tree in derivations(before.arrays, s))
        assert sorted(tree.words for tree in trees) == texts
        for tree in trees:
            expected = unclipped(tree.words, [tuple(r) for r in own], order)
            np.testing.assert_allclose(summed(after, tree, s), expected, atol=1e-9)


@settings(max_examples=FEW)
@given(forests, references, st.data())
def test_the_length_of_the_reference_goes_by_the_source(
    arrays: ForestArrays, held: list[list[int]], data: st.DataObject
) -> None:
    nodes = len(arrays.covered)
    drawn = st.lists(st.integers(0, 5), min_size=nodes, max_size=nodes)
    covered = np.array(data.draw(drawn), np.int32)
    covered[-1] += 1
    before = forest_set([arrays._replace(covered=covered)], 3, WORDS, [held])
    after = forests_with_counts(before, BLEU(order=2), 1e9).in_memory().arrays
    length = np.mean([len(r) for r in held])
    heads = np.repeat(after.covered, np.diff(after.edge_start))
    for e, head in enumerate(heads):
        below = after.covered[after.tails[after.tail_start[e] : after.tail_start[e + 1]]].sum()
        assert after.counts[e, 1] == pytest.approx(length * (head - below) / covered[-1])
    for tree in derivations(after):
        assert summed(after, tree)[1] == pytest.approx(length)


def pair(limit: float) -> tuple[ForestSet, ForestArrays]:
    """Return a forest that grows when it is split, and what becomes of it within a limit."""
    side = [[k, k + 1, k + 2] for k in range(4)] + [[0], []]
    edges = [(n, [], own, {}) for n in range(2) for own in side]
    edges += [(2, [0, 1], [-1, 3, -2], {}), (3, [2, 2], [-2, 4, -1], {})]
    before = forest_set([forest_arrays(edges, 3)], 1, 12, [[list(range(12)), [4, 0, 1, 3]]])
    return before, forests_with_counts(before, BLEU(), limit).in_memory().arrays


@pytest.mark.long
@pytest.mark.parametrize(("limit", "is_split"), [(1.0, False), (5.0, True), (12.0, True)])
def test_with_less_context_matches_may_be_missed_and_nothing_else(
    limit: float, is_split: bool
) -> None:
    with pytest.warns(UserWarning, match="not counted in 1 of 1 forests"):
        before, after = pair(limit)
    held = [tuple(range(12)), (4, 0, 1, 3)]
    missed = 0.0
    assert len(after.counts) <= limit * len(before.arrays.counts)
    trees = derivations(after)
    for tree in trees:
        expected = np.array(unclipped(tree.words, held, 4))
        found = summed(after, tree)
        assert found[:2] == pytest.approx(expected[:2])
        assert (found[2:6] <= expected[2:6]).all()
        missed += (expected - found)[2:6].sum()
        if is_split:
            np.testing.assert_array_equal(found[6:], expected[6:])
        else:  # it is not known which tails are short
            assert (found[6:] >= expected[6:]).all()
            assert found[6] == expected[6]
    assert missed > 0
    assert len(trees) == len(derivations(before.arrays))


@pytest.mark.long
def test_no_warning_where_all_is_seen() -> None:
    _, after = pair(1e6)
    held = [tuple(range(12)), (4, 0, 1, 3)]
    for tree in derivations(after)[::7]:
        np.testing.assert_allclose(summed(after, tree), unclipped(tree.words, held, 4))


def cased() -> ForestSet:
    """Return a forest of words in two cases, with full stops."""
    edges = [
        (0, [], [0, 1], {}),
        (0, [], [2], {}),
        (1, [0], [3, -1, 4], {}),
        (1, [0], [-1, 0], {}),
    ]
    vocabulary = ("The", "house.", "the", "THE", "house", ".")
    whole = forest_set([forest_arrays(edges, 1)], 1, 6, [[[2, 4, 5], [3, 0, 4]]])
    return replace(whole, vocabulary=vocabulary)


@pytest.mark.parametrize(
    "metric",
    [
        BLEU(order=2),
        BLEU(order=2, lowercase=True),
        BLEU(order=3, tokenize="13a", lowercase=True),
        BLEU(order=4, tokenize="char"),
    ],
)
def test_words_are_seen_as_the_metric_sees_them(metric: BLEU) -> None:
    before = cased()
    after = forests_with_counts(before, metric).in_memory().arrays
    words = metric.preparation.words
    held = [tuple(words(text)) for text in ("the house .", "THE The house")]
    trees = derivations(after)
    assert len(trees) == 4
    for tree in trees:
        text = tuple(words(" ".join(before.vocabulary[w] for w in tree.words)))
        np.testing.assert_allclose(summed(after, tree), unclipped(text, held, metric.order))


def test_the_shortest_reference_is_known() -> None:
    after = forests_with_counts(cased(), BLEU(reference_length="shortest")).in_memory().arrays
    assert [summed(after, tree)[1] for tree in derivations(after)] == [3.0] * 4


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(UsageError, match="use --forest-search kbest, or tokenise"):
        forests_with_counts(cased(), BLEU(tokenize="intl"))
    with pytest.raises(TunesmithError, match="needs references"):
        forests_with_counts(replace(cased(), references=None), BLEU())


@settings(max_examples=examples(5))
@given(st.lists(st.tuples(forests, references), min_size=3, max_size=5))
def test_on_disk_and_on_any_number_of_threads_it_is_the_same(
    drawn: list[tuple[ForestArrays, list[list[int]]]],
) -> None:
    whole = forest_set([arrays for arrays, _ in drawn], 3, WORDS, [own for _, own in drawn])
    with threads(1):
        expected = forests_with_counts(whole, BLEU()).in_memory().arrays
    stored = stored_like(whole, [whole.arrays])
    found = forests_with_counts(stored, BLEU())
    assert found.bytes_per_edge > 0
    for one, other in zip(found.in_memory().arrays, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    with threads(2):
        for one, other in zip(
            forests_with_counts(whole, BLEU()).in_memory().arrays, expected, strict=True
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_real_graphs_hardly_grow(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "m30k-forests"
    paths = [folder / "hg" / f"{k}.txt.gz" for k in range(10)]
    lines = (folder / "ref").read_text().splitlines()[:10]
    held = [tuple(line.split()) for line in lines]
    (tmp_path / "ref").write_text("\n".join(lines) + "\n")
    whole = read_forests(paths, tmp_path / "ref")
    after = forests_with_counts(whole, BLEU()).in_memory()
    assert after.edges.sum() < 1.2 * whole.edges.sum()
    rng = np.random.default_rng(3)
    for _ in range(5):
        best = best_derivations(after, rng.normal(size=len(whole.names)))
        texts = texts_of(after, best)
        for s in range(10):
            edges = tuple(best.edges[best.start[s] : best.start[s + 1]].tolist())
            found = summed(after.arrays, Tree(edges, ()), s)
            words = tuple(after.join(texts[s]).split())
            np.testing.assert_allclose(found, unclipped(words, [held[s]], 4), atol=1e-9)


def test_counts_are_kept_for_metrics_that_count_the_same() -> None:
    whole = cased()
    first = counted_once(whole, BLEU())
    assert counted_once(whole, BLEU(smoothing="add-k", reference_length_scale=1.2)) is first
    other = counted_once(whole, BLEU(lowercase=True))
    expected = forests_with_counts(whole, BLEU(lowercase=True)).in_memory().arrays
    for one, wanted in zip(other.in_memory().arrays, expected, strict=True):
        np.testing.assert_array_equal(one, wanted)
    assert not np.array_equal(other.in_memory().arrays.counts, first.in_memory().arrays.counts)
    # Of each set the last is kept alone, and none for another set with the same contents.
    assert counted_once(whole, BLEU()) is not first
    assert counted_once(replace(whole), BLEU()) is not counted_once(whole, BLEU())


@pytest.mark.long
def test_what_is_kept_goes_with_the_forests() -> None:
    whole = cased()
    held = weakref.ref(counted_once(whole, BLEU()))
    gc.collect()
    assert held() is not None
    del whole
    gc.collect()
    assert held() is None


def test_a_warning_is_given_to_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_counts, "USUAL_LIMIT", 0.0)
    whole = cased()
    for _ in range(2):
        with pytest.warns(UserWarning, match="not counted in"):
            counted_once(whole, BLEU())


def test_counts_go_to_disk_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cased()
    expected = forests_with_counts(whole, BLEU())
    size = expected.in_memory().arrays.bytes
    assert expected.bytes_per_edge == 0.0
    for room, is_on_disk in ((2 * size, False), (2 * size - 1, True), (0, True)):
        monkeypatch.setattr(forest_counts, "budget", lambda r=room: 2 * (whole.arrays.bytes + r))
        found = forests_with_counts(whole, BLEU())
        assert (found.bytes_per_edge > 0.0) == is_on_disk
        for one, wanted in zip(found.in_memory().arrays, expected.in_memory().arrays, strict=True):
            np.testing.assert_array_equal(one, wanted)
