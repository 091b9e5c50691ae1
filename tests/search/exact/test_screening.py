"""Points that win nowhere in a region, against weights drawn in it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.search.exact_checks import flat_tuning, many_points, plain_loss
from tests.helpers.tiers import examples
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.incumbent import assessed
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.screening import between_limits, within_angle
from tunesmith.search.exact.search import exact_search

SEEDS = range(examples(40))


def drawn_within(rng, middle, angle, number=200):
    """Draw vectors of length 1 within an angle of another, some at the border."""
    away = rng.standard_normal((number, len(middle)))
    away -= np.outer(away @ middle, middle)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    angles = angle * rng.choice([0.999999, 0.9, 0.5, 0.1], number)[:, None]
    return np.cos(angles) * middle + np.sin(angles) * away


def some_problem(rng):
    if rng.random() < 0.5:
        return Problem.of(flat_tuning(rng, 6))
    return many_points(int(rng.integers(1000)), groups=6, size=20, width=4)


def score_of(problem, vector):
    lost = plain_loss(problem, vector, 0.0)
    return None if lost is None else problem.gain(lost)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_wins_within_an_angle_is_lost(seed):
    rng = np.random.default_rng(seed)
    problem = some_problem(rng)
    middle = rng.standard_normal(problem.dimensions)
    middle /= np.linalg.norm(middle)
    angle = rng.choice([0.01, 0.1, 0.5, 1.2])
    less = within_angle(problem, middle, float(np.cos(angle)))
    assert len(less.loss) <= len(problem.loss)
    for vector in drawn_within(rng, middle, angle):
        expected = score_of(problem, vector)
        assert score_of(less, vector) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_wins_between_limits_is_lost(seed):
    rng = np.random.default_rng([seed, 1])
    problem = some_problem(rng)
    middle = rng.standard_normal(problem.dimensions)
    away = rng.choice([0.02, 0.3, 1.0]) * np.abs(middle)
    less = between_limits(problem, middle - away, middle + away)
    for share in rng.uniform(-1.0, 1.0, (200, problem.dimensions)):
        vector = middle + share * away
        assert score_of(less, vector) == pytest.approx(score_of(problem, vector), abs=1e-9)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_the_optimum_within_an_angle_stays(seed):
    rng = np.random.default_rng([seed, 2])
    problem = some_problem(rng)
    middle = rng.standard_normal(problem.dimensions)
    middle /= np.linalg.norm(middle)
    cosine = float(rng.choice([0.999, 0.98, 0.8]))
    less = within_angle(problem, middle, cosine)
    gains = []
    for one in (problem, less):
        known = assessed(one, 1e-6, [middle])
        limits = SearchLimits(tests=200_000)
        found = exact_search(one, known, rng, towards=middle, cosine=cosine, limits=limits)
        assert found.optimal
        gains.append(one.gain(found.loss))
    assert gains[0] == pytest.approx(gains[1], abs=1e-9)
