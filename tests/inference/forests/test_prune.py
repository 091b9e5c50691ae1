"""What pruning promises, against the enumeration of all derivations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays, forest_set
from tests.helpers.inference.derivations import probabilities, scores_of, uses_of
from tests.helpers.inference.forest_sets import Loaded
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays, Forests, ForestSet
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.forests.derivations import best_derivations, features_of, texts_of
from tunesmith.inference.forests.prune import prune_beam, prune_density, prune_posterior
from tunesmith.parallel.local import threads

whole_weights = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3).map(np.array)
some_weights = st.lists(st.floats(-2, 2, width=16), min_size=3, max_size=3).map(np.array)
thresholds = st.sampled_from([0.02, 0.1, 0.2, 0.3, 0.5])
sets = st.lists(drawn_forest(whole=True, most_nodes=4), min_size=1, max_size=3)

Path = tuple[int, ...]


def named(forests: list[ForestArrays]) -> ForestSet:
    """Return forests whose only count is the number of the hyperedge, so that it is known."""
    own = [
        arrays._replace(counts=np.arange(len(arrays.tail_start) - 1.0)[:, None])
        for arrays in forests
    ]
    return forest_set(own, 3, 4)


def paths(forests: Forests, forest: int) -> list[Path]:
    """Return all derivations, by the numbers that their hyperedges had before pruning."""
    arrays = forests.in_memory().arrays
    edge0 = int(arrays.edge_start[arrays.node_start[forest]])
    before = arrays.counts[edge0:, 0].astype(int)
    return [tuple(before[list(t.edges)].tolist()) for t in derivations(arrays, forest)]


def kept(forests: Forests, forest: int) -> list[int]:
    """Return the numbers that the hyperedges of a forest had before pruning."""
    arrays = forests.in_memory().arrays
    first, last = arrays.edge_start[arrays.node_start[forest : forest + 2]]
    return arrays.counts[first:last, 0].astype(int).tolist()


def best_paths(forests: Forests, w: np.ndarray) -> list[Path]:
    """Return the best derivation of each forest, by the numbers before pruning."""
    found = best_derivations(forests, w)
    ends = zip(found.start[:-1], found.start[1:], strict=True)
    return [
        tuple(np.array(kept(forests, s))[found.edges[a:b]].tolist())
        for s, (a, b) in enumerate(ends)
    ]


def scored(arrays: ForestArrays, w: np.ndarray) -> dict[Path, float]:
    """Return the score of every derivation."""
    scores = scores_of(arrays, w)
    return {tree.edges: float(scores[list(tree.edges)].sum()) for tree in derivations(arrays)}


def through(scores: dict[Path, float], edges: int) -> np.ndarray:
    """Return the score of the best derivation with each hyperedge."""
    found = np.full(edges, -np.inf)
    for path, score in scores.items():
        for e in path:
            found[e] = max(found[e], score)
    return found


def check_whole(before: ForestSet, after: Forests, w: np.ndarray) -> None:
    """Check what holds however a set is pruned."""
    assert best_paths(after, w) == best_paths(before, w)
    texts = [texts_of(s, best_derivations(s, w)) for s in (before, after)]
    vectors = [features_of(s, best_derivations(s, w)) for s in (before, after)]
    np.testing.assert_array_equal(texts[0].ids, texts[1].ids)
    for a, b in zip(*vectors, strict=True):
        np.testing.assert_array_equal(a, b)
    for s in range(before.groups):
        mine = kept(after, s)
        assert mine == sorted(mine)
        # All of it is in a derivation, and derivations are those of what is kept, in order.
        every = paths(after, s)
        assert {e for path in every for e in path} == set(mine)
        assert every == [path for path in paths(before, s) if set(path) <= set(mine)]


@settings(max_examples=examples(40))
@given(sets, whole_weights, st.integers(0, 12).map(float))
def test_every_derivation_within_the_beam_stays(
    forests: list[ForestArrays], w: np.ndarray, beam: float
) -> None:
    before = named(forests)
    after = prune_beam(before, w, beam)
    check_whole(before, after, w)
    for s, arrays in enumerate(forests):
        scores = scored(arrays, w)
        least = max(scores.values()) - beam
        within = {path for path, score in scores.items() if score >= least}
        assert within <= set(paths(after, s))
        wanted = np.flatnonzero(through(scores, len(arrays.tail_start) - 1) >= least)
        assert kept(after, s) == wanted.tolist()


def test_a_derivation_at_the_very_edge_of_the_beam_stays() -> None:
    # A chain of choices whose scores are rounded, in another order than by the beam.
    rng = np.random.default_rng(0)
    edges = [
        (n, [n - 1] if n else [], [-1] if n else [], {0: value})
        for n in range(6)
        for value in rng.normal(scale=1e3, size=2)
    ]
    arrays, w = forest_arrays(edges, 5), np.array([0.1, 0.0, 0.0])
    before, scores = named([arrays]), scored(arrays, w)
    for path, score in scores.items():
        after = prune_beam(before, w, max(scores.values()) - score)
        assert set(path) <= set(kept(after, 0))


@settings(max_examples=examples(40))
@given(sets, some_weights, thresholds, st.sampled_from([0.0, 0.3, 3.0]))
def test_what_is_likely_stays_where_it_hangs_together(
    forests: list[ForestArrays], w: np.ndarray, threshold: float, sharpness: float
) -> None:
    before = named(forests)
    after = prune_posterior(before, w, threshold, sharpness)
    check_whole(before, after, w)
    for s, arrays in enumerate(forests):
        trees = derivations(arrays)
        scores = sharpness * scores_of(arrays, w)
        uses = probabilities(trees, scores)[1] @ uses_of(trees, len(scores))
        best = best_paths(before, w)[s]
        # Rounding decides at the threshold itself.
        sure = set(np.flatnonzero(uses >= threshold + 1e-9).tolist()) | set(best)
        perhaps = set(np.flatnonzero(uses >= threshold - 1e-9).tolist()) | set(best)
        found = set(kept(after, s))
        assert {e for t in trees if set(t.edges) <= sure for e in t.edges} <= found
        assert found <= {e for t in trees if set(t.edges) <= perhaps for e in t.edges}


def test_what_is_likely_goes_if_nothing_likely_makes_it() -> None:
    # The goal uses node 0, in one of three ways, with probability 0.6.
    edges = [(0, [], [k], {}) for k in range(3)]
    edges += [(1, [0], [-1], {}), (1, [], [3], {0: np.log(2.0)})]
    before = named([forest_arrays(edges, 1)])
    after = prune_posterior(before, np.ones(3), 0.3)
    check_whole(before, after, np.ones(3))
    assert kept(after, 0) == [4]
    assert kept(prune_posterior(before, np.ones(3), 0.19), 0) == [0, 1, 2, 3, 4]


@settings(max_examples=examples(40))
@given(sets, whole_weights, st.floats(0.1, 6))
def test_no_more_hyperedges_stay_than_the_density_allows(
    forests: list[ForestArrays], w: np.ndarray, density: float
) -> None:
    before = named(forests)
    after = prune_density(before, w, density)
    check_whole(before, after, w)
    texts = texts_of(before, best_derivations(before, w))
    for s, arrays in enumerate(forests):
        most = density * len(texts[s])
        best = set(best_paths(before, w)[s])
        found = set(kept(after, s))
        assert len(found) <= max(most, len(best))
        marginal = through(scored(arrays, w), len(arrays.tail_start) - 1)
        gone = [e for e in range(len(marginal)) if e not in found]
        if gone:
            # All that is better than the best that went has stayed; with that one's equals
            # there would have been too many.
            limit = marginal[gone].max()
            assert found == {e for e in range(len(marginal)) if marginal[e] > limit} | best
            assert (marginal >= limit).sum() > most


@settings(max_examples=examples(15))
@given(st.lists(drawn_forest(), min_size=3, max_size=6), some_weights)
def test_neither_threads_nor_pieces_change_what_stays(
    forests: list[ForestArrays], w: np.ndarray
) -> None:
    before = named(forests)
    found = []
    for count, given_set in ((1, before), (3, before), (2, Loaded(before, 2))):
        with threads(count):
            found.append(
                [
                    prune_posterior(given_set, w, 0.1).in_memory().arrays,
                    prune_beam(given_set, w, 1.0).in_memory().arrays,
                    prune_density(given_set, w, 2.0).in_memory().arrays,
                ]
            )
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            for x, y in zip(a, b, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_array_equal(x, y)


def test_all_stays_in_a_beam_without_end_and_the_set_is_what_it_was() -> None:
    edges = [
        (0, [], [0], {0: 1.0}),
        (0, [], [1], {1: -500.0}),
        (1, [0, 0], [-2, 2, -1], {0: 0.5}),
        (1, [0], [-1], {2: 1.0}),
    ]
    one = forest_arrays(edges, 1)._replace(covered=np.array([3, 7], np.int32))
    before = replace(
        forest_set([one, one], 3, 4, [[[0]], [[1]]]), ids=("a", "b"), sources=("x", "y")
    )
    for after in (
        prune_beam(before, np.ones(3), np.inf),
        prune_posterior(before, np.ones(3), 0.0),
        prune_density(before, np.ones(3), 1e9),
    ):
        for a, b in zip(before.arrays, after.in_memory().arrays, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        assert (after.ids, after.names) == (before.ids, before.names)
        assert (after.vocabulary, after.sources) == (before.vocabulary, before.sources)
        assert after.references is before.references
    bare = prune_beam(before, np.ones(3), 0.0).in_memory().arrays
    assert np.diff(bare.node_start).tolist() == [2, 2]
    assert bare.covered.tolist() == [3, 7, 3, 7]


def test_limits_that_are_none_and_scores_too_large_are_told() -> None:
    one = replace(forest_set([forest_arrays([(0, [], [0], {0: 1e300})], 0)], 1, 1), ids=("a7",))
    w = np.ones(1)
    with pytest.raises(UsageError, match=r"threshold is 1\.5"):
        prune_posterior(one, w, 1.5)
    with pytest.raises(UsageError, match="beam is nan"):
        prune_beam(one, w, float("nan"))
    with pytest.raises(UsageError, match="density is 0"):
        prune_density(one, w, 0.0)
    for prune in (prune_posterior, prune_beam, prune_density):
        with pytest.raises(TunesmithError, match="forest a7: "):
            prune(one, np.array([1e300]), 0.5)
