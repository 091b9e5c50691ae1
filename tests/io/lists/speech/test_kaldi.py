"""n-best lists of Kaldi, written from its scripts.

steps/rnnlmrescore.sh and scripts/rnnlm/lmrescore_nbest.sh leave archives.N/ with words_text, acwt,
lmwt.nolm, lmwt.withlm, lmwt.lmonly, lmwt.rnn and lmwt.interp.WEIGHT, keys of lattice-to-nbest:
the utterance, - and a number from 1.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import KALDI
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.speech.kaldi import KaldiFormat
from tunesmith.io.read import read
from tunesmith.io.text.tokens import tokenize


def put(folder, **changed: str | None):
    for name, text in {**KALDI, **changed}.items():
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            (folder / name).write_text(text)
    return folder / "words_text"


def test_score_files_beside_the_words_are_features(tmp_path):
    found = read(put(tmp_path))
    assert {file.format for file in found.files} == {"kaldi", "text"}
    assert len(found.files) == 5
    assert as_records(found) == {
        "s1-utt-a": [
            ("good day", {"acwt": 510.25, "lmwt.nolm": 3.5, "lmwt.rnn": 7.125}),
            ("good", {"acwt": 512.5, "lmwt.nolm": 2.5, "lmwt.rnn": 8.0}),
        ],
        "s1-utt-b": [
            ("", {"acwt": 99.0, "lmwt.nolm": 0.25, "lmwt.rnn": 1.5}),
            ("no", {"acwt": 97.75, "lmwt.nolm": 0.125, "lmwt.rnn": 2.0}),
        ],
    }
    assert [found.reference_texts(g) for g in range(2)] == [["good day"], ["no"]]


def test_sums_of_other_files_and_what_holds_no_scores_are_left_out(tmp_path):
    one = KALDI["acwt"]
    folder = tmp_path / "temp"
    folder.mkdir()
    path = put(
        tmp_path,
        **{"lmwt.withlm": one, "lmwt.lmonly": one, "lmwt.interp.0.5": one, "log": "some text\n"},
        ali="s1-utt-a-1 3\n",
    )
    assert set(read(path).features.names) == {"acwt", "lmwt.nolm", "lmwt.lmonly", "lmwt.rnn"}
    (tmp_path / "lmwt.lmonly").unlink()
    assert set(read(path).features.names) == {"acwt", "lmwt.nolm", "lmwt.withlm", "lmwt.rnn"}


def test_a_folder_of_jobs_has_the_candidates_of_all(tmp_path):
    for job in (10, 9):
        folder = tmp_path / f"archives.{job}"
        folder.mkdir()
        put(folder, **{name: text.replace("utt", f"utt{job}") for name, text in KALDI.items()})
    names = ["s1-utt9-a", "s1-utt9-b", "s1-utt10-a", "s1-utt10-b"]
    assert list(as_records(read(tmp_path))) == names


def test_words_that_are_numbers_are_told(tmp_path):
    words = "".join(f"u{u}-{k} {u + 1} {k + 1}\n" for u in range(3) for k in (1, 2))
    table = "".join(f"w{number} {number}\n" for number in range(1, 6))
    (tmp_path / "words.txt").write_text("<eps> 0\n" + table)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "words").write_text(words)
    scores = "".join(f"{line.split()[0]} 1.5\n" for line in words.splitlines())
    (tmp_path / "jobs" / "acwt").write_text(scores)
    references = tmp_path / "text"
    references.write_text("u0 w1 w2\nu1 w2 w3\nu2 w3 w2\n")
    with pytest.warns(UserWarning, match="consist of numbers.* --format kaldi:words=FILE"):
        read(tmp_path / "jobs", references)
    given = f"kaldi:words={tmp_path / 'words.txt'}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = read(tmp_path / "jobs", references, format=given)
    assert named.text(0) == "w1 w2"
    references.write_text("u0 1 2\nu1 2 3\nu2 3 2\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(tmp_path / "jobs", references)


def test_score_files_and_transcripts_may_be_named(tmp_path):
    path = put(tmp_path, text=None)
    assert read(path).references is None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text(KALDI["acwt"])
    (elsewhere / "refs").write_text("s1-utt-a a b\ns1-utt-b\n")
    spec = f"kaldi:scores=lmwt.rnn+{elsewhere}/mine,references={elsewhere}/refs"
    found = read(path, format=spec)
    assert found.features.names == ("lmwt.rnn", "mine")
    assert [found.reference_texts(g) for g in range(2)] == [["a b"], [""]]


def test_utterances_that_are_numbers(tmp_path):
    path = put(tmp_path, words_text="10-1 a\n9-1 b\n", text=None)
    for name in ("acwt", "lmwt.nolm", "lmwt.rnn"):
        (tmp_path / name).write_text("9-1 1\n10-1 2\n")
    found = read(path)
    assert found.ids == (9, 10)
    (tmp_path / "words_text").write_text("010-1 a\n9-1 b\n")
    for name in ("acwt", "lmwt.nolm", "lmwt.rnn"):
        (tmp_path / name).write_text("9-1 1\n010-1 2\n")
    assert read(path).ids == ("010", "9")


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("words_text", "utt-1 a\nutt b\n", 2, "the key 'utt' does not end in - and a number"),
        ("words_text", "utt-1 a\nutt-x b\n", 2, "the key 'utt-x' does not end in"),
        ("words_text", "utt-1 a\n\nutt-1 b\n", 3, "'utt-1' is there twice"),
        ("acwt", KALDI["acwt"] + "x-1 3\n", 5, "'x-1' is not in"),
        ("acwt", KALDI["acwt"] + "s1-utt-a-1 3\n", 5, "'s1-utt-a-1' is there twice"),
        ("acwt", "s1-utt-a-1 3\ns1-utt-a-2\n", 2, "there are 1 fields, not a key and a number"),
        ("acwt", "s1-utt-a-1 3\ns1-utt-a-2 x\n", 2, "a score is 'x', not a number"),
        ("acwt", "s1-utt-a-1 3\ns1-utt-a-2 inf\n", 2, "a score is inf, which is not finite"),
        ("text", "s1-utt-a good\n", None, "there is no transcript of 's1-utt-b'"),
    ],
)
def test_errors_name_file_and_line(name, text, line, problem, tmp_path):
    path = put(tmp_path, **{name: text})
    with pytest.raises(FormatError) as caught:
        read(path, format="kaldi")
    assert problem in str(caught.value)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / name), line)


def test_a_score_file_that_is_cut_off(tmp_path):
    path = put(tmp_path, acwt="s1-utt-a-1 3\ns1-utt-a-2 4\n")
    with pytest.raises(FormatError, match=r"words_text:3: 's1-utt-b-1' is not in .*acwt; copy"):
        read(path)


def test_no_score_files(tmp_path):
    (tmp_path / "words_text").write_text(KALDI["words_text"])
    with pytest.raises(FormatError, match="no score files beside it; name them: kaldi:scores="):
        read(tmp_path / "words_text")
    with pytest.raises(FormatError, match="nothing: no such file or directory"):
        read(tmp_path / "words_text", format="kaldi:scores=nothing")
    put(tmp_path)
    with pytest.raises(UsageError, match="two score files are called 'acwt'"):
        read(tmp_path / "words_text", format="kaldi:scores=acwt+acwt")


@pytest.mark.parametrize(
    ("group", "features", "path", "problem"),
    [
        ("a b", {"f": 1.0}, "w", "the id 'a b' has white space"),
        ("a", {"a/b": 1.0}, "w", "'a/b' cannot be the name of a score file"),
        ("a", {"w": 1.0}, "w", "'w' cannot be the name of a score file"),
        ("a", {"text": 1.0}, "w", "'text' cannot be the name of a score file"),
        ("a", {}, "w", "there are none"),
        ("a", {"f": 1.0}, "-", "name the file of words with --out"),
    ],
)
def test_what_cannot_be_written(group, features, path, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    collector = Collector()
    collector.add(group, "x", features)
    with pytest.raises(UsageError, match=problem):
        KaldiFormat().write(collector.finish(), np.arange(1), np.zeros(1), path)
    assert not list(tmp_path.iterdir())


def test_several_references_are_not_written(tmp_path):
    collector = Collector()
    collector.add("a", "x", {"f": 1.0})
    tokens = tokenize(b"a\nb\n", collector.vocabulary)
    collector.add_references("a", [tokens[0], tokens[1]], "test")
    with pytest.raises(TunesmithError, match="one transcript an utterance"):
        KaldiFormat().write(collector.finish(), np.arange(1), np.zeros(1), tmp_path / "w")
