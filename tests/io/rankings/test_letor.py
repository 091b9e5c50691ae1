from __future__ import annotations

import numpy as np
import pytest

from tunesmith.errors import TunesmithError
from tunesmith.io.rankings.letor import read_letor
from tunesmith.tasks.rankings import RankingTask

LETOR = "2 qid:10 1:0.5 3:1 #docid = GX1 inc = 1\n0 qid:10 1:0.25\n1 qid:7 3:-2 # docid=B\n\n"


def test_rows_are_read(tmp_path):
    (tmp_path / "train.txt").write_text(LETOR)
    found = read_letor(tmp_path / "train.txt")
    assert found.queries == ("10", "7")
    assert found.names == ("1", "3")
    assert found.documents == ("GX1", "2", "B")
    assert found.grades.tolist() == [2, 0, 1]
    assert found.scores.tolist() == [[0.5, 0.25, 0.0], [1.0, 0.0, -2.0]]
    assert found.judged.start.tolist() == [0, 2, 3]


def test_sizes_of_queries_stand_beside_rows_without_qid(tmp_path):
    (tmp_path / "rank.train").write_text("1 0:1\n0 0:2\n2 1:1\n")
    (tmp_path / "rank.train.query").write_text("2\n1\n")
    found = read_letor(tmp_path / "rank.train")
    assert found.queries == ("1", "2")
    assert found.start.tolist() == [0, 2, 3]
    assert found.names == ("0", "1")
    assert [file.format for file in found.files] == ["letor", "query-sizes"]


def test_equal_scores_are_ranked_as_they_were_read(tmp_path):
    (tmp_path / "rows").write_text("1 qid:1 1:3\n0 qid:1 1:3\n0 qid:2 1:3\n1 qid:2 1:3\n")
    task = RankingTask(read_letor(tmp_path / "rows"), "rr", "none")
    assert task.values(np.ones(1)).tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("rows", "sizes", "message"),
    [
        ("1 1:2\n", None, "rows:1: there is no qid; write GRADE qid:QUERY INDEX:VALUE, or give"),
        ("1 1:2\n", "2\n", "rows.query: its queries have 2 rows, and .*rows has 1"),
        ("1 1:2\n", "one\n", "rows.query:1: 'one' is no number of rows"),
        ("x qid:1 1:2\n", None, "rows:1: the grade is 'x'; give a whole number"),
        ("0.5 qid:1 1:2\n", None, "rows:1: the grade is '0.5'"),
        ("1 qid:1 1:2\n1 1:2\n", None, "rows:2: there is no qid; give one to each row"),
        ("1 1:2\n1 qid:1 1:2\n", None, "rows:2: rows before have no qid"),
        ("1 qid:1 a:2\n", None, "rows:1: 'a:2' is no feature; write INDEX:VALUE"),
        ("1 qid:1 1:2 1:3\n", None, "rows:1: feature 1 is given twice"),
        ("1 qid:1\n1 qid:2\n1 qid:1\n", None, "rows:3: rows of query '1' stand apart"),
        ("# nothing\n", None, "rows: there is no row in it"),
    ],
)
def test_wrong_rows_are_errors_with_their_line(tmp_path, rows, sizes, message):
    (tmp_path / "rows").write_text(rows)
    if sizes is not None:
        (tmp_path / "rows.query").write_text(sizes)
    with pytest.raises(TunesmithError, match=message):
        read_letor(tmp_path / "rows")
