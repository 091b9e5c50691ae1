"""Error rates with normalisation on the command line."""

from __future__ import annotations

import hashlib
import json

import pytest

CLEAN = """
def clean(text):
    return text.replace("Um, ", "").replace("don't", "do not")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["0 ||| Um, I don't know ||| F= 1 ||| 0", "0 ||| I do not no ||| F= 2 ||| 0"]
    (tmp_path / "l.nbest").write_text("\n".join(lines) + "\n")
    (tmp_path / "r").write_text("i do not know\n")
    (tmp_path / "w").write_text("F= 1\n")
    (tmp_path / "norm.py").write_text(CLEAN)
    return tmp_path


@pytest.mark.parametrize(
    ("metric", "score", "oracle"),
    [
        ("wer", 50.0, 50.0),
        ("wer:lowercase", 25.0, 25.0),
        ("wer:lowercase,contractions,no-punct,fillers=english", 25.0, 0.0),
        ("wer:lowercase,transform=norm.py:clean", 25.0, 0.0),
    ],
)
def test_evaluate_and_tune(cli, folder, metric, score, oracle):
    lists = ["--candidates", "l.nbest", "--references", "r", "--metric", metric, "--json"]
    found = json.loads(cli("evaluate", *lists, "--weights", "w").out)
    assert (found["score"], found["oracle_score"]) == (score, oracle)
    tuned = json.loads(cli("tune", *lists, "--start", "w", "--tuner", "mert").out)
    assert (tuned["initial_score"], tuned["score"]) == (score, oracle)


def test_statistics_of_a_transform_have_its_digest(cli, folder):
    metric = "wer:transform=norm.py:clean"
    lists = ["--candidates", "l.nbest", "--references", "r"]
    cli("convert", *lists, "--statistics", metric, "--out", "s.jsonl")
    args = ["evaluate", "--candidates", "s.jsonl", "--weights", "w", "--metric", metric, "--json"]
    assert json.loads(cli(*args).out)["score"] == 50.0
    digest = hashlib.sha256(CLEAN.encode()).hexdigest()[:8]
    assert f"wer:transform=norm.py:clean@{digest}.errors" in (folder / "s.jsonl").read_text()


def test_an_error_in_a_users_function_names_its_line(cli, folder):
    (folder / "broken.py").write_text("def clean(text):\n    return text.missing\n")
    lists = ["--candidates", "l.nbest", "--references", "r", "--weights", "w"]
    found = cli("evaluate", *lists, "--metric", "wer:transform=broken.py:clean")
    assert found.code == 2
    assert found.err.startswith("tunesmith: error: broken.py:2: AttributeError")
