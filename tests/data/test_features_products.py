"""Products with all features, one vector or several, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, random_array

from tests.helpers.tiers import examples
from tunesmith.data import products
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError
from tunesmith.parallel.local import map_pieces, threads

COMPILED = hasattr(products.add_rows, "signatures")
#: Enough for several pieces, blocks and stretches where kernels are compiled.
MANY = 9001 if COMPILED else 601


def features_of(rng, candidates, dense, sparse, whole=False):
    """Draw values; whole numbers have sums without rounding."""
    block = rng.standard_normal((dense, candidates))
    held = random_array((candidates, sparse), density=0.1, rng=rng, format="csc")
    if whole:
        block, held.data = np.round(3 * block), np.ceil(8 * held.data)
    return Features(
        tuple(f"d{k}" for k in range(dense)),
        block,
        tuple(f"s{k}" for k in range(sparse)),
        csc_array(held),
    )


def matrix_of(features):
    return np.vstack([features.dense, features.sparse.toarray().T])


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 300),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(0, 3),
)
@settings(max_examples=examples(60))
def test_products_of_whole_numbers_are_numpys(seed, candidates, dense, sparse, batch):
    rng = np.random.default_rng(seed)
    features = features_of(rng, candidates, dense, sparse, whole=True)
    matrix = matrix_of(features)
    weights = rng.integers(-5, 6, (batch, dense + sparse)).astype(float)
    coefficients = rng.integers(-5, 6, (batch, candidates)).astype(float)
    assert np.array_equal(features.dot(weights), weights @ matrix)
    assert np.array_equal(features.combine(coefficients), coefficients @ matrix.T)
    for w, c in zip(weights, coefficients, strict=True):
        assert np.array_equal(features.dot(w), w @ matrix)
        assert np.array_equal(features.combine(c), matrix @ c)


@pytest.mark.parametrize(("dense", "sparse"), [(37, 0), (0, 50), (19, 50)])
def test_bits_depend_neither_on_threads_nor_on_company(dense, sparse, monkeypatch):
    monkeypatch.setattr(products, "SMALL", 0)
    rng = np.random.default_rng(dense + sparse)
    features = features_of(rng, MANY, dense, sparse)
    weights = rng.standard_normal((3, dense + sparse))
    weights[0, ::2] = 0.0
    coefficients = rng.standard_normal((3, MANY))
    with threads(1):
        scores, sums = features.dot(weights), features.combine(coefficients)
    np.testing.assert_allclose(scores, weights @ matrix_of(features), atol=1e-11)
    np.testing.assert_allclose(sums, coefficients @ matrix_of(features).T, atol=1e-11)
    for count in (1, 2, 3):
        with threads(count):
            assert features.dot(weights).tobytes() == scores.tobytes()
            assert features.combine(coefficients).tobytes() == sums.tobytes()
            for b in range(3):
                assert features.dot(weights[b]).tobytes() == scores[b].tobytes()
                assert features.combine(coefficients[b]).tobytes() == sums[b].tobytes()
    with threads(2):  # within pieces of other work
        found = map_pieces(lambda b: features.combine(coefficients[b]), [0, 1, 2])
    assert np.array(found).tobytes() == sums.tobytes()


def test_a_score_is_added_up_in_the_order_of_the_features(monkeypatch):
    monkeypatch.setattr(products, "SMALL", 0)
    rng = np.random.default_rng(3)
    features = features_of(rng, 50, 7, 9)
    weights = rng.standard_normal(16)
    expected = np.zeros(50)
    for w, row in zip(weights, matrix_of(features), strict=True):
        expected += w * row
    assert features.dot(weights).tobytes() == expected.tobytes()


def test_sums_over_many_candidates_are_accurate():
    """Where a running sum would lose digits, many short ones do not."""
    values = np.full((1, MANY), 0.1)
    features = Features(("a",), values, (), csc_array((MANY, 0)))
    found = features.combine(np.ones(MANY))[0]
    assert abs(found - MANY / 10) <= 4 * np.spacing(MANY / 10)


def test_other_layouts_of_vectors_are_taken():
    rng = np.random.default_rng(4)
    features = features_of(rng, 30, 3, 4)
    weights, coefficients = rng.standard_normal((7, 2)).T, rng.standard_normal((30, 2)).T
    assert np.array_equal(features.dot(weights), features.dot(weights.copy()))
    assert np.array_equal(features.combine(coefficients), features.combine(coefficients.copy()))
    assert features.dot(np.ones(7, int)).tolist() == features.dot(np.ones(7)).tolist()


@pytest.mark.parametrize("shape", [(6,), (8,), (2, 6), (1, 1, 7), ()])
def test_vectors_of_another_size_are_refused(shape):
    features = features_of(np.random.default_rng(5), 7, 3, 4)
    with pytest.raises(TunesmithError, match=r"one weight per feature: 7; check its shape"):
        features.dot(np.ones(shape))
    with pytest.raises(TunesmithError, match=r"one coefficient per candidate: 7; check its shape"):
        features.combine(np.ones(shape))


def test_columns_in_disorder_are_put_in_order():
    held = csc_array((np.array([2.0, 1.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), (3, 1))
    features = Features((), np.zeros((0, 3)), ("a",), held)
    rows, values = features.column(0)
    assert rows.tolist() == [0, 2]
    assert values.tolist() == [1.0, 6.0]
    assert held.indices.tolist() == [2, 0, 2]
