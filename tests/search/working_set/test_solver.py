"""The quadratic programme of one example, held against its conditions and another solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.helpers.search.working_set import EPSILON, Brute, primal, unmet_condition
from tests.helpers.tiers import examples
from tunesmith.inference.examples import difference
from tunesmith.search.working_set.solver import WorkingSet


def random_programme(seed):
    """Draw an example, a reference derivation, weights and rates; some vectors are equal."""
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    vectors = rng.normal(size=(count, width)) * rng.choice([0.3, 1.0, 3.0])
    vectors[rng.random(vectors.shape) < 0.2] = 0.0
    if rng.random() < 0.3:
        vectors = np.rint(vectors)
    gains = rng.normal(size=count) * rng.choice([0.1, 1.0, 3.0])
    weights = rng.normal(size=width) * rng.choice([0.0, 1.0])
    rates = np.full(width, 10.0 ** rng.uniform(-2, 0.5))
    if rng.random() < 0.5:
        rates = 10.0 ** rng.uniform(-2, 0.5, width)
    return Brute(vectors, gains), int(rng.integers(count)), weights, rates


def solved(example, target, weights, rates, epsilon=EPSILON):
    """Return multipliers of all derivations, and the new weights."""
    working = WorkingSet(len(weights), epsilon)
    features, x = working.solve(example, example.derivation(target), weights, rates)
    alpha = np.zeros(len(example.gains))
    for one, value in zip(working.members, working.alpha, strict=True):
        alpha[one.key] += value
    new = weights.copy()
    new[features] += rates[features] * x
    return alpha, new


def dual(example, target, weights, rates, alpha):
    """Return the value of the dual problem."""
    x = alpha @ example.away(target)
    base = example.violations(target, weights)
    return float(-0.5 * (rates * x * x).sum() + alpha @ base)


def optimum_of_scipy(example, target, weights, rates):
    """Return the multipliers that SLSQP finds, made feasible to the last digit."""
    away, base = example.away(target), example.violations(target, weights)
    products = (away * rates) @ away.T
    count = len(base)
    found = minimize(
        lambda a: 0.5 * a @ products @ a - a @ base,
        np.full(count, 1.0 / count),
        jac=lambda a: products @ a - base,
        bounds=[(0.0, 1.0)] * count,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    alpha = np.clip(found.x, 0.0, None)
    return alpha / alpha.sum()


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1), st.sampled_from([EPSILON, 1e-6]))
def test_the_conditions_of_the_optimum_hold_for_all_derivations(seed, epsilon):
    example, target, weights, rates = random_programme(seed)
    given = weights.copy()
    alpha, new = solved(example, target, weights, rates, epsilon)
    assert (weights == given).all()  # as they were
    assert unmet_condition(example, target, weights, rates, alpha, new, epsilon) is None


@settings(max_examples=examples(150))
@given(st.integers(0, 2**32 - 1), st.sampled_from([EPSILON, 1e-6]))
def test_no_other_solver_finds_more(seed, epsilon):
    example, target, weights, rates = random_programme(seed)
    alpha, new = solved(example, target, weights, rates, epsilon)
    other = optimum_of_scipy(example, target, weights, rates)
    reached = primal(example, target, weights, rates, new)
    # Whatever is feasible for the dual is a lower bound of what is to be minimised.
    own, others = (dual(example, target, weights, rates, a) for a in (alpha, other))
    slop = 1e-6 * (1.0 + abs(reached))
    assert own >= others - 2.0 * epsilon - slop
    assert reached <= others + 2.0 * epsilon + slop
    assert reached >= others - slop


def printed_algorithm(example, target, weights, rates, epsilon):
    """Algorithm 2 as printed, but that it ends: multipliers are set back, weights are not."""
    now, members = weights.copy(), [target]
    alpha = np.zeros(len(example.gains))
    for _ in range(100):
        violations = example.violations(target, now)
        fear = int(np.argmax(violations))
        if fear in members or violations[fear] <= violations[members].max() + epsilon:
            break
        members.append(fear)
        alpha[:] = 0.0
        alpha[target] = 1.0
        for _ in range(1000):
            violations = example.violations(target, now)
            up = max(members, key=lambda d: violations[d])
            down = min((d for d in members if alpha[d] > 0.0), key=lambda d: violations[d])
            apart = example.vectors[up] - example.vectors[down]
            if violations[up] - violations[down] <= epsilon:
                break
            curvature = float((rates * apart * apart).sum())
            step = alpha[down]
            if curvature > 0.0:
                step = min(step, (violations[up] - violations[down]) / curvature)
            alpha[up] += step
            alpha[down] = 0.0 if step == alpha[down] else alpha[down] - step
            now = now - rates * step * apart
    return alpha, now


def test_multipliers_that_are_set_back_miss_the_optimum():
    """The conditions above are strict enough to tell."""
    unmet = [0, 0]
    for seed in range(200):
        about = random_programme(seed)
        for k, (alpha, new) in enumerate((solved(*about), printed_algorithm(*about, EPSILON))):
            unmet[k] += unmet_condition(*about, alpha, new, EPSILON) is not None
    assert unmet[0] == 0
    assert unmet[1] > 40


def test_equal_features_leave_the_step_to_its_bound():
    # Both others have the same features; the one that is worth less is feared.
    example = Brute([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]], [1.0, 0.5, -3.0])
    alpha, new = solved(example, 0, np.zeros(2), np.full(2, 0.01))
    assert alpha.tolist() == [0.0, 0.0, 1.0]
    assert new == pytest.approx([-0.01, -0.02])


def test_a_pair_of_equal_features_moves_its_whole_multiplier():
    # At first the second is feared; with the third, of the same features, comes a greater v.
    class Shy(Brute):
        asked = 0

        def augmented(self, weights, factor):
            self.asked += 1
            return self.derivation(min(self.asked, 2))

    example = Shy([[0.0], [1.0], [1.0]], [0.0, -1.0, -2.0])
    alpha, new = solved(example, 0, np.zeros(1), np.ones(1))
    assert alpha.tolist() == [0.0, 0.0, 1.0]
    assert new.tolist() == [-1.0]


def test_nothing_can_be_learnt_from_the_features_of_the_reference_itself():
    example = Brute([[1.0, 2.0], [1.0, 2.0]], [1.0, -3.0])
    alpha, new = solved(example, 0, np.array([0.5, 0.25]), np.ones(2))
    assert alpha.tolist() == [0.0, 1.0]
    assert new.tolist() == [0.5, 0.25]


def test_a_step_by_hand():
    # v = 3 − w·x with x = (−1, 2): at w = 0.1 x · α, v = 3 − 0.5 α > 0 for all α up to 1.
    example = Brute([[0.0, 2.0], [1.0, 0.0]], [3.0, 0.0])
    alpha, new = solved(example, 0, np.zeros(2), np.full(2, 0.1))
    assert alpha.tolist() == [0.0, 1.0]
    assert new == pytest.approx([-0.1, 0.2])
    # With a rate of 1 the margin of 3 is reached where 5 α = 3.
    alpha, new = solved(example, 0, np.zeros(2), np.ones(2))
    assert alpha == pytest.approx([0.4, 0.6])
    assert new == pytest.approx([-0.6, 1.2])


def test_a_rate_of_zero_keeps_a_weight():
    example = Brute([[0.0, 2.0], [1.0, 0.0]], [3.0, 0.0])
    _, new = solved(example, 0, np.array([0.25, 0.0]), np.array([0.0, 1.0]))
    assert new[0] == 0.25
    assert new[1] > 0.0


def test_large_sets_and_vectors_find_room():
    rng = np.random.default_rng(0)
    # All others are as bad, and lie around it: most of them matter.
    target, vectors = 3, rng.normal(size=(150, 60))
    vectors[target] = 0.0
    example = Brute(vectors, 10.0 * (np.arange(150) == target))
    weights, rates = np.zeros(60), np.ones(60)
    working = WorkingSet(60, 1e-6, 10_000)
    small = WorkingSet(60, 1e-6, 10_000)
    for _ in range(2):  # once it has grown, the room is used again
        features, x = working.solve(example, example.derivation(target), weights, rates)
        assert len(working.members) > 16
        assert len(working.members) * 60 > 1024
        alpha = np.zeros(150)
        alpha[[one.key for one in working.members]] = working.alpha
        new = weights.copy()
        new[features] += rates[features] * x
        about = example, target, weights, rates, alpha, new
        assert unmet_condition(*about, 1e-6) is None
    # What was solved before has no influence.
    other = Brute(example.vectors[:5], example.gains[:5])
    found = [w.solve(other, other.derivation(2), weights, rates) for w in (working, small)]
    assert (found[0][0] == found[1][0]).all()
    assert (found[0][1] == found[1][1]).all()


def test_room_for_a_derivation_that_does_not_join_costs_nothing():
    class Long(Brute):
        asked = 0

        def augmented(self, weights, factor):
            self.asked += 1
            return self.derivation(min(self.asked, 2))

    # The third differs in more than there is room for at first, but is worth as much.
    vectors = np.zeros((3, 3000))
    vectors[1, 1], vectors[2] = 1.0, 1.0
    example = Long(vectors, [1.0, 0.0, 1.0])
    features, x = WorkingSet(3000).solve(
        example, example.derivation(0), np.zeros(3000), np.full(3000, 0.1)
    )
    assert example.asked == 2
    assert features.tolist() == [1]
    assert x.tolist() == [-1.0]


@given(st.integers(0, 2**32 - 1))
def test_differences_of_sparse_vectors(seed):
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(-1, 2, int(rng.integers(1, 9))).astype(float) for _ in range(2))
    pair = []
    for vector in (one, other):
        own = np.flatnonzero(vector).astype(np.int32)
        pair += [own, vector[own]]
    features, values = difference(*pair)
    wanted = np.zeros(9)
    wanted[: len(one)] += one
    wanted[: len(other)] -= other
    assert features.tolist() == np.flatnonzero(wanted).tolist()
    assert (values == wanted[features]).all()
