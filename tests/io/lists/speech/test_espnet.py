"""n-best folders of ESPnet, from espnet2/bin/asr_inference.py and its DatadirWriter.

It writes ``str(hyp.score)``, which is ``tensor(...)`` where the score is one.
"""

from __future__ import annotations

import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tunesmith.errors import FormatError

FILES = {
    "output.1/1best_recog": ("u-1 good day\nu-2 yes\n", "u-1 -3.25\nu-2 tensor(-0.5)\n"),
    "output.1/2best_recog": (
        "u-1 good\nu-2 \n",
        "u-1 tensor(-4.5, device='cuda:0')\nu-2 -9.125\n",
    ),
    "output.10/1best_recog": ("u-10 no\n", "u-10 -2\n"),
    "output.2/1best_recog": ("u-3 a b\n", "u-3 -1\n"),
}


@pytest.fixture
def logdir(tmp_path):
    folder = tmp_path / "decode_asr" / "logdir"
    for name, (texts, scores) in FILES.items():
        place = folder / name
        place.mkdir(parents=True)
        (place / "text").write_text(texts)
        (place / "token").write_text(texts.replace("good", "▁go od"))
        (place / "token_int").write_text(texts)
        (place / "score").write_text(scores)
    (folder / "keys.1.scp").write_text("u-1 a.wav\n")
    (folder / "asr_inference.1.log").write_text("log\n")
    return folder


def test_folders_of_jobs_and_ranks(logdir):
    expected = {
        "u-1": [
            ("good day", {"score": -3.25, "tokens": 3.0}),
            ("good", {"score": -4.5, "tokens": 2.0}),
        ],
        "u-2": [("yes", {"score": -0.5, "tokens": 1.0}), ("", {"score": -9.125})],
        "u-3": [("a b", {"score": -1.0, "tokens": 2.0})],
        "u-10": [("no", {"score": -2.0, "tokens": 1.0})],
    }
    for place in (logdir, logdir.parent):
        found = ts.read(place)
        assert as_records(found) == expected
        assert list(found.ids) == list(expected)
    one = ts.read(logdir / "output.1" / "2best_recog")
    assert [one.text(k) for k in range(2)] == ["good", ""]


def test_transcripts(logdir, tmp_path):
    refs = tmp_path / "text"
    refs.write_text("u-1 good day\nu-2 yes\nu-3 b\nu-10 no\nu-4 more\n")
    found = ts.read(logdir, format=f"espnet:references={refs}")
    assert [found.reference_texts(g) for g in range(4)] == [["good day"], ["yes"], ["b"], ["no"]]
    assert sum(file.path == str(refs) for file in found.files) == 1
    refs.write_text("u-1 good day\n")
    with pytest.raises(FormatError, match="no transcript of 'u-2'"):
        ts.read(logdir, format=f"espnet:references={refs}")


def test_a_model_without_texts_has_tokens(logdir):
    for place in logdir.glob("*/*/text"):
        place.unlink()
    assert ts.read(logdir).text(0) == "▁go od day"


@pytest.mark.parametrize(
    ("file", "text", "place", "told"),
    [
        ("score", "u-1 -3\n", ("text", 2), "'u-2' is not in .*score"),
        ("score", "u-1 -3\nu-2 x\n", ("score", 2), "a score is 'x'"),
        ("score", "u-1 -3\nu-2 tensor(nan)\n", ("score", 2), "a score is nan"),
        ("score", "u-1 -3\nu-1 -4\n", ("score", 2), "'u-1' is there twice"),
        ("score", None, ("text", None), "no file 'score' beside it"),
        ("token", "u-1 x\n", ("text", 2), "'u-2' is not in .*token"),
        ("text", "u-1 a\nu-1 b\n", ("text", 2), "'u-1' is there twice"),
        ("text", "", ("text", None), "the file is empty"),
    ],
)
def test_files_that_do_not_fit(logdir, file, text, place, told):
    folder = logdir / "output.1" / "1best_recog"
    (folder / file).unlink()
    if text is not None:
        (folder / file).write_text(text)
    with pytest.raises(FormatError, match=told) as caught:
        ts.read(folder)
    assert (caught.value.path, caught.value.line) == (str(folder / place[0]), place[1])


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(FormatError, match="it is a directory; name a file in it"):
        ts.read(tmp_path)
