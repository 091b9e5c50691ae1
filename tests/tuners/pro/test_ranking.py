from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.sparse import csc_array, csr_array

from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.data.features import Features
from tunesmith.errors import MissingExtraError, TunesmithError, UnknownNameError, UsageError
from tunesmith.parallel.local import threads
from tunesmith.tuners.pro import ranking
from tunesmith.tuners.pro.ranking import (
    LEARNERS,
    Hinge,
    Logistic,
    Sklearn,
    _Box,
    _Problem,
    difference_vectors,
)


def random_problem(seed: int) -> tuple[np.ndarray, float]:
    """Return difference vectors with features of different sizes, some rarely on, and a strength.

    The classes overlap, as those of real lists do, or are separable.
    """
    rng = np.random.default_rng(seed)
    pairs, width = int(rng.integers(1, 60)), int(rng.integers(1, 7))
    rows = rng.normal(size=(pairs, width)) + 0.5 * rng.normal(size=width)
    rows *= rng.random((pairs, width)) < rng.uniform(0.2, 1.0, width)
    rows *= 10.0 ** rng.uniform(-1.5, 1.5, width)
    return rows, float(10.0 ** rng.uniform(-1, 2))


def logistic_objective(weights, rows, strength):
    both = np.concatenate([rows, -rows])
    signs = np.repeat([1.0, -1.0], len(rows))
    losses = np.logaddexp(0.0, -signs * (both @ weights))
    return losses.sum() + strength / 2 * weights @ weights


def hinge_objective(weights, rows, strength):
    both = np.concatenate([rows, -rows])
    signs = np.repeat([1.0, -1.0], len(rows))
    losses = np.maximum(0.0, 1.0 - signs * (both @ weights)) ** 2
    return losses.sum() + strength / 2 * weights @ weights


LOSSES = [(Logistic(), logistic_objective), (Hinge(), hinge_objective)]


@pytest.mark.parametrize(("learner", "objective"), LOSSES)
@settings(max_examples=examples(25))
@given(st.integers(0, 2**32 - 1))
def test_no_weights_are_better(learner, objective, seed):
    rows, strength = random_problem(seed)
    found = learner.learn(csr_array(rows), strength)
    value = objective(found, rows, strength)
    other = minimize(objective, found, (rows, strength), method="Powell")
    assert value <= other.fun + 1e-9 * max(1.0, abs(value))
    zero = minimize(objective, np.zeros(len(found)), (rows, strength), method="BFGS")
    assert value <= zero.fun + 1e-9 * max(1.0, abs(value))


@pytest.mark.parametrize(("learner", "objective"), LOSSES)
@settings(max_examples=examples(25))
@given(st.integers(0, 2**32 - 1))
def test_gradients_are_finite_differences(learner, objective, seed):
    rows, strength = random_problem(seed)
    used = np.flatnonzero(np.abs(rows).max(axis=0))
    if not len(used):
        return
    largest = np.abs(rows).max(axis=0)[used]
    problem = _Problem(learner, csr_array(rows), used, largest, strength, _Box.free(rows.shape))
    at = np.random.default_rng(seed).normal(size=len(used))
    value, gradient = problem.value(at)
    whole = np.zeros(rows.shape[1])
    whole[used] = problem.weights(at)
    assert value == pytest.approx(objective(whole, rows, strength), rel=1e-12)
    expected = approx_fprime(at, lambda v: problem.value(v)[0], 1e-7)
    assert gradient == pytest.approx(expected, rel=1e-4, abs=1e-4 * (1 + np.abs(gradient).max()))


@settings(max_examples=examples(20))
@given(st.integers(0, 2**32 - 1))
def test_scikit_learn_finds_the_same(seed):
    rows, strength = random_problem(seed)
    ours = Logistic().learn(csr_array(rows), strength)
    theirs = Sklearn("newton-cg", 1e-10).learn(csr_array(rows), strength)
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5 * (1e-3 + np.abs(ours).max()))


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
def test_other_solvers_of_scikit_learn(solver):
    rows = np.random.default_rng(4).normal(0.3, 1.0, size=(200, 5))
    ours = Logistic().learn(csr_array(rows), 2.0)
    theirs = Sklearn(solver, 1e-8).learn(csr_array(rows), 2.0)
    assert ours == pytest.approx(theirs, rel=1e-3)
    # What comes from candidates, whose own indices are long, as well.
    long = csc_array(rows[:, 3:])
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    features = Features(("a", "b", "c"), rows[:, :3].T, ("d", "e"), long)
    places = np.arange(100)
    vectors = difference_vectors(features, places, places + 100)
    ours = Logistic().learn(vectors, 2.0)
    assert ours == pytest.approx(Sklearn(solver, 1e-8).learn(vectors, 2.0), rel=1e-3, abs=1e-5)


@settings(max_examples=examples(20))
@given(st.integers(0, 2**32 - 1))
def test_the_support_vector_machine_of_scikit_learn(seed):
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(seed)
    rows = rng.normal(0.3, 1.0, size=(40, 3))
    # It minimises ‖w‖² / 2 + C Σ loss.
    machine = LinearSVC(C=1 / 3.0, fit_intercept=False, tol=1e-10, max_iter=100_000, dual=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(np.concatenate([rows, -rows]), np.repeat([1, 0], len(rows)))
    found = Hinge().learn(csr_array(rows), 3.0)
    assert found == pytest.approx(machine.coef_[0], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", ["logistic", "hinge", "sklearn"])
def test_features_that_are_never_on_get_no_weight(name):
    rows = np.random.default_rng(1).normal(0.5, 1.0, size=(30, 4))
    rows[:, [1, 3]] = 0.0
    learner = LEARNERS.create(name)
    found = learner.learn(csr_array(rows), 1.0)
    assert found[[1, 3]].tolist() == [0.0, 0.0]
    assert (found[[0, 2]] != 0.0).all()
    assert learner.learn(csr_array((0, 4)), 1.0).tolist() == [0.0] * 4
    assert learner.learn(csr_array((5, 4)), 1.0).tolist() == [0.0] * 4


@pytest.mark.parametrize("learner", [Logistic(), Hinge()])
@settings(max_examples=examples(20))
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-12, 1.0, 1e12]))
def test_weights_are_finite_for_any_size_of_features(learner, seed, strength):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, 5)) * 10.0 ** rng.uniform(-300, 300, 5)
    rows[:, 0] = np.abs(rows[:, 0])  # separable
    found = learner.learn(csr_array(rows), strength)
    assert np.isfinite(found).all()


@pytest.mark.long
def test_many_threads_give_the_same_bits():
    # Long enough for BLAS to share out.
    rng = np.random.default_rng(7)
    rows = csr_array((rng.random((300, 20_000)) < 0.01) * rng.normal(0.1, 1.0, (300, 20_000)))
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(Logistic().learn(rows, 0.5).tobytes())
    assert found[0] == found[1]


def test_what_has_not_come_to_its_end_is_told(monkeypatch):
    monkeypatch.setattr("tunesmith.tuners.pro.ranking.MOST_STEPS", 2)
    rows = np.random.default_rng(1).normal(0.3, 1.0, size=(50, 6))
    with pytest.warns(UserWarning, match="has not come to its end after 2 steps"):
        Logistic().learn(csr_array(rows), 1e-3)


@given(st.integers(0, 2**32 - 1))
def test_difference_vectors(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(8, 5)).astype(float)
    candidates = candidate_set([rows[:3].tolist(), rows[3:].tolist()], sparse_columns=(1, 4))
    better, worse = rng.integers(8, size=(2, int(rng.integers(0, 12))))
    found = difference_vectors(candidates.features, better, worse)
    order = [0, 2, 3, 1, 4]  # the dense ones come first
    assert found.toarray().tolist() == (rows[better] - rows[worse])[:, order].tolist()
    assert found.nnz == np.count_nonzero(rows[better] - rows[worse])


def test_differences_that_overflow_are_an_error():
    candidates = candidate_set([[[0.0, 1.5e308], [1.0, -1.5e308]]])
    with pytest.raises(TunesmithError, match="differences of feature 'f1' are too large"):
        difference_vectors(candidates.features, np.array([0]), np.array([1]))


@pytest.mark.parametrize("wrong", ["tolerance=-1", "tolerance=0", "steps=0"])
def test_what_scikit_learn_cannot_do(wrong):
    with pytest.raises(UsageError, match=rf"{wrong.partition('=')[0]} of learner 'sklearn' is .*;"):
        LEARNERS.create(f"sklearn:{wrong}")


def test_names_and_what_is_missing(monkeypatch):
    with pytest.raises(UnknownNameError, match="logistic"):
        LEARNERS.create("logstic")
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tunesmith\[sklearn\]'"):
        LEARNERS.create("sklearn")


def test_more_pairs_than_memory_holds_are_refused(monkeypatch):
    features = candidate_set([[[1.0, 2.0], [0.0, 3.0], [2.0, 0.0]]], [1]).features
    better, worse = np.array([0, 1]), np.array([1, 2])
    # A dense value a pair; sparse ones 1 + 1 and 1 + 0.
    monkeypatch.setattr(ranking, "MOST_NUMBERS", 5)
    assert ranking.difference_vectors(features, better, worse).shape == (2, 2)
    monkeypatch.setattr(ranking, "MOST_NUMBERS", 4)
    with pytest.raises(UsageError, match="2 accepted pairs have about 5 values, more than 4"):
        ranking.difference_vectors(features, better, worse)
