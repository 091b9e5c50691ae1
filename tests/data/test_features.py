from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from tests.helpers.builders import candidate_set
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError

numbers = st.integers(-50, 50).map(float)


@given(st.data())
def test_dot_is_the_product_of_all_features_dense_or_sparse(data):
    width = data.draw(st.integers(1, 6))
    vectors = data.draw(st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1))
    sparse = data.draw(st.sets(st.integers(0, width - 1)))
    weights = data.draw(st.lists(numbers, min_size=width, max_size=width))
    features = candidate_set([vectors], sorted(sparse)).features
    ordered = [weights[int(name[1:])] for name in features.names]
    expected = np.array(vectors) @ np.array(weights)
    np.testing.assert_array_equal(features.dot(np.array(ordered)), expected)


@pytest.mark.parametrize("sparse", [[], [0], [0, 1]])
def test_add_moves_scores_along_one_feature(sparse):
    rng = np.random.default_rng(0)
    vectors = rng.integers(-3, 4, (3000, 2)).astype(float)
    features = candidate_set([vectors], sparse).features
    scores = np.zeros(len(vectors))
    features.add(scores, features.names.index("f1"), 0.5)
    np.testing.assert_array_equal(scores, 0.5 * vectors[:, 1])


def test_equal_vectors_have_equal_bits():
    rng = np.random.default_rng(1)
    vector = rng.standard_normal(9)
    others = rng.standard_normal((5000, 9))
    others[[0, 1023, 1024, 4999]] = vector
    scores = candidate_set([others], [3, 7]).features.dot(rng.standard_normal(9))
    assert len({scores[i].tobytes() for i in (0, 1023, 1024, 4999)}) == 1


def test_a_transposed_block_is_laid_along_rows():
    block = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    features = Features(("a", "b"), block, (), csc_array((3, 0)))
    assert features.dense.flags.c_contiguous
    np.testing.assert_array_equal(features.dense, block)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(TunesmithError, match="one row per name"):
        Features(("a",), np.zeros((2, 3)), (), csc_array((3, 0)))
    with pytest.raises(TunesmithError, match="one column per name"):
        Features(("a",), np.zeros((1, 3)), ("b",), csc_array((3, 0)))
