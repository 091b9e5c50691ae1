"""Cones that are bisected: against trying every choice, angles in the plane, and weights drawn."""

from __future__ import annotations

import itertools
import time

import numba
import numpy as np
import pytest

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import UnclearError, brute_optimum, random_problem
from tests.helpers.search.exact_checks import circle_optimum, flat_tuning, plain_loss
from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.search.exact import certificate, in_plane
from tunesmith.search.exact.bisection import search as bisection
from tunesmith.search.exact.bisection.search import Bisection
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.incumbent import Incumbent, reassessed
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.search import exact_search
from tunesmith.search.plane import search as plane
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.certify import certify
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.plane import Plane

PROBLEMS = examples(150, interpreted=3)
TOLERANCE = 1e-6


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Have little room, so that what is left is written and read often."""
    monkeypatch.setattr(bisection, "POINTS_ROOM", 4096)
    monkeypatch.setattr(bisection, "CONES_ROOM", 2048)


def normal_problem(rng, groups, size, width, **about):
    blocks = [rng.standard_normal((size, width)).tolist() for _ in range(groups)]
    values = [rng.random(size).tolist() for _ in range(groups)]
    return Problem.of(tuning_set(blocks, values), **about)


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_the_optimum_is_that_of_trying_all(seed):
    rng = np.random.default_rng([seed, 4])
    problem = random_problem(rng)
    if not problem.size:
        return
    try:
        expected = brute_optimum(problem, TOLERANCE)
    except UnclearError:
        return
    search = Bisection(problem, TOLERANCE)
    search.run(SearchLimits(tests=20_000))
    # Where more ties meet in a vector than there are features, the cones around it stay.
    assert search.bound <= expected
    assert search.best.loss <= expected or not search.done
    if search.done and search.best.clear:
        assert search.best.loss == expected


@pytest.mark.parametrize("seed", range(examples(60, interpreted=2)))
def test_bounds_on_the_way_to_the_optimum(monkeypatch, seed):
    monkeypatch.setattr(bisection, "POINTS_EACH", 16)  # a round is a few cones
    rng = np.random.default_rng([seed, 8])
    problem = random_problem(rng)
    if not problem.size:
        return
    try:
        expected = brute_optimum(problem, TOLERANCE)
    except UnclearError:
        return
    for tests in (1, 2, 3, 5, 20):
        search = Bisection(problem, TOLERANCE)
        search.run(SearchLimits(tests=tests))
        assert search.bound <= expected


@pytest.mark.parametrize("seed", range(examples(30, interpreted=1)))
def test_bounds_on_the_way_to_the_optimum_of_three_features(monkeypatch, seed):
    monkeypatch.setattr(bisection, "POINTS_EACH", 64)
    rng = np.random.default_rng([seed, 9])
    blocks = [rng.standard_normal((6, 3)).tolist() for _ in range(8)]
    tuning = tuning_set(blocks, [rng.random(6).tolist() for _ in blocks])
    exact, problem = Plane().fit(tuning), Problem.of(tuning)
    assert exact.certificate["optimal"]
    for tests in (1, 2, 3, 5):
        search = Bisection(problem, TOLERANCE)
        search.run(SearchLimits(tests=tests))
        assert problem.score(search.bound) >= exact.score - 1e-9
    search.run(SearchLimits(tests=20_000))
    assert search.done
    assert problem.score(search.bound) == pytest.approx(exact.score, abs=1e-9)


@pytest.mark.parametrize("seed", range(examples(40, interpreted=2)))
def test_the_optimum_in_a_plane(seed):
    rng = np.random.default_rng([seed, 5])
    problem = Problem.of(flat_tuning(rng, 30, 6))
    search = Bisection(problem, TOLERANCE)
    search.run(SearchLimits(tests=20_000))
    assert search.done
    assert search.bound == search.best.loss == circle_optimum(problem)
    assert plain_loss(problem, search.best.vector, 0.0) == search.best.loss


@pytest.mark.parametrize("seed", range(examples(40, interpreted=2)))
def test_bounds_hold_wherever_it_stops(seed):
    rng = np.random.default_rng([seed, 6])
    width = int(rng.integers(2, 6))
    problem = normal_problem(rng, int(rng.integers(1, 12)), 8, width)
    middle = rng.standard_normal(width)
    middle /= np.linalg.norm(middle)
    angle = rng.choice([0.05, 0.4, 1.2])
    vectors = rng.standard_normal((300, width))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lost = np.array([plain_loss(problem, vector, 0.0) for vector in vectors])
    near = vectors @ middle >= np.cos(angle)
    for tests in (1, 10, 100, 1000):
        search = Bisection(problem, TOLERANCE)
        search.run(SearchLimits(tests=tests))
        assert search.bound <= lost.min()
        assert search.bound <= search.to_beat
        within = Bisection(problem, TOLERANCE, middle, float(np.cos(angle)))
        within.run(SearchLimits(tests=tests))
        assert within.bound <= lost[near].min(initial=2**60)
        if within.best is not None:
            assert within.best.vector @ middle >= np.cos(angle) * (1 - 1e-9)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_little_memory_ends_it():
    problem = normal_problem(np.random.default_rng(1), 30, 12, 5)
    search = Bisection(problem, TOLERANCE)
    search.run(SearchLimits(megabytes=0.5, tests=10**6))
    assert not search.done
    assert 0 < search.bound < search.to_beat
    assert search.megabytes < 5.0


def test_a_vector_that_does_not_count_is_no_contradiction(monkeypatch):
    # Cones that are searched by choices say nothing of regions narrower than the tolerance, in
    # which a climb from elsewhere may end.
    problem = normal_problem(np.random.default_rng(8), 30, 4, 3)
    apart = problem.block(0)[:, [0]] - problem.block(0)[:, 1:]
    ties = [np.cross(row, v) for row in apart.T for v in np.eye(3)]
    tie = next(v / np.linalg.norm(v) for v in ties if not reassessed(problem, TOLERANCE, [v]))
    run = Bisection.run

    def run_and_meet(self, limits, tell=None):
        run(self, limits, tell)
        met = Incumbent(tie, self.proven - 1, clear=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bisection, "assessed", lambda *about: [met])
            self._learn([met.vector], limits)

    expected = exact_search(problem, [], np.random.default_rng(1))
    monkeypatch.setattr(Bisection, "run", run_and_meet)
    found = exact_search(problem, [], np.random.default_rng(1))
    assert found.optimal
    assert (found.loss, found.bound) == (expected.loss, expected.bound)
    np.testing.assert_allclose(found.unclear, tie)


def test_a_better_vector_that_counts_is_a_contradiction(monkeypatch):
    problem = normal_problem(np.random.default_rng(8), 30, 4, 3)
    vectors = np.random.default_rng(9).standard_normal((50, 3))
    incumbents = reassessed(problem, 1e-4, vectors)

    def prove_too_much(self, limits, tell=None):
        self.proven = self.to_beat
        self._waiting.clear()
        self._learn([incumbents[0].vector], limits)

    monkeypatch.setattr(Bisection, "run", prove_too_much)
    with pytest.raises(certificate.ContradictionError, match="contradicts itself"):
        exact_search(problem, incumbents[-1:], np.random.default_rng(1))


def test_what_a_dive_claims_is_not_proven_beyond(monkeypatch):
    # Rounding may have other points win in the middle of a cone than in the cone.
    problem = normal_problem(np.random.default_rng(10), 6, 4, 3)
    search = Bisection(problem, TOLERANCE)
    monkeypatch.setattr(bisection, "assessed", lambda *about: [])
    search.run(SearchLimits(tests=1000))
    assert search.best is None
    search._waiting.clear()  # as if all cones around were done too
    whole = Bisection(problem, TOLERANCE)
    monkeypatch.undo()
    whole.run(SearchLimits(tests=20_000))
    assert whole.done
    assert search.bound <= whole.best.loss


@pytest.mark.parametrize("corners", [[[0.6, 0.8], [0.6, 0.8]], [[1.0, 0.0], [1.0, 1e-320]]])
def test_a_cone_without_inside_is_searched_everywhere(corners):
    rng = np.random.default_rng(3)
    problem = Problem.of(flat_tuning(rng, 4, 5))
    search, corners = Bisection(problem, TOLERANCE), np.array(corners)
    every = np.arange(len(problem.loss), dtype=np.int32)
    entry = 0, 0, corners, every, 0, np.full(2, 0.5)
    bound, _, vector, _ = search._searched(entry, search.to_beat, SearchLimits())
    assert bound == circle_optimum(problem) == plain_loss(problem, vector, 0.0)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_the_same_for_any_number_of_threads():
    problem, results = normal_problem(np.random.default_rng(2), 20, 10, 4), []
    for count in (1, 2, 3):
        with threads(count):
            search = Bisection(problem, TOLERANCE)
            search.run(SearchLimits(tests=300))
        results.append((search.bound, search.to_beat, search.seen))
    assert results[0] == results[1] == results[2]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
def test_the_same_weights_for_any_number_of_threads_where_it_ends_in_time():
    rng, results = np.random.default_rng(7), []
    blocks = [rng.standard_normal((4, 4)).tolist() for _ in range(25)]
    tuning = tuning_set(blocks, [rng.random(4).tolist() for _ in blocks])
    for count in (1, 2, 3):
        with threads(count):
            found = LPMERT(time_limit=10_000).fit(tuning, rng=1)
        assert found.certificate["optimal"]
        results.append((dict(found.weights), found.certificate["tested"]))
    assert results[0] == results[1] == results[2]


@pytest.mark.long
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")
@pytest.mark.parametrize("metric", ["sentence-bleu", "wer"])
def test_the_optimum_is_that_of_the_plane(monkeypatch, bundled_lists, metric):
    for module in (certificate, in_plane, plane):  # limits that others on the machine do not reach
        monkeypatch.setattr(module, "working_seconds", time.process_time)
    names = bundled_lists.features.names
    sets = {"sentence-bleu": 2, "wer": 1}[metric]  # ties of whole numbers take longest
    for chosen in itertools.islice(itertools.combinations(names[-6:], 3), sets):
        tuning = TuningSet(bundled_lists, metric).with_features(chosen, ())
        exact = Plane().fit(tuning)
        found = LPMERT(time_limit=20).fit(tuning)
        assert exact.certificate["optimal"]
        assert found.certificate["bound"] == pytest.approx(exact.score, abs=1e-9)
        proof = certify(tuning, found.weights, time_limit=20).certificate
        assert proof["optimal"] is True


@pytest.fixture(scope="module")
def bundled_lists(bundled):
    from tunesmith.io.read import read

    return read(bundled / "tune.nbest.gz", bundled / "tune.ref")


def test_a_claim_that_rounding_undid_ends_the_search():
    rng = np.random.default_rng(1)
    blocks = [rng.standard_normal((6, 3)).tolist() for _ in range(40)]
    values = [rng.integers(0, 6, 6).astype(float).tolist() for _ in range(40)]
    search = Bisection(Problem.of(tuning_set(blocks, values)), TOLERANCE)
    search.run(SearchLimits(tests=8))
    claim = search.bound + 1
    assert claim < search.to_beat
    search._claimed = claim  # by a dive whose vector then loses more
    search.run(SearchLimits(tests=20_000))
    assert search.bound <= claim
    assert not search.done
