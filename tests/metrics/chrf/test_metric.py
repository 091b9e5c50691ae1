"""chrF and chrF++ against sacrebleu."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF as Sacre  # noqa: N811

from tests.helpers.builders import candidate_set
from tests.helpers.metrics.corpora import corpora, make, spaced, streams
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists.rerank import rerank
from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.chrf.metric import CHRF, CHRFPlusPlus
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

orders = st.sampled_from([(6, 0), (6, 2), (1, 0), (3, 1), (0, 2), (8, 3)])


def expect(theirs: Sacre, hypothesis: str, references: list[str]) -> list[int]:
    return theirs._extract_corpus_statistics([hypothesis], [[r] for r in references])[0]


def check(corpus, metric: CHRF, theirs: Sacre, spaces: bytes) -> None:
    """Compare the statistics of all candidates and the score of the first ones."""
    tuning = TuningSet(make(corpus), metric)
    assert tuning.stats.dtype.kind == "i"
    row = 0
    for hypotheses, references in corpus:
        for hypothesis in hypotheses:
            assert tuning.stats[row].tolist() == expect(theirs, hypothesis, references)
            row += 1
    hypothesis, references = corpus[0][0][0], corpus[0][1]
    texts = [spaced(text, spaces) for text in (hypothesis, *references)]
    assert metric.stats(texts[0], texts[1:]).tolist() == expect(theirs, texts[0], texts[1:])
    expected = theirs.corpus_score([h[0] for h, _ in corpus], streams(corpus)).score
    assert tuning.score(tuning.candidates.start[:-1]) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(500))
@given(corpora, st.booleans(), st.booleans(), st.binary(max_size=4))
def test_statistics_and_scores_equal_sacrebleu(corpus, words, lowercase, spaces):
    metric = (CHRFPlusPlus if words else CHRF)(lowercase=lowercase)
    check(corpus, metric, Sacre(word_order=2 if words else 0, lowercase=lowercase), spaces)


@settings(max_examples=examples(500))
@given(corpora, orders, st.sampled_from([1, 2, 3, 0.5, 0]), *[st.booleans()] * 3, st.binary())
def test_options_equal_sacrebleu(corpus, order, beta, lowercase, whitespace, smooth, spaces):
    metric = CHRF(*order, beta, lowercase, whitespace, smooth)
    check(corpus, metric, Sacre(*order, beta, lowercase, whitespace, smooth), spaces)


@settings(max_examples=examples(30))
@given(st.lists(st.text(max_size=30), min_size=2, max_size=3), st.booleans())
def test_any_characters_at_all(texts, whitespace):
    theirs = Sacre(word_order=2, whitespace=whitespace)
    found = CHRFPlusPlus(whitespace=whitespace).stats(texts[0], texts[1:])
    assert found.tolist() == expect(theirs, texts[0], texts[1:])


@pytest.mark.long
def test_statistics_by_hand():
    metric = CHRF(char_order=2, word_order=1)
    assert metric.stat_names == (
        *("hypothesis_char_1", "reference_char_1", "matches_char_1"),
        *("hypothesis_char_2", "reference_char_2", "matches_char_2"),
        *("hypothesis_word_1", "reference_word_1", "matches_word_1"),
    )
    # aab, and aaa with its mark; the reference has no bigram in the second case.
    assert metric.stats("aa b", ["aaa."]).tolist() == [3, 4, 2, 2, 3, 1, 2, 2, 0]
    assert metric.stats("aa b", ["a"]).tolist() == [3, 1, 1, 0, 0, 0, 2, 1, 0]
    assert metric.stats("", [""]).tolist() == [0] * 9


def test_the_first_of_equally_good_references_counts():
    # Both have an F-score of 0, and differ in length.
    for references in (["xy", "z"], ["z", "xy"]):
        expected = [1, len(references[0]), 0]
        assert CHRF(char_order=1).stats("a", references).tolist() == expected
        assert expect(Sacre(char_order=1), "a", references) == expected


def test_a_repeated_text_is_long_too():
    # Counts grow with the text; the trie does not.
    text = "ab" * 3000
    found = CHRF(char_order=3).stats(text + "c", [text]).tolist()
    assert found == [6001, 6000, 6000, 6000, 5999, 5999, 5999, 5998, 5998]


def test_many_rows_are_scored_at_once_with_the_bits_of_one():
    rng = np.random.default_rng(0)
    stats = np.sort(rng.integers(0, 50, (3, 4, 6, 3)))[..., ::-1].reshape(3, 4, 18)
    theirs = Sacre()
    together = CHRF().score(stats)
    assert together.shape == (3, 4)
    for index in np.ndindex(3, 4):
        assert together[index] == CHRF().score(stats[index])
        assert together[index] == theirs._compute_f_score(stats[index].tolist())


def test_threads_do_not_matter(bundled):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    with threads(1):
        alone = CHRFPlusPlus().candidate_stats(candidates)
    with threads(3):
        assert (CHRFPlusPlus().candidate_stats(candidates) == alone).all()


def compare_sample(candidates, count: int) -> None:
    stats = CHRFPlusPlus().candidate_stats(candidates)
    theirs = Sacre(word_order=2)
    rng = np.random.default_rng(0)
    for i in rng.choice(len(candidates), count, replace=False):
        g = int(np.searchsorted(candidates.start, i, side="right")) - 1
        expected = expect(theirs, candidates.text(i), candidates.reference_texts(g))
        assert stats[i].tolist() == expected


def test_bundled_lists(bundled):
    compare_sample(read(bundled / "tune.nbest.gz", bundled / "tune.ref"), 500)


def test_real_lists(shared_data):
    folder = shared_data / "m30k-de-en"
    compare_sample(read(folder / "run5.nbest.gz", folder / "val.ref"), 2000)


@pytest.mark.long
@pytest.mark.parametrize("name", ["chrf", "chrf++"])
def test_mert_raises_it_and_reports_what_sacrebleu_finds(bundled, name):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    start = read_weights(bundled / "weights.initial").weights
    references = [[candidates.reference_texts(g)[0] for g in range(candidates.groups)]]
    result = MERT(restarts=3).fit(TuningSet(candidates, name), start, rng=1)
    assert result.score > result.initial_score
    assert result.oracle_score >= result.score
    theirs = Sacre(word_order=2 if name == "chrf++" else 0)
    for weights, score in ((start, result.initial_score), (result.weights, result.score)):
        expected = theirs.corpus_score(rerank(candidates, weights), references).score
        assert score == pytest.approx(expected, abs=1e-9)


INTERPRETED = """
import random, warnings
warnings.simplefilter("error")
from sacrebleu.metrics import CHRF as Sacre
from tests.helpers.metrics.corpora import WORDS
from tunesmith.metrics.chrf.metric import CHRFPlusPlus

rng = random.Random(1)
theirs = Sacre(word_order=2)
for _ in range(100):
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(0, 8))) for _ in range(3)]
    expected = theirs._extract_corpus_statistics(texts[:1], [[t] for t in texts[1:]])
    assert CHRFPlusPlus().stats(texts[0], texts[1:]).tolist() == expected[0], texts
    score = float(CHRFPlusPlus().score(CHRFPlusPlus().stats(texts[0], texts[1:])))
    assert score == theirs.sentence_score(texts[0], texts[1:]).score
"""


@pytest.mark.long
def test_interpreted():
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_options_in_the_name():
    assert METRICS.create("chrf") == CHRF()
    assert METRICS.create("chrf++") == CHRFPlusPlus(word_order=2)
    metric = METRICS.create("chrf++:lowercase=true,beta=3,eps-smoothing=true")
    theirs = Sacre(word_order=2, beta=3, lowercase=True, eps_smoothing=True)
    name = theirs.corpus_score(["a"], [["a"]]).name
    fields = metric.signature().split("|")
    assert fields[0] == name.lower() == "chrf3++"
    for field in str(theirs.get_signature()).split("|"):
        assert field in fields or field.startswith(("nrefs", "version"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("chrf:char-order=-1", "char-order of metric 'chrf' is -1; give 0 or more"),
        ("chrf++:char-order=0,word-order=0", r"both orders of chrf\+\+ are 0"),
        ("chrf:beta=-1", "beta of metric 'chrf' is -1"),
    ],
)
def test_wrong_options(spec, message):
    with pytest.raises(UsageError, match=message):
        METRICS.create(spec)


def test_references_are_needed():
    with pytest.raises(TunesmithError, match="chrf needs references"):
        TuningSet(candidate_set([[[1.0]]]), "chrf")
    with pytest.raises(TunesmithError, match="chrf needs a reference for each group"):
        TuningSet(candidate_set([[[1.0]]], references=[[]]), "chrf")
    with pytest.raises(TunesmithError, match="chrf needs a reference for each group"):
        CHRF().stats("a", [])


@pytest.mark.parametrize("option", ["char-order=101", "word-order=1000000", "beta=1e200"])
def test_orders_and_beta_have_a_limit(option):
    with pytest.raises(TunesmithError, match=r"give (100|1e\+06) or less"):
        METRICS.create(f"chrf:{option}")
