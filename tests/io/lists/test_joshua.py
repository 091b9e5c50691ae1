"""n-best lists of Joshua, written from its source.

Joshua 6: KBestExtractor with the output format ``%i ||| %s ||| %f ||| %c``, features as
FeatureVector.toString prints them; a failed translation has none. Values without names are what
MertCore of Z-MERT documents: ``i ||| words ||| feat-1_val feat-2_val ... .*``.
"""

from __future__ import annotations

import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import JOSHUA, UNNAMED
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.joshua import JoshuaFormat
from tunesmith.io.streams import Source


def collect(text: str):
    collector = Collector()
    assert JoshuaFormat.recognises(text.encode())
    JoshuaFormat().read(Source("test", text.encode()), collector)
    return collector.finish()


def test_names_stay_as_they_are():
    found = collect(f"{JOSHUA}2 ||| nicht übersetzt |||  ||| 0.000\n")
    assert as_records(found) == {
        0: [
            (
                "a good text",
                {"tm_pt_0": -9.702, "tm_pt_1": -10.8, "lm_0": -19.117, "WordPenalty": -1.303},
            ),
            (
                "one good text",
                {"tm_pt_0": -9.1, "tm_pt_1": -11.0, "lm_0": -20.002, "WordPenalty": -1.303},
            ),
        ],
        1: [("Wort", {"lm_0": -4.0, "OOVPenalty": -100.0, "WordPenalty": -0.434})],
        2: [("nicht übersetzt", {})],
    }


@pytest.mark.parametrize("score", [" ||| -7.496", ""])
def test_values_without_names_are_named_by_position(score):
    text = UNNAMED.replace(" ||| -7.496", score)
    assert as_records(collect(text)) == {
        0: [
            ("a good text", {"feature_1": -19.117, "feature_2": -9.702, "feature_3": -1.303}),
            ("one good text", {"feature_1": -20.002, "feature_2": -9.1, "feature_3": -1.303}),
        ],
        1: [("word", {"feature_1": -4.0, "feature_3": -0.434})],
    }


def test_bars_within_a_word_are_no_bars():
    found = collect("0 ||| a|||b c||| ||| 1 2 ||| 3\n")
    assert as_records(found) == {0: [("a|||b c|||", {"feature_1": 1.0, "feature_2": 2.0})]}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x ||| a ||| 1 2 ||| 0", "the id is 'x'"),
        ("1 ||| a", "fewer than three fields"),
        ("1 ||| a ||| 1 ||| 0", "has 1 values here and 2 before"),
        ("1 ||| a ||| 1 2 3 ||| 0", "has 3 values here and 2 before"),
        ("1 ||| a |||  ||| 0", "feature 'feature' has no value"),
        ("1 ||| a ||| 1 x ||| 0", "'x', not a number"),
        ("1 ||| a ||| 1 inf ||| 0", "inf, which is not finite"),
    ],
)
def test_errors_name_the_line(line, problem):
    with pytest.raises(FormatError) as caught:
        collect(f"0 ||| a ||| 1 2 ||| 0\n{line}\n")
    assert problem in str(caught.value)
    assert caught.value.line == 2
