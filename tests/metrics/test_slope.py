"""Derivatives of all metrics by their statistics, against differences and formulas."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Mean
from tests.helpers.metrics.corpora import corpora, make
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.metrics import bleu
from tunesmith.metrics.base import METRICS, Metric, ratio_slope
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.chrf import score as chrf_score
from tunesmith.metrics.chrf.metric import CHRF
from tunesmith.metrics.combination import Combination, Harmonic, Minimum, Sum

SPECS = (
    *("bleu", "bleu:smoothing=none", "bleu:smoothing=floor", "bleu:smoothing=add-k"),
    *("bleu:order=1", "bleu:order=2,smoothing=none", "bleu:order=6,reference-length-scale=1.2"),
    *("bleu:smoothing=floor,smoothing-value=3", "bleu:smoothing=floor,smoothing-value=0"),
    *("bleu:smoothing=add-k,smoothing-value=0.3,order=3", "bleu:reference-length-scale=0.7"),
    *("bleu:reference-length=average,lowercase=true", "sentence-bleu"),
    *("sentence-bleu:smoothing=none,unclipped=true", "ter", "ter:case-sensitive=true", "wer"),
    *("cer", "chrf", "chrf++", "chrf:beta=0", "chrf:beta=3,char-order=2,word-order=1"),
    *("chrf:eps-smoothing=true", "chrf++:eps-smoothing=true,beta=1", "column:a", "cost:a"),
    *("sum(0.7*bleu,0.3*column:a)", "sum(wer,-0.5*cer)", "harmonic(bleu,2*chrf)"),
    *("harmonic(ter,cost:a)", "min(bleu,chrf)", "min(3*ter,column:a,cost:a)"),
    "sum(harmonic(bleu,wer),min(chrf,sentence-bleu))",
)
#: Relative steps of differences, and how far slopes may be from them.
STEP, APART = 1e-3, 1e-6
FEW = settings(max_examples=examples(25))


def with_columns(corpus, seed):
    candidates = make(corpus)
    values = np.random.default_rng(seed).uniform(-0.2, 1.0, len(candidates))
    return replace(candidates, columns={"a": values})


def expected_sums(metric, corpus, seed, size):
    """Mix the candidates of each group at random, and move off the kinks at whole numbers."""
    candidates = with_columns(corpus, seed)
    stats = metric.candidate_stats(candidates).astype(float)
    rng = np.random.default_rng(seed)
    odds = np.concatenate([rng.dirichlet(np.ones(n)) for n in np.diff(candidates.start)])
    return size * (odds @ stats) * rng.uniform(0.9, 1.1, stats.shape[1])


def sentences(metric):
    """Return which statistics are the number of sentences, which is never 0."""
    return [k for k, name in enumerate(metric.stat_names) if name.endswith("count")]


def matches(metric):
    """Return the statistics that are matches, each with one of those that they are among."""
    names = metric.stat_names
    return [
        (k, names.index(other))
        for k, name in enumerate(names)
        for kind in ("total_", "hypothesis_", "reference_")
        if "matches_" in name and (other := name.replace("matches_", kind)) in names
    ]


def difference(metric, sums, k, step):
    """Central differences with Richardson's extrapolation; None near a kink."""
    found = []
    for h in (step, step / 2):
        both = np.stack([sums, sums])
        both[0, k] += h
        both[1, k] -= h
        above, below = metric.gain(both)
        found.append((above - below) / (both[0, k] - both[1, k]))
    one, other = found
    # On a smooth piece they differ by what the square of the step does.
    if abs(one - other) > 1e-4 * max(abs(one), abs(other)) + 1e-9 / abs(sums[k]):
        return None
    return (4 * other - one) / 3


@pytest.mark.parametrize("spec", SPECS)
@FEW
@given(corpora, st.integers(0, 1000), st.sampled_from([0.2, 1.0, 30.0]))
def test_slopes_are_differences(spec, corpus, seed, size):
    metric = METRICS.create(spec)
    assert metric.has_slope
    metric.check_slope()
    sums = expected_sums(metric, corpus, seed, size)
    slope = metric.slope(sums)
    assert np.isfinite(slope).all()
    compared = 0
    for k in np.flatnonzero(sums):
        expected = difference(metric, sums, k, STEP * abs(sums[k]))
        if expected is None:
            continue
        # Differences of numbers near 1 have rounding errors of 1e-16, over a step of 1e-3.
        room = APART * abs(expected) + 1e-11 / abs(sums[k])
        assert abs(slope[k] - expected) <= room, (metric.stat_names[k], slope[k], expected)
        compared += 1
    assume(compared)


@pytest.mark.parametrize("spec", SPECS)
def test_many_rows_are_each_by_itself(spec):
    metric = METRICS.create(spec)
    rng = np.random.default_rng(0)
    sums = rng.uniform(0, 30, (24, len(metric.stat_names))) * rng.integers(0, 2, (24, 1))
    sums[:, sentences(metric)] = 24
    before = sums.copy()
    slopes = metric.slope(sums)
    assert slopes.shape == sums.shape
    assert slopes.dtype == np.float64
    assert np.array_equal(sums, before)
    assert np.array_equal(slopes, [metric.slope(row) for row in sums])
    assert np.array_equal(metric.slope(sums.reshape(2, 3, 4, -1)).reshape(sums.shape), slopes)
    assert np.array_equal(metric.slope(np.repeat(sums, 2, axis=0)[::2]), slopes)
    whole = np.rint(sums).astype(np.int32)
    assert np.array_equal(metric.slope(whole), metric.slope(whole.astype(float)))


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=examples(60))
@given(st.data())
def test_slopes_are_finite_everywhere(spec, data):
    metric = METRICS.create(spec)
    width = len(metric.stat_names)
    odd = st.sampled_from([0.0, 0.0, 5e-324, 1e-310, 1e-200, 1e-12, 0.5, 1.0, 2.0, 1e9])
    sums = np.array(data.draw(st.lists(odd, min_size=width, max_size=width)))
    sums[sentences(metric)] = data.draw(st.sampled_from([1.0, 1e3]))
    for k, among in matches(metric):
        sums[k] = min(sums[k], sums[among])
    assert np.isfinite(metric.slope(sums)).all(), sums.tolist()


@pytest.mark.parametrize("spec", [s for s in SPECS if "(" not in s])
def test_slopes_are_finite_where_statistics_are_0(spec):
    metric = METRICS.create(spec)
    width = len(metric.stat_names)
    rows = np.array(list(itertools.product([0.0, 3.0], repeat=min(width, 10))))
    rows = np.tile(rows, (1, -(-width // rows.shape[1])))[:, :width]
    assert np.isfinite(metric.slope(rows)).all()


def log_gradient(order, c, r, m, t):
    """The gradient of log BLEU by C, R, m_n and c_n, as printed in section 4.1 of the paper."""
    by_length = [r / c**2, -1 / c] if c < r else [0.0, 0.0]
    return [*by_length, *(1 / (order * x) for x in m), *(-1 / (order * x) for x in t)]


@given(st.integers(1, 5), st.data())
def test_bleu_without_smoothing_is_the_paper_s_formula(order, data):
    c, r = data.draw(st.floats(0.01, 1e5)), data.draw(st.floats(0.01, 1e5))
    m = [data.draw(st.floats(0.01, 1e5)) for _ in range(order)]
    t = [data.draw(st.floats(1, 1e5)) for _ in range(order)]
    metric = BLEU(order=order, smoothing="none")
    sums = np.array([c, r, *m, *t])
    penalty = min(0.0, 1 - r / c)
    mean = sum(math.log(a) - math.log(b) for a, b in zip(m, t, strict=True)) / order
    value = math.exp(penalty + mean)
    assert float(metric.gain(sums)) == pytest.approx(value, rel=1e-12)
    expected = [value * x for x in log_gradient(order, c, r, m, t)]
    assert metric.slope(sums) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("spec", SPECS)
@FEW
@given(corpora, st.integers(0, 1000))
def test_what_is_hardly_expected_hardly_counts(spec, corpus, seed):
    """As probabilities get sharper, the score of expected statistics becomes the winners'."""
    metric = METRICS.create(spec)
    candidates = with_columns(corpus, seed)
    stats = metric.candidate_stats(candidates)
    rng = np.random.default_rng(seed)
    one, other = (stats[rng.integers(candidates.start[:-1], candidates.start[1:])] for _ in "ab")
    winners, expected = one.sum(axis=0), one.sum(axis=0) + 1e-30 * other.sum(axis=0)
    # Without any reference word an error rate is at most 1, with hardly any it has no bound; and
    # hardly any characters may all be right.
    needed = ("reference_length", "hypothesis_char_1", "reference_char_1")
    lengths = [k for k, name in enumerate(metric.stat_names) if name.endswith(needed)]
    assume((winners[lengths] > 0).all())
    assert float(metric.gain(expected)) == pytest.approx(float(metric.gain(winners)), abs=1e-4)


counts = st.lists(st.integers(0, 4), min_size=4, max_size=4)


@settings(max_examples=examples(200))
@given(counts, counts, st.integers(1, 9), st.sampled_from(["floor", "exp"]), st.integers(0, 99))
def test_smoothed_bleu_is_continuous_at_whole_matches(m, more, length, smoothing, seed):
    """A match that is expected once in a billion times is no match: nothing jumps."""
    metric = BLEU(smoothing=smoothing)
    totals = np.array(m) + np.array(more) + (np.array(m) + np.array(more) == 0)
    sums = np.array([length, 6.0, *m, *totals], float)
    near = sums.copy()
    near[2:6] += np.random.default_rng(seed).uniform(0, 1e-9, 4)
    assert float(metric.gain(near)) == pytest.approx(float(metric.gain(sums)), abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.sampled_from(["floor", "exp"]))
def test_smoothed_bleu_of_fewer_than_one_match_lies_between_none_and_one(m, smoothing):
    """For each match that is expected once in p times BLEU lies between both cases."""
    metric = BLEU(smoothing=smoothing)
    for k in range(4):
        none, one, between = (
            np.array([9.0, 9.0, *m[:k], x, *m[k + 1 :], 9, 8, 7, 6]) for x in (0, 1, m[k])
        )
        low, high, found = (float(metric.gain(x)) for x in (none, one, between))
        assert low - 1e-15 <= found <= high + 1e-15


@given(st.floats(1e-9, 0.999), st.sampled_from(["floor", "exp", "none"]))
def test_n_grams_that_are_hardly_expected_make_no_score_above_1(total, smoothing):
    metric = BLEU(smoothing=smoothing)
    for match in (0.0, total / 2, total):
        sums = np.array([9.0, 9.0, 9, 5, 3, match, 9, 8, 7, total])
        assert 0 <= float(metric.gain(sums)) <= total**0.25


@settings(max_examples=examples(200))
@given(st.lists(counts, min_size=4, max_size=4), st.integers(0, 99))
def test_chrf_is_continuous_where_an_order_becomes_possible(orders, seed):
    metric = CHRF(char_order=4)
    rows = [(h + m, r + m, m) for h, r, m, _ in orders]
    sums = np.array(rows, float).reshape(-1)
    near = sums + np.random.default_rng(seed).uniform(0, 1e-9, 12)
    near[2::3] = np.where(sums[2::3] > 0, near[2::3], 0)
    assert float(metric.gain(near)) == pytest.approx(float(metric.gain(sums)), abs=1e-6)


@pytest.mark.parametrize("spec", ["ter", "wer", "cer"])
def test_without_a_reference_word_an_error_counts_up_to_one(spec):
    metric = METRICS.create(spec)
    width = len(metric.stat_names)
    sums = np.zeros((4, width))
    sums[:, 0] = [0.0, 0.25, 1.0, 7.0]
    assert metric.score(sums).tolist() == [0.0, 25.0, 100.0, 100.0]
    assert metric.slope(sums)[:, 0].tolist() == [-1.0, -1.0, 0.0, 0.0]


@pytest.mark.long
def test_kernels_give_the_same_interpreted():
    rng = np.random.default_rng(1)
    rows = rng.uniform(0, 3, (50, 12)) * (rng.random((50, 12)) < 0.9)
    for kernel, arguments in [
        *((bleu._slope, (5, smoothing, 0.5, 1.1)) for smoothing in range(4)),
        *((chrf_score.f_slopes, (4.0, smooth)) for smooth in (True, False)),
    ]:
        one, other = np.zeros(rows.shape), np.zeros(rows.shape)
        kernel(rows, *arguments, one)
        getattr(kernel, "py_func", kernel)(rows, *arguments, other)
        assert one == pytest.approx(other, rel=1e-12)
        assert one.any()


def test_slopes_of_combinations_by_hand():
    stats = np.array([3.0, 4.0, 1.0, 4.0])  # 3/4 and 1/4
    parts = [METRICS.create("column:a"), METRICS.create("cost:b")]
    by_a, by_b = [1 / 4, -3 / 16], [-1 / 4, 1 / 16]  # what is good is 3/4 and 1 - 1/4
    assert Sum(parts, [2, 5]).slope(stats).tolist() == [
        *np.multiply(2, by_a),
        *np.multiply(5, by_b),
    ]
    # H = 2xy/(x + y) has the derivative 2y²/(x + y)² by x: 1/2 for equal parts.
    assert Harmonic(parts).slope(stats) == pytest.approx(np.multiply(0.5, [*by_a, *by_b]))
    assert Minimum(parts, [1, 2]).slope(stats).tolist() == [*by_a, 0.0, 0.0]
    assert Minimum(parts, [2, 1]).slope(stats).tolist() == [0.0, 0.0, *by_b]
    assert Minimum(parts).slope(stats).tolist() == [*by_a, 0.0, 0.0]  # the first among equals


def test_a_harmonic_mean_has_a_slope_at_0_and_none_below():
    metric = METRICS.create("harmonic(column:a,3*column:b)")
    # Near x = 0 the mean is Σw x/w: 4x, whatever the other part.
    assert metric.slope(np.array([0.0, 1, 0.5, 1])).tolist() == [4.0, 0.0, 0.0, -0.0]
    assert not metric.slope(np.array([-0.1, 1, 0.5, 1])).any()
    assert np.isfinite(metric.slope(np.array([0.0, 1, 0.0, 1]))).all()


def test_a_ratio_has_the_slope_of_its_two_statistics():
    assert ratio_slope(np.array([6, 5, 2]), 0, 2).tolist() == [0.5, 0.0, -1.5]
    assert not ratio_slope(np.array([6, 5, 0]), 0, 2).any()


class Squared(METRICS.get("column")):
    """The score of another metric changed, its slope inherited."""

    def score(self, stats):
        return super().score(stats) ** 2


def test_a_metric_without_a_slope_says_so():
    said = "metric 'mean' has no gradient; use --directions coordinate, or give it a slope"
    sums = np.array([1.0, 2.0])
    assert not Mean().has_slope
    for ask in (Mean().check_slope, lambda: Mean().slope(sums)):
        with pytest.raises(TunesmithError) as error:
            ask()
        assert str(error.value) == said
    assert not Squared("a").has_slope
    with pytest.raises(TunesmithError, match="'column:a' has no gradient"):
        Squared("a").check_slope()


@pytest.mark.parametrize("kind", [Sum, Harmonic, Minimum])
def test_a_combination_names_the_part_without_a_slope(kind):
    metric = kind(["bleu", Sum(["column:a", Mean()])])
    assert not metric.has_slope
    with pytest.raises(TunesmithError, match="metric 'mean' has no gradient"):
        metric.check_slope()
    with pytest.raises(TunesmithError, match="metric 'mean' has no gradient"):
        metric.slope(np.ones(len(metric.stat_names)))
    assert kind(["bleu", Sum(["column:a"])]).has_slope


def test_all_built_in_metrics_have_a_slope():
    for name in METRICS.names():
        cls = METRICS.get(name)
        if cls.__module__.startswith("tunesmith.metrics."):
            assert cls.slope is not Metric.slope, name


def test_a_combination_that_does_not_say_how_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        Combination(["bleu"])
