"""Answers with several choices, from the reference of OpenAI's API and vLLM's protocol.

``vllm run-batch`` writes what OpenAI's batches hold; a ``RequestOutput`` is what ``LLM.generate``
returns.
"""

from __future__ import annotations

import json

import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tests.helpers.io.program_samples import OPENAI, batch, chat, json_lines, response
from tunesmith.errors import FormatError


def read(tmp_path, *objects):
    path = tmp_path / "out.jsonl"
    path.write_text(json_lines(*objects))
    return ts.read(path)


def test_choices_of_a_batch_have_their_log_probabilities(tmp_path):
    path = tmp_path / "batch_output.jsonl"
    path.write_text(OPENAI)
    found = ts.read(path)
    assert found.files[0].format == "openai"
    assert as_records(found) == {
        "req-1": [
            ("4", {"logprob": -0.75, "tokens": 2.0}),
            ("five 5", {"logprob": -4.0, "tokens": 3.0}),
        ],
        "req-2": [
            ("no", {"logprob": -0.125, "tokens": 1.0, "cut_off": 1.0}),
            ("yes", {"logprob": -0.25, "tokens": 1.0}),
        ],
    }
    assert found.original(1) == "five\n5"


def test_choices_are_in_the_order_of_their_index_and_numbers_are_numbers(tmp_path):
    found = read(tmp_path, batch("7", chat(1, "b"), chat(0, "a")), batch("8", chat(0, None)))
    assert found.ids == (7, 8)
    assert [found.text(k) for k in range(3)] == ["a", "b", ""]


def test_responses_are_counted(tmp_path):
    logprobs = {"tokens": ["x", "y"], "token_logprobs": [None, -0.5], "text_offset": [0, 1]}
    completion = {"index": 0, "text": " a", "logprobs": logprobs, "finish_reason": "stop"}
    found = read(tmp_path, response(completion), response(chat(0, "b", -1.0)))
    assert as_records(found) == {
        0: [("a", {"logprob": -0.5, "tokens": 1.0})],
        1: [("b", {"logprob": -1.0, "tokens": 1.0})],
    }


def test_outputs_of_vllm(tmp_path):
    def output(index, text, logprob, *ids):
        return {
            "index": index,
            "text": text,
            "token_ids": list(ids),
            "cumulative_logprob": logprob,
            "logprobs": None,
            "finish_reason": "stop",
        }

    found = read(
        tmp_path,
        {"request_id": "0", "prompt": "2+2?", "outputs": [output(0, "4", -0.5, 11, 12)]},
        {"request_id": "1", "prompt": "3+3?", "outputs": [output(0, "6", -0.25, 11)]},
    )
    assert found.sources == ("2+2?", "3+3?")
    assert as_records(found) == {
        0: [("4", {"logprob": -0.5, "tokens": 2.0})],
        1: [("6", {"logprob": -0.25, "tokens": 1.0})],
    }


def test_requests_that_failed_are_told(tmp_path):
    failed = batch("b", error={"code": "x", "message": "too long"})
    with pytest.warns(UserWarning, match="1 of 2 requests failed"):
        found = read(tmp_path, batch("a", chat(0, "x")), failed)
    assert found.ids == ("a",)
    with pytest.raises(FormatError, match="no request in it has an answer"):
        read(tmp_path, failed)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"choices": []}, "no choices"),
        ({"choices": "x"}, "'choices' is \"x\", not a list of objects"),
        ({"choices": [{"index": 0}]}, "'text' is null, not a text"),
        ({"choices": [{"index": "x", "text": "a"}]}, "'index' is \"x\""),
        ({"choices": [{"text": 5}]}, "'text' is 5"),
        ({"choices": [{"message": "a"}]}, "'message' is \"a\", not an object"),
        ({"choices": [{"message": {"content": 5}}]}, "'content' is 5, not a text"),
        ({"choices": [{"text": "a", "logprobs": {"token_logprobs": 5}}]}, "is no list"),
        ({"choices": [{"text": "a", "logprobs": {"token_logprobs": ["x"]}}]}, 'is "x"'),
        ({"choices": [{"text": "a", "cumulative_logprob": "x"}]}, "'cumulative_logprob' is"),
        ({"choices": [chat(0, "a", float("inf"))]}, "'logprob' is Infinity"),
        ({"choices": [{"text": "a", "logprobs": {"content": [5]}}]}, "'content' is"),
        ({"custom_id": True}, "'custom_id' is true"),
    ],
)
def test_requests_that_cannot_be(tmp_path, change, told):
    with pytest.raises(FormatError, match=told) as caught:
        read(tmp_path, response(chat(0, "a", -1.0)), response(chat(0, "a", -1.0)) | change)
    assert caught.value.line == 2


def test_an_answer_without_log_probabilities_among_others_is_told(tmp_path):
    found = read(tmp_path, batch("a", chat(0, "x", -1.0), chat(1, "y")))
    assert json.loads(json.dumps(as_records(found)))["a"][1] == ["y", {}]
