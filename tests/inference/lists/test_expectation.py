"""What distributions over candidates expect, against plain NumPy and against differences."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array
from scipy.special import softmax

from tests.helpers.builders import candidate_set
from tests.helpers.inference.expectations import METRICS, lists, matrix, of_groups
from tests.helpers.tiers import examples
from tunesmith.data.features import Features
from tunesmith.inference.lists.expectation import FEW as FEW_OF_ALL
from tunesmith.inference.lists.expectation import LIKELY, Distribution, covariance
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet

SEEDS = st.integers(0, 2**32 - 1)
SHARPNESS = st.floats(0.01, 5.0)
#: Steps of differences, and how far gradients may be from them.
STEP, APART = 1e-3, 1e-6
FEW = settings(max_examples=examples(12))
MORE = settings(max_examples=examples(40))


def gains(hypotheses, weights, direction, sharpness):
    """Return expected gains at steps of -2, -1, 1 and 2 along a direction."""
    points = [hypotheses.point(weights + k * STEP * direction) for k in (-2, -1, 1, 2)]
    return [e.gain for e in hypotheses.expected(points, [sharpness] * 4)]


@pytest.mark.parametrize("metric", METRICS)
@FEW
@given(SEEDS, SHARPNESS)
def test_gradients_equal_differences(metric, seed, sharpness):
    hypotheses, weights, _ = lists(seed, metric)
    point = hypotheses.point(weights)
    (expected,) = hypotheses.expected([point], [sharpness])
    found = []
    for direction in np.eye(8):
        lowest, low, high, highest = gains(hypotheses, weights, direction, sharpness)
        coarse, fine = (highest - lowest) / (4 * STEP), (high - low) / (2 * STEP)
        # Where the brevity penalty begins there is a kink.
        assume(abs(coarse - fine) <= 1e-4 * max(1.0, abs(fine)))
        found.append((4 * fine - coarse) / 3)
    largest = np.abs(found).max()
    np.testing.assert_allclose(expected.gradient, found, rtol=0, atol=APART * largest + 1e-12)


@pytest.mark.parametrize("metric", METRICS)
@FEW
@given(SEEDS)
def test_expected_gains_lie_between_the_mean_and_the_winners(metric, seed):
    hypotheses, weights, _ = lists(seed, metric)
    point = hypotheses.point(weights)
    flat, sharp = hypotheses.expected([point, point], [0.0, 1e9])
    stats = hypotheses.tuning.stats
    mean = sum(stats[group].mean(axis=0) for group in of_groups(hypotheses))
    assert flat.gain == pytest.approx(float(hypotheses.metric.gain(mean)), rel=1e-12)
    assert not flat.gradient.any()
    assert sharp.gain == pytest.approx(point.gain, rel=1e-12)


@MORE
@given(SEEDS, st.floats(0.0, 5.0), st.sampled_from(METRICS))
def test_distributions_and_what_candidates_are_worth_equal_plain_numpy(seed, sharpness, metric):
    hypotheses, weights, _ = lists(seed, metric)
    (expected,) = hypotheses.expected([hypotheses.point(weights)], [sharpness])
    scores = matrix(hypotheses) @ weights
    stats = hypotheses.tuning.stats.astype(float)
    groups = of_groups(hypotheses)
    chances = [softmax(sharpness * scores[group]) for group in groups]
    total = sum(p @ stats[group] for p, group in zip(chances, groups, strict=True))
    gains = stats @ hypotheses.metric.slope(total)
    variances = [
        p @ np.square(gains[group] - p @ gains[group])
        for p, group in zip(chances, groups, strict=True)
    ]
    assert expected.sharpness == sharpness
    assert expected.gain == pytest.approx(float(hypotheses.metric.gain(total)), rel=1e-10)
    assert expected.gain_deviation == pytest.approx(
        np.sqrt(np.mean(variances)), rel=1e-9, abs=1e-14
    )


def covariance_by_hand(hypotheses, weights, sharpness, least=0.0):
    """Return the covariance within groups of candidates with more than some probability."""
    features = matrix(hypotheses)
    scores = sharpness * (features @ weights)
    found = np.zeros((8, 8))
    for group in of_groups(hypotheses):
        chances = softmax(scores[group])
        likely = chances > least
        found += np.cov(features[group][likely].T, aweights=chances[likely], ddof=0)
    return found


@MORE
@given(SEEDS, st.floats(0.0, 2.0))
def test_covariances_equal_plain_numpy_and_are_those_of_a_distribution(seed, sharpness):
    hypotheses, weights, rng = lists(seed)
    (expected,) = hypotheses.expected([hypotheses.point(weights)], [sharpness])
    by_hand = covariance_by_hand(hypotheses, weights, sharpness)
    found = hypotheses.covariance([expected] * 8, np.eye(8))
    size = np.abs(by_hand).max()
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-12 * size + 1e-15)
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-13 * size)
    assert np.linalg.eigvalsh(found)[0] >= -1e-12 * size
    vector = rng.normal(size=8)
    (image,) = hypotheses.covariance([expected], vector[None])
    np.testing.assert_allclose(image, by_hand @ vector, rtol=0, atol=1e-11 * size + 1e-15)


@MORE
@given(SEEDS, st.floats(10.0, 100.0))
def test_covariances_of_sharp_distributions_are_those_of_the_likely_candidates(seed, sharpness):
    hypotheses, weights, _ = lists(seed, most=30)
    (expected,) = hypotheses.expected([hypotheses.point(weights)], [sharpness])
    assume(np.mean(expected.cache.chances > LIKELY) <= FEW_OF_ALL)
    found = hypotheses.covariance([expected] * 8, np.eye(8))
    likely = covariance_by_hand(hypotheses, weights, sharpness, LIKELY)
    size = np.abs(likely).max()
    np.testing.assert_allclose(found, likely, rtol=0, atol=1e-12 * size + 1e-15)
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12 * size)
    # The others together have little of the probability.
    whole = covariance_by_hand(hypotheses, weights, sharpness)
    apart = np.square(np.ptp(matrix(hypotheses), axis=0)).max()
    np.testing.assert_allclose(found, whole, rtol=0, atol=3 * LIKELY * 30 * 5 * apart)
    again = hypotheses.covariance([expected, expected], np.eye(8)[:2])
    assert again.tobytes() == found[:2].tobytes()


@MORE
@given(SEEDS, st.floats(20.0, 200.0))
def test_gradients_of_sharp_distributions_are_not_rounding(seed, sharpness):
    hypotheses, weights, _ = lists(seed)
    (expected,) = hypotheses.expected([hypotheses.point(weights)], [sharpness])
    features, values = matrix(hypotheses), hypotheses.tuning.stats[:, 0]
    groups, by_hand = of_groups(hypotheses), np.zeros(8)
    for group in groups:
        # All pairs: nothing cancels.
        chances = softmax(sharpness * (features[group] @ weights))
        apart = values[group][:, None] - values[group]
        between = features[group][:, None] - features[group]
        by_hand += np.einsum("i,j,ij,ijd->d", chances, chances, apart, between) / 2
    by_hand *= sharpness / len(groups)
    atol = 1e-9 * np.abs(by_hand).max()
    np.testing.assert_allclose(expected.gradient, by_hand, rtol=0, atol=atol)


@MORE
@given(SEEDS, st.integers(2, 4), st.sampled_from(["bleu", "column:value"]))
def test_batches_equal_singles_bit_for_bit(seed, count, metric):
    hypotheses, _, rng = lists(seed, metric)
    points = [hypotheses.point(w) for w in rng.normal(size=(count, 8))]
    sharpness = rng.exponential(size=count).tolist()
    together = hypotheses.expected(points, sharpness)
    vectors = rng.normal(size=(count, 8))
    images = hypotheses.covariance(together, vectors)
    for k, batched in enumerate(together):
        (single,) = hypotheses.expected([points[k]], [sharpness[k]])
        assert (single.gain, single.gain_deviation) == (batched.gain, batched.gain_deviation)
        assert single.gradient.tobytes() == batched.gradient.tobytes()
        (image,) = hypotheses.covariance([single], vectors[k : k + 1])
        assert image.tobytes() == images[k].tobytes()


@pytest.fixture(scope="module")
def large():
    """Lists of several pieces of work: 130,000 candidates, two features of them sparse."""
    if numba.config.DISABLE_JIT:
        pytest.skip("takes minutes without compiled kernels")
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 400, 650)
    dense, sparse = rng.normal(size=(4, sizes.sum())), rng.normal(size=(2, sizes.sum()))
    sparse[rng.random(sparse.shape) < 0.9] = 0.0
    start = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.vstack([dense, sparse]).T
    groups = [rows[a:b] for a, b in pairwise(start)]
    columns = {"value": rng.random(len(rows))}
    return TuningSet(replace(candidate_set(groups, (4, 5)), columns=columns), "column:value")


def test_threads_change_no_bit(large):
    found = []
    for count in (1, 2, 3):
        with threads(count):
            hypotheses = ListHypotheses(large)
            point = hypotheses.point(np.linspace(-1.0, 1.0, 6))
            (expected,) = hypotheses.expected([point], [0.7])
            image = hypotheses.covariance([expected], np.linspace(0.5, 1.0, 6)[None])
            numbers = [expected.gain, expected.gain_deviation, hypotheses.deviation(point)]
            parts = [expected.gradient, *image, expected.cache.chances, hypotheses.spread()]
            found.append(np.concatenate([numbers, *parts]))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_pieces_cover_all_groups(large):
    # Groups of several pieces, against one distribution after the other.
    hypotheses = ListHypotheses(large)
    weights = np.linspace(-1.0, 1.0, 6)
    (expected,) = hypotheses.expected([hypotheses.point(weights)], [0.7])
    scores, values = matrix(hypotheses) @ weights, large.stats[:, 0]
    groups = of_groups(hypotheses)
    assert hypotheses.groups == len(groups)
    means = [softmax(0.7 * scores[group]) @ values[group] for group in groups]
    assert expected.gain == pytest.approx(np.mean(means), rel=1e-12)


@MORE
@given(SEEDS, st.floats(-1e6, 1e6))
def test_deviations_of_scores_equal_plain_numpy(seed, shift):
    hypotheses, weights, _ = lists(seed)
    scores = matrix(hypotheses) @ weights + shift
    squares = sum(len(scores[g]) * scores[g].var() for g in of_groups(hypotheses))
    point = hypotheses.point(weights)
    shifted = replace(point, cache=replace(point.cache, scores=scores))
    found = hypotheses.deviation(shifted)
    assert found == pytest.approx(np.sqrt(squares / len(scores)), rel=1e-7, abs=1e-10)


def test_equal_scores_do_not_deviate():
    hypotheses, _, _ = lists(3)
    assert hypotheses.deviation(hypotheses.point(np.zeros(8))) == 0.0


@MORE
@given(SEEDS, st.floats(-1e3, 1e3), st.floats(1e-6, 1e6))
@example(0, 1e3, 1e-6)
def test_spreads_equal_plain_numpy_far_from_0_and_in_any_unit(seed, shift, unit):
    hypotheses, _, _ = lists(seed)
    dense = unit * (hypotheses.features.dense + shift)
    moved = replace(hypotheses.features, dense=dense)
    candidates = replace(hypotheses.tuning.candidates, features=moved)
    found = ListHypotheses(TuningSet(candidates, "column:value")).spread()[: len(dense)]
    for row, spread in zip(dense, found, strict=True):
        squares = sum(len(row[g]) * row[g].var() for g in of_groups(hypotheses))
        expected = np.sqrt(squares / len(row)) if squares > 0.0 else 1.0
        assert spread == pytest.approx(expected, rel=1e-6)


@MORE
@given(SEEDS, st.integers(-40, 40))
def test_weights_times_a_power_of_two_choose_the_same(seed, doublings):
    hypotheses, weights, _ = lists(seed, "bleu")
    factor = 2.0**doublings
    point = hypotheses.point(weights)
    scaled, fresh = hypotheses.scaled(point, factor), hypotheses.point(factor * weights)
    assert scaled.weights.tobytes() == fresh.weights.tobytes()
    assert scaled.cache.scores.tobytes() == fresh.cache.scores.tobytes()
    assert scaled.cache.winners.tolist() == fresh.cache.winners.tolist()
    assert (scaled.gain, scaled.total.tolist()) == (fresh.gain, fresh.total.tolist())
    assert point.weights.tobytes() == weights.tobytes()


@pytest.fixture
def passes(monkeypatch):
    """Count the passes over features of how many candidates."""
    found = {"dot": [], "combine": []}

    def count(name):
        original = getattr(Features, name)

        def counted(self, vectors):
            found[name].append(self.candidates)
            return original(self, vectors)

        monkeypatch.setattr(Features, name, counted)

    count("dot")
    count("combine")
    return found


@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_of_gradients_is_one_product_and_of_covariances_two(passes, count):
    hypotheses, weights, _ = lists(5)
    size = hypotheses.features.candidates
    points = [hypotheses.point(weights)] * count
    passes.update(dot=[], combine=[])
    expected = hypotheses.expected(points, [0.5] * count)
    assert passes == {"dot": [], "combine": [size]}
    hypotheses.covariance(expected, np.ones((count, 8)))
    assert passes == {"dot": [size], "combine": [size, size]}


def test_likely_candidates_that_are_few_are_looked_at_by_themselves(passes):
    hypotheses, weights, rng = lists(6, most=30)
    (expected,) = hypotheses.expected([hypotheses.point(weights)], [50.0])
    few = int(np.sum(expected.cache.chances > LIKELY))
    assert few < hypotheses.features.candidates / 4
    passes.update(dot=[], combine=[])
    hypotheses.covariance([expected], rng.normal(size=(1, 8)))
    assert passes == {"dot": [few], "combine": [few]}


def test_a_group_without_a_likely_candidate_is_looked_at_as_a_whole():
    size = int(2 / LIKELY)
    values = np.random.default_rng(1).normal(size=(2, size + 1))
    features = Features(("a", "b"), values, (), csc_array((size + 1, 0)))
    chances = np.append(np.full(size, 1.0 / size), 1.0)
    held = Distribution(features, np.array([0, size, size + 1]), chances)
    assert held.likely is None
    found = covariance([held, held], np.eye(2))
    np.testing.assert_allclose(found, np.cov(values[:, :size], ddof=0), rtol=1e-9, atol=1e-12)
