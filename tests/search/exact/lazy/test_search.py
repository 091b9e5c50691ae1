"""Lazy divide and conquer, against trying every choice."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import brute_optimum, random_problem
from tests.helpers.search.exact_checks import many_points, plain_loss
from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.incumbent import Incumbent
from tunesmith.search.exact.lazy.order import conflict_order, conflict_shares
from tunesmith.search.exact.lazy.search import lazy_search
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
TOLERANCES = st.sampled_from([1e-6, 1e-2, 0.1])
BATCHES = st.sampled_from([None, 1, 3])
FEW = examples(250, interpreted=10)


def known(problem, rng, tolerance, towards=None, cosine=-1.0):
    """Return some vector that counts, None if there is none among a few."""
    for _ in range(20):
        vector = rng.standard_normal(problem.dimensions)
        if towards is not None:
            vector = towards / np.linalg.norm(towards) + 0.3 * vector
        vector /= np.linalg.norm(vector)
        near = towards is None or vector @ towards >= cosine * np.linalg.norm(towards)
        if near and (lost := plain_loss(problem, vector, tolerance * 1.01)) is not None:
            return Incumbent(vector, lost)
    return None


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES, BATCHES)
def test_the_optimum_is_that_of_trying_all(seed, tolerance, batch):
    problem = random_problem(np.random.default_rng(seed))
    expected = brute_optimum(problem, tolerance)
    if expected is None:
        assert lazy_search(problem, tolerance=tolerance, batch=batch).vector is None
        return
    found = lazy_search(problem, tolerance=tolerance, batch=batch)
    assert found.loss == expected
    assert found.optimal
    assert plain_loss(problem, found.vector, tolerance) == expected
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES, st.sampled_from([0.05, 0.5, 0.9, 0.99]))
def test_the_optimum_within_a_cosine(seed, tolerance, cosine):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    towards = rng.standard_normal(problem.dimensions)
    expected = brute_optimum(problem, tolerance, towards, cosine)
    about = {"tolerance": tolerance, "towards": towards, "cosine": cosine}
    if expected is None:
        assert lazy_search(problem, **about).vector is None
        return
    found = lazy_search(problem, **about)
    assert found.loss == expected
    assert found.vector @ towards / np.linalg.norm(towards) >= cosine * (1 - 1e-6)
    assert plain_loss(problem, found.vector, tolerance) == expected


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES, st.integers(0, 40), st.booleans())
def test_bounds_hold_whenever_it_is_stopped(seed, tolerance, tests, near):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    towards = rng.standard_normal(problem.dimensions) if near else None
    cosine = 0.7 if near else -1.0
    incumbent = known(problem, rng, tolerance, towards, cosine)
    assume(incumbent is not None)
    optimum = brute_optimum(problem, tolerance, towards, cosine)
    found = lazy_search(
        problem, tolerance=tolerance, towards=towards, cosine=cosine,
        limits=SearchLimits(tests=tests), incumbent=incumbent, batch=1,
    )  # fmt: skip
    assert found.bound <= optimum <= found.loss <= incumbent.loss
    assert plain_loss(problem, found.vector, tolerance) == found.loss
    assert found.tested <= tests + 1 or found.optimal


@settings(max_examples=examples(20))
@given(SEEDS)
def test_the_order_of_the_groups_changes_no_optimum(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    found = {lazy_search(problem, order=rng.permutation(problem.size)).loss for _ in range(3)}
    assert found == {brute_optimum(problem, 1e-6)}


def test_counts_of_a_small_case():
    # One feature: weights are of one sign or the other. By hand, points as values of it:
    # group 1 has 1 (loss 0), 2 (loss 1), 0 (loss 2); group 2 has 0 (loss 0), 1 (loss 3).
    problem = Problem.of(tuning_set([[[1], [2], [0]], [[0], [1]]], [[3, 2, 1], [3, 0]]))
    assert problem.loss.tolist() == [0, 1, 2, 0, 3]
    found = lazy_search(problem, batch=1, order=[0, 1])
    # Group 1 alone: 1 is between the others, 2 can win. Group 2 alone: 0 can win, below 0, where
    # the two groups together lose 2 + 0. Then 2 and 0 together, which cannot win. All others lose
    # 2 or more: 0 of group 1 loses 2 itself, and 1 of group 2 with 2 of group 1 comes to 3 + 1.
    assert found.loss == 2
    assert found.counts == {2: (1, 6), 1: (2 + 1, 5)}
    assert found.vector.tolist() == [-1.0]
    assert found.tested + found.shown + found.excluded == 4


def test_one_group_is_algorithm_1():
    problem = Problem.of(tuning_set([[[0, 0], [2, 0], [0, 2], [-1, -1]]], [[9, 4, 5, 6]]))
    found = lazy_search(problem, batch=1)
    # The first is within the triangle of the others; the second best is a corner.
    assert found.counts == {1: (2, 4)}
    assert problem.gain(found.loss) == pytest.approx(6.0)


def test_ranges_of_three_groups():
    problem = Problem.of(tuning_set([[[0], [1]]] * 3, [[0, 1]] * 3))
    found = lazy_search(problem)
    assert {length: total for length, (_, total) in found.counts.items()} == {3: 8, 2: 4, 1: 6}
    assert found.loss == 0


@pytest.mark.long
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_the_same_for_any_number_of_threads():
    results = []
    for count in (1, 2, 3):
        with threads(count):
            results.append(lazy_search(many_points(), limits=SearchLimits(tests=10_000)))
    first = results[0]
    assert first.counts[4][0] > 1000  # enough for batches that threads share
    for other in results[1:]:
        assert other.vector.tolist() == first.vector.tolist()
        assert replace(other, vector=first.vector) == first


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_the_first_vectors_met_improve_on_a_bad_one():
    problem = many_points()
    rng = np.random.default_rng(3)
    incumbent = known(problem, rng, 1e-6)
    found = lazy_search(problem, limits=SearchLimits(tests=500), incumbent=incumbent)
    assert found.bound < found.loss < incumbent.loss
    assert plain_loss(problem, found.vector, 1e-6) == found.loss


@pytest.mark.parametrize(
    "limits", [SearchLimits(seconds=0.0), SearchLimits(megabytes=0.0), SearchLimits(tests=0)]
)
def test_limits_end_it_with_what_there_is(limits):
    problem = many_points(size=8)
    incumbent = known(problem, np.random.default_rng(0), 1e-6)
    found = lazy_search(problem, limits=limits, incumbent=incumbent)
    assert found.loss == incumbent.loss
    assert 0 <= found.bound < found.loss


def test_nothing_to_choose():
    problem = Problem.of(tuning_set([[[1.0, 2.0], [1.0, 2.0]]], [[1.0, 2.0]]))
    found = lazy_search(problem)
    assert (found.loss, found.bound, found.tested, found.counts) == (0, 0, 0, {})
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)


def test_groups_that_exclude_each_other_come_together():
    # Groups 0 and 2 want opposite signs of the first feature, 1 and 3 of the second.
    def wants(feature, sign):
        rows = np.zeros((2, 2))
        rows[0, feature] = sign
        return rows.tolist()

    groups = [wants(0, 1), wants(1, 1), wants(0, -1), wants(1, -1)]
    problem = Problem.of(tuning_set(groups, [[1.0, 0.0]] * 4))
    shares = conflict_shares(problem, 1e-6)
    expected = np.zeros((4, 4))
    # Of the four pairs of points of such groups, both best and both worst exclude each other.
    expected[[0, 2, 1, 3], [2, 0, 3, 1]] = 0.5
    assert shares.tolist() == expected.tolist()
    order = conflict_order(shares).tolist()
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
