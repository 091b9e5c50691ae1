"""BLEU against sacrebleu."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as Sacre  # noqa: N811

from tests.helpers.builders import candidate_set
from tests.helpers.metrics.corpora import even_corpora, make
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.io.read import read
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.tasks.lists import TuningSet


@settings(max_examples=examples(400))
@given(even_corpora, st.integers(1, 5))
def test_statistics_equal_sacrebleu(corpus, order):
    theirs = Sacre(tokenize="none", max_ngram_order=order, effective_order=False)
    stats = TuningSet(make(corpus), BLEU(order=order)).stats
    assert stats.dtype.kind == "i"
    row = 0
    for hypotheses, references in corpus:
        for hypothesis in hypotheses:
            expected = theirs._extract_corpus_statistics([hypothesis], [[r] for r in references])[0]
            assert stats[row].tolist() == list(expected)
            one = BLEU(order=order).stats(hypothesis, references)
            assert one.tolist() == list(expected)
            row += 1


@settings(max_examples=examples(400))
@given(
    even_corpora,
    st.sampled_from(["none", "floor", "add-k", "exp"]),
    st.sampled_from([-1.0, 0.0, 0.5]),
    st.integers(1, 4),
)
def test_scores_equal_sacrebleu(corpus, smoothing, value, order):
    candidates = make(corpus)
    metric = BLEU(smoothing=smoothing, smoothing_value=value, order=order)
    tuning = TuningSet(candidates, metric)
    chosen = candidates.start[:-1]
    theirs = Sacre(
        tokenize="none",
        smooth_method=smoothing,
        smooth_value=None if value < 0 else value,
        max_ngram_order=order,
    )
    references = [list(r) for r in zip(*(refs for _, refs in corpus), strict=True)]
    expected = theirs.corpus_score([h[0] for h, _ in corpus], references)
    assert tuning.score(chosen) == pytest.approx(expected.score, abs=1e-9)
    details = metric.details(tuning.total(chosen))
    assert details["brevity_penalty"] == pytest.approx(expected.bp, abs=1e-12)
    if expected.ref_len:
        assert details["length_ratio"] == pytest.approx(expected.ratio, abs=1e-12)


@pytest.mark.parametrize("tokenize", ["13a", "intl", "char", "zh"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_tokenizers_of_sacrebleu(tokenize, lowercase):
    corpus = [
        (["Hello, World! It's 3.5%."], ["Hello World, it is 3.5 %."]),
        (["漢字 and KANJI's", "other"], ["漢字 and Kanji's test"]),
        ([""], ["x."]),
    ]
    tuning = TuningSet(make(corpus), BLEU(tokenize=tokenize, lowercase=lowercase))
    expected = sacrebleu.corpus_bleu(
        [h[0] for h, _ in corpus],
        [[r[0] for _, r in corpus]],
        tokenize=tokenize,
        lowercase=lowercase,
    ).score
    assert tuning.score(tuning.candidates.start[:-1]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.long
def test_reference_lengths_by_hand():
    corpus = [(["a b c d"], ["a b", "a b c d e f", "a b c"])]
    lengths = {
        kind: TuningSet(make(corpus), BLEU(reference_length=kind)).stats[0, 1]
        for kind in ("closest", "shortest", "average")
    }
    assert lengths == {"closest": 3, "shortest": 2, "average": pytest.approx(11 / 3)}


def test_groups_may_have_different_numbers_of_references():
    candidates = candidate_set(
        [[[0.0]], [[0.0]]], texts=["a b c d", "e"], references=[["a b", "c d"], ["e f g"]]
    )
    assert TuningSet(candidates).stats[:, :3].tolist() == [[4, 2, 4], [1, 3, 1]]


def test_real_output_scores_as_sacrebleu_says(bundled):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    tuning = TuningSet(candidates)
    rng = np.random.default_rng(0)
    for _ in range(5):
        chosen = rng.integers(candidates.start[:-1], candidates.start[1:])
        expected = sacrebleu.corpus_bleu(
            [candidates.text(i) for i in chosen],
            [[candidates.reference_texts(g)[0] for g in range(candidates.groups)]],
            tokenize="none",
            force=True,
        )
        assert tuning.score(chosen) == pytest.approx(expected.score, abs=1e-9)
        assert tuning.total(chosen).tolist() == [
            expected.sys_len,
            expected.ref_len,
            *expected.counts,
            *expected.totals,
        ]


def test_many_rows_are_scored_at_once_with_the_bits_of_one():
    rng = np.random.default_rng(0)
    stats = rng.integers(1, 50, (3, 4, 10))
    together = BLEU().score(stats)
    assert together.shape == (3, 4)
    for index in np.ndindex(3, 4):
        assert together[index] == BLEU().score(stats[index])


def test_options_in_the_name():
    metric = METRICS.create("bleu:tokenize=13a,order=2,lowercase=true")
    assert metric == BLEU(tokenize="13a", order=2, lowercase=True)
    assert "tok:13a" in metric.signature()
    assert "order:2" in metric.signature()
    with pytest.raises(UnknownNameError, match="did you mean smoothing"):
        METRICS.create("bleu:smothing=exp")
    with pytest.raises(UnknownNameError, match="did you mean exp"):
        METRICS.create("bleu:smoothing=expp")
    with pytest.raises(UsageError, match="whole number"):
        METRICS.create("bleu:order=x")
    for options, message in {
        "order=0": "1 or more",
        "order=101": "100 or less",
        "smoothing-value=-7": "0 or more, or -1",
        "smoothing=floor,smoothing-value=-0.5": "0 or more, or -1",
        "reference-length-scale=0": "above 0",
        "reference-length-scale=-2": "above 0",
    }.items():
        with pytest.raises(UsageError, match=message):
            METRICS.create(f"bleu:{options}")
    for wrong in (math.nan, math.inf):
        with pytest.raises(UsageError, match=r"above 0|finite number"):
            BLEU(reference_length_scale=wrong)
        with pytest.raises(UsageError, match="0 or more"):
            BLEU(smoothing_value=wrong)
    with pytest.raises(UnknownNameError, match="did you mean exp"):
        BLEU(smoothing="expp")
    assert BLEU(smoothing_value=-1) == BLEU()
    with pytest.raises(UsageError, match="option=value"):
        METRICS.create("bleu:order")
    with pytest.raises(UnknownNameError, match="did you mean bleu"):
        METRICS.create("blue")


def test_bleu_needs_references():
    with pytest.raises(TunesmithError, match="bleu needs references"):
        TuningSet(candidate_set([[[1.0]]]))
    with pytest.raises(TunesmithError, match="bleu needs references; give one"):
        BLEU().stats("a", [])


@settings(max_examples=examples(80))
@given(even_corpora, st.sampled_from([0.5, 0.9, 1.0, 1.1, 3.0]), st.sampled_from(["exp", "none"]))
def test_the_scale_of_the_reference_length(corpus, scale, smoothing):
    candidates = make(corpus)
    chosen = candidates.start[:-1]
    scaled = TuningSet(candidates, BLEU(reference_length_scale=scale, smoothing=smoothing))
    usual = TuningSet(candidates, BLEU(smoothing=smoothing))
    assert scaled.stats.dtype.kind == "i"
    assert np.array_equal(scaled.stats, usual.stats)
    total = usual.total(chosen)
    length, reference = int(total[0]), int(total[1])
    # The precisions are those of sacrebleu, whose penalty is taken out.
    expected = Sacre.compute_bleu(
        correct=total[2:6].tolist(),
        total=total[6:].tolist(),
        sys_len=length,
        ref_len=0,
        smooth_method=smoothing,
    ).score
    penalty = 1.0
    if length < scale * reference:
        penalty = math.exp(1 - scale * reference / length) if length else 0.0
    assert scaled.score(chosen) == pytest.approx(penalty * expected, abs=1e-9)
    details = scaled.metric.details(total)
    assert details["brevity_penalty"] == pytest.approx(penalty, abs=1e-12)
    assert details["length_ratio"] == usual.metric.details(total)["length_ratio"]


def test_the_signature_says_a_scale_that_is_not_one():
    assert "scale" not in BLEU().signature()
    assert "|reflenscale:0.98|" in BLEU(reference_length_scale=0.98).signature()
    assert METRICS.create("bleu:reference-length-scale=0.98") == BLEU(reference_length_scale=0.98)


@pytest.mark.parametrize("order", [4, 40, 100])
@pytest.mark.parametrize(
    ("smoothing", "value"), [("none", -1.0), ("floor", 1e-120), ("add-k", 0.001), ("exp", -1.0)]
)
def test_products_too_small_for_a_float(order, smoothing, value):
    """Few matches among many n-grams of many orders: precisions whose product is 0 in floats."""
    rng = np.random.default_rng(order)
    metric = BLEU(order=order, smoothing=smoothing, smoothing_value=value)
    for matched in (order, order // 2):
        matches = np.where(np.arange(order) < matched, rng.integers(1, 4, order), 0)
        totals = rng.integers(10**8, 10**9, order)
        row = np.concatenate([[10**9, 11 * 10**8], matches, totals])
        expected = Sacre.compute_bleu(
            correct=matches.tolist(),
            total=totals.tolist(),
            sys_len=int(row[0]),
            ref_len=int(row[1]),
            smooth_method=smoothing,
            smooth_value=None if value < 0 else value,
            max_ngram_order=order,
        ).score
        assert metric.score(row) == pytest.approx(expected, rel=1e-9, abs=1e-300)
        assert (metric.score(row) > 0) == (smoothing != "none" or matched == order)


def random_rows(rng, rows, order, whole):
    """Return statistics of random sums, some of which lack matches or n-grams of an order."""
    most = 10.0 ** rng.integers(0, 10)
    totals = rng.uniform(0, most, (rows, order)) * (rng.random((rows, order)) < 0.97)
    matches = totals * rng.uniform(0, 1, (rows, order)) * (rng.random((rows, order)) < 0.97)
    lengths = rng.uniform(0.2, 2.0, (rows, 2)) * most
    table = np.concatenate([lengths, matches, totals], axis=1)
    return np.floor(table).astype(np.int64) if whole else table


@settings(max_examples=examples(400))
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.sampled_from(["none", "floor", "add-k", "exp"]),
    st.booleans(),
)
def test_the_greatest_gains_along_a_line_have_the_bits_of_all(seed, order, smoothing, whole):
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([1.0, 0.9, 1.3]))
    metric = BLEU(order=order, smoothing=smoothing, reference_length_scale=scale)
    rows = random_rows(rng, 40, order, whole)
    rows = rows[rng.integers(0, rng.integers(1, 40), 40)]  # some are equal
    changes, steps = np.empty((39, rows.shape[1]), rows.dtype), rng.permutation(39)
    changes[steps] = np.diff(rows, axis=0)
    sums = [rows[0]]
    for step in steps:
        sums.append(sums[-1] + changes[step])
    every = metric.gain(np.maximum(sums, 0) if whole else np.array(sums))
    counted = rng.random(40) < 0.8
    floor = float(rng.choice([0.0, every[7], np.median(every)]))
    gains = metric.gains_along(rows[0], changes, steps, counted, floor)
    greatest = every[counted].max(initial=-np.inf)
    computed = counted & (gains != -np.inf)
    assert (gains[computed] == every[computed]).all()
    left_out = counted & ~computed
    assert (every[left_out] < greatest).all() or greatest <= floor
    if greatest > floor:
        assert computed[counted & (every == greatest)].all()


def test_a_class_made_of_bleu_is_asked_for_its_own_gains():
    class Other(BLEU):
        def score(self, stats):
            return 100.0 - super().score(stats)

    rows = np.array([[9, 9, 8, 6, 4, 2, 9, 8, 7, 6], [9, 9, 3, 2, 1, 1, 9, 8, 7, 6]])
    changes, counted = np.diff(rows, axis=0), np.array([True, True])
    gains = Other().gains_along(rows[0], changes, np.array([0]), counted, 0.0)
    assert gains.tolist() == Other().gain(rows).tolist()
    assert gains[1] > gains[0]


def test_unknown_tokenizer():
    with pytest.raises(UnknownNameError, match="did you mean 13a"):
        TuningSet(make([(["a"], ["a"])]), "bleu:tokenize=13b")
