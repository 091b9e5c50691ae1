"""The search over cones: its optimum, its bound wherever it stops, and its determinism."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import brute_optimum, random_problem
from tests.helpers.search.exact_checks import circle_optimum, flat_tuning, plain_loss, some_known
from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones import dive
from tunesmith.search.exact.cones import search as cones
from tunesmith.search.exact.cones.search import ConeSearch
from tunesmith.search.exact.incumbent import Incumbent
from tunesmith.search.exact.lazy.search import lazy_search
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
TOLERANCES = st.sampled_from([1e-6, 1e-2, 0.1])
FEW = examples(150, interpreted=8)
compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")


def small_steps(patch, tests, together=2, levels=48):
    """Have dives stop early, so that the queue has much to do."""
    patch.setattr(cones, "TESTS", tests)
    patch.setattr(cones, "ROUND", together)
    patch.setattr(dive, "LEVELS", levels)


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES, st.sampled_from([1, 2, 3, 5, 10, 20, 50]), st.booleans())
def test_the_bound_holds_wherever_it_stops(seed, tolerance, step, near):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    towards, cosine = (rng.standard_normal(problem.dimensions), 0.7) if near else (None, -1.0)
    known = some_known(problem, rng, tolerance, towards, cosine)
    assume(known)
    optimum = brute_optimum(problem, tolerance, towards, cosine)
    search = ConeSearch(problem, tolerance, towards, cosine, known)
    before = search.bound
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, step)
        for most in range(step, 100 * step, step):
            search.run(SearchLimits(tests=most))
            assert before <= search.bound <= optimum <= search.to_beat <= known[0].loss
            assert plain_loss(problem, search.best.vector, tolerance) == search.best.loss
            before = search.bound
    search.run(SearchLimits())
    assert search.done
    assert search.bound == search.to_beat == search.best.loss == optimum
    if near:
        assert search.best.vector @ towards / np.linalg.norm(towards) >= cosine * (1 - 1e-6)


@settings(max_examples=FEW)
@given(SEEDS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_subtrees_wait_and_are_taken_up_again(seed, tests, together, levels, full):
    # Larger than what can be tried out in full: the truth is known by angles.
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, 3 if numba.config.DISABLE_JIT else 12, 6))
    optimum = circle_optimum(problem)
    seen = []
    search = ConeSearch(problem, known=some_known(problem, rng, 1e-6))

    def tell():
        assert search.bound <= optimum <= search.to_beat
        seen.append((search.bound, -search.to_beat, search.tested, search.nodes))

    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, tests, together, levels)
        search.run(SearchLimits(megabytes=0.0 if full else None), tell)
    assert search.done
    assert search.best.loss == optimum
    assert search._bytes == 0
    for earlier, later in itertools.pairwise(seen):
        assert all(a <= b for a, b in zip(earlier, later, strict=True))


def test_without_a_vector_to_begin_with():
    # One feature: above 0 the second points win and lose 1 + 0, below 0 the first, 0 + 3.
    problem = Problem.of(tuning_set([[[0], [1]], [[0], [1]]], [[3, 2], [0, 3]]))
    search = ConeSearch(problem)
    assert search.best is None
    assert search.to_beat == 1 + 3 + 1
    assert search.bound == 0
    search.run(SearchLimits())
    assert (search.done, search.best.loss, search.bound) == (True, 1, 1)
    assert search.best.vector.tolist() == [1.0]


def test_within_a_cosine_that_allows_nothing():
    # Both points are equal at a right angle: near to it nobody is ahead by the tolerance.
    problem = Problem.of(tuning_set([[[1, 0], [-1, 0]]], [[1, 0]]))
    search = ConeSearch(problem, 0.1, np.array([0.0, 1.0]), 0.999)
    search.run(SearchLimits())
    assert search.done
    assert search.best is None


def test_known_vectors_outside_of_the_cosine_do_not_count():
    problem = Problem.of(tuning_set([[[1, 0], [-1, 0]]], [[1, 0]]))
    towards = np.array([-1.0, 0.0])
    known = [Incumbent(np.array([1.0, 0.0]), 0)]
    search = ConeSearch(problem, towards=towards, cosine=0.5, known=known)
    assert search.best is None
    search.run(SearchLimits())
    assert (search.best.loss, search.best.vector.tolist()) == (1, [-1.0, 0.0])
    # A threshold of 0 or less restricts nothing.
    assert ConeSearch(problem, towards=towards, cosine=0.0, known=known).best is known[0]


def test_limits_that_leave_nothing():
    problem = Problem.of(flat_tuning(np.random.default_rng(1), 6))
    for limits in (SearchLimits(seconds=0.0), SearchLimits(tests=0)):
        search = ConeSearch(problem)
        search.run(limits)
        assert (search.tested, search.bound, search.done) == (0, 0, False)


def many_points(seed=1, groups=8, size=40, width=8):
    rng = np.random.default_rng(seed)
    blocks = [rng.standard_normal((size, width)).tolist() for _ in range(groups)]
    return Problem.of(tuning_set(blocks, [rng.random(size).tolist() for _ in range(groups)]))


@compiled
def test_the_same_for_any_number_of_threads(monkeypatch):
    small_steps(monkeypatch, 300, 4)
    found = []
    for count in (1, 2, 3):
        search = ConeSearch(many_points(groups=12))
        with threads(count):
            search.run(SearchLimits(tests=10_000))
        assert not search.done  # the queue was used
        one = search.best
        found.append((one.vector.tolist(), one.loss, search.bound, search.tested, search.nodes))
    assert found[0] == found[1] == found[2]


@compiled
@pytest.mark.parametrize("seed", range(4))
def test_lazy_search_agrees_on_larger_problems(seed):
    problem = many_points(seed, 5, 15, 5)
    search = ConeSearch(problem)
    search.run(SearchLimits())
    assert search.best.loss == lazy_search(problem).loss
    assert plain_loss(problem, search.best.vector, 1e-6) == search.best.loss
