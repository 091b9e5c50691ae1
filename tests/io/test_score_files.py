"""Score files as COMET and MetricX write them."""

from __future__ import annotations

import json

import pytest

import tunesmith as ts
from tunesmith.errors import FormatError

SCORES = [0.8125, 0.5, 0.75]


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "lists"
    path.write_text("0 ||| a ||| f= 1\n0 ||| b ||| f= 2\n1 ||| c ||| f= 3\n")
    return path


def comet(files):
    """Return what ``comet-score --to_json`` writes: segments by file, indented."""
    segments = {
        name: [{"src": "s", "mt": "m", "ref": "r", "COMET": score} for score in scores]
        for name, scores in files.items()
    }
    return json.dumps(segments, ensure_ascii=False, indent=4)


def printed(scores):
    """Return what ``comet-score`` prints: a line a segment, and one of the system."""
    lines = [f"hyp.txt\tSegment {k}\tscore: {score:.4f}" for k, score in enumerate(scores)]
    return "\n".join([*lines, f"hyp.txt\tscore: {sum(scores) / len(scores):.4f}"]) + "\n"


def metricx(scores):
    """Return what MetricX' ``predict.py`` writes: its input with a prediction."""
    rows = [{"source": "s", "hypothesis": "h", "prediction": score} for score in scores]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    "text", [comet({"hyp.txt": SCORES}), printed(SCORES), metricx(SCORES), "0.8125\n0.5\n.75\n"]
)
def test_scores_of_metrics_are_read(tmp_path, lists, text):
    (tmp_path / "scores").write_text(text)
    found = ts.read(lists, scores={"qe": tmp_path / "scores"}, columns=["qe"])
    assert found.columns["qe"].tolist() == SCORES
    assert ts.TuningSet(found, "cost:qe").oracle().score == (0.5 + 0.75) / 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (comet({"a": SCORES, "b": SCORES}), r"scores of several files \(a, b\)"),
        (comet({"a": SCORES[:2]}), "it has 2 scores and there are 3 candidates"),
        (comet({"a": [0.5, None, 0.5]}), "'COMET' is null"),
        (metricx([0.5, 0.25]), "it has 2 scores"),
        (metricx([0.5, "x", 0.5]), "'prediction' is \"x\""),
        ('{"a": 1}', "no segments"),
        ('{"a": [', "not JSON"),
        (printed(SCORES).replace("Segment 1", "Segment 2"), "segment 2 stands where 1 should"),
        (printed(SCORES).replace("\tscore: 0.5000", ""), "no segment's score"),
    ],
)
def test_scores_that_cannot_be(tmp_path, lists, text, told):
    (tmp_path / "scores").write_text(text)
    with pytest.raises(FormatError, match=told):
        ts.read(lists, scores={"qe": tmp_path / "scores"})
