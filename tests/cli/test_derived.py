"""Commands derive the features that weights are for."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pytest

import tunesmith as ts
from tunesmith.data.weights import Weights
from tunesmith.io.weights.base import WEIGHTS_FORMATS


def lists_of(rng, groups=6, size=5):
    words = ["a", "b", "(c", "d)", "e,", "<unk>", "7"]
    lines = []
    for g in range(groups):
        for _ in range(size):
            text = " ".join(rng.choice(words, rng.integers(1, 6)))
            lines.append(f"{g} ||| {text} ||| f= {rng.normal():.4f} g= {rng.normal():.4f} ||| 0\n")
    return "".join(lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for name in ("tune", "new"):
        (tmp_path / name).write_text(lists_of(rng))
        (tmp_path / f"{name}.ref").write_text("a b (c d)\n" * 6)
    return tmp_path


@pytest.mark.parametrize("kind", WEIGHTS_FORMATS.names())
def test_rerank_derives_them_again_to_the_bit(kind, folder, cli):
    specs = ["words", "balance", "agreement", "vote", "rank:f"]
    rng = np.random.default_rng(5)
    derived = ts.derive(ts.read("new"), specs)
    weights = Weights(derived.features.names, rng.normal(size=len(derived.features.names)))
    ending = {"moses-ini": "w.ini", "json": "w.json", "yaml": "w.yaml"}.get(kind, "w")
    (folder / ending).write_bytes(WEIGHTS_FORMATS.get(kind)().write(weights, b""))
    found = json.loads(cli("rerank", "-c", "new", "-w", ending, "--nbest", "--json").out)
    scores = derived.features.dot(weights.vector)
    for group, record in enumerate(found["groups"]):
        lo, hi = derived.start[group : group + 2]
        expected = sorted(scores[lo:hi].tolist(), reverse=True)
        assert [one["score"] for one in record["candidates"]] == expected
        assert record["text"] == derived.text(lo + int(np.argmax(scores[lo:hi])))


@pytest.mark.long
def test_tune_writes_what_rerank_evaluate_surface_compare_certify_and_report_read(folder, cli):
    asked = ("--feature", "words", "--feature", "agreement")
    data = ("-c", "tune", "-r", "tune.ref", "--test-candidates", "new", "--test-references")
    options = ("--tuner", "mert", "-o", "w.json", "--json")
    found = json.loads(cli("tune", *data, "new.ref", *asked, *options).out)
    assert {"f", "g", "derived:words", "derived:agreement"} == {*found["weights"]}
    assert found["inputs"]["features"] == ["words", "agreement"]
    given = ("-c", "new", "-r", "new.ref")
    evaluated = json.loads(cli("evaluate", *given, "-w", "w.json", "--json").out)
    assert evaluated["score"] == found["test"]["score"]
    best = cli("rerank", "-c", "new", "-w", "w.json").out
    (folder / "best").write_text(best)
    output = json.loads(cli("evaluate", "--hypotheses", "best", "-r", "new.ref", "--json").out)
    assert output["score"] == found["test"]["score"]
    line = ("--weights", "w.json", "--feature", "derived:words", "--json")
    surface = json.loads(cli("surface", *given, *line).out)
    assert surface["lines"][0]["metrics"][0]["current_score"] == pytest.approx(
        found["test"]["score"]
    )
    (folder / "flat.json").write_text('{"f": 1.0, "g": 0.0}')
    systems = ("--system", "a=w.json", "--system", "b=flat.json", "--json")
    compared = cli("compare", "--candidates", "new", "--references", "new.ref", *systems)
    mean = json.loads(compared.out)["systems"][0]["mean"]
    assert mean == pytest.approx(found["test"]["score"])
    certified = json.loads(
        cli("certify", *given, "--weights", "w.json", "--time-limit", "1", "--json").out
    )
    bleu = json.loads(cli("evaluate", *given, "-w", "w.json", "-m", "sentence-bleu", "--json").out)
    assert certified["score"] == pytest.approx(bleu["score"])
    page = cli("report", "w.json", "--out", "page.html")
    assert page.code == 0
    assert "is not shown" not in (folder / "page.html").read_text()


def test_start_weights_bring_their_features(folder, cli):
    (folder / "w").write_text("f= 1\nderived:words= -1\n")
    found = json.loads(
        cli("tune", "-c", "tune", "-r", "tune.ref", "--tuner", "mert", "--start", "w", "--json").out
    )
    assert {*found["weights"]} == {"f", "g", "derived:words"}


def test_convert_writes_them(folder, cli):
    assert cli("convert", "-c", "new", "--feature", "words", "--to", "moses", "-o", "n").code == 0
    for line in (folder / "n").read_text().splitlines():
        _, text, features, *_ = line.split(" ||| ")
        assert f"derived:words= {len(text.split())}" in features


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("rerank", "-c", "new", "-w", "bad"), "bad: unknown derived feature 'wrods'"),
        (("evaluate", "-c", "new", "-r", "new.ref", "-w", "bad"), "bad: unknown derived feature"),
        (("tune", "-c", "tune", "-r", "tune.ref", "--start", "bad"), "bad: unknown derived"),
        (("tune", "-c", "tune", "-r", "tune.ref", "--feature", "wrods"), "unknown derived"),
        (("tune", "-c", "tune", "-r", "tune.ref", *["--feature", "words"] * 2), "given twice"),
        (
            (
                "tune",
                "--decoder",
                "command",
                "--decoder-command",
                "x",
                "--source",
                "tune.ref",
                "-r",
                "tune.ref",
                "--start",
                "good",
            ),
            "good: 'derived:words' is derived from lists or forests, and a decoder has no such",
        ),
    ],
)
def test_one_line_says_what_is_wrong(arguments, problem, folder, refused):
    (folder / "bad").write_text("f= 1\nderived:wrods= 1\n")
    (folder / "good").write_text("f= 1\nderived:words= 1\n")
    assert problem in refused(*arguments)


def test_rerank_in_python_derives_them_too(folder):
    candidates = ts.read("new", ["new.ref"])
    weights = {"f": 0.0, "g": 0.0, "derived:words": 1.0}
    winners = ts.rerank(candidates, weights)
    for g, text in enumerate(winners):
        lo, hi = candidates.start[g : g + 2]
        longest = max(len(candidates.text(i).split()) for i in range(lo, hi))
        assert len(text.split()) == longest


def test_cli_takes_files_beside_the_weights(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "lists").write_text("0 ||| a b ||| f= 1 ||| 0\n0 ||| c c ||| f= 2 ||| 0\n")
    (tmp_path / "words").write_text("a b\n")
    name = f"derived:unknown:words@{hashlib.sha256(b'a b' + bytes([10])).hexdigest()[:8]}"
    (folder / "w").write_text(f"f= 0\n{name}= -1\n")
    found = cli("rerank", "-c", "lists", "-w", "model/w")
    assert found.out == "a b\n"
    shutil.move(tmp_path / "words", folder / "words")
    assert cli("rerank", "-c", "lists", "-w", "model/w").out == "a b\n"
    (folder / "words").unlink()
    found = cli("rerank", "-c", "lists", "-w", "model/w")
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert "model/w: words: there is no such file" in found.err
