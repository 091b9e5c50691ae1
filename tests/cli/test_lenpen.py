"""A tuned length penalty on the command line: tuned, written, and applied by all commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tunesmith as ts

FAST = ["--tuner", "mert", "--restarts", "0", "--walks", "0"]
#: Without a length penalty short candidates win under all such weights.
ABOVE = ["--bound", "*=0:"]
LENPEN = [*FAST, *ABOVE, "--lenpen", "words"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    for name in ("tune", "test"):
        lines, references = [], []
        for group in range(8):
            references.append(" ".join(rng.choice(list("abcde"), 6)))
            for length in rng.integers(1, 10, 5):
                words = " ".join(rng.choice(list("abcde"), length))
                lm, tm = (-rng.gamma(2.0) * length**0.7 for _ in range(2))
                lines.append(f"{group} ||| {words} ||| LM= {lm:.4f} TM= {tm:.4f} ||| 0")
        (tmp_path / f"{name}.nbest").write_text("\n".join(lines) + "\n")
        (tmp_path / f"{name}.ref").write_text("\n".join(references) + "\n")
    (tmp_path / "w").write_text("LM= 1\nTM= 1\n")
    return tmp_path


def lists(name):
    return ["--candidates", f"{name}.nbest", "--references", f"{name}.ref", "--metric", "chrf"]


def test_it_is_tuned_written_and_applied(cli, folder):
    test = ["--test-candidates", "test.nbest", "--test-references", "test.ref"]
    args = ["tune", *lists("tune"), *test, "--start", "w", *LENPEN]
    result = cli(*args, "--out", "tuned.txt", "--json").json()
    about = result["lenpen"]
    assert about["length"] == "derived:words"
    assert about["low"] < about["exponent"] < about["high"]
    assert result["score"] > result["initial_score"]
    assert result["verdict"]["on"] == "test"
    name = f"derived:per:derived:words^{about['exponent']!r}:LM"
    assert result["weights"][name] != 0.0
    assert result["weights"]["LM"] == 0.0
    assert f"{name}= " in (folder / "tuned.txt").read_text()
    for path in ("tuned.txt", "tuned.yaml", "tuned.json"):
        if path != "tuned.txt":
            cli("convert", "--weights", "tuned.txt", "--out", path)
        for part, score in (("tune", result["score"]), ("test", result["test"]["score"])):
            found = cli("evaluate", *lists(part), "--weights", path, "--json").json()
            assert found["score"] == pytest.approx(score, abs=1e-9)
        out = cli("rerank", "--candidates", "test.nbest", "--weights", path).lines()
        weights = ts.read("test.nbest"), json.loads(json.dumps(result["weights"]))
        assert out == ts.rerank(*weights)
    again = cli(
        "tune", *lists("tune"), "--start", "tuned.txt", *FAST, "--lenpen", "words", "--json"
    )
    assert again.json()["initial_score"] == pytest.approx(result["score"])


def test_the_surface_along_the_exponent(cli, folder):
    args = ["tune", *lists("tune"), "--start", "w", *LENPEN]
    result = cli(*args, "--out", "tuned.json", "--json").json()
    surface = ["surface", *lists("tune"), "--weights", "tuned.json", "--exponent"]
    line = cli(*surface, "--json", "--out", "s.png").json()["lines"][0]
    assert (folder / "s.png").stat().st_size > 1000
    (curve,) = line["metrics"]
    assert line["along"] == {"kind": "exponent", "name": "derived:words"}
    assert curve["current_score"] == pytest.approx(result["score"])
    assert max(curve["scores"]) == pytest.approx(result["score"])
    exponent = result["lenpen"]["exponent"]
    weights = result["weights"]
    ends = [0.0, *curve["edges"], 2.0]
    steps = list(zip(ends, ends[1:], curve["scores"], strict=False))
    assert len(steps) == len(curve["scores"])
    for low, high, score in steps[:: len(steps) // 4]:
        other = 0.5 * (low + high)
        moved = {n.replace(f"^{exponent!r}:", f"^{other!r}:"): w for n, w in weights.items()}
        (folder / "moved.json").write_text(json.dumps(moved))
        found = cli("evaluate", *lists("tune"), "--weights", "moved.json", "--json").json()
        assert found["score"] == pytest.approx(score, abs=1e-9)
    text = cli(*surface, "--range", "0:0.5" if exponent < 0.5 else "0:1.9").out
    assert "along the exponent of derived:words" in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--lenpen", "length"], "unknown feature 'length'"),
        (["--lenpen", "pieces"], "feature 'pieces' needs more; write pieces:FILE"),
        (["--lenpen", "LM"], "no length is below 0"),
        (["--lenpen-range", "0:1"], "--lenpen-range goes with --lenpen"),
        (["--lenpen-plain", "LM"], "--lenpen-plain goes with --lenpen"),
        (["--lenpen", "words", "--lenpen-range", "1"], "the range is '1'; give LOW:HIGH"),
        (["--lenpen", "words", "--lenpen-range", "2:1"], "the lower one first"),
        (["--lenpen", "words", "--lenpen-range", "0:1000"], "; give a range within -104:104, as"),
        (["--lenpen", "words", "--lenpen-range=-1e300:0"], "give a range within -104:104, as 0:2"),
        (["--lenpen", "words", "--lenpen-plain", "X*"], "lenpen-plain 'X*' matches no feature"),
    ],
)
def test_what_is_wrong_is_said(cli, folder, arguments, problem):
    found = cli("tune", *lists("tune"), *FAST, *arguments)
    assert found.code == 2
    assert found.err.startswith("tunesmith: error: ")
    assert problem in found.err
    assert found.err.count("\n") == 1


def test_weights_without_one_have_no_exponent(cli, folder):
    found = cli("surface", *lists("tune"), "--weights", "w", "--exponent")
    assert found.code == 2
    assert "the weights have no length penalty; tune some with --lenpen LENGTH" in found.err
