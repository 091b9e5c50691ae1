"""Details of lighteval, from its DetailsLogger: Parquet of Detail(doc, model_response, metric)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

import tunesmith as ts
from tests.helpers.builders import as_records
from tunesmith.errors import FormatError


def detail(doc, response):
    usual = {
        "query": "2+2?",
        "choices": ["4"],
        "gold_index": 0,
        "instruction": "",
        "id": "0",
        "task_name": "gsm8k|0",
        "num_samples": 1,
    }
    answers = {
        "input": "2+2?",
        "input_tokens": [1, 2],
        "text": [],
        "output_tokens": [],
        "logprobs": [],
        "argmax_logits_eq_gold": [],
        "unconditioned_logprobs": None,
    }
    metric = {"em": 1.0}
    return {"doc": usual | doc, "model_response": answers | response, "metric": metric}


def written(path, *details):
    parquet.write_table(pa.Table.from_pylist(list(details)), path)
    return path


def test_answers_are_candidates_and_right_choices_references(tmp_path):
    path = written(
        tmp_path / "details_gsm8k.parquet",
        detail({"id": "3"}, {"text": ["4", "so\n5"], "output_tokens": [[7], [7, 8]]}),
        detail({"id": "4", "query": "q"}, {"text": ["x"], "output_tokens": [[9, 9]]}),
    )
    found = ts.read(path)
    assert as_records(found) == {
        3: [("4", {"tokens": 1.0}), ("so 5", {"tokens": 2.0})],
        4: [("x", {"tokens": 2.0})],
    }
    assert found.original(1) == "so\n5"
    assert found.sources == ("2+2?", "q")
    assert [found.reference_texts(g) for g in range(2)] == [["4"], ["4"]]


@pytest.mark.parametrize("form", [None, "lighteval"])
def test_choices_have_log_probabilities(tmp_path, form):
    doc = {"choices": [" a", " bc", " d"], "gold_index": [1], "id": "doc-1"}
    scores = {"logprobs": [-1.5, -0.5, -2.0], "unconditioned_logprobs": [-3.0, -1.0, -0.5]}
    found = ts.read(written(tmp_path / "d.parquet", detail(doc, scores)), format=form)
    assert as_records(found) == {
        "doc-1": [
            ("a", {"logprob": -1.5, "unconditioned": -3.0, "characters": 1.0}),
            ("bc", {"logprob": -0.5, "unconditioned": -1.0, "characters": 2.0}),
            ("d", {"logprob": -2.0, "unconditioned": -0.5, "characters": 1.0}),
        ]
    }
    assert found.columns["correct"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("doc", "response", "told"),
    [
        ({"choices": []}, {}, "neither answers nor choices"),
        ({"choices": ["a", "b"]}, {"logprobs": [-1.0]}, "'logprobs' has 1 values and 'choices' 2"),
        ({"choices": ["a", "b"]}, {}, "no 'logprobs' of the choices"),
        ({"choices": ["a"]}, {"logprobs": [float("nan")]}, "'logprobs' is NaN"),
    ],
)
def test_details_that_cannot_be(tmp_path, doc, response, told):
    good = detail({"choices": ["a", "b"]}, {"logprobs": [-1.0, -2.0]})
    path = written(tmp_path / "d.parquet", good, detail(doc, response))
    with pytest.raises(FormatError, match=told) as caught:
        ts.read(path)
    assert caught.value.line == 2


def test_other_tables_are_no_details(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"id": [0], "lm": [1.0]}), path)
    with pytest.raises(FormatError, match="no columns 'doc' and 'model_response'"):
        ts.read(path, format="lighteval")
