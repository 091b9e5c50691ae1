"""Results in notebooks."""

from __future__ import annotations

import dataclasses
import warnings
from html.parser import HTMLParser

import pytest

import tunesmith as ts
from tunesmith.tuners.fitting.tables import shown_change


class Cells(HTMLParser):
    """The cells of all tables, row by row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.is_open = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
            self.is_open = True

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.is_open = False

    def handle_data(self, data):
        if self.is_open:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def result():
    lists = ts.from_frame(
        {
            "id": [0, 0, 1, 1],
            "<lm>": [1.0, 0.0, 0.0, 1.0],
            "tm": [0.5, 1.0, 0.25, 0.0],
            "x": [0, 1, 1, 1],
        },
        columns=["x"],
    )
    task = ts.TuningSet(lists, metric="column:x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the test set is the tuning set
        return ts.MERT(restarts=0).fit(task, {"<lm>": 1.0}, test=task)


def test_it_shows_what_the_text_shows(result):
    cells = Cells(result._repr_html_())
    assert cells.rows[0] == ["metric", "set", "before", "after", "change"]
    assert [row[1] for row in cells.rows[1:3]] == ["test", "tune"]
    for row in cells.rows[1:3]:
        assert row == ["column:x", row[1], "0.5000", f"{result.score:.4f}", row[4]]
        assert float(row[4]) == pytest.approx(result.score - 0.5)
    weights = {row[0]: float(row[2]) for row in cells.rows[4:]}
    assert weights == pytest.approx(dict(result.weights), rel=1e-5)


def test_names_are_texts(result):
    shown = result._repr_html_()
    assert "<lm>" not in shown
    assert "&lt;lm&gt;" in shown
    hostile = dataclasses.replace(result, metric="<script>")
    assert "<script>" not in hostile._repr_html_()


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (41.16, 46.787, "+5.63"),
        (33.234, 28.526, "-4.70"),  # 33.23 and 28.53 are shown
        (46.0, 45.996, "+0.00"),
        (27.73, 16.99, "-10.74"),
        (0.5, 0.75, "+0.2500"),
        (0.5, 0.49996, "+0.0000"),
    ],
)
def test_changes_have_a_sign(before, after, shown):
    assert shown_change(before, after) == shown
