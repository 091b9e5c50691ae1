"""Sentence-level BLEU against the paper's formulas, written out in plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as Sacre  # noqa: N811

from tests.helpers.builders import candidate_set
from tests.helpers.metrics.corpora import even_corpora, make
from tests.helpers.search.line import brute_force
from tests.helpers.search.single import search
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.inference.lists.rerank import rerank
from tunesmith.io.read import read
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.sentence_bleu import SentenceBLEU
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def effective_length(metric, length, lengths):
    if metric.reference_length == "shortest":
        return min(lengths)
    if metric.reference_length == "average":
        return sum(lengths) / len(lengths)
    return min(lengths, key=lambda other: (abs(other - length), other))


def precision_component(metric, hypothesis, references, with_matches=True):
    """Return the geometric mean of smoothed precisions, of section 3.2."""
    product = 1.0
    for n in range(1, metric.order + 1):
        mine = ngrams(hypothesis, n)
        most = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        matches = sum((mine & most).values()) if with_matches else 0
        total = sum(mine.values())
        added = {"none": 0, "add-one": 1, "add-alpha": metric.alpha, "lin-och": int(n > 1)}
        top, bottom = matches + added[metric.smoothing], total + added[metric.smoothing]
        product *= top / bottom if bottom else 0
    return product ** (1 / metric.order)


def by_the_paper(metric, hypothesis, references) -> float:
    """Return the score of one sentence from equations 1 and 2 and the fixes to them."""
    mine, others = hypothesis.split(), [reference.split() for reference in references]
    c, r = len(mine), effective_length(metric, len(mine), [len(o) for o in others])
    if c == 0 < r:
        return 0.0
    pc = precision_component(metric, mine, others)
    if metric.grounded:
        pc -= precision_component(metric, mine, others, with_matches=False)
    if metric.brevity == "none":
        return pc
    r = r * metric.reference_length_scale
    if metric.brevity == "smoothed":
        r += 1
    if c == r:
        return pc
    bp = math.exp(1 - r / c) if c else 0.0
    return pc * (bp if metric.unclipped else min(1, bp))


@st.composite
def settings_of_all_switches(draw):
    smoothing = draw(st.sampled_from(["none", "add-one", "add-alpha", "lin-och"]))
    brevity = draw(st.sampled_from(["standard", "smoothed", "none"]))
    return SentenceBLEU(
        order=draw(st.integers(1, 5)),
        smoothing=smoothing,
        alpha=draw(st.sampled_from([0.01, 0.5, 3.0])) if smoothing == "add-alpha" else 1.0,
        grounded=draw(st.booleans()),
        brevity=brevity,
        unclipped=brevity != "none" and draw(st.booleans()),
        reference_length_scale=(
            1.0 if brevity == "none" else draw(st.sampled_from([1.0, 0.5, 0.97, 1.3]))
        ),
        reference_length=draw(st.sampled_from(["closest", "shortest", "average"])),
    )


@settings(max_examples=examples(200))
@given(even_corpora, settings_of_all_switches())
def test_all_switches_against_the_papers_formulas(corpus, metric):
    tuning = TuningSet(make(corpus), metric)
    pairs = [(h, references) for hypotheses, references in corpus for h in hypotheses]
    expected = [by_the_paper(metric, h, references) for h, references in pairs]
    assert tuning.stats[:, 0] == pytest.approx(expected, abs=1e-11)
    raw = metric.sentence_scores(metric.ngram_counts(tuning.candidates))
    assert raw == pytest.approx(expected, abs=1e-13)
    assert tuning.stats[:, 1].tolist() == [1] * len(pairs)
    assert tuning.stats[:, 2].tolist() == [len(h.split()) for h, _ in pairs]
    lengths = [
        effective_length(metric, len(h.split()), [len(r.split()) for r in references])
        for h, references in pairs
    ]
    assert tuning.stats[:, 3] == pytest.approx(lengths, abs=1e-12)
    for row, (h, references) in zip(tuning.stats, pairs, strict=True):
        assert metric.stats(h, references).tolist() == row.tolist()
    chosen = tuning.candidates.start[:-1]
    assert tuning.score(chosen) == pytest.approx(
        100 * np.mean([expected[i] for i in chosen]), abs=1e-9
    )


@settings(max_examples=examples(100))
@given(even_corpora, st.sampled_from(["none", "lin-och"]), st.integers(1, 5))
def test_what_sacrebleu_has_too(corpus, smoothing, order):
    """Its add-k is Lin and Och's; it has no smoothing of unigrams."""
    theirs = Sacre(
        tokenize="none",
        smooth_method={"none": "none", "lin-och": "add-k"}[smoothing],
        smooth_value=None,
        max_ngram_order=order,
        effective_order=True,  # switched off below, where it says so only once
    )
    theirs.effective_order = False
    metric = SentenceBLEU(smoothing=smoothing, order=order)
    for hypotheses, references in corpus:
        for hypothesis in hypotheses:
            stats = theirs._extract_corpus_statistics([hypothesis], [[r] for r in references])
            expected = theirs._aggregate_and_compute(stats).score
            found = metric.score(metric.stats(hypothesis, references))
            assert found == pytest.approx(expected, abs=1e-9)


def test_by_hand():
    # Matches 2 of 3, 1 of 2, 0 of 1, 0 of 0; 3 words against 4.
    hypothesis, reference = "a b x", "a b c d"

    def score(**options):
        return SentenceBLEU(**options).stats(hypothesis, [reference])[0]

    penalty, precision = math.exp(1 - 4 / 3), (3 / 4 * 2 / 3 * 1 / 2 * 1) ** 0.25
    ground = (1 / 4 * 1 / 3 * 1 / 2 * 1) ** 0.25
    close = {"abs": 1e-12}
    assert score() == pytest.approx(penalty * precision, **close)
    assert score(smoothing="none") == 0
    assert score(smoothing="none", order=2) == pytest.approx(penalty * (1 / 3) ** 0.5, **close)
    assert score(smoothing="lin-och") == pytest.approx(
        penalty * (2 / 3 * 2 / 3 * 1 / 2 * 1) ** 0.25, **close
    )
    assert score(grounded=True) == pytest.approx(penalty * (precision - ground), **close)
    assert score(brevity="smoothed") == pytest.approx(math.exp(1 - 5 / 3) * precision, **close)
    assert score(brevity="none") == pytest.approx(precision, **close)
    assert score(reference_length_scale=0.5) == pytest.approx(precision, **close)
    assert score(reference_length_scale=0.5, unclipped=True) == pytest.approx(
        math.exp(1 - 2 / 3) * precision, **close
    )
    # Both, which the paper does not combine: the word that smoothing adds is not scaled.
    assert score(reference_length_scale=0.5, brevity="smoothed") == pytest.approx(
        precision, **close
    )
    assert score(reference_length_scale=0.5, brevity="smoothed", unclipped=True) == pytest.approx(
        precision, **close
    )


@pytest.mark.parametrize("smoothing", ["none", "add-one", "lin-och"])
@pytest.mark.parametrize("brevity", ["standard", "smoothed", "none"])
@pytest.mark.parametrize("grounded", [False, True])
def test_empty_texts(smoothing, brevity, grounded):
    metric = SentenceBLEU(smoothing=smoothing, brevity=brevity, grounded=grounded)
    assert metric.stats("", ["a b"])[0] == 0
    both = metric.stats("", [""])[0]
    # All of nothing matches, where smoothing says what 0/0 is and nothing is subtracted.
    assert both == (1 if smoothing == "add-one" and brevity != "smoothed" and not grounded else 0)
    assert math.isfinite(metric.stats("a", [""])[0])
    assert metric.details(metric.stats("a", [""])) == {"length_ratio": 0.0}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30).map(" ".join))
def test_a_perfect_match_has_one_and_no_match_is_grounded_at_nought(text):
    assert SentenceBLEU().stats(text, [text])[0] == 1
    assert SentenceBLEU(grounded=True).stats("x y z", [text])[0] == 0
    assert SentenceBLEU().stats("x y z", [text])[0] > 0


def test_each_row_of_tables_2_and_3_is_a_setting():
    rows = {
        "": SentenceBLEU(),
        "smoothing=none": SentenceBLEU(smoothing="none"),
        "grounded=true": SentenceBLEU(grounded=True),
        "brevity=smoothed": SentenceBLEU(brevity="smoothed"),
        "brevity=smoothed,grounded=true": SentenceBLEU(brevity="smoothed", grounded=True),
        "reference-length-scale=1.02": SentenceBLEU(reference_length_scale=1.02),
        "unclipped=true": SentenceBLEU(unclipped=True),
        "unclipped=true,reference-length-scale=1.02": SentenceBLEU(
            unclipped=True, reference_length_scale=1.02
        ),
    }
    made = [METRICS.create(f"sentence-bleu:{options}") for options in rows]
    assert made == list(rows.values())
    assert len({metric.signature() for metric in made}) == len(rows)
    text = ("a b c x", ["a b c d e"])
    scores = [float(metric.stats(*text)[0]) for metric in made]
    # Unclipping changes nothing for a hypothesis that is too short.
    assert scores[6:] == [scores[0], scores[5]]
    assert len(set(scores[:6])) == 6


@pytest.mark.long
def test_scores_of_any_shape_and_of_pseudo_documents():
    metric = SentenceBLEU(smoothing="lin-och", grounded=True)
    rng = np.random.default_rng(0)
    totals = np.sort(rng.integers(5, 50, (3, 4, 4)))[..., ::-1]
    counts = np.concatenate([rng.integers(5, 50, (3, 4, 2)), totals // 2, totals], axis=-1)
    background = np.array([1000.5, 1010.25, 700, 400.5, 200, 100, 1000.5, 900, 800, 700])
    for rows in (counts, counts.astype(np.int32), counts + background):
        together = metric.sentence_scores(rows)
        assert together.shape == (3, 4)
        for index in np.ndindex(3, 4):
            assert together[index] == metric.sentence_scores(rows[index])
    # A large document of one kind scores as BLEU of a corpus does.
    unsmoothed = SentenceBLEU(smoothing="none")
    assert 100 * unsmoothed.sentence_scores(counts + background) == pytest.approx(
        BLEU(smoothing="none").score(counts + background), abs=1e-9
    )
    with pytest.raises(TunesmithError, match="made of 10 counts, not of 6"):
        metric.sentence_scores(np.zeros((2, 6)))


def test_no_order_is_too_long_for_a_float():
    words = " ".join(f"w{i}" for i in range(120))
    for metric in (SentenceBLEU(order=100), SentenceBLEU(order=100, grounded=True)):
        counts = np.concatenate([[120, 120], np.zeros(100), np.arange(120, 20, -1)])
        # Far below the smallest float, were it multiplied out.
        expected = np.exp(-np.log(np.arange(121, 21, -1)).mean())
        found = metric.sentence_scores(counts)
        assert found == (0 if metric.grounded else pytest.approx(expected, rel=1e-12))
        assert metric.stats(words, [words])[0] == pytest.approx(
            1 - expected * metric.grounded, abs=1e-11
        )


def test_sums_are_exact_in_any_order(bundled):
    tuning = TuningSet(read(bundled / "tune.nbest.gz", bundled / "tune.ref"), "sentence-bleu")
    scores = tuning.stats[:8000, 0]
    rng = np.random.default_rng(0)
    sums = {float(np.cumsum(rng.permutation(scores))[-1]) for _ in range(20)}
    assert len(sums) == 1
    with threads(1):
        again = SentenceBLEU().candidate_stats(tuning.candidates)
    assert np.array_equal(again, tuning.stats)


@pytest.mark.parametrize(
    "metric",
    [
        SentenceBLEU(),
        SentenceBLEU(grounded=True, brevity="smoothed"),
        SentenceBLEU(smoothing="lin-och", unclipped=True, reference_length_scale=0.98),
    ],
)
def test_tuned_real_lists_score_as_the_formulas_say(bundled, metric):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    result = MERT(restarts=2).fit(TuningSet(candidates, metric), rng=1)
    output = rerank(candidates, result.weights)
    references = [candidates.reference_texts(g) for g in range(candidates.groups)]
    expected = [by_the_paper(metric, *pair) for pair in zip(output, references, strict=True)]
    assert result.score == pytest.approx(100 * np.mean(expected), abs=1e-9)
    lengths = sum(len(t.split()) for t in output), sum(len(r[0].split()) for r in references)
    assert result.length_ratio == pytest.approx(lengths[0] / lengths[1], abs=1e-12)
    assert result.oracle_exact
    assert result.oracle_score >= result.score > result.initial_score


def test_the_oracle_is_the_best_of_each_sentence():
    rng = np.random.default_rng(3)

    def text():
        return " ".join(rng.choice(["a", "b", "c"], rng.integers(0, 7)))

    groups = [[[0.0]] * 4] * 5
    texts, references = [text() for _ in range(20)], [[text(), text()] for _ in range(5)]
    metric = SentenceBLEU(grounded=True)
    candidates = candidate_set(groups, texts=texts, references=references)
    best = [
        max(by_the_paper(metric, t, r) for t in texts[4 * g : 4 * g + 4])
        for g, r in enumerate(references)
    ]
    found = TuningSet(candidates, metric).oracle()
    assert found.exact
    assert found.score == pytest.approx(100 * np.mean(best), abs=1e-9)


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["add-one", "none"]), st.booleans())
def test_a_line_search_finds_what_brute_force_finds(seed, smoothing, grounded):
    rng = np.random.default_rng(seed)

    def text():
        return " ".join(rng.choice(["a", "b", "c"], rng.integers(0, 7)))

    groups = [rng.integers(-3, 4, (rng.integers(1, 6), 2)).tolist() for _ in range(3)]
    candidates = candidate_set(
        groups,
        texts=[text() for g in groups for _ in g],
        references=[[text() for _ in range(rng.integers(1, 3))] for _ in groups],
    )
    tuning = TuningSet(candidates, SentenceBLEU(order=2, smoothing=smoothing, grounded=grounded))
    hypotheses = ListHypotheses(tuning)
    weights, along = rng.integers(-2, 3, 2).astype(float), np.array([1.0, rng.integers(-2, 3)])
    step = search(hypotheses, hypotheses.point(weights), Direction.of(along, "any"))
    # Sums of these scores are exact, so the best is the best to the last bit.
    assert step.gain == brute_force(tuning, weights, along)


def test_tokenizers_and_case():
    hypothesis, references = "It's 3.5%, THE end.", ["It's 3.5%, the End."]
    cased, not_cased = SentenceBLEU(tokenize="13a"), SentenceBLEU(tokenize="13a", lowercase=True)
    assert not_cased.stats(hypothesis, references)[:3].tolist() == [1, 1, 7]
    assert cased.stats(hypothesis, references)[0] < 1
    candidates = make([([hypothesis, "the"], references)])
    for metric in (cased, not_cased):
        rows = TuningSet(candidates, metric).stats
        assert rows[0].tolist() == metric.stats(hypothesis, references).tolist()


def test_names_options_and_errors():
    assert METRICS.create("sentence-bleu:smoothing=add-one,brevity=smoothed") == SentenceBLEU(
        brevity="smoothed"
    )
    metric = SentenceBLEU(smoothing="add-alpha", alpha=0.5, reference_length_scale=1.5)
    assert "smooth:add-alpha[0.5]" in metric.signature()
    assert "reflenscale:1.5" in metric.signature()
    assert "reflenscale" not in SentenceBLEU().signature()
    for options, message in {
        "order=0": "1 or more",
        "order=101": "100 or less",
        "reference-length-scale=0": "above 0",
        "reference-length-scale=-1": "above 0",
        "smoothing=add-alpha,alpha=0": "above 0",
        "alpha=2": "needs smoothing=add-alpha",
        "brevity=none,unclipped=true": "no use for unclipped",
        "brevity=none,reference-length-scale=2": "no use for unclipped",
    }.items():
        with pytest.raises(UsageError, match=message):
            METRICS.create(f"sentence-bleu:{options}")
    with pytest.raises(UsageError, match="above 0"):
        SentenceBLEU(reference_length_scale=math.nan)
    with pytest.raises(UnknownNameError, match="did you mean add-one"):
        SentenceBLEU(smoothing="add-on")
    with pytest.raises(UnknownNameError, match="did you mean smoothed"):
        replace(SentenceBLEU(), brevity="smooth")
    with pytest.raises(TunesmithError, match="sentence-bleu needs references"):
        TuningSet(candidate_set([[[1.0]]]), "sentence-bleu")
    with pytest.raises(TunesmithError, match="sentence-bleu needs references; give one"):
        SentenceBLEU().stats("a", [])


def test_every_signature_is_its_own():
    made = [
        SentenceBLEU(order=order, smoothing=smoothing, grounded=grounded, brevity=brevity)
        for order, smoothing, grounded, brevity in itertools.product(
            (1, 4), ("none", "add-one", "lin-och"), (False, True), ("standard", "smoothed", "none")
        )
    ]
    assert len({metric.signature() for metric in made}) == len(made)
