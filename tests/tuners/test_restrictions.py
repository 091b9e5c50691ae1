"""Restrictions on weights, for every tuner: they hold at every step, and cost nothing inside."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy.optimize import minimize

import tunesmith as ts
from tests.helpers.builders import tuning_set
from tests.helpers.search.restrictions import Restrictions, broken, random_restrictions
from tests.helpers.tiers import examples
from tests.helpers.tuners.problems import number_problem, text_problem
from tunesmith.errors import UsageError
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space
from tunesmith.tuners.pro.ranking import LEARNERS, difference_vectors

LEARN = {
    "pro": ts.PRO(iterations=2),
    "pro hinge": ts.PRO(learn="hinge", iterations=2, interpolation=0.3),
    "batch-mira": ts.BatchMIRA(passes=3, pick="last"),
    "batch-mira scaled": ts.BatchMIRA(passes=3, start_scale=(3.0,), average=False),
    "ramp": ts.Ramp(iterations=2, passes=2),
    "ramp scaled": ts.Ramp(iterations=2, passes=2, start_scale=(3.0,), average=False),
    "mira": ts.MIRA(epochs=2),
    "arow": ts.AROW(epochs=2),
    "arow mixing": ts.AROW(epochs=2, learners=2),
    "mira async": ts.MIRA(epochs=2, learners=2, parallel="async"),
    "sgd": ts.SGD(epochs=2),
    "perceptron": ts.Perceptron(epochs=2, average=False),
    "min-risk": ts.MinRisk(epochs=2, steps=5),
    "min-risk online": ts.MinRisk(method="online", epochs=2),
}
OTHERS = {"mert": ts.MERT(restarts=1, walks=0), "lp-mert": ts.LPMERT()}
SLOW = {"auto": ts.Auto(parts=2), "auto of two": ts.Auto(member=("pro", "min-risk"), parts=2)}


class Steps(ts.Callback):
    """Keeps the weights of all steps."""

    def __init__(self):
        self.weights = []

    def on_step(self, step):
        if step.weights is not None:
            self.weights.append(step.weights)


def problem(name, seed):
    """Return a small set that a tuner can work on, and starting weights."""
    rng = np.random.default_rng(seed)
    sentences = 12 if "auto" in name and rng.random() < 0.7 else 4
    tuning = number_problem(seed) if name == "lp-mert" else text_problem(seed, groups=sentences)
    names = tuning.candidates.features.names
    return tuning, {n: float(rng.choice([0.0, 1.0, rng.normal()])) for n in names}, rng


def simplex(rng, names):
    """Draw restrictions of weights that sum to one."""
    names = list(rng.permutation(names))
    options = {"non_negative": True, "sum_to_one": True}
    if rng.random() < 0.3:
        options = {"bound": ["*=0:"], "sum_to_one": True}
    if rng.random() < 0.5:
        options["tie"] = ["=".join(names[1:3])]
    if rng.random() < 0.5:
        options["fix"] = [f"{names[3]}=0"]
    return options


@pytest.mark.long
@pytest.mark.usefixtures("one_thread")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*LEARN, *OTHERS, *SLOW])
def test_restrictions_hold_to_the_last_bit_at_every_step(name):
    tuner = {**LEARN, **OTHERS, **SLOW}[name]
    count = examples(30 if name in SLOW else 300)
    moved = 0
    for seed in range(count):
        tuning, begin, rng = problem(name, seed)
        is_simplex = seed % 3 == 2
        held = Restrictions() if is_simplex else random_restrictions(rng, begin)
        options = simplex(rng, [*begin]) if is_simplex else held.options()
        steps = Steps()
        start = None if is_simplex and seed % 2 else begin
        changed = _changed(tuner, options)
        result = changed.fit(tuning, start, rng=seed, callbacks=[steps])
        for weights in [*steps.weights, result.weights]:
            assert broken(weights, begin, held) == []
            if is_simplex:
                assert min(weights.values()) >= 0.0
                assert math.fsum(weights.values()) == 1.0
                assert all(weights[text.split("=")[0]] == 0.0 for text in options.get("fix", ()))
                for tie in options.get("tie", ()):
                    assert len({weights[one] for one in tie.split("=")}) == 1
        chosen = tuning.score_at(result.weights.aligned(tuning.names))
        assert result.score == pytest.approx(chosen, abs=1e-9)
        moved += result.weights != result.start
    assert moved > count / 2
    if name in LEARN:
        assert len(steps.weights) > 2


def _changed(tuner, options):
    return dataclasses.replace(tuner, **options)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", LEARN)
def test_ranges_that_nothing_reaches_change_nothing(name):
    tuner = LEARN[name]
    for seed in range(examples(50)):
        tuning, begin, _ = problem(name, seed)
        free = tuner.fit(tuning, begin, rng=seed, normalise="none")
        wide = _changed(tuner, {"bound": ["f*=-1e9:1e9"]})
        bounded = wide.fit(tuning, begin, rng=seed, normalise="none")
        values = [found.weights.vector for found in (free, bounded)]
        if name.startswith("batch-mira"):  # kernels add up in another order
            assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-9)
        else:
            assert values[0].tobytes() == values[1].tobytes()


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", OTHERS)
def test_ranges_that_nothing_reaches_leave_the_score_as_it_is(name):
    """The weights of a plateau may be others: its ends are not those of the free space."""
    for seed in range(examples(40)):
        tuning, begin, _ = problem(name, seed)
        free = OTHERS[name].fit(tuning, begin, rng=seed)
        wide = _changed(OTHERS[name], {"bound": ["f*=-1e9:1e9"]}).fit(tuning, begin, rng=seed)
        assert wide.score == pytest.approx(free.score, abs=1e-9)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", ["pro", "pro hinge", "min-risk"])
def test_where_the_optimum_is_inside_it_is_found(name):
    """The ranges end right behind the optimum, far from where the path to it may have led."""
    options = {"iterations": 1, "interpolation": None} if "pro" in name else {"epochs": 1}
    tuner = _changed(LEARN[name], options)
    for seed in range(examples(50)):
        tuning, begin, _ = problem(name, seed)
        free = tuner.fit(tuning, begin, rng=seed, normalise="none").weights
        tight = [f"{n}={w - 1e-7!r}:{w + 1e-7!r}" for n, w in free.items()]
        if name == "min-risk":  # it begins within them, and may end elsewhere
            tight = [
                f"{n}={min(w, begin[n]) - 1e-7!r}:{max(w, begin[n]) + 1e-7!r}"
                for n, w in free.items()
            ]
        held = _changed(tuner, {"bound": tight}).fit(tuning, begin, rng=seed, normalise="none")
        assert held.weights == free


@pytest.mark.usefixtures("one_thread")
@pytest.mark.filterwarnings("ignore:weights of dropped features")
@pytest.mark.parametrize("name", LEARN)
def test_what_is_fixed_at_0_is_as_if_it_were_not_there(name):
    tuner = LEARN[name]
    for seed in range(examples(40)):
        tuning, begin, _ = problem(name, seed)
        begin["f1"] = 0.0
        options = {"rng": seed, "normalise": "none"}
        fixed = _changed(tuner, {"fix": ["f1=0"]}).fit(tuning, begin, **options).weights
        dropped = tuner.fit(tuning, begin, drop="f1", **options).weights
        assert fixed["f1"] == 0.0
        for feature in begin:
            assert fixed[feature] == pytest.approx(dropped[feature], rel=1e-5, abs=1e-7)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", [ts.SGD, ts.Perceptron, ts.MIRA])
def test_tied_weights_are_those_of_the_sum_of_their_features(kind):
    """With a rate r for each, a step along both moves them as one feature with r / 2 does."""
    for seed in range(examples(40)):
        rng = np.random.default_rng(seed)
        groups = [rng.normal(size=(5, 3)) for _ in range(8)]
        values = [rng.random(5).tolist() for _ in groups]
        merged = [np.column_stack([g[:, 0] + g[:, 1], g[:, 2]]).tolist() for g in groups]
        apart = kind(epochs=3, scale=False, rate=0.1, tie=["f0=f1"], objective="metric")
        one = kind(epochs=3, scale=False, rate=0.1, feature_rate=["f0=0.05"], objective="metric")
        first = apart.fit(
            tuning_set([g.tolist() for g in groups], values), rng=seed, normalise="none"
        ).weights
        second = one.fit(tuning_set(merged, values), rng=seed, normalise="none").weights
        assert first["f0"] == first["f1"] == pytest.approx(second["f0"], rel=1e-9, abs=1e-12)
        assert first["f2"] == pytest.approx(second["f1"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("learner", ["logistic", "hinge"])
def test_rankers_find_the_best_weights_of_a_space(learner):
    """SLSQP, on the weights themselves with ties as equations, finds nothing better."""
    for seed in range(examples(40)):
        rng = np.random.default_rng(seed)
        tuning = text_problem(seed)
        rows = len(tuning.candidates)
        pairs = rng.integers(0, rows, (2, 40))
        differences = difference_vectors(tuning.candidates.features, *pairs)
        matrix, names = differences.toarray(), tuning.names
        constraints = Constraints.parse(["f0=0.3"], ["f1=-0.1:0.05", "f2=0:"], ["f3=f4"])
        space = Space.of(names, np.ones(len(names)), constraints)
        found = LEARNERS.create(learner).learn_within(differences, 2.0, space)
        assert np.array_equal(space.exact(found), found)

        def loss(weights, matrix=matrix):
            margins = matrix @ weights
            if learner == "logistic":
                each = np.logaddexp(0.0, -margins)
            else:
                each = np.maximum(0.0, 1.0 - margins) ** 2
            return 2.0 * each.sum() + 1.0 * weights @ weights

        limits = [(0.3, 0.3), (-0.1, 0.05), (0.0, None), *[(None, None)] * (len(names) - 3)]
        begin = np.zeros(len(names))
        begin[0] = 0.3
        equal = {"type": "eq", "fun": lambda w: w[3] - w[4]}
        best = minimize(
            loss,
            begin,
            method="SLSQP",
            bounds=limits,
            constraints=[equal],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert loss(found) <= best.fun + 1e-6


def test_the_projection_is_the_nearest_point():
    """By rates: no other point of the space is nearer in Σ (w − w')² / rate."""
    for seed in range(examples(100)):
        rng = np.random.default_rng(seed)
        names = [f"f{k}" for k in range(6)]
        begin = dict(zip(names, rng.normal(size=6).tolist(), strict=True))
        held = random_restrictions(rng, begin)
        space = Space.of(names, np.array([*begin.values()]), Constraints.parse(**held.options()))
        rates = rng.random(6) + 0.1
        weights = rng.normal(size=6)
        nearest = space.nearest(weights, rates)
        assert broken(dict(zip(names, nearest, strict=True)), begin, held) == []
        distance = (np.square(nearest - weights) / rates).sum()
        for _ in range(30):
            step = rng.normal(size=space.variables) * 10.0 ** rng.uniform(-4, 0)
            other = space.of_variables(space.variables_of(nearest) + step)
            assert (np.square(other - weights) / rates).sum() >= distance - 1e-9


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 5000])
def test_sums_are_1_to_the_last_bit(size):
    rng = np.random.default_rng(size)
    names = [f"f{k}" for k in range(size)]
    constraints = Constraints.parse(non_negative=True, sum_to_one=True)
    space = Space.of(names, np.ones(size), constraints)
    for scale in (1e-200, 1e-3, 1.0, 1e200):
        weights = scale * rng.random(size)
        found = space.reported(weights)
        assert math.fsum(found) == 1.0
        assert found == pytest.approx(weights / weights.sum(), rel=1e-9)
        assert space.reported(found).tobytes() == found.tobytes()
    assert space.reported(np.zeros(size)) == pytest.approx(np.full(size, 1.0 / size))


def test_patterns_bound_all_that_they_match():
    constraints = Constraints.parse(fix=["b_*=1"], bound=["rm_*=0:", "rm_2=:3", "x[1]=-1:"])
    space = Space.of(["rm_1", "rm_2", "b_1", "x[1]", "y"], np.ones(5), constraints)
    assert space.weight_low.tolist() == [0.0, 0.0, 1.0, -1.0, -np.inf]
    assert space.weight_high.tolist() == [np.inf, 3.0, 1.0, np.inf, np.inf]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"bound": ["rm_*=0:"]}, "'rm_*' matches no feature; did you mean"),
        ({"sum_to_one": True}, "sum-to-one needs weights that cannot be negative, and f0 can"),
        (
            {"sum_to_one": True, "non_negative": True, "fix": ["f0=0.5"]},
            "sum-to-one gives the weights their scale, and so does a fixed weight",
        ),
        ({"non_negative": True, "fix": ["f0=-1"]}, "f0 is fixed at -1 and bound to 0:"),
        ({"non_negative": True, "bound": ["f0=:-1"]}, "the bounds of f0 exclude each other"),
    ],
)
def test_what_contradicts_itself_is_said(options, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        ts.MIRA(**options).fit(text_problem(1))


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(UsageError, match="sum-to-one has its own"):
        ts.MERT(penalty="l0", strength=(0.1,), non_negative=True, sum_to_one=True)
    with pytest.raises(UsageError, match="normalise 'l2' and sum-to-one both say the scale"):
        ts.MERT(non_negative=True, sum_to_one=True).fit(text_problem(1), normalise="l2")
    pytest.importorskip("sklearn")
    with pytest.raises(UsageError, match="learner sklearn cannot hold restrictions"):
        ts.PRO(learn="sklearn", non_negative=True)


def test_weights_that_all_end_at_0_are_told_and_equal():
    """Less of both features is better, so that no weight above 0 is of use."""
    rng = np.random.default_rng(1)
    groups = [rng.random((4, 2)) for _ in range(12)]
    tuning = tuning_set([g.tolist() for g in groups], [(-g.sum(axis=1)).tolist() for g in groups])
    with pytest.warns(UserWarning, match="every weight is 0"):
        result = ts.PRO(non_negative=True, sum_to_one=True).fit(tuning)
    assert [*result.weights.values()] == [0.5, 0.5]
