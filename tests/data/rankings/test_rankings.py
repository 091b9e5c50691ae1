from __future__ import annotations

import numpy as np
import pytest

from tunesmith.data.rankings.building import from_runs
from tunesmith.errors import TunesmithError

RUNS = {
    "a": {"1": {"x": 4.0, "y": 2.0}, "2": {"z": 1.0}},
    "b": {"1": {"y": 1.0, "w": 3.0}},
}
QRELS = {"2": {"z": 0}, "1": {"x": 2, "v": 1}}


def test_documents_are_those_of_any_run_in_descending_order_of_names():
    found = from_runs(RUNS, QRELS)
    assert found.queries == ("2", "1")
    assert found.documents == ("z", "y", "x", "w")
    assert found.start.tolist() == [0, 1, 4]
    assert found.grades.tolist() == [0, -1, 2, -1]
    assert np.array_equal(
        found.scores, [[1.0, 2.0, 4.0, np.nan], [np.nan, 1.0, np.nan, 3.0]], equal_nan=True
    )
    assert found.judged.start.tolist() == [0, 1, 3]
    assert sorted(found.judged.grades[1:].tolist()) == [1, 2]


def test_names_are_compared_byte_by_byte():
    names = ["é", "z", "Z", "10", "9"]
    found = from_runs({"a": {"q": dict.fromkeys(names, 0.0)}}, {"q": {"z": 1}})
    assert found.documents == ("é", "z", "Z", "9", "10")


def test_queries_and_runs_are_selected():
    found = from_runs(RUNS, QRELS)
    part = found.with_queries([1])
    assert (part.queries, part.documents) == (("1",), ("y", "x", "w"))
    assert part.judged.grades.tolist() == found.judged.grades[1:].tolist()
    assert found.with_features(keep="b").names == ("b",)
    assert len(found.with_features(keep="b")) == 4
    run = found.of_run("b")
    assert (run.queries, run.documents) == (("2", "1"), ("y", "w"))
    assert run.start.tolist() == [0, 0, 2]


def test_queries_that_do_not_count_are_told_of():
    with pytest.warns(UserWarning, match="1 of 2 judged queries are in no run, as '3'"):
        from_runs({"a": {"1": {"x": 1.0}}}, {"1": {"x": 1}, "3": {"x": 1}})
    with pytest.warns(UserWarning, match="1 queries have no judgements and do not count"):
        from_runs({"a": {"1": {"x": 1.0}, "5": {"x": 1.0}}}, {"1": {"x": 1}})


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "there is no run"),
        ({"a": {}}, "run 'a' has no query"),
        ({"a": {"9": {"x": 1.0}}}, "no query of the runs has judgements"),
        ({"a": {"1": {"x": float("nan")}}}, "a score for query '1' that is not finite"),
        ({"a": {1: {"x": 1.0}}}, "run 'a' is no dictionary of texts"),
    ],
)
def test_wrong_runs_are_errors(runs, message):
    with pytest.raises(TunesmithError, match=message):
        from_runs(runs, QRELS)
