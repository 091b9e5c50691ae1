"""Expectations over derivations, against enumeration, appendix A.4 and finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays, forest_set, vector
from tests.helpers.inference.derivations import probabilities, scores_of, uses_of
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestArrays, ForestSet
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests import expectation as forest_expectation
from tunesmith.inference.forests.expectation import (
    combine_edges,
    covariance_with_counts,
    covariance_with_features,
    expected_counts,
    expected_gain,
    score_deviation,
)
from tunesmith.inference.forests.inside import inside
from tunesmith.parallel.local import threads

weights = st.lists(st.floats(-2, 2, width=16), min_size=3, max_size=3).map(np.array)
sharpnesses = st.sampled_from([0.0, 0.5, 2.0])
slopes = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=2).map(np.array)


@st.composite
def counted(draw: st.DrawFn) -> ForestArrays:
    """Draw a forest with two counts at each hyperedge."""
    arrays = draw(drawn_forest(most_nodes=4))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    counts = rng.integers(0, 4, (len(arrays.tail_start) - 1, 2)).astype(float)
    return arrays._replace(counts=counts)


sets = st.lists(counted(), min_size=1, max_size=3)


def held(forests: list[ForestArrays]) -> ForestSet:
    return forest_set(forests, 3, 4)


def enumerated(arrays: ForestArrays, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the probability, the counts and the features of every derivation."""
    trees = derivations(arrays)
    chances = probabilities(trees, scores)[1]
    counts = uses_of(trees, len(scores)) @ arrays.counts
    return chances, counts, np.array([vector(arrays, tree, 3) for tree in trees])


def covariance(chances: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return E[(a − E[a]) (b − E[b])] of values [n] and vectors [n, D]."""
    return (chances * (a - chances @ a)) @ (b - chances @ b)


@settings(max_examples=examples(40))
@given(sets, weights, sharpnesses)
def test_expected_counts_are_those_of_all_derivations(
    forests: list[ForestArrays], w: np.ndarray, sharpness: float
) -> None:
    found = expected_counts(held(forests), w, sharpness)
    assert found.shape == (len(forests), 2)
    for arrays, own in zip(forests, found, strict=True):
        chances, counts, _ = enumerated(arrays, sharpness * scores_of(arrays, w))
        np.testing.assert_allclose(own, chances @ counts, rtol=1e-9, atol=1e-12)


@settings(max_examples=examples(40))
@given(sets, weights, sharpnesses, slopes)
def test_covariances_are_those_of_all_derivations(
    forests: list[ForestArrays], w: np.ndarray, sharpness: float, slope: np.ndarray
) -> None:
    found, variance = covariance_with_counts(held(forests), w, sharpness, slope)
    vectors = np.array([w, [1.0, -2.0, 0.5]])
    with_features = covariance_with_features(held(forests), w, sharpness, vectors)
    wanted, spread, products = np.zeros(3), 0.0, np.zeros((2, 3))
    for arrays in forests:
        chances, counts, features = enumerated(arrays, sharpness * scores_of(arrays, w))
        gains = counts @ slope
        wanted += covariance(chances, gains, features)
        spread += float(covariance(chances, gains, gains))
        products += [covariance(chances, features @ v, features) for v in vectors]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
    assert variance == pytest.approx(spread, rel=1e-9, abs=1e-10)
    np.testing.assert_allclose(with_features, products, rtol=1e-9, atol=1e-10)


def second_order(
    arrays: ForestArrays, scores: np.ndarray, values: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return E[B] and E[Bh] by A.4 as it is printed: equations 12, 13 and those after."""
    sums = inside(arrays, 0, scores)
    rows = len(scores), len(sums)
    expect = np.zeros(rows[1]), np.zeros((rows[1], 3)), np.zeros((rows[1], 3))
    for v in range(rows[1]):
        for e in range(arrays.edge_start[v], arrays.edge_start[v + 1]):
            tails = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]]
            own = np.zeros(3)
            row = slice(arrays.feature_start[e], arrays.feature_start[e + 1])
            own[arrays.feature_ids[row]] = arrays.feature_values[row]
            b = values[e] + expect[0][tails].sum()
            h = own + expect[1][tails].sum(axis=0)
            bh = b * h + sum(
                (expect[2][t] - expect[0][t] * expect[1][t] for t in tails), np.zeros(3)
            )
            share = np.exp(scores[e] + sums[tails].sum() - sums[v])
            for total, part in zip(expect, (b, h, bh), strict=True):
                total[v] += share * part
    return float(expect[0][-1]), expect[2][-1] - expect[0][-1] * expect[1][-1]


@settings(max_examples=examples(40))
@given(counted(), weights, slopes)
def test_coefficients_of_hyperedges_give_what_appendix_a4_gives(
    arrays: ForestArrays, w: np.ndarray, slope: np.ndarray
) -> None:
    scores, values = scores_of(arrays, w), arrays.counts @ slope
    mean, coefficients = expected_gain(arrays, 0, scores, values)
    wanted_mean, wanted = second_order(arrays, scores, values)
    assert mean == pytest.approx(wanted_mean, rel=1e-9, abs=1e-10)
    features, sums = combine_edges(arrays, 0, coefficients, 3)
    assert features.dtype == np.int32
    assert (np.diff(features) > 0).all()
    dense = np.zeros(3)
    dense[features] = sums
    np.testing.assert_allclose(dense, wanted, rtol=1e-9, atol=1e-9)
    chances, _, _ = enumerated(arrays, scores)
    uses = uses_of(derivations(arrays), len(scores))
    np.testing.assert_allclose(
        coefficients, covariance(chances, uses @ values, uses), rtol=1e-9, atol=1e-10
    )


@settings(max_examples=examples(40))
@given(sets, weights, st.sampled_from([0.5, 2.0]), slopes)
def test_the_gradient_is_the_sharpness_times_the_covariance(
    forests: list[ForestArrays], w: np.ndarray, sharpness: float, slope: np.ndarray
) -> None:
    gradient = sharpness * covariance_with_counts(held(forests), w, sharpness, slope)[0]
    for d in range(3):
        # Central differences of five points: the error is of the order of step⁴.
        aside = 1e-4 * np.eye(3)[d]
        values = [
            float((expected_counts(held(forests), w + k * aside, sharpness) @ slope).sum())
            for k in (-2, -1, 1, 2)
        ]
        difference = np.dot([1, -8, 8, -1], values) / (12 * 1e-4)
        assert gradient[d] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@settings(max_examples=examples(40))
@given(sets, weights)
def test_the_deviation_of_scores_counts_every_forest_alike(
    forests: list[ForestArrays], w: np.ndarray
) -> None:
    variances = []
    for arrays in forests:
        scores = scores_of(arrays, w)
        totals = [scores[list(tree.edges)].sum() for tree in derivations(arrays)]
        variances.append(np.var(totals))
    wanted = float(np.sqrt(np.mean(variances)))
    assert score_deviation(held(forests), w) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def chain(length: int, first: float, second: float) -> ForestArrays:
    """Return a chain of choices between two hyperedges."""
    edges = [
        (n, [n - 1] if n else [], [-1] if n else [], {0: value})
        for n in range(length)
        for value in (first, second)
    ]
    return forest_arrays(edges, length - 1)


def test_the_deviation_is_right_where_derivations_are_1e210() -> None:
    many = forest_set([chain(700, 5.0, 7.0)], 1, 1)
    assert score_deviation(many, np.ones(1)) == pytest.approx(np.sqrt(700.0), rel=1e-12)


def test_what_does_not_vary_has_no_covariance_however_large() -> None:
    arrays = chain(50, 0.1, 0.3)._replace(counts=np.full((100, 1), 1e9 / 3))
    for sharpness in (0.0, 1.0, 1e6):
        found, variance = covariance_with_counts(
            forest_set([arrays], 1, 1), np.ones(1), sharpness, np.ones(1)
        )
        assert found[0] == 0.0
        assert variance == 0.0


def test_a_sharp_distribution_has_no_covariance() -> None:
    rng = np.random.default_rng(0)
    arrays = chain(50, 0.1, 0.3)._replace(counts=rng.normal(size=(100, 1)))
    found, variance = covariance_with_counts(
        forest_set([arrays], 1, 1), np.ones(1), 1e6, np.ones(1)
    )
    assert found[0] == 0.0
    assert variance == 0.0


def test_neither_threads_nor_pieces_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_expectation, "PIECE", 32)
    rng = np.random.default_rng(1)
    forests = [
        chain(n, 0.1, 0.7)._replace(counts=rng.normal(size=(2 * n, 2))) for n in range(1, 40)
    ]
    many = forest_set(forests, 1, 1)
    found = []
    for count in (1, 3):
        with threads(count):
            covariances, variance = covariance_with_counts(
                many, np.ones(1), 0.7, np.array([1.0, 0.3])
            )
            products = covariance_with_features(many, np.ones(1), 0.7, np.ones((1, 1)))
            counts = expected_counts(many, np.ones(1), 0.7)
            deviation = score_deviation(many, np.ones(1))
        found.append([*covariances, variance, *products[0], *counts.ravel(), deviation])
    assert found[0] == found[1]
    alone = [
        covariance_with_counts(
            replace(many, ids=(0,), arrays=one), np.ones(1), 0.7, np.array([1.0, 0.3])
        )
        for one in forests
    ]
    assert found[0][0] == pytest.approx(sum(c[0] for c, _ in alone), rel=1e-12)
    assert found[0][1] == pytest.approx(sum(v for _, v in alone), rel=1e-12)


def test_scores_that_cannot_be_added_up_are_told() -> None:
    arrays = chain(3, 1e200, 1e300)._replace(counts=np.ones((6, 1)))
    one = replace(forest_set([arrays], 1, 1), ids=("news-7",))
    with pytest.raises(TunesmithError, match=r"forest news-7: .*scale the weights down"):
        expected_counts(one, np.array([1e200]), 1.0)
    with pytest.raises(TunesmithError, match="news-7"):
        covariance_with_counts(one, np.array([-1e200]), 1.0, np.ones(1))
    with pytest.raises(TunesmithError, match="news-7"):
        covariance_with_features(one, np.array([1e200]), 1.0, np.ones((1, 1)))
    with pytest.raises(TunesmithError, match="news-7"):
        score_deviation(one, np.ones(1))
    with pytest.raises(TunesmithError, match="too large"):
        covariance_with_features(one, np.zeros(1), 1.0, np.ones((1, 1)))
