"""Lists made of forests, against all derivations by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, forest_arrays, forest_set, vector
from tests.helpers.inference.forest_sets import WEIGHTS, OnDisk, drawn_set, rows_of
from tests.helpers.tiers import examples
from tunesmith.inference.forests.derivations import Derivations
from tunesmith.inference.forests.lists import (
    candidates_of,
    kbest_lists,
    outputs,
    sampled_lists,
    with_more,
)

SOME = settings(max_examples=examples(40))


def check_about(candidates, forests, groups):
    """Compare what is known of groups with what is known of their forests."""
    assert candidates.ids == tuple(forests.ids[g] for g in groups)
    assert candidates.sources == tuple(forests.sources[g] for g in groups)
    assert candidates.features.names == forests.names
    assert candidates.vocabulary == forests.vocabulary
    for place, g in enumerate(groups):
        lo, hi = forests.references.group_start[g : g + 2]
        own = [forests.join(forests.references.texts[r]) for r in range(lo, hi)]
        assert candidates.reference_texts(place) == own


@SOME
@given(drawn_set(), st.data())
def test_derivations_become_candidates(forests, data):
    kept = [g for g in range(forests.groups) if data.draw(st.booleans())] or [0]
    trees = [(g, tree) for g in kept for tree in derivations(forests.arrays, g)[:5]]
    start = np.cumsum([0, *(len(tree.edges) for _, tree in trees)])
    edges = np.array([e for _, tree in trees for e in tree.edges], np.int32)
    given = Derivations(np.array([g for g, _ in trees]), start, edges)
    for some in (forests, OnDisk(forests)):
        candidates = candidates_of(some, given)
        check_about(candidates, forests, kept)
        rows = rows_of(candidates)
        for i, (g, tree) in enumerate(trees):
            assert candidates.texts[i].tolist() == list(tree.words)
            assert rows[i].tolist() == vector(forests.arrays, tree, 3, g).tolist()


def test_many_features_are_sparse():
    arrays = forest_arrays([(0, [], [0], {0: 1.0, 250: 2.0}), (0, [], [], {7: -1.0})], 0)
    forests = forest_set([arrays, arrays], 251, 1, [[[0]], [[0]]])
    weights = np.zeros(251)
    weights[7] = -1.0
    found = outputs(forests, weights)
    assert found.features.dense_names == ()
    assert found.features.sparse_names == forests.names
    rows = rows_of(found)
    assert rows.shape == (2, 251)
    assert {(i, k): rows[i, k] for i, k in zip(*np.nonzero(rows), strict=True)} == {
        (0, 7): -1.0,
        (1, 7): -1.0,
    }
    assert found.texts.lengths.tolist() == [0, 0]


@SOME
@given(drawn_set(), WEIGHTS, st.integers(1, 12), st.booleans())
def test_the_best_come_first(forests, weights, size, unique):
    found = kbest_lists(forests, weights, size, unique)
    check_about(found, forests, range(forests.groups))
    rows = rows_of(found)
    for g, (first, last) in enumerate(itertools.pairwise(found.start.tolist())):
        best: dict[tuple[int, ...], float] = {}
        scores = []
        for tree in derivations(forests.arrays, g):
            score = float(vector(forests.arrays, tree, 3, g) @ weights)
            scores.append(score)
            best[tree.words] = max(score, best.get(tree.words, -np.inf))
        expected = sorted(best.values() if unique else scores, reverse=True)[:size]
        np.testing.assert_allclose(rows[first:last] @ weights, expected, atol=1e-9)
        if unique:
            texts = {tuple(found.texts[i].tolist()) for i in range(first, last)}
            assert len(texts) == last - first
    top = outputs(forests, weights)
    assert top.start.tolist() == list(range(forests.groups + 1))
    for g in range(forests.groups):
        assert top.texts[g].tolist() == found.texts[found.start[g]].tolist()
        assert rows_of(top)[g].tolist() == rows[found.start[g]].tolist()


@SOME
@given(drawn_set(), WEIGHTS, st.integers(0, 9))
def test_samples_are_derivations_and_none_is_there_twice(forests, weights, seed):
    found = sampled_lists(forests, weights, 0.5, 20, seed)
    again = sampled_lists(OnDisk(forests), weights, 0.5, 20, seed)
    assert found.texts.ids.tolist() == again.texts.ids.tolist()
    check_about(found, forests, range(forests.groups))
    rows = rows_of(found)
    for g, (first, last) in enumerate(itertools.pairwise(found.start.tolist())):
        trees = derivations(forests.arrays, g)
        known = {(t.words, tuple(vector(forests.arrays, t, 3, g).tolist())) for t in trees}
        drawn = {
            (tuple(found.texts[i].tolist()), tuple(rows[i].tolist())) for i in range(first, last)
        }
        assert len(drawn) == last - first
        assert drawn <= known


@SOME
@given(drawn_set(), WEIGHTS, WEIGHTS, st.integers(1, 5))
def test_more_lists_come_after_those_before(forests, weights, others, size):
    before, more = kbest_lists(forests, weights, size), kbest_lists(forests, others, size)
    found, origin = with_more(before, more)
    check_about(found, forests, range(forests.groups))
    rows = np.vstack([rows_of(before), rows_of(more)])
    texts = [*map(before.texts.__getitem__, range(len(before)))]
    texts += map(more.texts.__getitem__, range(len(more)))
    kinds = [(tuple(w.tolist()), tuple(row.tolist())) for w, row in zip(texts, rows, strict=True)]
    assert rows_of(found).tolist() == rows[origin].tolist()
    assert [found.texts[i].tolist() for i in range(len(found))] == [
        texts[i].tolist() for i in origin
    ]
    for g in range(forests.groups):
        own = [*range(*before.start[g : g + 2]), *(len(before) + np.arange(*more.start[g : g + 2]))]
        first = {kinds[i]: int(i) for i in reversed(own)}
        assert origin[found.start[g] : found.start[g + 1]].tolist() == sorted(first.values())


def test_features_stay_in_their_order_with_more_lists():
    edges = [(0, [], [k], {250: 1.0, k: 2.0}) for k in range(4)]
    forests = forest_set([forest_arrays(edges, 0)], 251, 4, [[[0]]])
    up = np.arange(251.0)
    before, more = (kbest_lists(forests, weights, 2) for weights in (up, -up))
    found, _ = with_more(before, more)
    assert found.features.names == forests.names
    assert sorted(np.nonzero(row)[0].tolist() for row in rows_of(found)) == [
        [k, 250] for k in range(4)
    ]
