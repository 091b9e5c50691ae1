"""Sums over derivations, against the enumeration of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.forests import derivations, drawn_forest, forest_arrays
from tests.helpers.inference.derivations import probabilities, scores_of, uses_of
from tunesmith.data.forests import ForestArrays, joined
from tunesmith.inference.forests.derivations import unfold, viterbi
from tunesmith.inference.forests.inside import expected_uses, inside, shares

weights = st.lists(st.floats(-2, 2, width=16), min_size=3, max_size=3).map(np.array)


@given(drawn_forest(), weights, st.sampled_from([0.0, 0.3, 1.0, 20.0]))
def test_sums_and_uses_are_those_of_all_derivations(
    arrays: ForestArrays, w: np.ndarray, sharpness: float
) -> None:
    scores = sharpness * scores_of(arrays, w)
    trees = derivations(arrays)
    whole, chances = probabilities(trees, scores)
    sums, share = shares(arrays, 0, scores)
    np.testing.assert_array_equal(inside(arrays, 0, scores), sums)
    assert sums[-1] == pytest.approx(whole, rel=1e-10, abs=1e-10)
    uses = chances @ uses_of(trees, len(scores))
    np.testing.assert_allclose(expected_uses(arrays, 0, share), uses, rtol=1e-8, atol=1e-12)


@given(st.lists(drawn_forest(), min_size=2, max_size=3), weights)
def test_a_forest_among_others_is_what_it_is_alone(
    forests: list[ForestArrays], w: np.ndarray
) -> None:
    together = joined(forests)
    for s, arrays in enumerate(forests):
        scores = scores_of(arrays, w)
        alone = inside(arrays, 0, scores)
        np.testing.assert_array_equal(inside(together, s, scores), alone)
        share = shares(arrays, 0, scores)[1]
        np.testing.assert_array_equal(
            expected_uses(together, s, share), expected_uses(arrays, 0, share)
        )


@given(drawn_forest(whole=True), st.lists(st.integers(-50, 50), min_size=3, max_size=3))
def test_a_sharp_distribution_is_its_winners(arrays: ForestArrays, w: list[int]) -> None:
    scores = 1e6 * scores_of(arrays, np.array(w, float))
    trees = derivations(arrays)
    totals = np.array([scores[list(tree.edges)].sum() for tree in trees])
    winners = totals == totals.max()
    wanted = uses_of(trees, len(scores))[winners].mean(axis=0)
    _, share = shares(arrays, 0, scores)
    np.testing.assert_allclose(expected_uses(arrays, 0, share), wanted, atol=1e-6)
    if winners.sum() == 1:
        best = unfold(arrays, 0, viterbi(arrays, 0, scores)[1])
        np.testing.assert_array_equal(
            expected_uses(arrays, 0, share), np.bincount(best, minlength=len(scores))
        )


@pytest.mark.parametrize("size", [1e5, -1e5])
def test_scores_of_any_sign_and_size_are_added_up(size: float) -> None:
    # A chain of 100 choices between two hyperedges whose scores differ by log 3.
    edges = [
        (n, [n - 1] if n else [], [-1] if n else [], {0: size + extra})
        for n in range(100)
        for extra in (0.0, np.log(3.0))
    ]
    arrays = forest_arrays(edges, 99)
    scores = scores_of(arrays, np.ones(1))
    sums, share = shares(arrays, 0, scores)
    assert sums[-1] == pytest.approx(100 * (size + np.log(4.0)), rel=1e-13)
    wanted = np.tile([0.25, 0.75], 100)
    np.testing.assert_allclose(expected_uses(arrays, 0, share), wanted, rtol=1e-7)


def test_derivations_may_be_as_many_as_they_like() -> None:
    edges = [(n, [n - 1] if n else [], [-1] if n else [], {}) for n in range(700) for _ in range(3)]
    arrays = forest_arrays(edges, 699)
    sums, share = shares(arrays, 0, np.zeros(2100))
    assert sums[-1] == pytest.approx(700 * np.log(3.0), rel=1e-12)  # 1e334 of them
    np.testing.assert_allclose(expected_uses(arrays, 0, share), 1 / 3, rtol=1e-9)
