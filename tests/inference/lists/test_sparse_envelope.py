"""Lines along sparse features, against the same candidates stored densely and from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Mean, candidate_set
from tests.helpers.search.single import search, surface
from tests.helpers.tiers import examples
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists import hypotheses as lists
from tunesmith.inference.lists.envelope import BLOCK
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.tasks.lists import TuningSet

#: Small whole numbers, so that scores tie and slopes are equal; most are 0.
values = st.sampled_from([0, 0, 0, 0, 1, 1, 2, -1, -3])
vectors = st.tuples(st.integers(-2, 2), values, values, values)
groups_of_vectors = st.lists(st.lists(vectors, min_size=1, max_size=9), min_size=1, max_size=4)
weights_of = st.tuples(*[st.integers(-2, 2)] * 4)
kinds = st.sampled_from([np.int32, np.int64, np.float64])


def both(groups, kind=np.int64, seed=0):
    """Return the same candidates with features 1 to 3 sparse, and with all of them dense."""
    rng = np.random.default_rng(seed)
    stats = rng.integers(0, 9, (sum(map(len, groups)), 2)).astype(kind)
    stats[:, 1] = 1
    if kind is np.float64:
        stats[:, 0] += rng.random(len(stats))
    return [
        ListHypotheses(TuningSet(candidate_set(groups, columns), Mean(), stats))
        for columns in ([1, 2, 3], [])
    ]


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.tobytes() == b.tobytes()


def assert_same_line(sparse, dense, weights, direction, step):
    """Compare all that can be asked along a line, to the last bit."""
    here, there = sparse.point(weights), dense.point(weights)
    found, expected = surface(sparse, here, direction), surface(dense, there, direction)
    same_bits(found.edges, expected.edges)
    same_bits(found.totals, expected.totals)
    same_bits(found.gains, expected.gains)
    assert search(sparse, here, direction) == search(dense, there, direction)
    moved, expected = sparse.move(here, direction, step), dense.move(there, direction, step)
    assert moved.weights.tolist() == expected.weights.tolist()
    same_bits(moved.cache.scores, expected.cache.scores)
    same_bits(moved.cache.winners, expected.cache.winners)
    same_bits(moved.total, expected.total)
    assert moved.gain == expected.gain
    return moved


@settings(max_examples=examples(200))
@given(groups_of_vectors, weights_of, st.integers(1, 3), st.sampled_from([1.0, -2.0, 0.3]), kinds)
@example([[(0, 0, 0, 0)]], (1, 1, 1, 1), 1, 1.0, np.int64)  # fires nowhere
@example([[(0, 2, 0, 0), (1, 2, 0, 0)]], (1, 0, 0, 0), 1, 1.0, np.int64)  # the same on all
@example([[(0, 2, 0, 0), (1, -1, 0, 0)]], (1, 0, 0, 0), 1, 1.0, np.int64)  # fires on all
@example([[(1, 1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)]], (1, 0, 0, 0), 1, 1.0, np.int64)
@example(
    [[(0, -3, 0, 0), (2, 1, 0, 0), (2, 1, 0, 0), (0, 2, 0, 0)]], (1, 0, 0, 0), 1, 1.0, np.int64
)
@example([[(1, 0, 0, 0), (1, 1, 0, 0), (1, -1, 0, 0)]], (1, 0, 0, 0), 1, 1.0, np.int64)
def test_a_sparse_feature_is_searched_as_if_it_were_dense(groups, weights, feature, factor, kind):
    sparse, dense = both(groups, kind)
    direction = Direction(np.array([feature]), np.array([factor]), "f")
    for step in (0.5, -1.0, 1.0, 0.0):
        assert_same_line(sparse, dense, np.array(weights, float), direction, step)


@settings(max_examples=examples(100))
@given(groups_of_vectors, weights_of, st.data(), kinds)
def test_steps_lead_where_evaluation_from_scratch_does(groups, weights, data, kind):
    sparse, _ = both(groups, kind)
    point = sparse.point(np.array(weights, float))
    for _ in range(6):
        features = sorted(data.draw(st.sets(st.integers(0, 3), min_size=1)))
        factors = data.draw(st.tuples(*[st.sampled_from([1.0, -2.0, 3.0])] * len(features)))
        direction = Direction(np.array(features), np.array(factors), "f")
        point = sparse.move(point, direction, data.draw(st.sampled_from([-1.0, 0.5, 2.0])))
        fresh = sparse.point(point.weights)
        # Whole numbers and halves: no rounding on either way.
        same_bits(point.cache.scores, fresh.cache.scores)
        same_bits(point.cache.winners, fresh.cache.winners)
        same_bits(point.total, fresh.total)
        assert point.gain == fresh.gain


@pytest.mark.parametrize("few", [10.0, 0.0])
@settings(max_examples=examples(100))
@given(groups=groups_of_vectors, weights=weights_of, factors=weights_of, kind=kinds)
@example([[(0, 1, -1, 0), (1, 0, 0, 0)]], (1, 0, 0, 0), (0, 1, 1, 0), np.int64)  # cancels to 0
def test_several_sparse_features_together(few, groups, weights, factors, kind):
    sparse, dense = both(groups, kind)
    direction = Direction.of(np.array([0, *factors[1:]], float), "tied")
    if len(direction.features) == 0:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FEW", few)
        assert_same_line(sparse, dense, np.array(weights, float), direction, 0.5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, BLOCK, 3 * BLOCK + 5]))
@settings(max_examples=examples(60))
def test_large_groups_of_real_numbers(seed, size):
    rng = np.random.default_rng(seed)
    groups = []
    for n in rng.integers(1, size + 1, 3):
        block = rng.standard_normal((n, 4))
        block[:, 1:] *= rng.random((n, 3)) < rng.choice([0.02, 0.3, 1.0], 3)
        block[:, 3] = np.round(block[:, 3])
        groups.append(block.tolist())
    sparse, dense = both(groups, seed=seed)
    weights = rng.standard_normal(4)
    for feature in (1, 2, 3):
        direction = Direction.along(feature, "f")
        moved = assert_same_line(sparse, dense, weights, direction, rng.normal())
        fresh = sparse.point(moved.weights)
        np.testing.assert_allclose(moved.cache.scores, fresh.cache.scores, atol=1e-12)
        same_bits(moved.cache.winners, fresh.cache.winners)


def test_stored_zeros_change_nothing():
    groups = [[(1, 0, 0, 0), (1, 1, 0, 0), (0, 0, 0, 0), (1, -1, 0, 0)]]
    sparse, dense = both(groups)
    column = sparse.features.sparse
    column.data[column.indices[: column.indptr[1]] == 3] = 0.0
    dense.features.dense[1, 3] = 0.0
    dense = ListHypotheses(dense.tuning)
    for weights in ([1, 0, 0, 0], [1, 1, 0, 0], [-1, 0, 0, 0]):
        line = Direction.along(1, "f")
        assert_same_line(sparse, dense, np.array(weights, float), line, -2.0)


def test_only_groups_in_which_a_feature_fires_are_looked_at():
    """Scores of other groups and of losers may be anything: nothing there is read."""
    groups = [[(0, 0, 0, 0), (1, 0, 0, 0)] for _ in range(5)]
    groups[3] = [(0, 1, 0, 0), (1, 0, 0, 0), (0.5, 0, 0, 0)]
    sparse, _ = both(groups)
    point = sparse.point(np.array([1.0, 0.0, 0.0, 0.0]))
    line = Direction.along(1, "f")
    expected = sparse.envelope(point, line)
    # The winner of the fourth group is candidate 7; 6 fires, 8 cannot be on the envelope.
    touched = np.isin(np.arange(sparse.features.candidates), [6, 7])
    point.cache.scores[~touched] = np.nan
    found = sparse.envelope(point, line)
    assert found.at.tolist() == expected.at.tolist() == [1.0]
    assert found.change.tolist() == expected.change.tolist()
    moved = sparse.move(point, line, 2.0)
    assert moved.cache.winners.tolist() == [1, 3, 5, 6, 10]
    fresh = sparse.point(np.array([1.0, 2.0, 0.0, 0.0]))
    assert moved.total.tolist() == fresh.total.tolist()
