"""Good vectors to begin with: what they lose, and line searches against looking everywhere."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import brute_optimum, random_problem
from tests.helpers.search.exact_checks import circle_optimum, flat_tuning, plain_loss, winner_of
from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.search.exact.extreme import BAND
from tunesmith.search.exact.incumbent import assess, climbed, improve, incumbents, reassessed
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(60, interpreted=5)


def assessed(problem, vector, tolerance):
    scores = np.empty(int(np.diff(problem.start).max(initial=1)))
    winners = np.empty(problem.size, np.int64)
    about = problem.points, problem.start, problem.kin, problem.loss
    lost = assess(*about, vector, tolerance, scores, winners)
    return lost, winners.tolist()


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([1e-6, 1e-2, 0.1, 0.5]), st.booleans())
def test_who_wins_clearly(seed, tolerance, whole):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    size = problem.dimensions
    vector = rng.integers(-2, 3, size).astype(float) if whole else rng.standard_normal(size)
    lost, winners = assessed(problem, vector, tolerance)
    length = np.linalg.norm(vector)
    expected = []
    for group in range(problem.size):
        winner, lead = winner_of(problem, group, vector)
        clear = length > 0 and lead >= tolerance * length
        expected.append(int(problem.start[group]) + winner if clear else -1)
    assert winners == expected
    unclear = -1 in expected or length == 0
    assert lost == (-1 if unclear else problem.loss[expected].sum())


def test_leads_at_the_tolerance_count():
    # Scaled to a deviation of 1, the points of either group are 2 apart.
    problem = Problem.of(tuning_set([[[1.0], [-1.0]], [[0.0], [2.0]]], [[1.0, 0.0], [0.0, 1.0]]))
    assert np.ptp(problem.block(0)) == 2.0
    assert assessed(problem, np.array([3.0]), 2.0) == (0, [0, 2])
    assert assessed(problem, np.array([3.0]), 2.0001) == (-1, [-1, -1])
    assert assessed(problem, np.array([0.0]), 0.0) == (-1, [-1, -1])
    assert assessed(problem, np.array([-3.0]), 0.5)[0] == problem.loss.sum() == 2


@settings(max_examples=FEW)
@given(SEEDS)
def test_a_line_is_searched_exactly(seed):
    rng = np.random.default_rng(seed)
    problem = Problem.of(flat_tuning(rng, 4, 5))
    begin, direction = rng.standard_normal((2, 2))
    begin /= np.linalg.norm(begin)
    steps = [0.0]
    for group in range(problem.size):
        for a, b in itertools.combinations(problem.block(group).T, 2):
            if (a - b) @ direction:
                steps.append(-((a - b) @ begin) / ((a - b) @ direction))
    steps = sorted(steps)
    steps = [2 * steps[0] - 1, *steps, 2 * steps[-1] + 1]
    losses = []
    for low, high in itertools.pairwise(steps):
        # Far narrower intervals are left out, as nobody would be clearly ahead there.
        if high - low > 1e-6:
            losses.append(plain_loss(problem, begin + 0.5 * (low + high) * direction, 0.0))
    end = begin.copy()
    lost = improve(problem.points, problem.start, problem.loss, end, direction[None], 1)
    assert lost == min(losses)
    assert lost == plain_loss(problem, end, 0.0)
    assert np.linalg.norm(end) == pytest.approx(1.0)


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([1e-6, 0.1]))
def test_local_optima(seed, tolerance):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    first = list(rng.standard_normal((2, problem.dimensions)))
    found = incumbents(problem, tolerance, rng, first, starts=3)
    losses = [one.loss for one in found]
    assert losses == sorted(losses)
    for one in found:
        assert np.linalg.norm(one.vector) == pytest.approx(1.0)
        if one.clear:
            assert plain_loss(problem, one.vector, tolerance) == one.loss
        else:
            assert plain_loss(problem, one.vector, tolerance * (1 + 3 * BAND)) is None
            assert plain_loss(problem, one.vector, 0.0) == one.loss
    losses = [one.loss for one in found if one.clear]
    # What is given counts itself, if it wins clearly, and ways up lead nowhere worse.
    for vector in first:
        given_loss = plain_loss(problem, vector / np.linalg.norm(vector), tolerance * 1.01)
        assert given_loss is None or losses[0] <= given_loss
        for end in climbed(problem, tolerance, rng, vector):
            assert given_loss is None or not end.clear or end.loss <= given_loss
    optimum = brute_optimum(problem, tolerance)
    assert not losses or optimum <= losses[0]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_the_optimum_in_a_plane_is_mostly_found():
    # Any search that moves about at all meets it: there are few local optima here.
    met = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = Problem.of(flat_tuning(rng, 4, 5))
        met += incumbents(problem, 1e-6, rng)[0].loss == circle_optimum(problem)
    assert met >= 27


def test_the_clear_ones_of_some_vectors():
    problem = Problem.of(tuning_set([[[1.0, 0.0], [-1.0, 0.0]]], [[1.0, 0.0]]))
    vectors = [np.array(v) for v in ([-2.0, 0.0], [0.0, 1.0], [3.0, 4.0], [0.0, 0.0])]
    found = [(one.loss, one.vector.tolist()) for one in reassessed(problem, 1e-6, vectors)]
    assert found == [(0, [0.6, 0.8]), (1, [-1.0, 0.0])]
    # At 0 all are equal: it loses nothing, and is no vector that counts.
    assert climbed(problem, 1e-6, np.random.default_rng(1), np.zeros(2)) == []


def test_the_same_for_any_number_of_threads():
    problem = Problem.of(flat_tuning(np.random.default_rng(5), 6))
    found = []
    for count in (1, 2, 3):
        with threads(count):
            ends = incumbents(problem, 1e-6, np.random.default_rng(1), starts=4)
        found.append([(one.loss, one.vector.tolist()) for one in ends])
    assert found[0] == found[1] == found[2]
