"""Recognised cuts of icefall, from store_transcripts in icefall/utils.py."""

from __future__ import annotations

import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tests.helpers.io.program_samples import ICEFALL
from tunesmith.errors import FormatError


def test_words_of_cuts(tmp_path):
    path = tmp_path / "recogs-test-clean.txt"
    path.write_text(ICEFALL)
    found = ts.read(path)
    assert found.files[0].format == "icefall"
    assert as_records(found) == {
        "1089-134686-0000-7": [("HE HOPED IT'S TWO", {})],
        "1089-134686-0001-8": [("", {})],
    }
    assert found.reference_texts(0) == ["HE HOPED IT'S STEW"]
    assert ts.TuningSet(found, "wer").score([0, 1]) == pytest.approx(100 * (1 + 2) / 6)


def test_files_of_several_settings_are_lists(tmp_path):
    (tmp_path / "a").write_text("c-1:\tref=['x', 'y']\nc-1:\thyp=['x']\n")
    (tmp_path / "b").write_text("c-1:\tref=['x', 'y']\nc-1:\thyp=['x', 'y']\n")
    (tmp_path / "score").write_text("-2\n-1\n")
    found = ts.read([tmp_path / "a", tmp_path / "b"], scores={"s": tmp_path / "score"})
    assert as_records(found) == {"c-1": [("x", {"s": -2.0}), ("x y", {"s": -1.0})]}


def test_text_in_the_place_of_a_list_and_times(tmp_path):
    path = tmp_path / "recogs.txt"
    path.write_text("1:\tref=a b\n1:\thyp=a c\n1:\ttimestamp_hyp=[0.04, 0.4]\n")
    found = ts.read(path)
    assert as_records(found) == {1: [("a c", {})]}
    assert found.reference_texts(0) == ["a b"]


@pytest.mark.parametrize(
    ("lines", "line", "told"),
    [
        ("c:\tref=['a']\nd:\thyp=['a']\n", 2, "the hypothesis of 'd' has no reference"),
        ("c:\tref=['a']\nc:\tref=['a']\n", 2, "'c' has no hypothesis"),
        ("c:\tref=['a']\n", 1, "'c' has no hypothesis: the file is cut off"),
        ("c:\tref=['a']\nc:\thyp=['a\n", 2, "the words are no list of texts"),
        ("c:\tref=['a']\nc:\thyp=[1, 2]\n", 2, "the words are no list of texts"),
        ("c:\tref=['a']\nc:\thyp=[print('a')]\n", 2, "the words are no list of texts"),
        ("c:\tref=['a']\nc:\thyp=['\\x0']\n", 2, "a word is no text of Python"),
        ("c:\tref=['a']\nc hyp a\n", 2, "this is no line of a cut"),
    ],
)
def test_errors_name_the_line(tmp_path, lines, line, told):
    path = tmp_path / "recogs.txt"
    path.write_text(lines)
    with pytest.raises(FormatError) as caught:
        ts.read(path)
    assert told in str(caught.value)
    assert caught.value.line == line
