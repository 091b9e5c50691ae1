"""Tuning on runs, and on rows of features."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.helpers.docs.blocks import ROOT

DATA = ROOT / "examples" / "tutorials" / "search"
RUNS = [f"--run={DATA / name}" for name in ("words.run.gz", "pieces.run.gz")]
QRELS = ["--qrels", DATA / "qrels.txt"]
FEW = ["--restarts", "1", "--walks", "0"]


@pytest.fixture
def rows(tmp_path):
    """Write rows whose grade follows the second feature."""
    rng = np.random.default_rng(2)
    for name in ("train", "test"):
        lines = []
        for query in range(40):
            for grade in rng.integers(0, 3, 8).tolist():
                values = rng.normal(size=3)
                values[1] += grade
                pairs = " ".join(f"{k}:{value:.4f}" for k, value in enumerate(values, 1))
                lines.append(f"{grade} qid:{query} {pairs}\n")
        (tmp_path / name).write_text("".join(lines))
    return tmp_path / "train", tmp_path / "test"


@pytest.mark.long
def test_runs_are_tuned_reported_and_reranked(cli, tmp_path):
    out = tmp_path / "w.json"
    metrics = ["--metric", "ndcg@10", "--metric", "rr"]
    test = ["--test-qrels", DATA / "test.qrels.txt"]
    found = cli("tune", *RUNS, *QRELS, *test, *metrics, *FEW, "--out", out)
    assert found.code == 0
    assert found.out.startswith("on 100 unseen queries ")
    result = json.loads(out.read_text())
    assert result["inputs"]["normalisation"] == {"kind": "min-max", "missing": "zero"}
    again = cli(
        "evaluate", *RUNS, "--qrels", test[1], "--weights", out, *metrics, "--json", "--quiet"
    )
    first = json.loads(again.out)
    assert first["score"] == result["test"]["score"]
    assert first["others"][0]["score"] == result["others"][0]["test"]["score"]


@pytest.mark.long
def test_rows_are_tuned_on_with_all_that_mert_has(cli, rows, tmp_path):
    train, test = rows
    out = tmp_path / "w.json"
    options = ["--penalty", "l2-normalized", "--strength", "0.001,0.01", "--bound", "2=0:"]
    found = cli(
        *("tune", "--letor", train, "--dev-letor", test, "--metric", "ndcg@5", *options),
        *(*FEW, "--out", out, "--quiet"),
    )
    assert found.code == 0, found.err
    result = json.loads(out.read_text())
    assert result["inputs"]["normalisation"]["kind"] == "none"
    assert len(result["path"]) == 2
    weights = result["weights"]
    assert weights["2"] > max(abs(weights["1"]), abs(weights["3"]))
    scored = cli("evaluate", "--letor", test, "-w", out, "-m", "ndcg@5", "--json")
    assert json.loads(scored.out)["score"] == result["dev"]["score"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--tuner", "pro"],
            "pro works on candidates, one of which is chosen, and not on rankings",
        ),
        (["--metric", "bleu"], "unknown metric of rankings 'bleu'"),
        (["--dev-letor", "x"], "--dev-letor does not go with --qrels; give --dev-qrels"),
        (["--penalty", "l2-normalized", "--strength", "1,2"], "give --dev-qrels or --dev-letor"),
        (["--out", "weights.txt"], "a result is JSON, so name it .json"),
        (["--letor", "x"], "either runs or rows of features are needed"),
        (["--candidates", "x"], "--candidates does not go with the other options"),
        (["--normalisation", "min"], "unknown normalisation 'min'"),
    ],
)
def test_wrong_options_are_refused(refused, options, message):
    assert message in refused("tune", *RUNS, *QRELS, *options)


def test_a_report_says_that_it_shows_no_rankings(refused, tmp_path):
    (tmp_path / "w.json").write_text(
        '{"schema": "tunesmith.tune/1", "inputs": {"normalisation": {"kind": "z"}}}'
    )
    out = tmp_path / "page.html"
    said = refused("report", tmp_path / "w.json", "--out", out, file=tmp_path / "w.json")
    assert "a result of rankings" in said
