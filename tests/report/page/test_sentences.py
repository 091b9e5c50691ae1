from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, candidate_set
from tests.helpers.tiers import examples
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.inference.lists.hypotheses import best
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.report.page.run.record import RunRecord, RunSet
from tunesmith.report.page.sentences import MOST, MOST_FEATURES, contributions, sentences_of
from tunesmith.tasks.lists import TuningSet

WORDS = ["a", "b", "c", "d", "e"]


def record_of(candidates: CandidateSet, metric: Metric, start, tuned) -> RunRecord:
    """Make a run whose outputs are the winners of both weights."""
    names = candidates.features.names
    outputs = [candidates.chosen(best(candidates, np.array(w, float))) for w in (start, tuned)]
    held = RunSet(TuningSet(candidates, metric), *outputs)
    weights = [Weights(names, np.array(w, float)) for w in (start, tuned)]
    return RunRecord("run", False, {}, metric, *weights, {"tune": held})


@st.composite
def records(draw, metric: str = "bleu"):
    groups = draw(st.integers(1, 5))
    text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
    number = st.integers(-4, 4).map(float)
    vectors, texts, references = [], [], []
    for _ in range(groups):
        size = draw(st.integers(1, 6))
        vectors.append([[draw(number) for _ in range(3)] for _ in range(size)])
        texts += [draw(text) for _ in range(size)]
        references.append([draw(text)])
    candidates = candidate_set(vectors, [2], texts, references)
    weights = [[draw(number) for _ in range(3)] for _ in range(2)]
    return record_of(candidates, METRICS.create(metric), *weights)


def corpus_score(name: str, outputs: list[str], references: list[str]) -> float:
    metric = {
        "bleu": sacrebleu.metrics.BLEU(force=True, tokenize="none"),
        "ter": sacrebleu.metrics.TER(),
    }[name]
    return metric.corpus_score(outputs, [references]).score


@pytest.mark.parametrize("name", ["bleu", "ter"])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_influence_is_what_the_score_loses_without_the_change(name, data):
    record = data.draw(records(name))
    held = record.sets["tune"]
    before, after = ([s.text(g) for g in range(s.groups)] for s in (held.before, held.after))
    references = [held.after.reference_texts(g)[0] for g in range(held.after.groups)]
    (found,) = sentences_of(record)
    changed = [g for g in range(len(after)) if before[g] != after[g]]
    assert found.changed == len(changed) == len(found.shown)
    assert {sentence.id for sentence in found.shown} == {str(g) for g in changed}
    sign = 1 if name == "bleu" else -1
    whole = corpus_score(name, after, references)
    for sentence in found.shown:
        g = int(sentence.id)
        back = [*after[:g], before[g], *after[g + 1 :]]
        expected = sign * (whole - corpus_score(name, back, references))
        assert sentence.influence == pytest.approx(expected, abs=1e-9)
        assert " ".join(text for text, _ in sentence.after) == after[g]
        assert " ".join(text for text, _ in sentence.before) == before[g]
        assert sentence.references == (references[g],)
    assert found.better == sum(s.influence > 0 for s in found.shown)
    assert found.worse == sum(s.influence < 0 for s in found.shown)
    sizes = [abs(s.influence) for s in found.shown]
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=examples(60))
@given(data=st.data())
def test_candidates_have_their_ranks_and_contributions(data):
    record = data.draw(records())
    held = record.sets["tune"]
    candidates = held.lists.candidates
    block = np.vstack([candidates.features.dense, candidates.features.sparse.toarray().T])
    start, tuned = (w.aligned(candidates.features.names) for w in (record.start, record.weights))
    (found,) = sentences_of(record)
    for sentence in found.shown:
        g = int(sentence.id)
        rows = list(range(candidates.start[g], candidates.start[g + 1]))
        assert sentence.count == len(rows)
        texts = [view.text for view in sentence.candidates]
        assert len(set(texts)) == len(texts) <= MOST
        after = held.after.text(g)
        assert after in texts
        assert held.before.text(g) in texts
        for view in sentence.candidates:
            ordered = [
                sorted(rows, key=lambda i, w=w: (-float(w @ block[:, i]), i))
                for w in (start, tuned)
            ]
            row = ordered[1][view.rank_after - 1]
            assert ordered[0][view.rank_before - 1] == row
            assert candidates.text(row) == view.text
            assert view.total == pytest.approx(float(tuned @ block[:, row]))
            chosen = next(i for i in ordered[1] if candidates.text(i) == after)
            shares = {
                name: tuned[d] * (block[d, row] - block[d, chosen])
                for d, name in enumerate(candidates.features.names)
            }
            named = dict(zip(found.features, view.contributions, strict=True))
            assert {k: v for k, v in named.items() if v} == {k: v for k, v in shares.items() if v}
        best_only = max(
            held.lists.metric.score(
                held.lists.stats[row]
                + TuningSet(held.after, record.metric).stats.sum(axis=0)
                - TuningSet(held.after, record.metric).stats[g]
            )
            for row in rows
        )
        shown = [r for r in rows if candidates.text(r) in texts]
        assert best_only == max(
            held.lists.metric.score(
                held.lists.stats[row]
                + TuningSet(held.after, record.metric).stats.sum(axis=0)
                - TuningSet(held.after, record.metric).stats[g]
            )
            for row in shown
        )


def numbers_record(metric: Metric, changes: list[float]) -> RunRecord:
    """Make a run in which the i-th group's number changes by so much."""
    count = len(changes)
    candidates = candidate_set([[[1.0], [-1.0]]] * count, texts=["old", "new"] * count)
    stats = np.array([[v, 1.0] for change in changes for v in (5.0, 5.0 + change)])
    outputs = []
    for side in (0, 1):
        output = candidates.chosen(candidates.start[:-1] + side)
        named = {f"{metric.name}.value": stats[side::2, 0], f"{metric.name}.count": np.ones(count)}
        outputs.append(CandidateSet(**{**output.__dict__, "columns": named}))
    held = RunSet(TuningSet(candidates, metric, stats), *outputs)
    weights = [Weights(("f0",), np.array([w])) for w in (1.0, -1.0)]
    return RunRecord("run", False, {}, metric, *weights, {"dev": held})


def test_mistakes_are_shown_beside_what_got_better():
    changes = [10.0, 9.0, 8.0, 7.0, -1.0, -2.0, -3.0, 0.0]
    (found,) = sentences_of(numbers_record(Mean(), changes), most=4)
    assert [s.influence for s in found.shown] == pytest.approx([10 / 8, 9 / 8, -3 / 8, -2 / 8])
    assert (found.which, found.sentences, found.changed) == ("dev", 8, 8)
    assert (found.better, found.worse) == (4, 3)


@settings(max_examples=examples(80))
@given(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=12), st.integers(1, 12))
def test_as_many_are_shown_as_there_is_room_for(changes, most):
    (found,) = sentences_of(numbers_record(Mean(), changes), most)
    assert len(found.shown) == min(most, len(changes))
    better = sum(change > 0 for change in changes)
    worse = sum(change < 0 for change in changes)
    shown = [np.sign(round(s.influence, 9)) for s in found.shown]
    half = most // 2
    assert shown.count(1) >= min(better, half)
    assert shown.count(-1) >= min(worse, half)
    assert shown.count(1) + shown.count(-1) == min(most, better + worse)
    # Of each kind those that changed most.
    for sign in (1, -1):
        sizes = sorted((sign * c for c in changes if sign * c > 0), reverse=True)
        own = sorted(sign * s.influence for s in found.shown if sign * s.influence > 1e-12)
        assert own[::-1] == pytest.approx([s / len(changes) for s in sizes[: len(own)]])


def test_less_of_a_loss_is_better():
    (found,) = sentences_of(numbers_record(Loss(), [-2.0, 1.0]))
    assert {s.id: round(s.influence, 9) for s in found.shown} == {"0": 1.0, "1": -0.5}
    assert {s.id: s.score_after for s in found.shown} == {"0": 3.0, "1": 6.0}


def test_a_bleu_of_one_sentence_is_smoothed():
    candidates = candidate_set(
        [[[1.0], [-1.0]]], texts=["a b x", "a b c d"], references=[["a b c d e"]]
    )
    (found,) = sentences_of(record_of(candidates, METRICS.create("bleu"), [1.0], [-1.0]))
    (sentence,) = found.shown
    # Matches plus one over n-grams plus one, and the brevity penalty.
    expected = math.exp(1 - 5 / 4) * (5 / 5 * 4 / 4 * 3 / 3 * 2 / 2) ** 0.25
    assert sentence.score_after == pytest.approx(100 * expected)
    expected = math.exp(1 - 5 / 3) * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 1) ** 0.25
    assert sentence.score_before == pytest.approx(100 * expected)
    assert found.score_name == "sentence BLEU+1"


def test_many_features_are_added_up():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(6, 30))
    candidates = candidate_set([rows.tolist()], list(range(12, 30)))
    features = candidates.features
    weights = rng.normal(size=30)
    names, shares = contributions(features, weights, np.arange(6), np.zeros(6, np.int64))
    assert len(names) == MOST_FEATURES + 1
    assert names[-1] == "10 other features together"
    by_name = dict(zip(features.names, weights, strict=True))
    block = dict(zip([f"f{d}" for d in range(30)], rows.T, strict=True))
    for name, column in zip(names[:-1], shares.T, strict=False):
        expected = by_name[name] * (block[name] - block[name][0])
        assert column == pytest.approx(expected, abs=1e-5)
    total = sum(by_name[name] * (block[name] - block[name][0]) for name in features.names)
    assert shares.sum(axis=1) == pytest.approx(total, abs=1e-4)


def test_an_output_that_is_not_in_the_lists_is_compared_with_the_first():
    candidates = candidate_set([[[1.0], [3.0]]], texts=["a b", "a c"], references=[["a b c"]])
    metric = METRICS.create("bleu")
    other = candidate_set([[[0.0]]], texts=["a b c"], references=[["a b c"]])
    held = RunSet(TuningSet(candidates, metric), candidates.chosen(np.array([0])), other)
    weights = Weights(("f0",), np.array([2.0]))
    record = RunRecord("run", False, {}, metric, weights, weights, {"tune": held})
    (found,) = sentences_of(record)
    views = found.shown[0].candidates
    assert [(v.text, v.rank_after, v.contributions) for v in views] == [
        ("a c", 1, (0.0,)),
        ("a b", 2, (-4.0,)),
    ]


def test_a_set_without_changes_says_so():
    candidates = candidate_set([[[1.0], [0.0]]], texts=["a", "b"], references=[["a"]])
    (found,) = sentences_of(record_of(candidates, METRICS.create("bleu"), [1.0], [2.0]))
    assert (found.changed, found.better, found.worse, found.shown) == (0, 0, 0, ())
