"""All parts of a page together: its head, and how much of a run it shows."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.report.records import record_of
from tunesmith.errors import TunesmithError
from tunesmith.report.page.assemble import PageOptions, fitting, summary_of, view_of
from tunesmith.report.page.html import page_of
from tunesmith.report.page.view import Sentences, SentenceView
from tunesmith.tuners.fitting.verdict import UNKNOWN


def sentence(length):
    text = "ä" * length
    return SentenceView("1", text, (), ((text, "in"),), (), None, None, 0.0, (), 1)


def sentences(lengths):
    shown = tuple(sentence(length) for length in lengths)
    return Sentences("tune", 99, 50, 3, 2, (), "bleu", shown)


def size(one):
    return len(json.dumps(asdict(one), ensure_ascii=False).encode()) + 1


@given(
    st.lists(st.lists(st.integers(0, 400), max_size=6), max_size=3),
    st.integers(-10, 6000),
)
def test_sentences_that_fit(lengths, budget):
    sets = [sentences(own) for own in lengths]
    found = fitting(sets, budget)
    kept = [one for held in found for one in held.shown]
    assert sum(map(size, kept)) <= max(budget, 0)
    for held, whole in zip(found, sets, strict=True):
        count = len(held.shown)
        assert held.shown == whole.shown[:count]
        assert held.changed == whole.changed
        if count < len(whole.shown):  # the next one has no room, or had none when its turn came
            assert sum(map(size, kept)) + size(whole.shown[count]) > budget
    if budget >= sum(size(one) for held in sets for one in held.shown):
        assert list(found) == sets


RESULT = {
    "tuner": "mert",
    "signature": "mert|restarts:20|begin:near|runs:2|seed:7|bleu|case:mixed",
    "score": 25.5,
    "initial_score": 20.0,
    "oracle_score": 40.0,
    "oracle_exact": True,
    "length_ratio": 0.99,
    "dev": {"score": 24.0, "initial_score": 21.0, "length_ratio": None},
    "others": [{"metric": "chrf", "score": 50.0, "initial_score": 45.0, "dev": {"score": 1.0}}],
    "inputs": {"metrics": ["bleu:order=4", "chrf"]},
    "seed": 7,
    "stopped": "no new candidates",
}


def test_the_head():
    found = summary_of(record_of(RESULT))
    assert found.metric == "bleu:order=4"
    rows = [(one.which, one.metric, one.before, one.after) for one in found.scores]
    assert rows == [
        ("tune", "bleu:order=4", 20.0, 25.5),
        ("dev", "bleu:order=4", 21.0, 24.0),
        ("tune", "chrf", 45.0, 50.0),
        ("dev", "chrf", None, 1.0),
    ]
    assert (found.scores[0].oracle, found.scores[0].oracle_exact) == (40.0, True)
    assert ("restarts", "20") in found.settings
    assert ("seed", "7") in found.settings
    assert "no new candidates" in found.notes[0]
    assert len(found.notes) == 1
    alone = summary_of(record_of({**RESULT, "dev": None}))
    assert "held-out set would tell" in alone.notes[1]
    assert (found.called, found.scores[2].called) == ("BLEU (order=4)", "chrF")


VERDICT = {
    "recommendation": "use",
    "gain": 0.84,
    "low": 0.35,
    "high": 1.31,
    "on": "folds",
    "sentences": 500,
    "higher_is_better": True,
}


def test_the_verdict_is_told_as_in_the_table():
    record = record_of({**RESULT, "metric": "bleu", "dev": None, "verdict": VERDICT})
    summary = summary_of(record)
    assert summary.verdict == (
        "On 500 unseen sentences +0.84 BLEU (95 %: +0.35 to +1.31): use these weights."
    )
    # Where it says what is known of other sentences, no note does.
    assert not any("held-out set would tell" in note for note in summary.notes)
    view = view_of(record)
    assert view.to_dict()["verdict"] == VERDICT
    assert view.to_dict()["summary"]["verdict"] == summary.verdict
    assert page_of(view).count(summary.verdict) == 1


def test_an_error_rate_and_a_run_without_held_out_sentences():
    fewer = {**VERDICT, "higher_is_better": False, "on": "test"}
    found = summary_of(record_of({**RESULT, "metric": "ter", "verdict": fewer}))
    assert "-0.84 TER (95 %: -1.31 to -0.35)" in found.verdict
    unknown = UNKNOWN.to_dict()
    found = summary_of(record_of({**RESULT, "dev": None, "verdict": unknown}))
    assert found.verdict.startswith("Nothing was held out")
    assert "--folds 5" in found.verdict
    in_loop = {**RESULT, "dev": None, "verdict": unknown, "rounds": [{"round": 0}]}
    assert "--test-source" in summary_of(record_of(in_loop)).verdict


def test_results_of_versions_without_a_verdict():
    for verdict in ({}, {"verdict": None}):
        record = record_of({**RESULT, **verdict})
        assert summary_of(record).verdict == ""
        assert view_of(record).verdict is None


def test_a_record_with_nothing_in_it_is_shown():
    view = view_of(record_of())
    assert view.surfaces is None
    assert view.sentences == ()
    json.dumps(view.to_dict(), allow_nan=False)


@pytest.mark.parametrize("wrong", [{"sentences": -1}, {"map_features": -1}, {"weights": 0}])
def test_wrong_options(wrong):
    with pytest.raises(TunesmithError):
        PageOptions(**wrong)
