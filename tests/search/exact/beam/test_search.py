"""LP-MERT with a beam: no proof, but never worse than where it begins."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import brute_optimum, random_problem, rows_of
from tests.helpers.search.exact_checks import many_points, plain_loss
from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.search.exact.active_set import FEASIBLE
from tunesmith.search.exact.beam.rows import examine_rows, leads, within_beam
from tunesmith.search.exact.beam.search import beam_search
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.extreme import new_state, owners
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(60, interpreted=5)
compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")


def start_of(problem, seed=0):
    """Return a vector that wins clearly everywhere, and what it loses; else None."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        vector = rng.standard_normal(problem.dimensions)
        vector /= np.linalg.norm(vector)
        if (lost := plain_loss(problem, vector, 1e-5)) is not None:
            return vector, lost
    return None


@settings(max_examples=FEW)
@given(SEEDS)
def test_with_a_wide_beam_and_all_tries_it_finds_the_optimum(seed):
    problem = random_problem(np.random.default_rng(seed))
    start = start_of(problem)
    if start is None:
        return
    found = beam_search(problem, start[0], beam=10_000, tries=10_000)
    assert found.loss == brute_optimum(problem, 1e-6)
    assert plain_loss(problem, found.vector, 1e-9) == found.loss
    assert found.bound == 0


@settings(max_examples=FEW)
@given(SEEDS, st.integers(1, 12), st.integers(1, 5))
def test_it_is_never_worse_than_its_start(seed, beam, tries):
    problem = random_problem(np.random.default_rng(seed))
    start = start_of(problem, seed)
    if start is None:
        return
    found = beam_search(problem, 7.0 * start[0], beam=beam, tries=tries)
    assert brute_optimum(problem, 1e-6) <= found.loss <= start[1]
    assert plain_loss(problem, found.vector, 1e-9) == found.loss


@pytest.mark.long
@compiled_only
def test_it_improves_on_a_bad_start():
    problem = many_points(groups=30)
    vector, lost = start_of(problem)
    found = beam_search(problem, vector, beam=200, tries=10)
    assert found.loss < lost
    assert plain_loss(problem, found.vector, 1e-9) == found.loss
    assert not found.optimal
    assert found.tested > 0


@pytest.mark.long
@compiled_only
def test_the_same_for_any_number_of_threads():
    problem = many_points(groups=20)
    vector, _ = start_of(problem)
    results = []
    for count in (1, 3):
        with threads(count):
            results.append(beam_search(problem, vector, beam=100, tries=10))
    one, other = results
    assert one.vector.tolist() == other.vector.tolist()
    assert (one.loss, one.tested, one.rounds) == (other.loss, other.tested, other.rounds)


@compiled_only
def test_rounds_end_when_nothing_changes():
    problem = many_points(groups=6)
    vector, _ = start_of(problem)
    first = beam_search(problem, vector, tries=10, rounds=10)
    assert 1 < first.rounds < 10


@pytest.mark.parametrize("limits", [SearchLimits(seconds=0.0), SearchLimits(tests=0)])
def test_limits_end_it_with_the_start(limits):
    problem = many_points(size=6)
    vector, lost = start_of(problem)
    found = beam_search(problem, vector, limits=limits)
    assert found.loss == lost
    assert found.vector == pytest.approx(vector)
    assert found.rounds == 1


def test_nothing_to_choose():
    problem = Problem.of(tuning_set([[[1.0], [1.0]]], [[1.0, 2.0]]))
    found = beam_search(problem, np.ones(1))
    assert (found.loss, found.bound, found.tested) == (0, 0, 0)


def test_points_within_the_beam_are_those_most_ahead():
    scores = np.array([1.0, 5.0, 3.0, 2.0, 4.0])
    owner, chosen = np.array([0, 0, 0, 1, 1]), np.array([2, 3])
    others = np.array([0, 1, 4])
    ahead = leads(scores, owner, chosen, others)
    assert ahead.tolist() == [-2.0, 2.0, 2.0]
    assert within_beam(ahead, 2).tolist() == [1, 2]
    assert within_beam(ahead, 1).tolist() == [1]
    assert within_beam(ahead, 5).tolist() == [0, 1, 2]


@settings(max_examples=FEW)
@given(SEEDS)
def test_vectors_are_the_nearest_to_the_goal(seed):
    """Where a test succeeds, its vector meets the conditions of the nearest one."""
    rng = np.random.default_rng(seed)
    problem = many_points(seed=seed, groups=3, size=6, width=4)
    chosen = problem.start[:-1] + rng.integers(6, size=3)
    others = np.setdiff1d(np.arange(18), chosen)
    goal = 30.0 * rng.standard_normal(4)
    state = new_state(4)
    about = problem.points, problem.start, owners(problem), chosen, others, goal
    if examine_rows(*about, 1e7, *state) != FEASIBLE:
        return
    vector, _, _, forces, rows, count = state
    assert (rows_of(problem, chosen) @ vector).min() >= 1 - 1e-5
    # w − g is a sum of active rows, with forces that are not negative.
    points = np.concatenate([problem.block(g).T for g in range(3)])
    active = rows[: count[0]]
    normals = points[active[:, 0]] - points[active[:, 1]]
    assert (forces[: count[0]] >= 0.0).all()
    assert goal + forces[: count[0]] @ normals == pytest.approx(vector, rel=1e-6, abs=1e-6)
    assert normals @ vector == pytest.approx(np.ones(len(normals)), rel=1e-6)


def test_points_that_are_all_but_equal_do_not_compete():
    # No vector can be sure of the first or the second, but of both against the third.
    problem = Problem.of(tuning_set([[[1.0], [1.0 + 1e-9], [0.0]]], [[1.0, 0.5, 0.0]]))
    chosen, state = np.array([0]), new_state(1)
    about = problem.points, problem.start, owners(problem), chosen, np.array([1, 2])
    assert examine_rows(*about, np.array([-1.0]), 1e6, *state) == FEASIBLE
    assert state[0][0] > 0.0
