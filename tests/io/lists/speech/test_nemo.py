"""Candidates of NeMo, written from scripts/asr_language_modeling/ngram_lm.

eval_beamsearch_ngram_ctc.py prints ``'{}\\t{}\\n'.format(pred_text, score)`` for each candidate of
each utterance; eval_neural_rescorer.py takes them to be beam_size for each.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import NEMO
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.speech.nemo import NemoFormat
from tunesmith.io.streams import Source


def collect(text: str, per_source: int):
    collector = Collector()
    NemoFormat(per_source).read(Source("test", text.encode()), collector)
    return collector.finish()


def test_so_many_candidates_are_an_utterance():
    assert as_records(collect(NEMO, 3)) == {
        0: [("good day", {"score": -3.25}), ("good", {"score": -4.5}), ("day", {"score": -7.0})],
        1: [("yes", {"score": -0.5}), ("", {"score": -2.0}), ("yes yes", {"score": -9.125})],
    }
    assert len(collect(NEMO, 2).ids) == 3


def test_a_tab_within_the_text():
    assert as_records(collect("a\tb\t-1\n", 1)) == {0: [("a b", {"score": -1.0})]}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\t-1\nb -2\n", 2, "there is no tab between text and score"),
        ("a\t-1\nb\tx\n", 2, "a score is 'x', not a number"),
        ("a\t-1\nb\tnan\n", 2, "a score is nan, which is not finite"),
        ("a\t-1\nb\t\n", 2, "a score is '', not a number"),
        ("a\t-1\nb\t-2\nc\t-3\n", None, "3 lines are no multiple of per-source=2"),
        ("\n\n", None, "there is no candidate in it"),
    ],
)
def test_errors_name_the_line(text, line, problem):
    with pytest.raises(FormatError) as caught:
        collect(text, 2)
    assert problem in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize("per_source", [0, -1])
def test_the_number_of_candidates_must_be_said(per_source):
    with pytest.raises(UsageError, match="write nemo:per-source=N"):
        collect(NEMO, per_source)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([(0, {"lm": 1.0})], "nemo has the feature score alone"),
        ([(0, {"score": 1.0, "lm": 1.0})], "nemo has the feature score alone"),
        ([(1, {"score": 1.0})], "counts groups from 0 and has no place for the id '1'"),
        ([("a", {"score": 1.0})], "has no place for the id 'a'"),
        (
            [(0, {"score": 1.0}), (0, {"score": 2.0}), (1, {"score": 2.0})],
            "group 1 has 1 candidates and group 0 has 2, and nemo wants as many in each",
        ),
    ],
)
def test_what_cannot_be_written(rows, problem):
    collector = Collector()
    for group, features in rows:
        collector.add(group, "x", features)
    with pytest.raises(UsageError, match=problem):
        list(NemoFormat().lines(collector.finish(), np.arange(len(rows)), np.zeros(len(rows))))
