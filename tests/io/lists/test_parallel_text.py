"""Parallel text: a file of hypotheses, and a file of scores for each feature."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import PARALLEL
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.parallel_text import ParallelFormat
from tunesmith.io.read import read


@pytest.fixture
def files(tmp_path):
    for name, text in PARALLEL.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_line_is_a_candidate_empty_ones_too(files):
    (files / "ref").write_text("good day\nyes\n")
    scores = {"lm": files / "hyp.txt.lm", "nmt": files / "hyp.txt.nmt"}
    found = read(files / "hyp.txt", files / "ref", "parallel:per-source=2", scores)
    assert as_records(found) == {
        0: [("good day", {"lm": -3.25, "nmt": -1.0}), ("good", {"lm": -1.5, "nmt": -2e-05})],
        1: [("yes", {"lm": -0.5, "nmt": -0.25}), ("", {"nmt": -8.0})],
    }
    assert found.reference_texts(1) == ["yes"]
    assert [file.format for file in found.files] == ["parallel", "scores", "scores", "text"]


def test_equal_lines_with_other_scores_stay(tmp_path):
    (tmp_path / "h").write_text("a\na\na\n")
    (tmp_path / "s").write_text("1\n2\n1\n")
    found = read(tmp_path / "h", format="parallel:per-source=3", scores={"s": tmp_path / "s"})
    assert found.features.dense.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("scores", "line", "problem"),
    [
        ("1\n2\n3\n", 3, "fewer lines than the 4 candidates"),
        ("1\n2\n3\n4\n5\n", 5, "more lines than the 4 candidates"),
        ("1\n\n3\n4\n", 2, "the line is empty"),
        ("1\n2\nx\n4\n", 3, "a score is 'x', not a number"),
        ("1\n2\ninf\n4\n", 3, "a score is inf, which is not finite"),
    ],
)
def test_score_files_have_a_number_for_each_candidate(scores, line, problem, files):
    (files / "s").write_text(scores)
    with pytest.raises(FormatError) as caught:
        read(files / "hyp.txt", format="parallel:per-source=2", scores={"s": files / "s"})
    assert problem in str(caught.value)
    assert (caught.value.path, caught.value.line) == (str(files / "s"), line)


def test_how_many_a_source_must_be_said_and_divide_the_lines(files):
    with pytest.raises(UsageError, match="write parallel:per-source=N"):
        read(files / "hyp.txt", format="parallel")
    with pytest.raises(FormatError, match="4 lines are no multiple of per-source=3"):
        read(files / "hyp.txt", format="parallel:per-source=3")
    with pytest.raises(UsageError, match="give a whole number"):
        read(files / "hyp.txt", format="parallel:per-source=two")


def rows(*found, columns=None):
    collector = Collector()
    for group, text, features in found:
        collector.add(group, text, features, columns)
    return collector.finish()


def test_a_file_for_each_feature_and_column(tmp_path):
    found = rows((0, "a b", {"f": 0.1}), (1, "", {"f": 1e-7, "g": 3}), columns={"m": 0.5})
    ParallelFormat().write(found, np.arange(2), np.zeros(2), tmp_path / "out")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "out": "a b\n\n",
        "out.f": "0.1\n1e-07\n",
        "out.g": "0\n3\n",
        "out.m": "0.5\n0.5\n",
    }


@pytest.mark.parametrize(
    ("found", "path", "problem"),
    [
        (
            rows((0, "a", {"f": 1}), (0, "b", {"f": 1}), (1, "a", {"f": 1})),
            "out",
            "group 1 has 1 candidates and group 0 has 2",
        ),
        (rows((5, "a", {"f": 1})), "out", "has no place for the id '5'"),
        (rows((0, "a", {"a/b": 1})), "out", "'a/b' cannot be the name of a file"),
        (rows((0, "a", {"m": 1}), columns={"m": 1}), "out", "'m' is a feature and a column"),
        (rows((0, "a", {"f": 1})), "-", "name the hypotheses with --out"),
    ],
)
def test_what_cannot_be_written(found, path, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=problem):
        ParallelFormat().write(found, np.arange(len(found)), np.zeros(len(found)), path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path):
    found = rows((0, "a", {"f": 1}))
    with pytest.raises(TunesmithError, match="does not exist"):
        ParallelFormat().write(found, np.arange(1), np.zeros(1), tmp_path / "no" / "out")
