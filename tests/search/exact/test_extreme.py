"""Whether choices can win, against least squares and linear programs of SciPy."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import (
    euclidean_margin,
    is_attainable,
    random_problem,
    rows_of,
)
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.search.exact import extreme
from tunesmith.search.exact.extreme import BAND
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
TOLERANCES = st.sampled_from([1e-6, 1e-2, 0.3])
COSINES = st.sampled_from([0.05, 0.5, 0.9, 0.99, 0.999])
#: Interpreted kernels are slow.
FEW = examples(150, interpreted=10)


def some_choices(problem, rng, number=12):
    """Yield random choices, some of them of good points."""
    for _ in range(number):
        most = rng.integers(1, 9, problem.size)
        yield problem.start[:-1] + rng.integers(np.minimum(np.diff(problem.start), most))


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES)
def test_verdicts_are_those_of_least_squares(seed, tolerance):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    if not problem.size:
        return
    tester = extreme.Tester(problem, tolerance)
    for chosen in some_choices(problem, rng):
        margin = euclidean_margin(problem, chosen)
        if abs(margin - tolerance) <= 2 * BAND * tolerance:
            continue
        verdict = tester.test(chosen)
        assert verdict.attainable == (margin >= tolerance)
        if verdict.attainable:
            assert np.linalg.norm(verdict.vector) == pytest.approx(1.0)
            ahead = (rows_of(problem, chosen) @ verdict.vector).min()
            assert verdict.margin == pytest.approx(ahead, rel=1e-9, abs=1e-12)
            assert tolerance * (1 - BAND) <= ahead <= margin * (1 + 1e-6)
        else:
            assert verdict.vector is None
            assert verdict.margin == 0.0
            assert len(verdict.blame)
            assert euclidean_margin(problem, chosen, verdict.blame) < tolerance * (1 + BAND)


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES)
def test_some_of_the_groups_alone(seed, tolerance):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    if not problem.size:
        return
    tester = extreme.Tester(problem, tolerance)
    for chosen in some_choices(problem, rng, 4):
        groups = rng.permutation(problem.size)[: rng.integers(1, problem.size + 1)]
        margin = euclidean_margin(problem, chosen, groups)
        if abs(margin - tolerance) > 2 * BAND * tolerance:
            verdict = tester.test(chosen, groups)
            assert verdict.attainable == (margin >= tolerance)
            assert set(verdict.blame) <= set(groups)


@settings(max_examples=FEW)
@given(SEEDS)
def test_whole_numbers_are_either_apart_or_tied(seed):
    """A linear program over a box tells whether there is any margin at all."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, rng.integers(1, 5))
    blocks = [rng.integers(-2, 3, (n, 3)).tolist() for n in sizes]
    problem = Problem.of(tuning_set(blocks, [rng.integers(0, 5, n).tolist() for n in sizes]))
    if not problem.size:
        return
    tester = extreme.Tester(problem)
    for chosen in some_choices(problem, rng, 4):
        rows = rows_of(problem, chosen)
        found = linprog(
            [0, 0, 0, -1.0],
            A_ub=np.column_stack([-rows, np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            bounds=[(-1, 1)] * 3 + [(None, None)],
            method="highs",
        )
        assert found.status == 0
        assert tester.test(chosen).attainable == (-found.fun > 1e-7)


@settings(max_examples=FEW)
@given(SEEDS, TOLERANCES, COSINES)
def test_verdicts_within_a_cosine(seed, tolerance, cosine):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    if not problem.size:
        return
    towards = 3.0 * rng.standard_normal(problem.dimensions)
    tester = extreme.Tester(problem, tolerance, towards, cosine)
    for chosen in some_choices(problem, rng, 6):
        expected = is_attainable(problem, chosen, tolerance, towards, cosine)
        verdict = tester.test(chosen)
        assert verdict.attainable == expected
        if expected:
            product = verdict.vector @ towards / np.linalg.norm(towards)
            assert product >= cosine * (1 - 1e-6)
            assert verdict.margin >= tolerance * (1 - BAND)
        else:
            assert not is_attainable(problem, chosen, tolerance, towards, cosine, verdict.blame)


@settings(max_examples=FEW)
@given(SEEDS, COSINES)
def test_the_other_way_within_a_cosine_says_the_same(seed, cosine):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    if not problem.size:
        return
    tolerance, towards = 1e-6, 3.0 * rng.standard_normal(problem.dimensions)
    towards /= np.linalg.norm(towards)
    tester = extreme.Tester(problem, tolerance, towards, cosine)
    for chosen in some_choices(problem, rng, 6):
        if not extreme.Tester(problem, tolerance).test(chosen).attainable:
            continue
        expected = is_attainable(problem, chosen, tolerance, towards, cosine)
        witness, blame = np.zeros(problem.dimensions), np.zeros(problem.size, np.uint8)
        state = extreme.new_state(problem.dimensions)
        found = extreme._within_cosine_by_distance(
            problem.points, problem.start, problem.kin, extreme.owners(problem),
            np.arange(problem.size), chosen, tolerance, tester.aim, cosine, *state[1:],
            np.empty(int(np.diff(problem.start).max())), witness, blame,
        )  # fmt: skip
        assert found == (extreme.FEASIBLE if expected else extreme.INFEASIBLE)
        if expected:
            assert witness @ towards >= cosine * np.linalg.norm(witness) * (1 - 1e-6)
            assert (rows_of(problem, chosen) @ witness).min() >= 1 - 1e-5
        else:
            blamed = np.flatnonzero(blame)
            assert not is_attainable(problem, chosen, tolerance, towards, cosine, blamed)


def greatest_cosine(rows, tolerance, towards, begin):
    """Return the greatest cosine of a vector with a margin, by a general optimiser."""
    aim = towards / np.linalg.norm(towards)
    found = minimize(
        lambda w: -(w @ aim) / np.linalg.norm(w),
        begin,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda w: rows @ w - tolerance * np.linalg.norm(w)},
            {"type": "eq", "fun": lambda w: w @ w - 1.0},
        ],
        options={"maxiter": 300, "ftol": 1e-12},
    )
    inside = (rows @ found.x).min() >= tolerance * np.linalg.norm(found.x) - 1e-9
    return -found.fun if found.success and inside else None


def test_the_greatest_cosine_is_where_the_verdict_changes():
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(3 if numba.config.DISABLE_JIT else 40):
        sizes = rng.integers(3, 9, 3)
        blocks = [rng.standard_normal((n, 3)).tolist() for n in sizes]
        problem = Problem.of(tuning_set(blocks, [rng.random(n).tolist() for n in sizes]))
        tolerance, towards = 0.05, rng.standard_normal(3)
        for chosen in some_choices(problem, rng, 10):
            free = extreme.Tester(problem, tolerance).test(chosen)
            if not free.attainable:
                continue
            best = greatest_cosine(rows_of(problem, chosen), tolerance, towards, free.vector)
            if best is None or not 0.05 < best < 0.999:
                continue
            compared += 1
            for cosine in (best - 1e-4, best + 1e-4):
                found = extreme.Tester(problem, tolerance, towards, cosine).test(chosen)
                assert found.attainable == (cosine < best)
    assert compared >= (1 if numba.config.DISABLE_JIT else 20)


@pytest.mark.parametrize("cosine", [0.01, 0.5, 0.9, 0.999999, 1.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-3])
def test_the_vector_itself_is_found_for_every_cosine(cosine, tolerance):
    rng = np.random.default_rng(7)
    blocks = [rng.standard_normal((20, 5)).tolist() for _ in range(6)]
    problem = Problem.of(tuning_set(blocks, [rng.random(20).tolist() for _ in range(6)]))
    for _ in range(20):
        towards = rng.standard_normal(5)
        scores = [towards @ problem.block(g) for g in range(6)]
        ahead = [np.diff(np.sort(one))[-1] / np.linalg.norm(towards) for one in scores]
        if min(ahead) < tolerance:
            continue
        chosen = problem.start[:-1] + np.array([one.argmax() for one in scores])
        assert extreme.Tester(problem, tolerance, towards, cosine).test(chosen).attainable


def test_many_features_and_points():
    rng = np.random.default_rng(3)
    blocks = [rng.standard_normal((50, 12)).tolist() for _ in range(6)]
    problem = Problem.of(tuning_set(blocks, [rng.random(50).tolist() for _ in range(6)]))
    tester = extreme.Tester(problem, 1e-3)
    answers = []
    for _ in range(5 if numba.config.DISABLE_JIT else 60):
        groups = rng.permutation(6)[: rng.integers(2, 5)]
        chosen = problem.start[:-1] + rng.integers(50, size=6)
        margin = euclidean_margin(problem, chosen, groups)
        verdict = tester.test(chosen, groups)
        answers.append(verdict.attainable)
        assert verdict.attainable == (margin >= 1e-3)
    assert numba.config.DISABLE_JIT or {True, False} == set(answers)


def test_cosines_at_or_below_zero_restrict_nothing():
    problem = Problem.of(tuning_set([[[0.0], [1.0]]], [[1.0, 0.0]]))
    chosen = np.array([0])
    assert extreme.Tester(problem, towards=np.ones(1), cosine=0.0).test(chosen).attainable
    assert not extreme.Tester(problem, towards=np.ones(1), cosine=0.1).test(chosen).attainable


def test_a_cosine_to_nothing_is_refused():
    problem = Problem.of(tuning_set([[[0.0], [1.0]]], [[1.0, 0.0]]))
    with pytest.raises(TunesmithError, match="all are 0; give others"):
        extreme.Tester(problem, towards=np.zeros(1), cosine=0.5)
