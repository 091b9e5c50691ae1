"""n-best lists of SRILM, from its manual page nbest-format(5)."""

from __future__ import annotations

import gzip

import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tests.helpers.io.program_samples import SRILM
from tunesmith.errors import FormatError

FIRST = "NBestList1.0\n(-13472) <s> good day </s>\n(-13500) good\n"
SECOND = (
    "NBestList2.0\n"
    "(-500) <s> ( st: 0.00 et: 0.10 g: 0 a: -20 ) good ( st: 0.11 et: 0.40 g: -12 a: -210.5 ) "
    "g ( st: 0.11 et: 0.20 g: 0 a: -100 ) uh ( st: 0.21 et: 0.40 g: 0 a: -110.5 ) "
    "day ( st: 0.41 et: 0.80 g: -7 a: -300 ) </s> ( st: 0.81 et: 0.90 g: -1 a: -5 )\n"
    "(-510) good ( st: 0.11 et: 0.40 g: -12 a: -210.5 )\n"
)


def test_a_folder_has_a_file_for_each_utterance(tmp_path):
    folder = tmp_path / "nbest"
    folder.mkdir()
    (folder / "utt_a.nbest").write_text(SRILM)
    (folder / "utt_b.gz").write_bytes(gzip.compress(FIRST.encode()))
    (folder / "12.score").write_text("-5 -2.5 1 yes\n")
    found = ts.read(folder)
    assert {file.format for file in found.files} == {"srilm"}
    assert as_records(found) == {
        12: [("yes", {"acoustic": -5.0, "language": -2.5, "words": 1.0})],
        "utt_a": [
            ("good day sir", {"acoustic": -1234.5, "language": -23.25, "words": 3.0}),
            ("good day", {"acoustic": -1240.25, "language": -20.5, "words": 2.0}),
            ("", {"acoustic": -1250.0, "language": -30.0}),
        ],
        "utt_b": [("good day", {"score": -13472.0}), ("good", {"score": -13500.0})],
    }


def test_scores_of_words_add_up_without_those_of_phones(tmp_path):
    path = tmp_path / "u"
    path.write_text(SECOND)
    assert as_records(ts.read(path)) == {
        "u": [
            ("good day", {"acoustic": -535.5, "language": -20.0, "words": 2.0}),
            ("good", {"acoustic": -210.5, "language": -12.0, "words": 1.0}),
        ]
    }


def test_more_scores_and_transcripts_beside(tmp_path):
    for name in ("nbest", "lm2"):
        (tmp_path / name).mkdir()
    for utterance in ("a", "b"):
        (tmp_path / "nbest" / utterance).write_text("-5 -2 1 yes\n-6 -3 1 no\n")
        (tmp_path / "lm2" / f"{utterance}.gz").write_bytes(gzip.compress(b"-1.5\n-2.5\n"))
    (tmp_path / "ref").write_text("a yes\nb no\n")
    options = f"scores={tmp_path / 'lm2'},references={tmp_path / 'ref'}"
    found = ts.read(tmp_path / "nbest", format=f"srilm:{options}")
    assert [features["lm2"] for _, features in as_records(found)["b"]] == [-1.5, -2.5]
    assert [found.reference_texts(g) for g in range(2)] == [["yes"], ["no"]]
    (tmp_path / "lm2" / "b.gz").write_bytes(gzip.compress(b"-1.5\n"))
    with pytest.raises(FormatError, match="there are 1 scores of 'b' in lm2"):
        ts.read(tmp_path / "nbest", format=f"srilm:{options}")
    (tmp_path / "lm2" / "b.gz").unlink()
    with pytest.raises(FormatError, match="no file of that name in"):
        ts.read(tmp_path / "nbest", format=f"srilm:{options}")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("-5 -2 1 yes\n-5 -2\n", 2, "fewer than three numbers"),
        ("-5 -2 1 yes\n-5 x 1 yes\n", 2, "a score is 'x', not a number"),
        ("-5 -2 1 yes\n-5 nan 1 yes\n", 2, "a score is nan"),
        ("NBestList1.0\n-5 yes\n", 2, "no score in brackets"),
        ("NBestList1.0\n(x) yes\n", 2, "a score is 'x'"),
        ("NBestList2.0\n(-5) yes\n", 2, "a word has no times and scores"),
        ("NBestList2.0\n(-5) yes ( st: 0 et: 1 g: 2 )\n", 2, "'yes' lacks one of"),
        ("NBestList2.0\n(-5) yes ( st: 0 et: 1 g: 2 a: x )\n", 2, "a score is 'x'"),
        ("NBestList1.0\n", None, "there is no candidate in it"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, told):
    path = tmp_path / "u"
    path.write_text(text)
    with pytest.raises(FormatError, match=told) as caught:
        ts.read(path)
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["-5 -2 7 yes\n", "1 2 3\n", "1 2 x yes\n", "0.5\n"])
def test_other_numbers_are_no_lists(tmp_path, text):
    path = tmp_path / "u"
    path.write_text(text)
    with pytest.raises(FormatError, match="not recognised"):
        ts.read(path)
