"""n-best lists of Marian, written from its source.

OutputPrinter::print: number, text, with --alignment the alignment (hard ``0-0 1-1`` or soft
``0.1,0.9 ...``), with --word-scores ``WordScores=`` and a number a word, then ``F0= v F1= v``
for each scorer (``F0=v`` where there is no breakdown) and the score.
"""

from __future__ import annotations

import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import MARIAN
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.marian import MarianFormat
from tunesmith.io.streams import Source


def collect(text: str):
    assert MarianFormat.recognises(text.encode())
    collector = Collector()
    MarianFormat().read(Source("test", text.encode()), collector)
    return collector.finish()


@pytest.mark.parametrize(
    "between",
    [
        "",
        "0-0 1-1 2-2 ||| ",
        "0.5,0.25,0.25 0.1,0.8,0.1 ||| ",
        "1 1 1 ||| ",
        "WordScores= -0.12345 -1.00000 ||| ",
        "0-0 ||| WordScores= -0.12345 ||| ",
        " ||| WordScores= ||| ",
    ],
)
def test_features_move_with_what_stands_before_them(between):
    expected = {
        0: [
            ("This is a test .", {"F0": -2.57, "F1": -3.25}),
            ("This is a trial .", {"F0": -4.81, "F1": -5.0}),
        ],
        1: [("", {"F0": -0.5, "F1": -0.75})],
    }
    assert as_records(collect(MARIAN.replace("F0=", f"{between}F0="))) == expected


def test_one_scorer_without_a_breakdown():
    assert as_records(collect("3 ||| x y ||| F0=-1.5 ||| -0.5\n")) == {3: [("x y", {"F0": -1.5})]}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x ||| a ||| 0-0 ||| F0= 1 ||| 1", "the id is 'x'"),
        ("1 ||| a ||| 0-0", "fewer than four fields"),
        ("1 ||| a ||| F0= 1 ||| 1", "'1' stands before any feature name"),
        ("1 ||| a ||| 0-0 ||| F0= -nan ||| 1", "-nan, which is not finite"),
    ],
)
def test_errors_name_the_line(line, problem):
    with pytest.raises(FormatError) as caught:
        collect(f"0 ||| a ||| 0-0 ||| F0= 1 ||| 1\n{line}\n")
    assert problem in str(caught.value)
    assert caught.value.line == 2


def test_a_missing_field_of_six():
    with pytest.raises(FormatError, match="2: there are fewer than five fields"):
        collect("0 ||| a ||| 0-0 ||| WordScores= 1 ||| F0= 1 ||| 1\n0 ||| a ||| 0-0 ||| F0= 1\n")
