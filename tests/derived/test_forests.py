"""Derived features of forests and lattices: sums along derivations."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.forests import derivations, drawn_forest, forest_set, vector
from tests.helpers.tiers import examples
from tunesmith.data.forests import cut
from tunesmith.derived.adding import DerivingForests
from tunesmith.errors import UsageError
from tunesmith.inference.forests.lists import kbest_lists

KINDS = ["words", "chars", "punctuation", "unknown"]


@settings(max_examples=examples(200))
@given(st.lists(drawn_forest(whole=True), min_size=1, max_size=3), st.integers(1, 2))
def test_a_derivation_has_the_counts_of_its_text(arrays, arity):
    forests = forest_set(arrays, 3, 4)
    forests = ts.ForestSet(
        forests.ids, forests.arrays, forests.names, ("a", "x,y.", "<unk>", "漢字")
    )
    found = ts.derive(forests, KINDS)
    assert found.names == ("f0", "f1", "f2", *(f"derived:{kind}" for kind in KINDS))
    for s in range(forests.groups):
        before, after = derivations(forests.arrays, s), derivations(found.arrays, s)
        assert before == after
        for tree in after:
            words = [forests.vocabulary[w] for w in tree.words]
            values = vector(found.arrays, tree, 7, s)
            assert values[:3].tolist() == vector(forests.arrays, tree, 3, s).tolist()
            text = "".join(words)
            counts = [
                len(words),
                len(text),
                text.count(",") + text.count("."),
                words.count("<unk>"),
            ]
            assert values[3:].tolist() == counts


@settings(max_examples=examples(100))
@given(drawn_forest(whole=True))
def test_lists_of_forests_have_what_is_derived_from_the_lists(arrays):
    forests = forest_set([arrays], 3, 4)
    wanted = ["words", "chars"]
    weights = np.array([1.0, -0.5, 0.25])
    if not any(tree.words for tree in derivations(arrays)):
        return
    of_forest = kbest_lists(ts.derive(forests, wanted), np.append(weights, [0.0, 0.0]), 10)
    of_list = ts.derive(kbest_lists(forests, weights, 10), wanted)
    for name in ("derived:words", "derived:chars"):
        first, second = (
            {s.text(i): s.features.values(s.features.names.index(name))[i] for i in range(len(s))}
            for s in (of_forest, of_list)
        )
        assert first == second


@settings(max_examples=examples(50))
@given(st.lists(drawn_forest(), min_size=2, max_size=4))
def test_forests_on_disk_derive_block_by_block(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("f") / "f.arrow"
    ts.write_forests(forest_set(arrays, 3, 4), path)
    stored = ts.read_forests(path)
    inside = ts.derive(stored.in_memory(), KINDS)
    if stored.bytes_per_edge == 0.0:
        stored = _StoredLike(stored)
    outside = ts.derive(stored, KINDS)
    assert isinstance(outside, DerivingForests)
    for forests in (outside, pickle.loads(pickle.dumps(outside))):
        for s in range(forests.groups):
            ours, theirs = (cut(f.block(s, s + 1)) for f in (forests, inside))
            for a, b in zip(ours, theirs, strict=True):
                assert np.array_equal(a, b)
    assert outside.names == inside.names
    assert np.array_equal(outside.in_memory().arrays.feature_values, inside.arrays.feature_values)


class _StoredLike(ts.Forests):
    """Forests that say that their blocks are loaded."""

    def __init__(self, whole):
        self.whole = whole
        for name in ("ids", "edges", "names", "vocabulary", "references", "sources", "files"):
            setattr(self, name, getattr(whole, name))

    bytes_per_edge = 100.0

    def block(self, first, last):
        return self.whole.block(first, last)


def test_kaldi_lattices_are_tuned_with_a_word_penalty(tmp_path):
    """The scores alone choose a path with a word too many, and a word count corrects it.

    Both paths are written out: "a b" costs 1 + 1, "a x b" costs 0.9 + 0.9, so that no weights of
    one sign prefer "a b"; with a word count some do.
    """
    lattice = tmp_path / "lattice.txt"
    lattice.write_text(
        "0\n0 1 a 0.5,0.5,\n1 3 b 0.5,0.5,\n1 2 x 0.2,0.2,\n2 3 b 0.2,0.2,\n3 0,0,\n\n"
    )
    reference = tmp_path / "ref"
    reference.write_text("a b\n")
    found = ts.derive(ts.read_forests(lattice, [reference]), "words")
    scores = {name: k for k, name in enumerate(found.names)}
    for tree in derivations(found.arrays):
        values = vector(found.arrays, tree, len(found.names))
        assert values[scores["derived:words"]] == len(tree.words)
    costs = [name for name in found.names if not name.startswith("derived")]
    start = {name: 1.0 if _prefers_long(found, name) else -1.0 for name in costs}
    assert ts.rerank(found, {**start, "derived:words": 0.0}) == ["a x b"]
    tuner = ts.MERT(bound=tuple(f"{n}={'0:' if w > 0 else ':0'}" for n, w in start.items()))
    result = tuner.fit(ts.ForestTuning(found, "wer"), start | {"derived:words": 0.0})
    assert (result.initial_score, result.score) == (50.0, 0.0)
    assert result.weights["derived:words"] < 0.0


def _prefers_long(forests, name):
    long, short = sorted(derivations(forests.arrays), key=lambda t: -len(t.words))
    column = forests.names.index(name)
    values = [vector(forests.arrays, t, len(forests.names))[column] for t in (long, short)]
    return values[0] > values[1]


@pytest.mark.parametrize("spec", ["balance", "agreement", "vote:number", "rank"])
def test_what_is_no_sum_over_words_is_refused(spec):
    forests = forest_set([_one()], 1, 2)
    with pytest.raises(UsageError, match=f"'{spec}' is no sum over words"):
        ts.derive(forests, spec)


def _one():
    from tests.helpers.forests import forest_arrays

    return forest_arrays([(0, [], [0], {0: 1.0})], 0)


def test_feature_numbers_ascend_within_hyperedges():
    forests = forest_set([_one()], 1, 2)
    arrays = ts.derive(forests, KINDS).arrays
    for lo, hi in pairwise(arrays.feature_start):
        assert (np.diff(arrays.feature_ids[lo:hi]) > 0).all()
