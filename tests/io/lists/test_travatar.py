"""n-best lists of Travatar, written from its source.

TravatarRunnerTask::PrintNbestList: id, words, score, features that are not 0 as
Dict::PrintSparseVector prints them, and with -nbest_tree the tree.
"""

from __future__ import annotations

import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import TRAVATAR
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.travatar import TravatarFormat
from tunesmith.io.streams import Source


def collect(text: str):
    collector = Collector()
    TravatarFormat().read(Source("test", text.encode()), collector)
    return collector.finish()


@pytest.mark.parametrize("tree", ["", " ||| (S (NP x) (VP y=1))"])
def test_the_score_stands_before_the_features(tree):
    text = TRAVATAR.replace("\n", f"{tree}\n")
    assert TravatarFormat.recognises(text.encode())
    assert as_records(collect(text)) == {
        0: [
            ("a good text", {"Pegf": -3.25, "lm": -8.5, "w": 3.0}),
            ("a text", {"Pegf": -2.75, "lm": -7.25, "w": 2.0}),
        ],
        1: [("Wort", {"lm": -4.0, "unk": 1.0, "w": 1.0})],
    }


def test_a_first_candidate_without_features():
    text = "0 ||| a ||| 0 ||| \n0 ||| b ||| 1 ||| f=1\n"
    assert TravatarFormat.recognises(text.encode())
    assert as_records(collect(text)) == {0: [("a", {}), ("b", {"f": 1.0})]}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x ||| a ||| 1 ||| f=1", "the id is 'x'"),
        ("1 ||| a", "fewer than four fields"),
        ("1 ||| a ||| 1", "fewer than four fields"),
        ("1 ||| a ||| 1 ||| f=x", "'x', not a number"),
        ("1 ||| a ||| 1 ||| 3", "'3' stands before any feature name"),
    ],
)
def test_errors_name_the_line(line, problem):
    with pytest.raises(FormatError) as caught:
        collect(f"0 ||| a ||| 1 ||| f=1\n{line}\n")
    assert problem in str(caught.value)
    assert caught.value.line == 2
