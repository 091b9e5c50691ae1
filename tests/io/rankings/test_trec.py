from __future__ import annotations

import gzip

import numpy as np
import pytest

from tests.helpers.rankings.builders import random_runs
from tunesmith.data.rankings.building import from_runs
from tunesmith.errors import TunesmithError
from tunesmith.io.rankings.read import named_runs, read_rankings
from tunesmith.io.rankings.trec import read_qrels, read_run, run_lines, run_name, write_lines
from tunesmith.tasks.rankings import RankingTask

RUN = "1 Q0 a 1 3.5 x\n1\tQ0\tb 2 2 x\n2 Q0 a 1 -1e-3\n"
QRELS = "1 0 a 2\n1 0 c 0\n2 0 a -1\n"


def test_runs_and_qrels_are_read(tmp_path):
    (tmp_path / "bm25.run.gz").write_bytes(gzip.compress(RUN.encode()))
    (tmp_path / "qrels").write_text(QRELS)
    run, file = read_run(tmp_path / "bm25.run.gz")
    assert run == {"1": {"a": 3.5, "b": 2.0}, "2": {"a": -0.001}}
    assert file.format == "trec-run"
    assert read_qrels(tmp_path / "qrels")[0] == {"1": {"a": 2, "c": 0}, "2": {"a": -1}}
    found = read_rankings([tmp_path / "bm25.run.gz"], tmp_path / "qrels")
    assert found.names == ("bm25",)
    assert [file.path for file in found.files] == [
        str(tmp_path / "bm25.run.gz"),
        str(tmp_path / "qrels"),
    ]


def test_runs_are_named_by_their_files_or_as_one_likes():
    assert run_name("/x/input.MU03rob01.gz") == "input.MU03rob01"
    assert run_name("runs/dense.run.txt") == "dense"
    assert named_runs(["a.run", "dense=b.run"]) == {"a": "a.run", "dense": "b.run"}
    with pytest.raises(TunesmithError, match=r"two runs are called 'a': x/a.run and y/a.txt"):
        named_runs(["x/a.run", "y/a.txt"])
    with pytest.raises(TunesmithError, match="write FILE or NAME=FILE"):
        named_runs(["=b.run"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 Q0 a 1\n", "run:1: this line has 4 columns; give query, Q0, document, rank, score"),
        ("1 Q0 a 1 2 x\n1 Q0 b 2 high x\n", "run:2: the score is 'high'; give a finite number"),
        ("1 Q0 a 1 inf x\n", "run:1: the score is 'inf'"),
        ("1 Q0 a 1 2 x\n1 Q0 a 2 1 x\n", "run:2: document 'a' is given twice for query '1'"),
        ("", "run: the file is empty"),
    ],
)
def test_wrong_runs_are_errors_with_their_line(tmp_path, text, message):
    (tmp_path / "run").write_text(text)
    with pytest.raises(TunesmithError, match=message):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 a 1\n", "qrels:1: this line has 3 columns; give query, iteration"),
        ("1 0 a 1\n1 0 b 0.5\n", "qrels:2: the grade is '0.5'; give a whole number"),
        ("1 0 a 1\n1 0 a 2\n", "qrels:2: document 'a' has two grades for query '1'; give one"),
    ],
)
def test_wrong_qrels_are_errors_with_their_line(tmp_path, text, message):
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(TunesmithError, match=message):
        read_qrels(tmp_path / "qrels")


@pytest.mark.filterwarnings("ignore:.* count:UserWarning")
@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_ranked_the_same_in_single_precision(tmp_path, seed):
    runs, qrels = random_runs(seed)
    task = RankingTask(from_runs(runs, qrels), "ap")
    hypotheses = task.hypotheses()
    # Scores that differ by less than single precision tells apart.
    weights = np.array([1.0, 1e-9])
    order, scores = hypotheses.order(weights), task.features.dot(weights)
    write_lines(tmp_path / "fused.run", run_lines(task.rankings, order, scores, "fused"))
    again, _ = read_run(tmp_path / "fused.run")
    single = {
        query: {name: float(np.float32(score)) for name, score in found.items()}
        for query, found in again.items()
    }
    written = RankingTask(from_runs({"fused": single}, qrels), "ap", "none")
    assert written.values(np.ones(1)).tolist() == task.values(weights).tolist()
    for query, found in again.items():
        q = task.rankings.queries.index(query)
        rows = order[slice(*task.rankings.start[q : q + 2])]
        assert list(found) == [task.rankings.documents[row] for row in rows]


def test_runs_are_cut_at_a_rank(tmp_path):
    found = from_runs({"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}}, {"q": {"x": 1}})
    lines = [*run_lines(found, np.array([2, 1, 0]), found.scores[0], "t", depth=2)]
    assert lines == ["q Q0 x 1 3.0 t\n", "q Q0 y 2 2.0 t\n"]
