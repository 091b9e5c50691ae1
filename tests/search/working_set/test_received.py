"""The quadratic programme of an example and of working sets of others, as one (Algorithm 4)."""

from __future__ import annotations

import pickle

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.helpers.search.working_set import EPSILON, Brute
from tests.helpers.tiers import examples
from tunesmith.errors import UsageError
from tunesmith.search.working_set.solver import SharedSet, WorkingSet

FEW = examples(200, interpreted=15)
#: How exact, and how many sweeps that may take: sets that pull against each other take many.
EXACTNESS = st.sampled_from([(EPSILON, 5_000), (1e-5, 100_000)])


class Joint:
    """An example, sets of other examples, weights and rates, as plain matrices.

    ``sets`` are pairs of differences h(d_i) − h(d) and losses B(d_i) − B(d), of all derivations
    with the reference derivation, the own example's last.
    """

    def __init__(self, example, target, others, weights, rates):
        self.example, self.target = example, target
        self.weights, self.rates = weights, rates
        own = example.away(target), example.gains[target] - example.gains
        self.sets = [*others, own]

    def received(self):
        return [shared_of(*one) for one in self.sets[:-1]]

    def violations(self, weights):
        """Return v_d of all members, set by set."""
        return [losses - away @ weights for away, losses in self.sets]

    def moved(self, alphas):
        """Return w + Σ x."""
        x = sum(alpha @ away for alpha, (away, _) in zip(alphas, self.sets, strict=True))
        return self.weights + self.rates * x

    def primal(self, weights):
        distance = float(((weights - self.weights) ** 2 / self.rates).sum())
        return 0.5 * distance + sum(float(v.max()) for v in self.violations(weights))

    def dual(self, alphas):
        change = self.moved(alphas) - self.weights
        base = zip(alphas, self.violations(self.weights), strict=True)
        return sum(float(a @ v) for a, v in base) - 0.5 * float((change**2 / self.rates).sum())

    def solved(self, epsilon=EPSILON, sweeps=5_000, received=None):
        """Return the multipliers of all sets, and the new weights."""
        working = WorkingSet(len(self.weights), epsilon, sweeps)
        received = self.received() if received is None else received
        target = self.example.derivation(self.target)
        features, x = working.solve(self.example, target, self.weights, self.rates, received)
        assert len(set(features.tolist())) == len(features)
        own = np.zeros(len(self.example.gains))
        for one, value in zip(working.members, working.alpha, strict=True):
            own[one.key] += value
        new = self.weights.copy()
        new[features] += self.rates[features] * x
        return [*working.received_alpha, own], new

    def optimum_of_scipy(self, counts=None):
        """Return the multipliers that SLSQP finds; those of each set sum to its count."""
        sizes = [len(losses) for _, losses in self.sets]
        counts = np.ones(len(sizes)) if counts is None else np.asarray(counts, float)
        ends = np.cumsum(sizes)[:-1]
        away = np.concatenate([one for one, _ in self.sets])
        base = np.concatenate(self.violations(self.weights))
        products = (away * self.rates) @ away.T
        whose = np.repeat(np.eye(len(sizes)), sizes, axis=1)
        found = minimize(
            lambda a: 0.5 * a @ products @ a - a @ base,
            np.repeat(counts / sizes, sizes),
            jac=lambda a: products @ a - base,
            bounds=[(0.0, None)] * len(base),
            constraints={"type": "eq", "fun": lambda a: whose @ a - counts, "jac": lambda _: whose},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        alphas = np.split(np.clip(found.x, 0.0, None), ends)
        return [count * one / one.sum() for count, one in zip(counts, alphas, strict=True)]


def shared_of(away, losses):
    """Return what would be sent of a set whose reference derivation has no difference."""
    members = [
        (row, loss) for row, loss in zip(away, losses, strict=True) if row.any() or loss != 0.0
    ]
    features = [np.flatnonzero(row).astype(np.int32) for row, _ in members]
    return SharedSet(
        np.array([loss for _, loss in members]),
        np.cumsum([0, *map(len, features)]),
        np.concatenate([*features, np.empty(0, np.int32)]),
        np.concatenate([row[own] for own, (row, _) in zip(features, members, strict=True)] or [[]]),
    )


def random_set(rng, width, scale):
    """Draw differences and losses, those of the reference derivation, 0, first."""
    count = int(rng.integers(2, 6))
    away = rng.normal(size=(count, width)) * scale
    away[rng.random(away.shape) < 0.3] = 0.0
    losses = rng.normal(size=count) * rng.choice([0.1, 1.0, 3.0])
    away[0] = losses[0] = 0.0
    if count > 2 and rng.random() < 0.3:
        away[-1] = away[rng.integers(count - 1)]  # equal features, another loss
    return away, losses


def random_joint(seed, most=4):
    rng = np.random.default_rng(seed)
    width, scale = int(rng.integers(1, 7)), rng.choice([0.3, 1.0, 2.0])
    others = [random_set(rng, width, scale) for _ in range(int(rng.integers(1, most + 1)))]
    away, losses = random_set(rng, width, scale)
    weights = rng.normal(size=width) * rng.choice([0.0, 1.0])
    rates = np.full(width, 10.0 ** rng.uniform(-2, 0))
    if rng.random() < 0.5:
        rates = 10.0 ** rng.uniform(-2, 0, width)
    common = rng.normal(size=width)  # of all derivations of the own example
    target = int(rng.integers(len(losses)))
    return Joint(Brute(common - away, -losses), target, others, weights, rates)


def slop(joint, weights):
    return 1e-8 * (1.0 + sum(float(np.abs(v).max()) for v in joint.violations(weights)))


@settings(max_examples=FEW)
@given(st.integers(0, 2**32 - 1), EXACTNESS)
def test_the_conditions_of_the_optimum_hold_for_every_set(seed, exactness):
    joint, (epsilon, sweeps) = random_joint(seed), exactness
    given = joint.weights.copy()
    alphas, new = joint.solved(epsilon, sweeps)
    assert (joint.weights == given).all()  # as they were
    assert [len(one) for one in alphas] == [len(losses) for _, losses in joint.sets]
    assert all((one >= 0.0).all() for one in alphas)
    assert [one.sum() for one in alphas] == pytest.approx([1.0] * len(alphas), abs=1e-9)
    assert new == pytest.approx(joint.moved(alphas), rel=1e-9, abs=1e-9)
    loose = [*[epsilon] * (len(alphas) - 1), 2.0 * epsilon]  # the own one lacks derivations
    for alpha, violations, least in zip(alphas, joint.violations(new), loose, strict=True):
        assert violations.max() - violations[alpha > 0.0].min() <= least + slop(joint, new)


@settings(max_examples=FEW)
@given(st.integers(0, 2**32 - 1), EXACTNESS)
def test_no_other_solver_finds_more(seed, exactness):
    joint, (epsilon, sweeps) = random_joint(seed), exactness
    alphas, new = joint.solved(epsilon, sweeps)
    # Whatever is feasible for the dual is a lower bound of what is to be minimised.
    own, others = joint.dual(alphas), joint.dual(joint.optimum_of_scipy())
    reached, gap = joint.primal(new), epsilon * (len(alphas) + 1)
    slack = 1e-6 * (1.0 + abs(reached))
    assert own >= others - gap - slack
    assert others - slack <= reached <= others + gap + slack


@settings(max_examples=FEW // 2)
@given(st.integers(0, 2**32 - 1))
def test_a_set_that_is_received_twice_counts_twice(seed):
    joint = random_joint(seed, most=2)
    epsilon, counts = 1e-5, [2.0, *[1.0] * (len(joint.sets) - 1)]
    _, new = joint.solved(epsilon, 100_000, [joint.received()[0], *joint.received()])
    best = joint.optimum_of_scipy(counts)
    reached = joint.primal(new) + float(joint.violations(new)[0].max())
    slack = 1e-6 * (1.0 + abs(reached))
    assert abs(reached - joint.dual(best)) <= epsilon * (len(counts) + 2) + slack


@settings(max_examples=FEW // 2)
@given(st.integers(0, 2**32 - 1))
def test_in_which_order_sets_are_received_does_not_matter(seed):
    joint, epsilon = random_joint(seed), 1e-5
    received = joint.received()
    one, other = (joint.solved(epsilon, 100_000, sets)[1] for sets in (received, received[::-1]))
    # Both are within the gap of the optimum, and the objective is at least quadratic around it.
    gap = epsilon * (len(joint.sets) + 1) + slop(joint, one)
    assert abs(joint.primal(one) - joint.primal(other)) <= gap
    assert ((one - other) ** 2 / joint.rates).sum() <= 8.0 * gap


@settings(max_examples=FEW // 2)
@given(st.integers(0, 2**32 - 1))
def test_empty_sets_and_none_leave_every_bit(seed):
    joint = random_joint(seed)
    target = joint.example.derivation(joint.target)
    about = joint.example, target, joint.weights, joint.rates
    empty = shared_of(np.zeros((1, len(joint.weights))), np.zeros(1))
    working = WorkingSet(len(joint.weights))
    found = [working.solve(*about, *more) for more in ((), ([],), ([empty],), ([empty] * 3,))]
    for features, x in found[1:]:
        assert features.tolist() == found[0][0].tolist()
        assert x.tobytes() == found[0][1].tobytes()
    # Nor does it matter where they stand among others.
    sets = joint.received()
    for other in ([empty, *sets], [*sets, empty]):
        assert (joint.solved(received=other)[1] == joint.solved(received=sets)[1]).all()


@settings(max_examples=FEW // 2)
@given(st.integers(0, 2**32 - 1))
def test_what_is_shared_teaches_another_the_same(seed):
    """An example solved where it is, and as a set received by who has nothing to learn."""
    joint, epsilon = random_joint(seed), 1e-6
    width, target = len(joint.weights), joint.example.derivation(joint.target)
    sender, receiver = (WorkingSet(width, epsilon, 100_000) for _ in range(2))
    nothing = Brute(np.ones((1, width)), [0.5])
    found = []
    for working, example, one, received in (
        (sender, joint.example, target, ()),
        (receiver, nothing, nothing.derivation(0), [sender.shared]),
    ):
        sets = [share() for share in received]
        features, x = working.solve(example, one, joint.weights, joint.rates, sets)
        new = joint.weights.copy()
        new[features] += joint.rates[features] * x
        found.append(new)
    assert len(receiver.shared()) == 0
    distance = float(((found[0] - found[1]) ** 2 / joint.rates).sum())
    assert distance <= 8.0 * 3.0 * epsilon + slop(joint, found[0])


@settings(max_examples=FEW // 2)
@given(st.integers(0, 2**32 - 1))
def test_the_set_that_is_shared(seed):
    joint = random_joint(seed)
    working = WorkingSet(len(joint.weights))
    target = joint.example.derivation(joint.target)
    for received in ((), joint.received()):
        working.solve(joint.example, target, joint.weights, joint.rates, received)
        shared = working.shared()
        assert len(shared) == len(working.members) - 1
        away, losses = joint.sets[-1]
        for k, one in enumerate(working.members[1:]):
            own = slice(shared.start[k], shared.start[k + 1])
            assert shared.features[own].tolist() == np.flatnonzero(away[one.key]).tolist()
            assert shared.values[own] == pytest.approx(away[one.key][shared.features[own]])
            assert shared.losses[k] == pytest.approx(losses[one.key])
        assert shared.start[0] == 0
        assert shared.start[-1] == len(shared.features) == len(shared.values)
        assert shared.bytes == 8 * (2 * len(shared) + 3) + 12 * len(shared.values)
        # It is a copy, and goes through a pipe as it is.
        sent = pickle.loads(pickle.dumps(shared))
        working.solve(joint.example, target, joint.weights + 1.0, joint.rates)
        for name in ("losses", "start", "features", "values"):
            assert getattr(sent, name).dtype == getattr(shared, name).dtype
            assert getattr(sent, name).tobytes() == getattr(shared, name).tobytes()


def test_a_step_by_hand():
    # Nothing to learn from the own example; of the set received v = 3 − w·(−1, 2).
    alone = Brute([[1.0, 1.0]], [0.0])
    other = np.array([[0.0, 0.0], [-1.0, 2.0]]), np.array([0.0, 3.0])
    alphas, new = Joint(alone, 0, [other], np.zeros(2), np.full(2, 0.1)).solved()
    assert [one.tolist() for one in alphas] == [[0.0, 1.0], [1.0]]
    assert new == pytest.approx([-0.1, 0.2])
    # With a rate of 1 the margin of 3 is reached where 5 α = 3.
    alphas, new = Joint(alone, 0, [other], np.zeros(2), np.ones(2)).solved()
    assert alphas[0] == pytest.approx([0.4, 0.6])
    assert new == pytest.approx([-0.6, 1.2])
    # Received twice, the two need no more together.
    alphas, new = Joint(alone, 0, [other, other], np.zeros(2), np.ones(2)).solved(1e-9, 10_000)
    assert alphas[0][1] + alphas[1][1] == pytest.approx(0.6)
    assert new == pytest.approx([-0.6, 1.2])


def test_a_derivation_is_feared_only_after_others_have_moved_the_weights():
    # At w = 0 the reference derivation wins by far; the set received makes w = 1.
    example = Brute([[0.0], [2.0]], [0.5, 0.0])
    other = np.array([[0.0], [1.0]]), np.array([0.0, 9.0])
    joint = Joint(example, 0, [other], np.array([-1.0]), np.ones(1))
    target = example.derivation(0)
    working = WorkingSet(1)
    working.solve(example, target, joint.weights, joint.rates)
    assert len(working.shared()) == 0
    working.solve(example, target, joint.weights, joint.rates, joint.received())
    assert [one.key for one in working.members] == [0, 1]
    assert len(working.shared()) == 1
    alphas, new = joint.solved()
    # w = −1 + 1 − 2α, and 0.5 + 2w = 0: the own margin is kept, with α = 1/8.
    assert alphas[0].tolist() == [0.0, 1.0]
    assert alphas[1] == pytest.approx([0.875, 0.125])
    assert new == pytest.approx([-0.25])


def test_equal_features_leave_the_step_to_its_bound():
    # The second and the third have the same features, the fourth those of the reference.
    away = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    alone = Brute([[1.0, 1.0]], [0.0])
    weights, rates = np.zeros(2), np.full(2, 0.01)
    joint = Joint(alone, 0, [(away, np.array([0.0, 1.0, 4.0, 2.0]))], weights, rates)
    alphas, new = joint.solved()
    assert alphas[0].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert new == pytest.approx([0.01, 0.02])
    # Where the greatest v is of the reference's features, nothing can be learnt.
    joint = Joint(alone, 0, [(away, np.array([0.0, 1.0, 4.0, 7.0]))], weights, rates)
    alphas, new = joint.solved()
    assert alphas[0].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert new.tolist() == [0.0, 0.0]


def test_many_sets_find_room():
    rng = np.random.default_rng(0)
    width, count = 300, 5 if numba.config.DISABLE_JIT else 40
    others = [
        (np.vstack([np.zeros(width), rng.normal(size=(9, width))]), np.append(0.0, np.ones(9)))
        for _ in range(count)
    ]
    example = Brute(np.vstack([np.zeros(width), rng.normal(size=(9, width))]), [1.0] + 9 * [0.0])
    joint = Joint(example, 0, others, np.zeros(width), np.full(width, 0.01))
    working, target = WorkingSet(width), example.derivation(0)
    small = example, target, joint.weights, joint.rates
    first = working.solve(*small)
    found = [working.solve(*small, joint.received()) for _ in range(2)]
    assert (found[0][0] == found[1][0]).all()
    assert (found[0][1] == found[1][1]).all()
    new = joint.weights.copy()
    new[found[0][0]] += joint.rates[found[0][0]] * found[0][1]
    assert new == pytest.approx(joint.moved([*working.received_alpha, all_of(working, 10)]))
    assert sum(len(one) for one in working.received_alpha) == 10 * count
    # What was solved before has no influence.
    again = working.solve(*small)
    assert (again[0] == first[0]).all()
    assert (again[1] == first[1]).all()
    assert working.received_alpha == []


def all_of(working, count):
    """Return the multipliers of all derivations of the own example."""
    alpha = np.zeros(count)
    alpha[[one.key for one in working.members]] = working.alpha
    return alpha


@pytest.mark.parametrize("feature", [-1, 5])
def test_a_set_of_other_features_is_refused(feature):
    example = Brute([[1.0] * 5], [0.0])
    strange = SharedSet(
        np.ones(1), np.array([0, 2]), np.array([0, feature], np.int32), np.array([1.0, 2.0])
    )
    with pytest.raises(UsageError, match=r"of 5 features; give all learners the same features"):
        WorkingSet(5).solve(example, example.derivation(0), np.zeros(5), np.ones(5), [strange])


def test_a_set_that_is_sent_arrives_as_it_was():
    sent = SharedSet(
        np.array([0.5, -1.0]),
        np.array([0, 2, 3]),
        np.array([1, 4, 2], np.int32),
        np.array([1.5, -0.25, 3.0]),
    )
    message = pickle.dumps([sent, sent], protocol=5)
    first, second = pickle.loads(message)
    assert first is second
    for name in ("losses", "start", "features", "values"):
        was, now = getattr(sent, name), getattr(first, name)
        assert now.dtype == was.dtype
        assert now.tolist() == was.tolist()
        assert now.flags.writeable
        assert now.flags.aligned
    assert (first.bytes, len(first)) == (sent.bytes, 2)
    assert pickle.dumps(first, protocol=5) == pickle.dumps(sent, protocol=5)
    nothing = SharedSet(np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    assert len(pickle.loads(pickle.dumps(nothing))) == 0
