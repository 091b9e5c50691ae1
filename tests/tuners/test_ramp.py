"""Rampion against a plain loop, single steps against the formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import Mean, candidate_set
from tests.helpers.tiers import examples
from tests.helpers.tuners.problems import number_problem, text_problem
from tunesmith.errors import TunesmithError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing import tuner_checks
from tunesmith.tuners.ramp import ExampleWay, Ramp

SIZES = [1e-160, 1e-20, 1.0, 1e20, 1e150, 1e300]


def plain_loop(
    tuning: TuningSet, objective: str, start: np.ndarray, seed: int, tuner: Ramp
) -> list[np.ndarray]:
    """Return the weights after each round, by Algorithm 1 of the paper on whole vectors."""
    features, bounds = tuning.candidates.features, tuning.candidates.start
    rows = np.hstack([features.dense.T, features.sparse.toarray()])
    groups = len(bounds) - 1
    scorer = objective_of(objective).begin(tuning, "examples")
    rng = np.random.default_rng(seed).spawn(1)[0]
    (strength,) = tuner.strength
    rate = tuner.rate or 0.0

    def chosen(group: int, factor: float) -> int:
        lo, hi = bounds[group], bounds[group + 1]
        return int(lo + np.argmax(rows[lo:hi] @ weights + factor * scorer.values(lo, hi)))

    weights, found = start.copy(), []
    for _ in range(tuner.iterations):
        hopes = [chosen(group, 1.0) for group in range(groups)]
        if rate == 0.0:
            fears = [chosen(group, -1.0) for group in range(groups)]
            both = zip(hopes, fears, strict=True)
            squares = [np.sum((rows[h] - rows[f]) ** 2) for h, f in both if h != f]
            rate = 0.1 / np.mean(squares) if squares else 0.0
        seen = []
        for _ in range(tuner.passes):
            for group in rng.permutation(groups):
                away = rows[hopes[group]] - rows[chosen(group, -1.0)]
                weights = weights + rate * away - rate * strength * (weights - start) / groups
                seen.append(weights)
                scorer.add(scorer.stats[hopes[group]])
        found.append(np.mean(seen, axis=0) if tuner.average else weights)
        scorer.end_round(scorer.stats[best(tuning.candidates, weights)].sum(axis=0))
    return found


def rounds_of(tuner: Ramp, tuning: TuningSet, start: np.ndarray, seed: int) -> list[np.ndarray]:
    (objective,) = tuner._objectives(tuning.metric)
    rng = np.random.default_rng(seed).spawn(1)[0]
    return [done.weights for done in tuner.rounds(tuning, objective, start.copy(), rng)]


@pytest.mark.parametrize(
    ("metric", "objective", "options"),
    [
        ("bleu", "document:decay=0.999", {}),
        ("bleu", "bleu+1", {"rate": 0.05, "strength": (3.0,)}),
        ("bleu", "scaled", {"average": False}),
        ("chrf", "document:decay=0.9", {"rate": 0.01}),
        ("sentence-bleu", "metric", {"strength": (0.1,)}),
    ],
)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=examples(15))
def test_rounds_equal_the_plain_loop(metric, objective, options, seed):
    tuning = text_problem(seed, metric, groups=6)
    start = np.random.default_rng(seed + 1).normal(size=11)
    tuner = Ramp(iterations=3, passes=2, objective=(objective,), **options)
    found = rounds_of(tuner, tuning, start, seed)
    expected = plain_loop(tuning, objective, start, seed, tuner)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.linalg.norm(ours - theirs) <= 1e-12 * np.linalg.norm(theirs)


def two_candidates(values, vectors) -> TuningSet:
    stats = np.array([[value, 1.0] for value in values])
    return TuningSet(candidate_set([vectors], [1]), Mean(), stats)


@pytest.mark.parametrize("decay", [0.999, 0.5, 0.0])
@pytest.mark.parametrize("smoothing", ["exp", "add-k"])
def test_the_kernel_has_the_bits_of_single_examples(monkeypatch, decay, smoothing):
    tuning = text_problem(5, groups=12)
    tuning = TuningSet(tuning.candidates, BLEU(smoothing=smoothing))
    tuner = Ramp(objective=(f"document:decay={decay}",), iterations=2, passes=2)
    start = np.linspace(-0.5, 0.5, len(tuning.names))
    quick = rounds_of(tuner, tuning, start, 3)
    monkeypatch.setattr(
        Ramp,
        "_way",
        lambda self, task, scorer, space: ExampleWay(task.examples(), scorer, space, 1),
    )
    np.testing.assert_array_equal(rounds_of(tuner, tuning, start, 3), quick)
    assert not np.array_equal(quick[-1], start)


def test_two_steps():
    tuning = two_candidates([0.2, 0.8], [[1.0, 0.0], [3.0, 0.5]])
    start, away = np.array([-0.2, 0.1]), np.array([2.0, 0.5])
    tuner = Ramp(iterations=1, passes=2, rate=0.01, strength=(4.0,), average=False)
    # The first step meets no penalty, at the start; the second is drawn back by 0.01 · 4.
    once = start + 0.01 * away
    twice = once + 0.01 * away - 0.04 * (once - start)
    assert rounds_of(tuner, tuning, start, 1)[0] == pytest.approx(twice, rel=1e-14)


def test_the_usual_step_changes_the_margin_by_a_tenth():
    tuning = two_candidates([0.2, 0.8], [[1.0, 0.0], [3.0, 0.5]])
    start, away = np.array([-0.2, 0.1]), np.array([2.0, 0.5])
    (found,) = rounds_of(Ramp(iterations=1, passes=1), tuning, start, 1)
    assert (found - start) @ away == pytest.approx(0.1)


def test_far_from_the_start_a_strong_penalty_wins():
    tuning, start = number_problem(2), np.ones(4)
    near, far = (
        np.linalg.norm(rounds_of(Ramp(strength=(strength,)), tuning, start, 1)[-1] - start)
        for strength in (100.0, 0.01)
    )
    assert 0 < near < 0.2 * far


@pytest.mark.parametrize(
    ("values", "vectors"),
    [
        ([0.5], [[1.0, 2.0]]),
        ([0.5, 0.5, 0.5], [[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]]),
        ([0.1, 0.9], [[1.0, 2.0], [1.0, 2.0]]),
        ([0.1, 0.9], [[0.0, 0.0], [0.0, 0.0]]),
        ([0.1, 0.9], [[-1e200, 0.0], [1e200, 1e200]]),
    ],
)
def test_nothing_to_learn(values, vectors):
    start = np.array([0.3, -1.7])
    for done in rounds_of(Ramp(iterations=2), two_candidates(values, vectors), start, 1):
        assert done.tolist() == start.tolist()


@given(
    sizes=st.lists(
        st.sampled_from([1e-160, 1e-20, 1.0, 1e20, 1e150, 1e300]), min_size=4, max_size=4
    ),
    rate=st.sampled_from([None, 1e-300, 1.0, 1e300]),
    strength=st.sampled_from([1e-300, 1.0, 1e300]),
)
@settings(max_examples=examples(40))
def test_weights_stay_finite(sizes, rate, strength):
    rng = np.random.default_rng(3)
    vectors = [rng.normal(size=(3, 4)) * sizes for _ in range(4)]
    stats = np.stack([rng.random(12), np.ones(12)], axis=1)
    tuning = TuningSet(candidate_set(vectors, [3]), Mean(), stats)
    tuner = Ramp(iterations=2, passes=2, rate=rate, strength=(strength,))
    with np.errstate(all="ignore"):
        for done in rounds_of(tuner, tuning, np.ones(4), 1):
            assert np.isfinite(done).all()


def test_features_that_are_never_on_keep_their_weights():
    tuning = number_problem(4)
    tuning.candidates.features.dense[1] = 0.0
    start = np.array([1.0, 0.1, -1.0, 0.5])
    found = rounds_of(Ramp(), tuning, start, 1)
    assert all(done[1] == 0.1 for done in found)
    assert not any(done[0] == 1.0 for done in found)


def test_scale_is_that_of_the_start():
    tuning, start = text_problem(5), np.random.default_rng(0).normal(size=11)
    scaled = rounds_of(Ramp(iterations=2, start_scale=(8.0,)), tuning, start, 2)
    plain = rounds_of(Ramp(iterations=2), tuning, 8.0 * start, 2)
    assert [8.0 * done for done in scaled] == [pytest.approx(done, rel=1e-15) for done in plain]


def test_a_held_out_set_chooses_the_strength():
    tuning, dev = text_problem(6, groups=12), text_problem(7)
    result = Ramp(iterations=2, strength=(1.0, 10.0)).fit(tuning, dev=dev, rng=1)
    assert [one["strength"] for one in result.path] == [1.0, 10.0]
    assert all(entry["rate"] > 0 for entry in result.history if entry["round"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations is 0; give 1 or more"),
        ({"passes": 0}, "passes is 0; give 1 or more"),
        ({"rate": 0.0}, "rate is 0; give a number above 0"),
        ({"strength": (-1.0,)}, "strength is -1; give a number above 0"),
        ({"start_scale": (2.0, 2.0)}, "start-scale 2 is given twice; give each once"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(TunesmithError, match=message):
        Ramp(**options)


@pytest.mark.parametrize("check", tuner_checks(Ramp), ids=str)
def test_conformance(check):
    check()


@pytest.mark.long
def test_conformance_of_what_keeps_the_best():
    for check in tuner_checks(Ramp(pick="best", average=False)):
        check()


def test_held_out_lists(shared_data):
    folder = shared_data / "catalogs-nbest"
    sets = [
        ts.TuningSet(ts.read(folder / f"{name}.nbest.gz", folder / f"{name}.ref"))
        for name in ("tune", "dev")
    ]
    start = ts.read_weights(folder / "weights.initial").weights
    result = Ramp(iterations=4).fit(sets[0], start, dev=sets[1], rng=1)
    assert result.score > result.initial_score
    assert result.dev.score > result.dev.initial_score
