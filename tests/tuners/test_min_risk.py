"""Minimum risk: gradients against differences, optima against other ways to find them."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.sparse import csc_array, random_array
from scipy.special import softmax

from tests.helpers.builders import Mean, candidate_set, tuning_set
from tests.helpers.inference.expectations import METRICS, lists, matrix, of_groups
from tests.helpers.tiers import examples
from tests.helpers.waiting import PATIENCE
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing import check_tuner
from tunesmith.testing.samples import rough_problem
from tunesmith.tuners.min_risk import ExpectedGain, MinRisk

SEEDS = st.integers(0, 2**32 - 1)
TEMPERATURES = st.sampled_from([0.1, 0.5, 1.0, 3.0, 20.0])
#: Steps of differences, and how far gradients may be from them.
STEP, APART = 1e-3, 1e-6
FEW = settings(max_examples=examples(10))


def differences(value, weights):
    """Return the gradient by central differences, extrapolated; near a kink, give up."""
    found = []
    for direction in np.eye(len(weights)):
        lowest, low, high, highest = (value(weights + k * STEP * direction) for k in (-2, -1, 1, 2))
        coarse, fine = (highest - lowest) / (4 * STEP), (high - low) / (2 * STEP)
        assume(abs(coarse - fine) <= 1e-3 * max(1.0, abs(fine)))
        found.append((4 * fine - coarse) / 3)
    return np.array(found)


def with_sparse_features():
    """Return lists with five dense and three sparse features."""
    found = (lists(seed, "bleu", most=10) for seed in range(100))
    return next(one for one in found if len(one[0].features.sparse_names) == 3)


def sizes_by_hand(hypotheses):
    """Return the deviations of dense features, and how large sparse ones are where they are."""
    rows, split = matrix(hypotheses), len(hypotheses.features.dense_names)
    squares = sum(len(rows[g]) * rows[g].var(axis=0) for g in of_groups(hypotheses)) / len(rows)
    found = np.sqrt(squares)
    for d in range(split, rows.shape[1]):
        fires = rows[rows[:, d] != 0.0, d]
        found[d] = np.sqrt(np.mean(np.square(fires))) if len(fires) else 1.0
    return np.where(found > 1e-12, found, 1.0)


def value_by_hand(hypotheses, centre, strength, weights, temperature):
    """Return the objective of the class's description, in plain NumPy."""
    rows, stats = matrix(hypotheses), hypotheses.tuning.stats.astype(float)
    groups, metric = of_groups(hypotheses), hypotheses.metric
    scores = rows @ centre
    squares = sum(len(scores[g]) * scores[g].var() for g in groups) / len(rows)
    sigma = math.sqrt(squares) if squares > 1e-20 else 1.0
    mean = sum(stats[g].mean(axis=0) for g in groups)
    gains = stats @ metric.slope(mean)
    unit = math.sqrt(sum(gains[g].var() for g in groups) / len(groups)) * len(groups)
    chances = [softmax(rows[g] @ weights / (temperature * sigma)) for g in groups]
    total = sum(p @ stats[g] for p, g in zip(chances, groups, strict=True))
    away = sizes_by_hand(hypotheses) / sigma * (weights - centre)
    return float(metric.gain(total)) / (unit or 1.0) - strength / 2 * float(away @ away)


@pytest.mark.parametrize("metric", METRICS)
@FEW
@given(SEEDS, TEMPERATURES, st.sampled_from([0.0, 0.1, 2.0]))
def test_batch_gradients_with_penalty_equal_differences(metric, seed, temperature, strength):
    hypotheses, centre, rng = lists(seed, metric)
    risk = ExpectedGain(hypotheses, centre, strength)
    weights = centre + rng.normal(size=8) / 2
    value, gradient = risk.value(weights, temperature)
    found = differences(lambda w: risk.value(w, temperature)[0], weights)
    size = max(np.abs(found).max(), abs(value) * 1e-6)
    np.testing.assert_allclose(gradient, found, rtol=0, atol=APART * size + 1e-9)


@FEW
@given(SEEDS, TEMPERATURES, st.sampled_from([0.0, 0.1, 2.0]), st.sampled_from(METRICS))
def test_the_batch_objective_is_what_the_class_describes(seed, temperature, strength, metric):
    hypotheses, centre, rng = lists(seed, metric)
    weights = centre + rng.normal(size=8)
    np.testing.assert_allclose(hypotheses.sizes(), sizes_by_hand(hypotheses), rtol=1e-9)
    found, _ = ExpectedGain(hypotheses, centre, strength).value(weights, temperature)
    expected = value_by_hand(hypotheses, centre, strength, weights, temperature)
    flat = value_by_hand(hypotheses, centre, 0.0, weights, 1e9)
    assume(math.isfinite(flat) and abs(flat) < 1e9)  # all candidates worth the same
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


OBJECTIVES = ("document", "document:decay=0.5", "bleu+1", "grounded", "unclipped")


@pytest.mark.parametrize("objective", OBJECTIVES)
@FEW
@given(SEEDS, TEMPERATURES)
def test_online_gradients_equal_differences_for_bleu(objective, seed, temperature):
    check_online_gradient(objective, "bleu", seed, temperature)


@pytest.mark.parametrize("metric", ["wer", "ter", "chrf", "cost:value", "column:value"])
@FEW
@given(SEEDS, TEMPERATURES, st.sampled_from(["document", "metric"]))
def test_online_gradients_equal_differences_for_others(metric, seed, temperature, objective):
    check_online_gradient(objective, metric, seed, temperature)


def check_online_gradient(objective, metric, seed, temperature):
    hypotheses, weights, rng = lists(seed, metric)
    tuning = hypotheses.tuning
    scorer = objective_of(objective).begin(tuning, "examples")
    for _ in range(2):
        scorer.add(tuning.stats[rng.integers(len(tuning.stats))])
    group = int(rng.integers(hypotheses.groups))
    example = ListExamples(tuning).example(group, scorer)
    risk = example.risk(weights, temperature)
    rows = of_groups(hypotheses)[group]
    chances = softmax(matrix(hypotheses)[rows] @ weights / temperature)
    values = scorer.values(rows.start, rows.stop)
    assert risk.gain == pytest.approx(float(chances @ values), rel=1e-9, abs=1e-12)
    gradient = np.zeros(8)
    gradient[risk.features] = risk.slope
    assert (np.diff(risk.features) > 0).all()
    found = differences(lambda w: example.risk(w, temperature).gain, weights)
    size = np.abs(found).max() + 1e-3 * np.ptp(values)
    np.testing.assert_allclose(gradient, found, rtol=0, atol=APART * size + 1e-12)


@pytest.mark.parametrize("metric", METRICS)
@FEW
@given(SEEDS)
def test_the_colder_the_nearer_to_the_metric_of_the_best_candidates(metric, seed):
    hypotheses, weights, _ = lists(seed, metric)
    risk = ExpectedGain(hypotheses, weights, 0.0)
    best = hypotheses.point(weights).gain
    assert risk.gain(weights, 1e-7) == pytest.approx(best, rel=1e-9, abs=1e-12)
    tuning = hypotheses.tuning
    scorer = objective_of("document").begin(tuning, "examples")
    for group in range(hypotheses.groups):
        example = ListExamples(tuning).example(group, scorer)
        cold = example.risk(weights, 1e-9)
        assert cold.gain == pytest.approx(example.best(weights).gain, rel=1e-9, abs=1e-12)


class SlopedMean(Mean):
    """A mean with its slope."""

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def slope(self, stats):
        below = stats[..., 1]
        return np.stack([1 / below, -stats[..., 0] / below**2], axis=-1)


def two_candidates(groups, metric):
    """Return groups of two candidates, whose one feature is 1 for the good one and -1."""
    return tuning_set([[[1.0], [-1.0]]] * groups, [[1.0, 0.0]] * groups, metric=metric)


@pytest.mark.parametrize("strength", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("groups", [1, 7])
def test_an_optimum_that_is_known(strength, temperature, groups):
    # Scores are w and -w, so sigma = |w0| = 1 and the feature's size is 1. The expected value is
    # 1 / (1 + exp(-2 w / T)), in units of its deviation 1/2, minus strength / 2 (w - w0)².
    def derivative(w):
        chance = 1 / (1 + math.exp(-2 * w / temperature))
        return 2 * chance * (1 - chance) * 2 / temperature - strength * (w + 1)

    steps = np.linspace(-1, 30, 10_001)
    tops = [
        brentq(derivative, a, b, xtol=1e-12)
        for a, b in pairwise(steps)
        if derivative(a) > 0 >= derivative(b)
    ]
    tuner = MinRisk(epochs=1, temperature=temperature, strength=(strength,), steps=200)
    result = tuner.fit(two_candidates(groups, SlopedMean()), {"f0": -1.0}, normalise="none")
    reached = result.weights["f0"]
    assert min(abs(reached - top) for top in tops) <= 1e-3
    assert len(tops) <= 2


@FEW
@given(SEEDS, st.sampled_from([0.3, 1.0]), st.sampled_from(["bleu", "cost:value", "chrf"]))
def test_the_end_of_a_round_is_an_optimum(seed, temperature, metric):
    hypotheses, start, rng = lists(seed, metric)
    assume(value_by_hand(hypotheses, start, 0.0, start, 1e9) < 1e6)
    names = hypotheses.names
    tuner = MinRisk(epochs=1, temperature=temperature, strength=0.5, steps=1000)
    found = tuner.tune(hypotheses.tuning, start, np.random.default_rng(0)).weights
    aligned = [hypotheses, start, 0.5]
    reached = value_by_hand(*aligned, found, temperature)
    assert reached >= value_by_hand(*aligned, start, temperature) - 1e-9
    for _ in range(20):
        near = found + 0.01 * rng.normal(size=len(names))
        assert value_by_hand(*aligned, near, temperature) <= reached + 1e-5


def test_rounds_are_annealed_from_the_last_optimum():
    hypotheses, start, _ = lists(11, "bleu")
    names = hypotheses.names
    begin = dict(zip(names, start.tolist(), strict=True))
    tuner = MinRisk(epochs=3, temperature=4.0, cooling=0.25, strength=0.2)
    result = tuner.fit(hypotheses.tuning, begin)
    assert [entry.get("temperature") for entry in result.history] == [None, 4.0, 1.0, 0.25]
    risk = ExpectedGain(hypotheses, start, 0.2)
    weights = start
    for entry in result.history[1:]:
        weights, steps = risk.greatest(weights, entry["temperature"], tuner.steps)
        assert entry["smoothed_score"] == 100 * risk.gain(weights, entry["temperature"])
        assert entry["steps"] == steps
    assert result.weights.aligned(names).tobytes() == weights.tobytes()


def test_a_stronger_penalty_stays_nearer_to_the_start_in_units_of_sizes():
    hypotheses, start, _ = with_sparse_features()
    sizes = hypotheses.sizes()
    away = []
    for strength in (1e-3, 1.0, 1e3, 1e100):
        found = MinRisk(strength=strength).tune(hypotheses.tuning, start, np.random.default_rng(0))
        away.append(np.linalg.norm(sizes * (found.weights - start)))
    assert away == sorted(away, reverse=True)
    assert away[0] > 10 * away[2]
    assert away[3] == pytest.approx(0, abs=1e-12)


@settings(max_examples=examples(15))
@given(SEEDS, st.floats(-6, 6), st.floats(-6, 6))
def test_units_of_features_and_weights_do_not_matter(seed, weight_unit, feature_unit):
    hypotheses, start, _ = lists(seed, "bleu")
    rows, split = matrix(hypotheses), len(hypotheses.features.dense_names)
    tuning = hypotheses.tuning
    factors = np.ones(8)
    factors[:4] = 2.0 ** round(feature_unit)
    scale = 2.0 ** round(weight_unit)
    groups = [rows[g] * factors for g in of_groups(hypotheses)]
    other = TuningSet(candidate_set(groups, range(split, 8)), tuning.metric, tuning.stats)
    found = []
    for method in ("batch", "online"):
        tuner = MinRisk(method=method, epochs=2)
        pair = [
            tuner.tune(held, begin, np.random.default_rng(3)).weights
            for held, begin in ((tuning, start), (other, scale * start / factors))
        ]
        found.append((pair[0], pair[1] * factors / scale))
    for mine, others in found:
        np.testing.assert_allclose(others, mine, rtol=1e-9, atol=1e-12)


@FEW
@given(SEEDS, st.booleans(), st.sampled_from(["bleu", "wer"]), st.sampled_from([1.0, 0.5]))
def test_online_equals_a_plain_implementation(seed, average, metric, cooling):
    hypotheses, start, _ = lists(seed, metric)
    tuning = hypotheses.tuning
    given_options = {"temperature": 0.7, "cooling": cooling, "rate": 0.05, "average": average}
    tuner = MinRisk(method="online", epochs=3, **given_options)
    generator = np.random.default_rng(7)
    found = tuner.tune(tuning, start, generator)

    rows, groups = matrix(hypotheses), of_groups(hypotheses)
    squares = sum(len(rows[g]) * (rows[g] @ start).var() for g in groups) / len(rows)
    sigma = math.sqrt(squares) if squares > 1e-20 else 1.0
    rates = 0.05 * np.square(sigma / sizes_by_hand(hypotheses))
    scorer = objective_of("document").begin(tuning, "examples")
    order = np.random.default_rng(7).spawn(1)[0]
    weights, seen = start.copy(), []
    for epoch in range(3):
        total = np.zeros(tuning.stats.shape[1])
        for group in order.permutation(len(groups)):
            own = groups[group]
            values, scores = scorer.values(own.start, own.stop), rows[own] @ weights
            chances = softmax(scores / (0.7 * cooling**epoch * sigma))
            mean = chances @ rows[own]
            gradient = (chances * values) @ rows[own] - (chances @ values) * mean
            chosen = tuning.stats[own.start + int(np.argmax(scores))]
            weights = weights + rates * gradient / (0.7 * cooling**epoch * sigma)
            seen.append(weights)
            scorer.add(chosen)
            total += chosen
        scorer.end_round(total)
    expected = np.mean(seen, axis=0) if average else weights
    np.testing.assert_allclose(found.weights, expected, rtol=1e-7, atol=1e-9)
    assert [e.get("temperature") for e in found.history][1:] == pytest.approx(
        [0.7 * cooling**k for k in range(3)]
    )


@pytest.mark.parametrize("size", [1e6, 1e150, 1e-150])
@pytest.mark.parametrize("temperature", [1e-3, 1e3])
@pytest.mark.parametrize("method", ["batch", "online"])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_numbers_stay_finite_for_huge_scores(size, temperature, method, shift):
    rng = np.random.default_rng(5)
    groups = [(rng.normal(size=(4, 3)) + shift) * [size, 1.0, 1 / size] for _ in range(6)]
    values = [rng.uniform(size=4).tolist() for _ in groups]
    tuning = tuning_set(groups, values, sparse_columns=(2,), metric=SlopedMean())
    strength = {"strength": 0.0} if method == "batch" else {}
    tuner = MinRisk(method=method, temperature=temperature, cooling=0.1, epochs=4, **strength)
    for start in (np.ones(3), np.zeros(3), np.array([1.0, 1e6, 1e-6])):
        found = tuner.tune(tuning, start, np.random.default_rng(0))
        assert np.isfinite(found.weights).all()
        assert np.isfinite([entry["gain"] for entry in found.history]).all()


def test_starting_from_nothing_it_finds_a_way():
    rng = np.random.default_rng(2)
    groups = [rng.normal(size=(5, 3)) for _ in range(20)]
    values = [(g @ [1.0, -2.0, 0.5]).tolist() for g in groups]
    tuning = tuning_set(groups, values, sparse_columns=(2,), metric=SlopedMean())
    best = float(np.mean([max(v) for v in values]))
    for method in ("batch", "online"):
        result = MinRisk(method=method).fit(tuning, dict.fromkeys(("f0", "f1", "f2"), 0.0))
        assert result.score >= best - 0.05


def test_own_start_leaves_sparse_features_at_nought():
    hypotheses, _, _ = with_sparse_features()
    start = MinRisk().own_start(hypotheses.tuning)
    assert start[:5] == pytest.approx(1 / hypotheses.spread()[:5])
    assert not start[5:].any()


@pytest.mark.parametrize("method", ["batch", "online"])
def test_it_is_a_tuner(method):
    check_tuner(MinRisk(method=method))


@pytest.mark.parametrize("lower", [False, True])
def test_it_keeps_the_best_if_asked(lower):
    tuner = MinRisk(pick="best", epochs=3)
    assert tuner.never_worse
    for seed in range(6):
        tuning = rough_problem(seed, lower)
        start = np.random.default_rng(seed).normal(size=3)
        result = tuner.fit(tuning, dict(zip(("f0", "f1", "f2"), start, strict=True)))
        scores = [entry["score"] for entry in result.history]
        assert result.score == (min(scores) if lower else max(scores))
        assert len(scores) == 4


def test_threads_change_no_bit_with_many_features():
    # So many that BLAS would share sums out.
    rng = np.random.default_rng(0)
    width = 20_000
    values = [rng.uniform(size=6).tolist() for _ in range(10)]
    tuning = tuning_set([rng.normal(size=(6, 1)) for _ in values], values, metric=SlopedMean())
    sparse = random_array((60, width), density=30 / width, format="csc", rng=rng)
    names = tuple(f"s{d}" for d in range(width))
    features = replace(tuning.candidates.features, sparse_names=names, sparse=csc_array(sparse))
    candidates = replace(tuning.candidates, features=features)
    tuning = TuningSet(candidates, tuning.metric, tuning.stats)
    found = []
    for count in (1, 2):
        with threads(count):
            outcome = MinRisk(epochs=3).tune(tuning, None, np.random.default_rng(1))
            found.append(outcome.weights.tobytes())
    assert found[0] == found[1]


@pytest.mark.long
def test_a_new_process_limits_all_libraries():
    # What is loaded after they were looked for would have threads of its own.
    code = """
import sys
import numpy as np
import threadpoolctl
from tunesmith.testing.samples import rough_problem
from tunesmith.tuners.min_risk import ExpectedGain

class Noting(threadpoolctl.ThreadpoolController):
    def __init__(self):
        print("scipy.optimize" in sys.modules)
        super().__init__()

threadpoolctl.ThreadpoolController = Noting
hypotheses = rough_problem(1, False).hypotheses()
print("scipy.optimize" in sys.modules)
ExpectedGain(hypotheses, np.ones(3), 1.0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.stdout, done.stderr) == ("False\nTrue\n", "")


@pytest.mark.long
def test_a_held_out_set_chooses_the_strength(bundled):
    tuning = TuningSet(read(bundled / "tune.nbest.gz", bundled / "tune.ref"))
    dev = TuningSet(read(bundled / "test.nbest.gz", bundled / "test.ref"))
    tuner = MinRisk(epochs=4, strength=(1e-3, 1.0))
    result = tuner.fit(tuning, dev=dev)
    assert result.score > result.initial_score
    assert [entry["strength"] for entry in result.path] == [1e-3, 1.0]
    assert result.path[0]["score"] > result.path[1]["score"]
    best = max(result.path, key=lambda entry: entry["dev_score"])
    assert best["chosen"]
    assert result.dev.score == best["dev_score"]
    with pytest.raises(UsageError, match="a held-out set chooses among several strengths"):
        tuner.fit(tuning)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0; give 1 or more"),
        ({"steps": 0}, "steps is 0; give 1 or more"),
        ({"temperature": 0.0}, "temperature is 0; give a number above 0"),
        ({"temperature": math.inf}, "temperature is inf; give"),
        ({"cooling": 1.5}, "cooling is 1.5; give 1 or less"),
        ({"cooling": 0.0}, "cooling is 0; give"),
        ({"rate": -1.0, "method": "online"}, "rate is -1; give a number above 0"),
        ({"strength": (-1.0,)}, "strength is -1; give 0 or more"),
        ({"strength": (math.nan,)}, "strength is nan; give 0 or more"),
        ({"strength": (1.0, 1)}, "strength 1 is given twice; give each once"),
        ({"strength": "a"}, "strength is 'a'; give numbers"),
        ({"rate": 0.1}, "rate goes with the method online; give --method online"),
        ({"average": False}, "average goes with the method online"),
        ({"objective": "bleu+1"}, "objective goes with the method online"),
        ({"strength": 1.0, "method": "online"}, "strength goes with the method batch"),
        ({"steps": 5, "method": "online"}, "steps goes with the method batch"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        MinRisk(**options)


def test_an_unknown_method():
    with pytest.raises(UnknownNameError, match="method"):
        MinRisk(method="sometimes")


def test_a_metric_without_a_slope():
    tuning = two_candidates(2, Mean())
    assert not Mean().has_slope
    with pytest.raises(TunesmithError, match="'mean' has no gradient; use --method online, or"):
        MinRisk().fit(tuning)
    assert (
        MinRisk(method="online").fit(tuning, {"f0": -0.1}, rng=1, normalise="none").weights["f0"]
        > -0.1
    )


def test_real_lists(shared_data):
    """At least what mert of Moses reached on the same lists from the same start."""
    folder = shared_data / "m30k-de-en"
    tuning = TuningSet(read(folder / "run5.nbest.gz", folder / "val.ref"))
    start = read_weights(folder / "weights.run5.dense").weights
    assert MinRisk().fit(tuning, start).score >= 41.03
