"""The page of a run as files, from Python."""

from __future__ import annotations

import dataclasses
import json

import pytest

import tunesmith as ts
from tests.helpers.tuners.problems import text_problem
from tunesmith.errors import UsageError
from tunesmith.report.page.assemble import PageOptions

FEW = PageOptions(sentences=5, map_features=2)


@pytest.fixture(scope="module")
def run():
    """A result, and the set that it is of."""
    tuning = text_problem(groups=12, seed=3)
    return ts.MERT(restarts=1).fit(tuning, rng=1), tuning


def test_a_result_at_hand_shows_what_its_file_shows(run, tmp_path):
    result, tuning = run
    view = ts.write_report(result, tmp_path / "page.html", tuning, options=FEW)
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert view.summary.scores[0].after == result.score
    assert {curve.feature for curve in view.surfaces.curves} == set(tuning.names)
    assert view.missing == ()
    (tmp_path / "result.json").write_text(json.dumps(result.to_dict()))
    read = ts.write_report(tmp_path / "result.json", tmp_path / "view.json", options=FEW)
    assert read.weights.rows == tuple(
        dataclasses.replace(row, spread=None) for row in sorted_as(read, view)
    )
    assert read.surfaces is None
    assert "--candidates" in read.missing[0]
    assert json.loads((tmp_path / "view.json").read_text())["schema"] == "tunesmith.report/1"


def sorted_as(first, second):
    """Return the weights of the second view in the order of the first."""
    rows = {row.feature: row for row in second.weights.rows}
    return [rows[row.feature] for row in first.weights.rows]


@pytest.mark.long
def test_pictures_alone(run, tmp_path):
    result, tuning = run
    ts.write_report(result, None, tuning, figures=tmp_path / "pictures", options=FEW)
    assert (tmp_path / "pictures" / "weights.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"path": None}, "nothing is to be written"),
        ({"path": "page.pdf"}, r"end it in \.html"),
        ({"run": "weights.json", "path": "page.html"}, "sets go with the result of a tuner"),
    ],
)
def test_what_does_not_go_together(run, given, told):
    result, tuning = run
    with pytest.raises(UsageError, match=told):
        ts.write_report(**{"run": result, "tuning": tuning, **given})
