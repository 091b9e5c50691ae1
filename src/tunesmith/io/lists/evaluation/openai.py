"""Answers with several choices: batches of OpenAI and of vLLM, responses, and vLLM's outputs.

A line is a request: that of a batch (``custom_id``, ``response``), a response itself
(``choices``), or a ``RequestOutput`` of vLLM as an object (``outputs``). Choices of chats have
``message`` and ``logprobs.content``, those of completions ``text`` and
``logprobs.token_logprobs``, those of vLLM ``cumulative_logprob`` and ``token_ids``.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from tunesmith.data.candidates import GroupId
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.evaluation.values import Values
from tunesmith.io.streams import Source
from tunesmith.io.tables.base import group_id
from tunesmith.io.text.json_lines import first_keys, json_objects

REMEDY = "give a line for each request, with its choices"
#: Keys of which a request has all of one set.
REQUESTS = ({"custom_id", "response"}, {"object", "choices"}, {"prompt", "outputs"})


@FORMATS.register("openai")
class OpenAiFormat(CandidateFormat):
    """Batches and responses of OpenAI's API and vLLM; features logprob, tokens and cut_off."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first object has the keys of a request."""
        keys = first_keys(head)
        return any(keys >= request for request in REQUESTS)

    def read(self, source: Source, collector: Collector) -> None:
        """Add all choices to the collector."""
        requests = failed = 0
        for number, record in json_objects(source):
            request = Values(record, (source.name, number), REMEDY)
            choices = _choices(request)
            if choices is None:
                failed += 1
            else:
                _add(request, _id(request, requests), choices, collector)
            requests += 1
        if failed == requests:
            raise FormatError(source.name, None, "no request in it has an answer", REMEDY)
        if failed:
            text = f"{source.name}: {failed} of {requests} requests failed and have no candidates"
            warnings.warn(text, stacklevel=2)


def _id(request: Values, number: int) -> GroupId:
    """Return the id that a request was given, or else its number, from 0."""
    for name in ("custom_id", "request_id"):
        if request.record.get(name) is not None:
            return group_id(request.group(name))
    return number


def _choices(request: Values) -> list[Values] | None:
    """Return the choices of a request; None of one that failed."""
    if "outputs" in request.record:
        choices = request.objects("outputs")
    elif "choices" in request.record:
        choices = request.objects("choices")
    else:
        response = request.inner("response")
        # vLLM's first versions had the body in its place.
        body = response.inner("body") if "body" in response.record else response
        if request.record.get("error") is not None or "choices" not in body.record:
            return None
        choices = body.objects("choices")
    if not choices:
        raise request.error("the request has no choices")
    if all("index" in choice.record for choice in choices):
        choices.sort(key=lambda choice: choice.number("index"))
    return choices


def _add(request: Values, group: GroupId, choices: list[Values], collector: Collector) -> None:
    for choice in choices:
        features = _scores(choice)
        if choice.record.get("finish_reason") == "length":
            features["cut_off"] = 1.0
        collector.add(group, _text(choice), features, place=request.place)
    prompt = request.record.get("prompt")
    if isinstance(prompt, str):
        collector.add_source(group, prompt)


def _text(choice: Values) -> str:
    if "message" not in choice.record:
        return choice.text("text")
    message = choice.inner("message")
    # Of an answer that is nothing but a call of a tool, or a refusal, it is null.
    return "" if message.record.get("content") is None else message.text("content")


def _scores(choice: Values) -> dict[str, float]:
    """Return the log-probability of a choice and its number of tokens, where they are known."""
    if choice.record.get("cumulative_logprob") is not None:
        total = choice.number("cumulative_logprob")
        return {"logprob": total, "tokens": float(len(choice.record.get("token_ids") or ()))}
    logprobs: Any = choice.record.get("logprobs")
    if not isinstance(logprobs, dict):
        return {}
    inner = choice.inner("logprobs")
    if inner.record.get("content") is not None:
        values = [token.number("logprob") for token in inner.objects("content")]
    elif inner.record.get("token_logprobs") is not None:
        token_logprobs = inner.record["token_logprobs"]
        if not isinstance(token_logprobs, list):
            raise choice.error("'token_logprobs' is no list")
        # The first token of a prompt that is echoed has none.
        values = [
            inner.finite("token_logprobs", logprob)
            for logprob in token_logprobs
            if logprob is not None
        ]
    else:
        return {}
    return {"logprob": math.fsum(values), "tokens": float(len(values))}
