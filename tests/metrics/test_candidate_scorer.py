"""What candidates are worth, against the formulas of both papers written out."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as Sacre  # noqa: N811

import tunesmith as ts
from tests.helpers.builders import Loss, Mean, candidate_set, tuning_set
from tests.helpers.inference.expectations import lists
from tests.helpers.metrics.corpora import corpora, make
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.candidate_scorer import PRESETS, CandidateScorer, objective_of
from tunesmith.metrics.sentence_bleu import SentenceBLEU
from tunesmith.tasks.lists import TuningSet

SEEDS = st.integers(0, 2**32 - 1)
WAYS = st.sampled_from(["pairs", "examples"])


def precisions(matches, totals, added=1.0):
    """Return the geometric mean of (m + added) / (h + added); 0 where that is 0/0."""
    product = 1.0
    for m, h in zip(matches, totals, strict=True):
        product *= (m + added) / (h + added) if h + added > 0 else 0.0
    return product ** (1 / len(matches))


def penalty(c, r, clipped=True):
    """Return equation 2 of the length paper, and its unclipped form."""
    if c == r:
        return 1.0
    found = math.exp(1 - r / c) if c else 0.0
    return min(1.0, found) if clipped else found


def grounded(m, h):
    return precisions(m, h) - precisions([0] * len(m), h)


#: The rows of Tables 2 and 3: the matches m, totals h, lengths c and r of a sentence, and the
#: lengths of output and references that the round before came to, if there was one.
FORMULAS = {
    "bleu+1": lambda m, h, c, r, out, ref: penalty(c, r) * precisions(m, h),
    "unsmoothed": lambda m, h, c, r, out, ref: penalty(c, r) * precisions(m, h, 0.0),
    "grounded": lambda m, h, c, r, out, ref: penalty(c, r) * grounded(m, h),
    "brevity-smoothed": lambda m, h, c, r, out, ref: penalty(c, r + 1) * precisions(m, h),
    "brevity-smoothed-grounded": lambda m, h, c, r, out, ref: penalty(c, r + 1) * grounded(m, h),
    "scaled": lambda m, h, c, r, out, ref: penalty(c, r * ref / out) * precisions(m, h),
    "scaled-literal": lambda m, h, c, r, out, ref: penalty(c, r * out / ref) * precisions(m, h),
    "unclipped": lambda m, h, c, r, out, ref: penalty(c, r, False) * precisions(m, h),
    "unclipped-scaled": lambda m, h, c, r, out, ref: (
        penalty(c, r * ref / out, False) * precisions(m, h)
    ),
}


def counts_of(corpus):
    """Return sacrebleu's statistics of each candidate: lengths, matches and totals."""
    theirs = Sacre(tokenize="none", effective_order=True)
    return [
        theirs._extract_corpus_statistics([hypothesis], [[r] for r in references])[0]
        for hypotheses, references in corpus
        for hypothesis in hypotheses
    ]


def by_formula(preset, counts, totals=(1, 1)):
    """Return what a preset makes of statistics; an empty hypothesis has nothing."""
    found = []
    for c, r, *rest in counts:
        value = 0.0 if c == 0 < r else FORMULAS[preset](rest[:4], rest[4:], c, r, *totals)
        found.append(value)
    return found


def all_values(scorer, candidates):
    """Return the values of all groups, one after the other."""
    start = candidates.start.tolist()
    return np.concatenate([scorer.values(a, b) for a, b in pairwise(start)])


def test_there_is_a_formula_for_each_preset():
    assert FORMULAS.keys() == PRESETS.keys()


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=examples(20))
@given(corpora, WAYS, st.integers(1, 60), st.integers(1, 60), st.sampled_from(["bleu", "chrf"]))
def test_presets_are_the_rows_of_the_tables(preset, corpus, way, length, reference, metric):
    tuning = TuningSet(make(corpus), metric)
    assume(tuning.candidates.has_texts)
    scorer = objective_of(preset).begin(tuning, way)
    counts = counts_of(corpus)
    assert scorer.stats.tolist() == [list(row) for row in counts]
    # Learning from examples, values are in words, as those of a document.
    unit = np.mean([row[1] for row in counts]) if way == "examples" else 1.0
    found = all_values(scorer, tuning.candidates)
    assert found == pytest.approx(unit * np.array(by_formula(preset, counts)), abs=1e-10)
    scorer.add(scorer.stats[0])  # which tells it nothing
    for lengths in ((length, reference), (reference, length)):
        # After a round the output was too short, or too long, or neither.
        scorer.end_round(np.array([*lengths, *[0] * 8]))
        expected = unit * np.array(by_formula(preset, counts, lengths))
        assert all_values(scorer, tuning.candidates) == pytest.approx(expected, abs=1e-10)
    scorer.end_round(np.array([0, reference, *[0] * 8]))  # nothing came out, the ratio stays
    assert all_values(scorer, tuning.candidates) == pytest.approx(expected, abs=1e-10)


def test_a_short_output_makes_references_longer_and_the_literal_formula_shorter():
    corpus = [(["a b c d e"], ["a b c d f"])]
    tuning = TuningSet(make(corpus), "bleu")
    short = np.array([90, 100, *[0] * 8])
    for preset, is_less in (("scaled", True), ("scaled-literal", False), ("bleu+1", False)):
        scorer = objective_of(preset).begin(tuning, "pairs")
        before = scorer.values(0, 1)[0]
        scorer.end_round(short)
        assert (scorer.values(0, 1)[0] < before) == is_less
    scorer = objective_of("scaled").begin(tuning, "pairs")
    scorer.end_round(short)
    own = SentenceBLEU(reference_length_scale=100 / 90)
    assert scorer.values(0, 1)[0] == own.sentence_scores(tuning.stats)[0]


def test_the_scale_of_the_metric_counts_too():
    corpus = [(["a b c d e", "a b c"], ["a b c d f"])]
    tuning = TuningSet(make(corpus), "bleu:reference-length-scale=1.25")
    scorer = objective_of("scaled").begin(tuning, "pairs")

    def expected(scale):
        return SentenceBLEU(reference_length_scale=scale).sentence_scores(tuning.stats).tolist()

    assert scorer.values(0, 2).tolist() == expected(1.25)
    scorer.end_round(np.array([125, 100, *[0] * 8]))  # as long as it should be
    assert scorer.values(0, 2).tolist() == expected(1.25)
    scorer.end_round(np.array([100, 100, *[0] * 8]))
    assert scorer.values(0, 2).tolist() == expected(1.25 * 1.25)
    without = objective_of("sentence:brevity=none").begin(tuning, "pairs")
    assert without.values(0, 2).tolist() == (
        SentenceBLEU(brevity="none").sentence_scores(tuning.stats).tolist()
    )


@settings(max_examples=examples(10))
@given(corpora)
def test_sentences_are_seen_as_the_metric_sees_them(corpus):
    for options in ("order=2", "lowercase=true", "tokenize=13a", "reference-length=average"):
        tuning = TuningSet(make(corpus), f"bleu:{options}")
        scorer = objective_of("bleu+1").begin(tuning, "pairs")
        alone = METRICS.create(f"sentence-bleu:{options}").candidate_stats(tuning.candidates)
        assert all_values(scorer, tuning.candidates) == pytest.approx(alone[:, 0], abs=1e-11)


def bleu(b):
    """Return BLEU of statistics, with the logarithm that the paper's formula lacks."""
    order = (len(b) - 2) // 2
    m, n = b[2 : 2 + order], b[2 + order :]
    if not all(m):
        return 0.0
    logs = sum(math.log(x / y) for x, y in zip(m, n, strict=True))
    return math.exp(logs / order + min(0.0, 1 - b[1] / b[0]))


def enough(*statistics):
    """Leave out documents in which an order has no match, which is smoothed, or no n-gram."""
    for b in statistics:
        assume(min(b[2:]) >= 1.0)


@settings(max_examples=examples(30))
@given(SEEDS, st.sampled_from([0.9, 0.5, 1.0]), st.sampled_from(["bleu", "bleu:order=2"]))
def test_values_in_a_document_are_equation_3(seed, decay, metric):
    hypotheses, _, rng = lists(seed, metric)
    tuning = hypotheses.tuning
    scorer = objective_of(f"document:decay={decay}").begin(tuning, "examples")
    stats = [row.astype(float).tolist() for row in tuning.stats]
    document = [sum(column) / len(stats) for column in zip(*stats, strict=True)]
    start = tuning.candidates.start.tolist()
    for _ in range(4):
        group = int(rng.integers(len(start) - 1))
        first, last = start[group : group + 2]
        sums = [[x + y for x, y in zip(document, row, strict=True)] for row in stats[first:last]]
        enough(document, *sums)
        expected = [document[0] * (bleu(b) - bleu(document)) for b in sums]
        assert scorer.values(first, last) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        row = int(rng.integers(len(stats)))
        scorer.add(tuning.stats[row])
        document = [decay * (x + y) for x, y in zip(document, stats[row], strict=True)]
        # A round's end means nothing here: the document goes on.
        scorer.end_round(tuning.stats.sum(axis=0))


@settings(max_examples=examples(30))
@given(SEEDS, st.sampled_from([0.9, 0.5, 1.0]), st.sampled_from(["bleu", "bleu:order=2"]))
def test_pairs_begin_with_the_winners_of_all_rounds(seed, decay, metric):
    """Section 3.3: 0.9 of the last round's, 0.81 of those before it, and so on."""
    hypotheses, _, rng = lists(seed, metric)
    tuning = hypotheses.tuning
    scorer = objective_of(f"document:decay={decay}").begin(tuning, "pairs")
    stats = tuning.stats.astype(float)
    start = tuning.candidates.start.tolist()
    document, rounds = stats.mean(axis=0), []
    for _ in range(4):
        for _ in range(2):
            group = int(rng.integers(len(start) - 1))
            rows = stats[start[group] : start[group + 1]]
            enough(document, *(document + rows))
            # In sentences, not in words: of a sentence whose reference has as many words as
            # these have on average.
            factor = document[0] / rows[:, 1].mean()
            expected = [factor * (bleu(document + row) - bleu(document)) for row in rows]
            found = scorer.values(start[group], start[group + 1])
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
            row = int(rng.integers(len(stats)))
            scorer.add(tuning.stats[row])
            document = document + stats[row]
        total = tuning.stats[[rng.integers(a, b) for a, b in pairwise(start)]]
        rounds.insert(0, total.sum(axis=0))
        scorer.end_round(rounds[0])
        document = sum(decay ** (k + 1) * total for k, total in enumerate(rounds))


def test_documents_of_nothing_are_no_end_of_learning():
    hypotheses, _, _ = lists(3, "bleu")
    tuning = hypotheses.tuning
    first, last = max(pairwise(hypotheses.start), key=np.ptp)
    for way in ("examples", "pairs"):
        scorer = objective_of("document:decay=0").begin(tuning, way)
        scorer.add(tuning.stats[0])
        scorer.end_round(tuning.stats[0])
        values = scorer.values(first, last)
        alone = tuning.metric.gain(tuning.stats[first:last])
        assert np.isfinite(values).all()
        assert np.argsort(values, kind="stable").tolist() == (
            np.argsort(alone, kind="stable").tolist()
        )
        assert np.ptp(values) > 0


@pytest.mark.parametrize("metric", ["wer", "chrf", "ter", "sum(bleu,chrf)"])
@settings(max_examples=examples(15))
@given(SEEDS, WAYS)
def test_documents_for_other_metrics_count_sentences(metric, seed, way):
    hypotheses, _, rng = lists(seed, metric)
    tuning = hypotheses.tuning
    start = hypotheses.start.tolist()
    scorer = objective_of("document").begin(tuning, way)
    document, sentences = tuning.stats.mean(axis=0), 1.0
    unit = expected_unit(tuning, way)
    for _ in range(3):
        group = int(rng.integers(len(start) - 1))
        rows = tuning.stats[start[group] : start[group + 1]]
        gains = [float(tuning.metric.gain(document + row)) for row in rows]
        added = np.array(gains) - float(tuning.metric.gain(document))
        found = scorer.values(start[group], start[group + 1])
        assert found == pytest.approx(unit * (sentences + 1) * added, rel=1e-9, abs=1e-9)
        scorer.add(rows[0])
        document, sentences = document + rows[0], sentences + 1
        if way == "examples":
            document, sentences = 0.9 * document, 0.9 * sentences
    total = tuning.stats[start[:-1]].sum(axis=0)
    scorer.end_round(total)
    if way == "pairs":
        document, sentences = 0.9 * total, 0.9 * (len(start) - 1)
    assert scorer.sentences == pytest.approx(sentences)
    assert scorer.document == pytest.approx(document)


def expected_unit(tuning, way):
    """Return what values in per cent, or in another unit, are multiplied by."""
    if tuning.metric.scale == 100.0:
        if way == "pairs":
            return 1.0
        candidates = tuning.candidates
        lengths = [
            np.mean([len(r.split()) for r in candidates.reference_texts(g)])
            for g in range(candidates.groups)
        ]
        return float(np.repeat(lengths, np.diff(candidates.start)).mean())
    gains, start = tuning.metric.gain(tuning.stats), tuning.candidates.start
    squares = sum((b - a) * gains[a:b].var() for a, b in pairwise(start))
    deviation = math.sqrt(squares / len(gains))
    return (0.1 if way == "pairs" else 1.0) / deviation if deviation > 1e-12 else 1.0


@pytest.mark.parametrize("metric", ["wer", "chrf", "column:value", "cost:value", "sentence-bleu"])
@settings(max_examples=examples(15))
@given(SEEDS, WAYS)
def test_the_metric_of_each_sentence_in_its_unit(metric, seed, way):
    hypotheses, _, _ = lists(seed, metric)
    tuning = hypotheses.tuning
    scorer = objective_of("metric").begin(tuning, way)
    unit = expected_unit(tuning, way)
    expected = [unit * float(tuning.metric.gain(row)) for row in tuning.stats]
    for _ in range(2):
        assert all_values(scorer, tuning.candidates) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        scorer.add(tuning.stats[0])
        scorer.end_round(tuning.stats.sum(axis=0))


@pytest.mark.parametrize("objective", ["metric", "document"])
@settings(max_examples=examples(20))
@given(SEEDS, WAYS, st.integers(-20, 20))
def test_the_unit_of_an_external_score_does_not_matter(objective, seed, way, doublings):
    hypotheses, _, _ = lists(seed, "column:value")
    tuning = hypotheses.tuning
    candidates = tuning.candidates
    columns = {"value": 2.0**doublings * candidates.columns["value"]}
    other = TuningSet(replace(candidates, columns=columns), "column:value")
    assume(expected_unit(tuning, way) != 1.0)
    pair = []
    for one in (tuning, other):
        scorer = objective_of(objective).begin(one, way)
        for row in (0, len(one.stats) - 1):
            scorer.add(one.stats[row])
        pair.append(all_values(scorer, candidates))
    assert pair[0] == pytest.approx(pair[1], rel=1e-9, abs=1e-9)
    # Of an average, what a candidate adds is its own value but for a constant.
    scorer = objective_of("metric").begin(tuning, way)
    alone = all_values(scorer, candidates)
    first = np.repeat(candidates.start[:-1], np.diff(candidates.start))
    np.testing.assert_allclose(pair[0] - pair[0][first], alone - alone[first], atol=1e-9)


@pytest.mark.parametrize("metric", [Mean(), Loss()])
@pytest.mark.parametrize("objective", ["metric", "document"])
@pytest.mark.parametrize("way", ["pairs", "examples"])
def test_more_is_better_of_error_rates_too(metric, objective, way):
    tuning = tuning_set([[[1.0], [2.0], [3.0]]], [[0.2, 0.9, 0.4]], metric=metric)
    values = objective_of(objective).begin(tuning, way).values(0, 3)
    assert int(np.argmax(values)) == (1 if metric.higher_is_better else 0)


def test_equal_values_have_a_unit_too():
    tuning = tuning_set([[[1.0], [2.0]]], [[0.5, 0.5]])
    for objective in ("metric", "document"):
        for way in ("pairs", "examples"):
            values = objective_of(objective).begin(tuning, way).values(0, 2)
            assert np.isfinite(values).all()
            assert values[0] == values[1]


@settings(max_examples=examples(25))
@given(corpora, st.sampled_from(["document", "metric", *PRESETS]), WAYS)
def test_values_are_finite_whatever_the_texts(corpus, objective, way):
    for metric in ("bleu", "wer", "chrf", "sentence-bleu"):
        tuning = TuningSet(make(corpus), metric)
        scorer = objective_of(objective).begin(tuning, way)
        for _ in range(2):
            assert np.isfinite(all_values(scorer, tuning.candidates)).all()
            scorer.add(scorer.stats[-1])
            scorer.end_round(scorer.stats[tuning.candidates.start[:-1]].sum(axis=0))


@settings(max_examples=examples(40))
@given(
    corpora,
    st.sampled_from(["document", "document:decay=0", "metric", *PRESETS]),
    st.sampled_from(["bleu", "bleu:order=2,lowercase=true", "wer", "sentence-bleu", "chrf"]),
    WAYS,
)
def test_texts_that_are_not_in_the_set_are_worth_as_much(corpus, objective, metric, way):
    tuning = TuningSet(make(corpus), metric)
    assume(tuning.candidates.has_texts)
    scorer = objective_of(objective).begin(tuning, way)
    # Statistics are those that its metric counts, of the whole set or of a part of it.
    other = scorer.metric.candidate_stats(tuning.candidates)
    assert other.dtype == scorer.stats.dtype
    assert other.tolist() == scorer.stats.tolist()
    for _ in range(2):
        for first, last in pairwise(tuning.candidates.start.tolist()):
            values = scorer.values(first, last)
            assert scorer.of(other[first:last]).tolist() == values.tolist()
        scorer.add(scorer.stats[0])
        scorer.end_round(scorer.stats.sum(axis=0))


def test_a_scorer_of_lists_alone_says_so():
    class Own(CandidateScorer):
        def values(self, first, last):
            return np.zeros(last - first)

    with pytest.raises(TunesmithError, match="Own scores only the candidates of lists; give it"):
        Own().of(np.zeros((1, 2)))


def test_what_changes_by_round():
    changing = {name for name in PRESETS if objective_of(name).changes_by_round}
    assert changing == {"scaled", "scaled-literal", "unclipped-scaled"}
    assert objective_of("document").changes_by_round
    assert not objective_of("metric").changes_by_round


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("blue+1", UnknownNameError, "blue"),
        ("sentence:smoothing=much", UnknownNameError, "smoothing"),
        ("sentence:brevity=none,scaled=inverse", UsageError, "scaled has no use without"),
        ("sentence:alpha=2", UsageError, "alpha"),
        ("document:decay=1.1", UsageError, "decay of objective 'document' is 1.1; give 1 or less"),
        ("document:decay=-0.1", UsageError, "'document' is -0.1; give 0 or more"),
    ],
)
def test_wrong_objectives(spec, error, message):
    with pytest.raises(error, match=message):
        objective_of(spec)


def test_sentences_without_references():
    candidates = replace(candidate_set([[[1.0], [2.0]]]), columns={"x": np.array([1.0, 2.0])})
    for given_columns in ((), ("sum", "count", "length", "reference_length")):
        held = {f"sentence-bleu.{name}": np.ones(2) for name in given_columns}
        metric = "sentence-bleu" if held else "column:x"
        tuning = TuningSet(replace(candidates, columns={**candidates.columns, **held}), metric)
        with pytest.raises(TunesmithError, match="there are no references; give --references, or"):
            objective_of("bleu+1").begin(tuning, "pairs")


def test_sentences_without_texts():
    """References alone would give every candidate 0."""
    candidates = ts.from_arrays(
        [0, 0], {"f": [1.0, 2.0]}, references={0: ["a b"]}, columns={"x": [1.0, 2.0]}
    )
    with pytest.raises(TunesmithError, match="the candidates have no texts; give them, or"):
        objective_of("bleu+1").begin(TuningSet(candidates, "column:x"), "pairs")
