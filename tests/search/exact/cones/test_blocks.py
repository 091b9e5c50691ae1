"""A bound by blocks: it holds at every moment, rises, and in the end is the optimum."""

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
from tunesmith.search.exact import certificate as found
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones import blocks
from tunesmith.search.exact.cones import search as cones
from tunesmith.search.exact.cones.blocks import BlockBound
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(60, interpreted=5)
GROUPS = 3 if numba.config.DISABLE_JIT else 10


def small_steps(patch, first=2, tests=3, together=2, dives=2):
    """Have few groups make many blocks, and each of them wait often."""
    patch.setattr(blocks, "FIRST", first)
    patch.setattr(blocks, "TESTS", tests)
    patch.setattr(blocks, "TOGETHER", together)
    patch.setattr(cones, "TESTS", dives)


@settings(max_examples=FEW)
@given(SEEDS, st.integers(1, 5), st.integers(1, 6), st.integers(1, 3), st.booleans())
def test_it_holds_and_rises_until_it_is_the_optimum(seed, first, tests, together, with_known):
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, GROUPS, 5))
    optimum = circle_optimum(problem)
    known = some_known(problem, rng, 1e-6) if with_known else []
    seen = [0]
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, first, tests, together)
        bound = BlockBound(problem, known=known)

        def tell():
            groups = np.concatenate([b.groups for b in bound._blocks])
            assert len({*groups.tolist()}) == len(groups)
            assert {*groups.tolist()} <= {*range(problem.size)}
            seen.append(bound.bound)

        bound.run(SearchLimits(), None, tell)
    assert seen == sorted(seen)
    assert seen[-1] == bound.bound == optimum
    assert bound.done
    assert bound.sizes == [problem.size]


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([0, 1, 2, 3, 5, 10, 20, 40]), st.integers(1, 3))
def test_it_holds_wherever_it_stops(seed, tests, first):
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, GROUPS, 6))
    optimum = circle_optimum(problem)
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, first, 1, 1, 1)
        bound = BlockBound(problem)
        before = 0
        for more in range(4):
            bound.run(SearchLimits(tests=tests * (more + 1)))
            assert before <= bound.bound <= optimum
            before = bound.bound
        bound.run(SearchLimits(megabytes=0.0))
    assert bound.bound == optimum


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([1e-6, 0.1]), st.sampled_from([-1.0, 0.3, 0.9]))
def test_any_number_of_features_and_a_cosine(seed, tolerance, cosine):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    towards = rng.standard_normal(problem.dimensions)
    optimum = brute_optimum(problem, tolerance, towards, cosine)
    assume(optimum is not None)
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, 1)
        bound = BlockBound(problem, tolerance, towards, cosine)
        bound.run(SearchLimits())
    assert bound.bound == optimum
    assert bound.done or problem.size == 0


@settings(max_examples=FEW)
@given(SEEDS, st.integers(1, 3), st.integers(1, 7))
def test_blocks_are_no_larger_than_the_largest(seed, first, largest):
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, GROUPS, 5))
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, first)
        bound = BlockBound(problem)
        bound.run(SearchLimits(), largest)
    assert sum(bound.sizes) == problem.size
    assert max(bound.sizes) <= max(first, largest)
    # Nothing is left that could be merged: the two smallest are too large together.
    assert len(bound.sizes) == 1 or sum(sorted(bound.sizes)[:2]) > largest
    # Its bound is exactly the sum of what the blocks lose at best, each by itself.
    parts = [problem.part(block.groups) for block in bound._blocks]
    assert bound.bound == sum(circle_optimum(part) for part in parts)


def test_by_hand():
    # Each group has a point for either sign of the one feature; these exclude each other.
    values = [[0.0, 2.0], [3.0, 0.0], [0.0, 1.0]]
    problem = Problem.of(tuning_set([[[-1.0], [1.0]]] * 3, values))
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch, 1)
        bound = BlockBound(problem)
        bound.run(SearchLimits(), 1)
        assert (bound.sizes, bound.bound, bound.done) == ([1, 1, 1], 0, False)
        bound.run(SearchLimits(), 2)
        assert sorted(bound.sizes) == [1, 2]
        assert bound.bound == 2  # the first two: their signs differ, and 2 < 3
        bound.run(SearchLimits())
    assert (bound.sizes, bound.bound, bound.done) == ([3], 3, True)
    best = bound.best()
    assert [(one.loss, one.vector.tolist()) for one in best] == [(3, [1.0])]


@settings(max_examples=FEW)
@given(SEEDS)
def test_the_best_vectors_of_blocks_are_assessed_on_all(seed):
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, GROUPS, 5))
    with pytest.MonkeyPatch.context() as patch:
        small_steps(patch)
        bound = BlockBound(problem, known=some_known(problem, rng, 1e-6))
        bound.run(SearchLimits(), 4)
    best = bound.best()
    assert [one.loss for one in best] == sorted(one.loss for one in best)
    for one in best:
        assert plain_loss(problem, one.vector, 1e-6) == one.loss >= bound.bound


@pytest.mark.long
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_the_same_for_any_number_of_threads(monkeypatch):
    small_steps(monkeypatch, 4, 100, 8, 50)
    rng = np.random.default_rng(2)
    points = [rng.standard_normal((20, 6)).tolist() for _ in range(40)]
    problem = Problem.of(tuning_set(points, [rng.random(20).tolist() for _ in points]))
    results = []
    for count in (1, 2, 3):
        with threads(count):
            bound = BlockBound(problem)
            seen = []
            bound.run(SearchLimits(tests=8000), None, lambda b=bound, s=seen: s.append(b.bound))
        vectors = [one.vector.tolist() for one in bound.best()]
        results.append((seen, bound.tested, bound.sizes, vectors))
    assert results[0] == results[1] == results[2]
    assert len({*results[0][0]}) > 3
    assert any(a > 4 for a in results[0][2])


def test_no_time_and_no_groups():
    problem = Problem.of(flat_tuning(np.random.default_rng(1), 5))
    bound = BlockBound(problem)
    bound.run(SearchLimits(seconds=0.0))
    assert (bound.bound, bound.tested, bound.done, bound.best()) == (0, 0, False, [])
    nothing = BlockBound(problem.part([]))
    nothing.run(SearchLimits())
    assert (nothing.bound, nothing.tested, nothing.sizes) == (0, 0, [])


def test_time_runs_out_on_the_way(monkeypatch):
    small_steps(monkeypatch, 1, 1, 1, 1)
    problem = Problem.of(flat_tuning(np.random.default_rng(6), 12))
    optimum = circle_optimum(problem)
    for seconds in (5, 20, 80, 320):
        ticks = itertools.count()
        with monkeypatch.context() as patch:
            patch.setattr(found, "working_seconds", ticks.__next__)
            bound = BlockBound(problem)
            bound.run(SearchLimits(seconds=float(seconds), started=next(ticks)))
        assert not bound.done or bound.bound == optimum
        assert 0 <= bound.bound <= optimum
