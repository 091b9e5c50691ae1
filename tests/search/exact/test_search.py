"""Exact search for any number of groups: against trying every choice, and within limits."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import UnclearError, brute_optimum, random_tuning
from tests.helpers.search.exact_checks import circle_optimum, flat_tuning, plain_loss, some_known
from tests.helpers.tiers import examples
from tunesmith.inference.lists.hypotheses import best
from tunesmith.parallel.local import threads
from tunesmith.search.exact import search as exact
from tunesmith.search.exact.certificate import ExactResult, SearchLimits, certificate
from tunesmith.search.exact.cones import blocks
from tunesmith.search.exact.cones import search as cones
from tunesmith.search.exact.incumbent import incumbents
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.search import exact_search

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(60, interpreted=5)
PROBLEMS = examples(650, interpreted=20)
#: That many of them at least must have a choice, and no margin near the tolerance.
CLEAR = 3 * PROBLEMS // 4
compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")


def solved(problem, rng, **about):
    """Search from nothing, from one vector or from local optima."""
    kind = rng.integers(3)
    tolerance = about["tolerance"]
    known = incumbents(problem, tolerance, rng, starts=2) if kind == 2 else []
    if kind == 1:
        known = some_known(problem, rng, tolerance)
    return exact_search(problem, known, rng, **about)


def check_optimum(tuning, problem, found, expected, tolerance):
    """Hold what was found against the truth, and against what reranking chooses."""
    if expected is None:
        assert found.vector is None
        return
    assert (found.loss, found.bound, found.optimal) == (expected, expected, True)
    assert plain_loss(problem, found.vector, tolerance) == expected
    reached = tuning.score(best(tuning.candidates, problem.weights(found.vector)))
    assert reached == pytest.approx(problem.score(found.loss), abs=1e-6 * tuning.metric.scale)


@pytest.mark.parametrize("cosine", [None, 0.6])
def test_the_optimum_is_that_of_trying_all(cosine):
    clear, ties = 0, 0
    for seed in range(PROBLEMS):
        rng = np.random.default_rng([seed, 5])
        tuning = random_tuning(rng)
        problem = Problem.of(tuning)
        if problem.size == 0:
            continue
        tolerance = (1e-6, 1e-3, 0.1)[seed % 3]
        towards = None if cosine is None else rng.standard_normal(problem.dimensions)
        within = -1.0 if cosine is None else cosine
        try:
            expected = brute_optimum(problem, tolerance, towards, within)
        except UnclearError:
            continue
        found = solved(problem, rng, tolerance=tolerance, towards=towards, cosine=within)
        check_optimum(tuning, problem, found, expected, tolerance)
        if cosine is not None and found.vector is not None:
            assert found.vector @ towards / np.linalg.norm(towards) >= cosine * (1 - 1e-6)
        clear += 1
        ties += len(problem.loss) < len(tuning.candidates)
    assert clear >= CLEAR
    assert ties > clear / 4  # candidates with equal features are among them


def small_blocks(patch, one_tree=0, no_tree=100, block=4, first=2):
    """Have problems of a few groups take the ways of those with many."""
    patch.setattr(exact, "ONE_TREE", one_tree)
    patch.setattr(exact, "NO_TREE", no_tree)
    patch.setattr(exact, "BLOCK", block)
    patch.setattr(blocks, "FIRST", first)
    patch.setattr(blocks, "TESTS", 3)
    patch.setattr(blocks, "TOGETHER", 2)
    patch.setattr(cones, "TESTS", 2)


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([0, 5, 9]), st.sampled_from([1, 4, 8]), st.integers(1, 4))
def test_blocks_first_and_then_a_tree_or_none(seed, no_tree, block, first):
    rng = np.random.default_rng(seed)
    tuning = flat_tuning(rng, 6 if numba.config.DISABLE_JIT else 9, 5)
    problem = Problem.of(tuning)
    optimum = circle_optimum(problem)
    told = []

    def tell(loss, bound, tested):
        assert bound <= optimum <= loss
        told.append((tested, bound))

    known = some_known(problem, rng, 1e-6)
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, 0, no_tree, block, first)
        found = exact_search(problem, known, rng, tell=tell)
    for earlier, later in itertools.pairwise(told):
        assert earlier[0] <= later[0]
        assert earlier[1] <= later[1]
    assert found.bound <= optimum <= found.loss
    assert plain_loss(problem, found.vector, 1e-6) == found.loss
    assert found.bound == optimum  # without limits blocks grow until they are all groups
    if problem.size <= no_tree:
        assert found.loss == optimum


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([0, 1, 2, 3, 5, 10, 20, 50]), st.sampled_from([0, 9]), st.booleans())
def test_bounds_hold_wherever_it_stops(seed, tests, no_tree, small):
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, 6 if numba.config.DISABLE_JIT else 8, 6))
    known = some_known(problem, rng, 1e-6)
    optimum = circle_optimum(problem)
    limits = SearchLimits(tests=tests, megabytes=0.0 if small else None)
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, 4, no_tree)
        found = exact_search(problem, known, rng, limits=limits)
    assert 0 <= found.bound <= optimum <= found.loss <= known[0].loss
    assert plain_loss(problem, found.vector, 1e-6) == found.loss


def test_no_time_at_all():
    problem = Problem.of(flat_tuning(np.random.default_rng(3), 40))
    rng = np.random.default_rng(1)
    known = some_known(problem, rng, 1e-6)
    found = exact_search(problem, known, rng, limits=SearchLimits(seconds=0.0))
    assert (found.tested, found.bound) == (0, 0)
    assert found.loss <= known[0].loss
    nothing = exact_search(problem, [], rng, limits=SearchLimits(seconds=0.0))
    assert (nothing.vector, nothing.optimal, nothing.bound) == (None, False, 0)
    assert nothing.loss > known[-1].loss


def larger(groups, seed=1, size=20, width=6):
    rng = np.random.default_rng(seed)
    points = [rng.standard_normal((size, width)).tolist() for _ in range(groups)]
    return Problem.of(tuning_set(points, [rng.random(size).tolist() for _ in range(groups)]))


@pytest.mark.long
@compiled
@pytest.mark.parametrize("groups", [12, 30, 120])
def test_the_same_for_any_number_of_threads(groups):
    problem, results = larger(groups), []
    for count in (1, 2, 3):
        with threads(count):
            rng = np.random.default_rng(4)
            known = incumbents(problem, 1e-6, rng, starts=2)
            found = exact_search(problem, known, rng, limits=SearchLimits(tests=4000))
        results.append((found.vector.tolist(), found.loss, found.bound, found.tested))
    assert results[0] == results[1] == results[2]
    assert 0 < results[0][2] <= results[0][1]


def test_a_certificate_in_the_metrics_unit():
    # Mean of values: the best of the three groups are 3, 5 and 2.
    problem = Problem.of(tuning_set([[[0], [1]], [[1], [0]], [[0], [1]]], [[3, 1], [5, 3], [2, 0]]))
    assert problem.combinations == 8
    found = certificate(problem, 2.0, ExactResult(np.ones(1), 2, 1, 7), 1.5)
    assert found == {
        "best": pytest.approx((10 - 4) / 3),
        "bound": pytest.approx((10 - 2) / 3),
        "gap": pytest.approx(2 / 3),
        "optimal": False,
        "tested": 7,
        "total": 8,
        "seconds": 1.5,
    }
    # A bound above what was found is no better than it.
    proven = certificate(problem, 8 / 3, ExactResult(np.ones(1), 1, 2, 7), 1.5)
    assert (proven["bound"], proven["gap"], proven["optimal"]) == (8 / 3, 0.0, True)
    # Rounding in another order is no gap.
    near = certificate(problem, 8 / 3 - 1e-12, ExactResult(np.ones(1), 1, 1, 7), 1.5)
    assert (near["optimal"], near["gap"], near["bound"]) == (True, 0.0, 8 / 3 - 1e-12)
    # Others than the optimal weights are not proven, whichever side they are on.
    worse = certificate(problem, 2.0, ExactResult(np.ones(1), 1, 1, 7), 1.5)
    assert (worse["optimal"], worse["bound"]) == (False, pytest.approx(8 / 3))
    assert "tie" not in worse
    tied = certificate(problem, 3.0, ExactResult(np.ones(1), 1, 1, 7), 1.5)
    assert (tied["optimal"], tied["bound"], tied["gap"], tied["tie"]) == (False, 3.0, 0.0, True)
    # Nothing that counts was found, so nothing is proven but the bound.
    none = certificate(problem, 2.0, ExactResult(None, 6, 6, 7), 1.5)
    assert (none["optimal"], none["tie"]) == (False, True)
    assert not ExactResult(None, 1, 1, 0).optimal
    assert ExactResult(np.ones(1), 1, 1, 0).optimal
    assert not ExactResult(np.ones(1), 1, 0, 0).optimal


def test_numbers_that_no_float_holds_are_texts():
    groups = [[[0.0], [1.0]]] * 60
    problem = Problem.of(tuning_set(groups, [[0.0, 1.0]] * 60))
    assert problem.total == str(2**60)
    many = Problem.of(tuning_set(groups * 40, [[0.0, 1.0]] * 2400))
    assert many.total == "10^722"  # 2400 log10 2 = 722.5
