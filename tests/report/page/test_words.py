"""What metrics are called."""

from __future__ import annotations

import pytest

from tunesmith.metrics.base import METRICS
from tunesmith.report.page import words


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("bleu", "BLEU"),
        ("chrf:word-order=2", "chrF (word-order=2)"),
        ("column:bleu", "column:bleu"),
        ("sum(bleu,ter)", "sum(bleu,ter)"),
        ("mine.py:Mine", "mine.py:Mine"),
    ],
)
def test_metrics_are_called_as_in_papers(asked, name):
    assert words.metric_name(asked) == name


def test_there_are_such_metrics():
    assert {METRICS.create(name).name for name in words.METRICS} == set(words.METRICS)
