"""BLEU against sacrebleu."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as Sacre  # noqa: N811

from tests.builders import candidate_set
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.io.read import read
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.tuning import TuningSet

words = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "the", "é", "漢"]), st.text("abcé漢,.%", min_size=1)
)
sentences = st.lists(words, max_size=9).map(" ".join)
corpora = st.integers(1, 3).flatmap(
    lambda refs: st.lists(
        st.tuples(
            st.lists(sentences, min_size=1, max_size=3),
            st.lists(sentences, min_size=refs, max_size=refs),
        ),
        min_size=1,
        max_size=5,
    )
)


def make(corpus):
    groups = [[[0.0]] * len(hypotheses) for hypotheses, _ in corpus]
    texts = [t for hypotheses, _ in corpus for t in hypotheses]
    return candidate_set(groups, texts=texts, references=[r for _, r in corpus])


@settings(max_examples=400)
@given(corpora, st.integers(1, 5))
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


@settings(max_examples=400)
@given(
    corpora,
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
    with pytest.raises(UsageError, match="1 or more"):
        METRICS.create("bleu:order=0")
    with pytest.raises(UsageError, match="option=value"):
        METRICS.create("bleu:order")
    with pytest.raises(UnknownNameError, match="did you mean bleu"):
        METRICS.create("blue")


def test_bleu_needs_references():
    with pytest.raises(TunesmithError, match="bleu needs references"):
        TuningSet(candidate_set([[[1.0]]]))


def test_unknown_tokenizer():
    with pytest.raises(UnknownNameError, match="did you mean 13a"):
        TuningSet(make([(["a"], ["a"])]), "bleu:tokenize=13b")
