"""What held-out sentences say of tuned weights, against a bootstrap written another way."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean
from tests.helpers.cli.commands import python
from tests.helpers.tiers import examples
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.tuners.fitting.verdict import (
    CONFIDENCE,
    ENOUGH,
    RESAMPLES,
    UNKNOWN,
    PairedStatistics,
    Verdict,
    judge,
    metric_label,
    resampled_scores,
)

SEEDS = st.integers(0, 2**32 - 1)


def outputs(gain: float, noise: float, sentences: int, seed: int = 0):
    """Return statistics of a mean before and after, with correlated values of sentences."""
    rng = np.random.default_rng(seed)
    before = rng.normal(0.5, 0.2, sentences)
    after = before + rng.normal(gain, noise, sentences)
    ones = np.ones(sentences)
    return np.column_stack([before, ones]), np.column_stack([after, ones])


def plain_interval(before, after, score, draws=4000):
    """Draw sentences with replacement, one by one, and return the ends of the middle 95 %."""
    chance = random.Random(7)
    gains = []
    for _ in range(draws):
        rows = [chance.randrange(len(before)) for _ in before]
        gains.append(score(after[rows]) - score(before[rows]))
    gains.sort()
    return gains[round(0.025 * draws)], gains[round(0.975 * draws)]


def mean_of(rows):
    return rows[:, 0].sum() / rows[:, 1].sum()


def draws_of_bleu(sentences: int, seed: int):
    """Return counts as those of BLEU: each output has 9 words, and some of them match."""
    rng = np.random.default_rng(seed)
    totals = np.array([9, 8, 7, 6])

    def one(rate):
        matches = rng.binomial(totals, [rate, rate**2, rate**3, rate**4], (sentences, 4))
        lengths = np.column_stack([np.full(sentences, 9), rng.integers(8, 12, sentences)])
        return matches, lengths

    return totals, one(0.7), one(0.75)


def bleu_of(matches, lengths, totals):
    """Compute BLEU from its definition (Papineni et al. 2002)."""
    precisions = matches.sum(axis=0) / (totals * len(matches))
    hypothesis, reference = lengths.sum(axis=0)
    penalty = min(0.0, 1.0 - reference / hypothesis)
    return 100.0 * float(np.exp(np.log(precisions).mean() + penalty))


def as_stats(metric, matches, lengths, totals):
    """Put counts where a metric has them, by the names that it gives them."""
    names = metric.stat_names
    columns = {"length": lengths[:, 0], "reference_length": lengths[:, 1]}
    for n in range(4):
        columns[f"matches_{n + 1}"] = matches[:, n]
        columns[f"total_{n + 1}"] = np.full(len(matches), totals[n])
    assert set(names) == set(columns), names
    return np.column_stack([columns[name] for name in names])


# The interval


@pytest.mark.parametrize("sentences", [30, 200])
def test_the_interval_is_that_of_a_plain_bootstrap(sentences):
    before, after = outputs(0.03, 0.2, sentences)
    verdict = judge(Mean(), PairedStatistics(before, after), "test")
    low, high = plain_interval(before, after, mean_of, 2000)
    error = (after[:, 0] - before[:, 0]).std() / sentences**0.5
    assert verdict.gain == pytest.approx((after[:, 0] - before[:, 0]).mean(), abs=1e-12)
    # An end of the interval is a quantile of so many draws: its own error is a tenth of one
    # standard error of the gain.
    assert verdict.low == pytest.approx(low, abs=0.25 * error)
    assert verdict.high == pytest.approx(high, abs=0.25 * error)
    # And of a mean the normal approximation is near.
    assert verdict.low == pytest.approx(verdict.gain - 1.96 * error, abs=0.35 * error)
    assert (verdict.on, verdict.sentences) == ("test", sentences)


def test_the_interval_of_a_metric_that_is_no_mean():
    metric = BLEU()
    totals, before, after = draws_of_bleu(100, 3)
    held_out = PairedStatistics(as_stats(metric, *before, totals), as_stats(metric, *after, totals))
    verdict = judge(metric, held_out, "dev")
    gain = bleu_of(*after, totals) - bleu_of(*before, totals)
    assert verdict.gain == pytest.approx(gain, abs=1e-9)
    rng = np.random.default_rng(5)
    gains = []
    for _ in range(1000):
        rows = rng.integers(0, 100, 100)
        first, last = (bleu_of(*(c[rows] for c in counts), totals) for counts in (before, after))
        gains.append(last - first)
    low, high = np.percentile(gains, [2.5, 97.5])
    assert (verdict.low, verdict.high) == pytest.approx((low, high), abs=0.25 * np.std(gains))


@settings(max_examples=examples(30))
@given(SEEDS, st.integers(2, 60))
def test_the_same_bits_each_time_and_the_gain_is_within(seed, sentences):
    before, after = outputs(0.1, 0.3, sentences, seed)
    first, again = (judge(Mean(), PairedStatistics(before, after), "test") for _ in range(2))
    assert first == again
    assert first.low <= first.gain + 1e-9
    assert first.gain <= first.high + 1e-9


@settings(max_examples=examples(30))
@given(SEEDS)
def test_before_and_after_exchanged_is_the_opposite(seed):
    before, after = outputs(0.02, 0.2, 50, seed)
    one = judge(Mean(), PairedStatistics(before, after), "test")
    other = judge(Mean(), PairedStatistics(after, before), "test")
    expected = (-one.gain, -one.high, -one.low)
    assert (other.gain, other.low, other.high) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(30))
@given(SEEDS)
def test_of_an_error_rate_less_is_a_gain(seed):
    before, after = outputs(0.02, 0.2, 50, seed)
    more = judge(Mean(), PairedStatistics(before, after), "test")
    less = judge(Loss(), PairedStatistics(after, before), "test")
    assert (less.gain, less.low, less.high) == pytest.approx(
        (more.gain, more.low, more.high), abs=1e-9
    )
    assert less.recommendation == more.recommendation
    assert not less.higher_is_better


def test_draws_are_the_same_for_all_outputs_however_many_are_in_memory(monkeypatch):
    before, after = outputs(0.02, 0.2, 40)
    alone = resampled_scores(Mean(), [before])
    both = resampled_scores(Mean(), [before, after])
    assert both.shape == (RESAMPLES, 2)
    np.testing.assert_allclose(alone[:, 0], both[:, 0], rtol=0, atol=1e-12)
    monkeypatch.setattr("tunesmith.tuners.fitting.verdict.AT_ONCE", 40 * 7)
    parts = resampled_scores(Mean(), [before, after])
    np.testing.assert_allclose(parts, both, rtol=0, atol=1e-12)


SCRIPT = """
import numpy as np
from tests.helpers.builders import Mean
from tunesmith.tuners.fitting.verdict import resampled_scores
rng = np.random.default_rng(1)
outputs = [np.column_stack([rng.normal(size=200), np.ones(200)]) for _ in range(13)]
print(resampled_scores(Mean(), outputs).tobytes().hex())
"""


@pytest.mark.long
def test_no_bit_depends_on_the_threads_of_a_library():
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    root = Path(__file__).parents[3]
    runs = [
        python("-c", SCRIPT, cwd=root, env={**os.environ, **dict.fromkeys(names, count)})
        for count in ("1", "2", "4")
    ]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert len({run.stdout for run in runs}) == 1


# Folds


def test_folds_that_differ_as_sentences_do_leave_the_interval_nearly_alone():
    before, after = outputs(0.03, 0.2, 200, seed=1)
    fold = np.arange(200) % 5
    plain = judge(Mean(), PairedStatistics(before, after), "folds")
    folded = judge(Mean(), PairedStatistics(before, after, fold), "folds")
    assert folded.gain == plain.gain
    assert folded.low <= plain.low
    assert folded.high >= plain.high
    assert folded.high - folded.low < 2.0 * (plain.high - plain.low)


def test_folds_whose_weights_differ_widen_it_to_the_error_of_their_mean():
    before, _ = outputs(0.0, 0.1, 100)
    fold = np.arange(100) % 5
    of_fold = np.array([0.5, -0.4, 0.6, -0.5, 0.4])
    after = before + np.column_stack([of_fold[fold], np.zeros(100)])
    verdict = judge(Mean(), PairedStatistics(before, after, fold), "folds")
    half = 1.96 * np.std(of_fold, ddof=1) / 5**0.5
    assert verdict.gain == pytest.approx(0.12)
    assert (verdict.low, verdict.high) == pytest.approx((0.12 - half, 0.12 + half))
    assert verdict.recommendation == "keep-start"


def test_folds_of_an_error_rate():
    before, after = outputs(0.3, 0.05, 100, seed=2)
    fold = np.arange(100) % 4
    verdict = judge(Loss(), PairedStatistics(after, before, fold), "folds")
    assert verdict.recommendation == "use"
    assert verdict.gain == pytest.approx(0.3, abs=0.05)


# What to do


def test_a_clear_gain_says_use():
    verdict = judge(Mean(), PairedStatistics(*outputs(0.2, 0.1, 100)), "test")
    assert verdict.recommendation == "use"
    assert verdict.low > 0.0
    text = verdict.text("mean")
    assert text == (
        f"on 100 unseen sentences +{verdict.gain:.2f} mean (95 %: +{verdict.low:.2f} to "
        f"+{verdict.high:.2f}): use these weights"
    )


def test_a_gain_by_chance_keeps_the_start():
    verdict = judge(Mean(), PairedStatistics(*outputs(0.0, 0.3, 100)), "test")
    assert verdict.recommendation == "keep-start"
    assert verdict.low < 0.0 < verdict.high
    assert verdict.text("bleu:order=4").endswith("no gain beyond chance: keep the start")
    assert " BLEU (95 %" in verdict.text("bleu:order=4")


def test_a_loss_is_said_to_be_worse_than_the_start():
    verdict = judge(Mean(), PairedStatistics(*outputs(-0.2, 0.1, 100)), "test")
    assert verdict.recommendation == "keep-start"
    assert verdict.high < 0.0
    assert verdict.text("mean").endswith("worse than the start: keep the start")


@pytest.mark.parametrize("metric", [Mean(), Loss()])
@pytest.mark.parametrize("sentences", [1, ENOUGH, 100])
def test_equal_outputs_gain_nothing(metric, sentences):
    before, _ = outputs(0.0, 0.1, sentences)
    folds = np.arange(sentences) % 2
    for fold in (None, folds):
        verdict = judge(metric, PairedStatistics(before, before.copy(), fold), "test")
        assert (verdict.gain, verdict.low, verdict.high) == (0.0, 0.0, 0.0)
        wanted = "keep-start" if sentences >= ENOUGH else "not-enough-data"
        assert verdict.recommendation == wanted
        assert "-0.0" not in verdict.text(metric.name)


def test_with_few_sentences_nothing_is_recommended_whatever_the_gain():
    for gain in (1.0, -1.0):
        few = judge(Mean(), PairedStatistics(*outputs(gain, 0.1, ENOUGH - 1)), "hold-out")
        assert few.recommendation == "not-enough-data"
        assert few.gain == pytest.approx(gain, abs=0.1)
        assert few.text("mean").endswith("fewer than 30 sentences: not enough to tell")
        enough = judge(Mean(), PairedStatistics(*outputs(gain, 0.1, ENOUGH)), "hold-out")
        assert enough.recommendation == ("use" if gain > 0 else "keep-start")


def test_a_single_sentence_is_no_error():
    verdict = judge(Mean(), PairedStatistics(*outputs(0.1, 0.1, 1)), "hold-out")
    assert verdict.low == verdict.high == pytest.approx(verdict.gain)
    assert verdict.recommendation == "not-enough-data"


# Its words


def test_of_an_error_rate_the_change_of_the_score_is_told():
    verdict = Verdict("use", 0.84, 0.35, 1.31, "test", 500, higher_is_better=False)
    assert verdict.text("ter") == (
        "on 500 unseen sentences -0.84 TER (95 %: -1.31 to -0.35): use these weights"
    )


def test_small_changes_have_more_digits():
    verdict = Verdict("use", 0.0084, 0.0035, 0.0131, "test", 500)
    assert "+0.0084 comet (95 %: +0.0035 to +0.0131)" in verdict.text("column:comet")


def test_a_development_set_is_not_called_unseen():
    verdict = Verdict("use", 0.84, 0.35, 1.31, "dev", 500)
    assert verdict.text("bleu").startswith("on the 500 sentences of the held-out set +0.84 BLEU")


def test_without_held_out_sentences_it_says_how_to_have_some():
    text = UNKNOWN.text("bleu")
    assert "unknown" in text
    assert "--folds" in text
    assert "--hold-out" in text
    assert UNKNOWN.to_dict()["recommendation"] == "no-held-out-data"


def test_it_is_json():
    verdict = judge(Mean(), PairedStatistics(*outputs(0.2, 0.1, 100)), "folds")
    found = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert Verdict(**found) == verdict
    assert set(found) == {
        *("recommendation", "gain", "low", "high", "on", "sentences", "higher_is_better")
    }


@pytest.mark.parametrize("name", ["bleu", "wer", "cer", "chrf"])
def test_names_of_metrics(name):
    label = metric_label(f"{name}:some=option")
    assert label == (name if name == "chrf" else name.upper())
    assert METRICS.get(name).name == name


# Does the interval hold the truth as often as it says?


def coverage(draw, metric, truth, sentences, sets, folds=None):
    """Return in what share of sets the interval holds the true gain."""
    held = 0
    for seed in range(sets):
        before, after = draw(sentences, np.random.default_rng([sentences, seed]))
        fold = None if folds is None else np.arange(sentences) % folds
        verdict = judge(metric, PairedStatistics(before, after, fold), "test")
        held += verdict.low <= truth <= verdict.high
    return held / sets


def skewed(sentences, rng):
    """Draw sentences whose gains are skewed, with a mean of 0.1 before and 0.13 after."""
    ones = np.ones(sentences)
    before = rng.exponential(0.1, sentences)
    after = 0.5 * before + rng.exponential(0.08, sentences)
    return np.column_stack([before, ones]), np.column_stack([after, ones])


def matches(sentences, rng):
    """Draw lengths and matches, whose ratio is 0.5 before and 0.52 after."""
    lengths = rng.poisson(20, sentences) + 1.0
    common = rng.binomial(lengths.astype(int), 0.4)
    before = common + rng.binomial(lengths.astype(int), 0.10)
    after = common + rng.binomial(lengths.astype(int), 0.12)
    return np.column_stack([before, lengths]), np.column_stack([after, lengths])


@pytest.mark.long
@pytest.mark.parametrize(("draw", "truth"), [(skewed, 0.03), (matches, 0.02)])
@pytest.mark.parametrize("sentences", [50, 120])
@pytest.mark.parametrize("folds", [None, 5])
def test_the_interval_holds_the_true_gain_as_often_as_it_says(draw, truth, sentences, folds):
    found = coverage(draw, Mean(), truth, sentences, 500, folds)
    assert 0.90 <= found <= 0.98
    assert CONFIDENCE == 0.95


@pytest.mark.long
def test_where_there_is_no_gain_it_is_seldom_found():
    def alike(sentences, rng):
        before, after = matches(sentences, rng)
        is_exchanged = rng.random(sentences) < 0.5
        return (
            np.where(is_exchanged[:, None], after, before),
            np.where(is_exchanged[:, None], before, after),
        )

    told = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        verdict = judge(Mean(), PairedStatistics(*alike(100, rng)), "test")
        told += verdict.recommendation == "use"
    assert told / 400 <= 0.05
