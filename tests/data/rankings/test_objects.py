"""Runs and judgements of other packages are what dictionaries of the same numbers are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from tunesmith.data.rankings.building import from_runs
from tunesmith.errors import TunesmithError

RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 3.0}}
QRELS = {"q1": {"a": 1, "c": 2}, "q2": {"b": 0, "a": 1}}


class ScoredDoc(NamedTuple):
    """As ``ir_measures`` has it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """As ``ir_measures`` has it."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Ranx:
    """As runs and judgements of ``ranx`` turn into dictionaries."""

    def __init__(self, found):
        self._found = found

    def to_dict(self):
        return self._found


def frame(found, *names):
    rows = [(q, d, value) for q, documents in found.items() for d, value in documents.items()]
    return pd.DataFrame(rows, columns=names)


def rows(found, kind):
    return [kind(q, d, value) for q, documents in found.items() for d, value in documents.items()]


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (Ranx(RUN), Ranx(QRELS)),
        (rows(RUN, ScoredDoc), rows(QRELS, Qrel)),
        (frame(RUN, "qid", "docno", "score"), frame(QRELS, "qid", "docno", "label")),
        (frame(RUN, "q_id", "doc_id", "score"), frame(QRELS, "q_id", "doc_id", "score")),
        (frame(RUN, "query", "docid", "score"), frame(QRELS, "query", "docid", "rel")),
    ],
)
def test_all_forms_are_the_same(run, qrels):
    expected, found = from_runs({"r": RUN}, QRELS), from_runs({"r": run}, qrels)
    assert (found.queries, found.documents) == (expected.queries, expected.documents)
    assert np.array_equal(found.scores, expected.scores, equal_nan=True)
    assert np.array_equal(found.grades, expected.grades)
    assert np.array_equal(found.judged.grades, expected.judged.grades)


def test_without_judgements_all_queries_are_there():
    found = from_runs({"r": RUN, "s": {"q3": {"z": 1.0}}})
    assert found.queries == ("q1", "q2", "q3")
    assert set(found.grades.tolist()) == {-1}


@pytest.mark.parametrize(
    ("runs", "qrels", "message"),
    [
        ({"r": 3}, QRELS, "run 'r' is no run; give {query: {document: score}}, a data frame"),
        ({"r": [("q", "d", 1.0)]}, QRELS, "run 'r' is no run"),
        ({"r": RUN}, "qrels.txt", "the judgements is no qrels|the judgements"),
        (
            {"r": frame(RUN, "qid", "name", "score")},
            QRELS,
            "has no column doc_id or docno or docid",
        ),
        ({"r": [*rows(RUN, ScoredDoc)] * 2}, QRELS, "has document 'a' twice for query 'q1'"),
    ],
)
def test_what_is_none_of_them_is_an_error_of_one_line(runs, qrels, message):
    with pytest.raises(TunesmithError, match=message) as error:
        from_runs(runs, qrels)
    assert "\n" not in str(error.value)
