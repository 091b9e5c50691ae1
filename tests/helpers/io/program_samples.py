"""Small files in formats that are read only, as their programs write them.

Each test file says from what documentation or source.
"""

from __future__ import annotations

import json
from typing import Any


def json_lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)


def mbrs_line(rank: int, sentence: str, score: float, index: int = 0) -> dict[str, Any]:
    """Return a line of ``mbrs-decode --format json``."""
    keys = ("rank", "sentence", "selected_idx", "expected_score")
    return dict(zip(keys, (rank, sentence, index, score), strict=True))


MBRS = json_lines(
    mbrs_line(0, "good day", 0.8125, 3),
    mbrs_line(1, "good morning", 0.75, 0),
    mbrs_line(0, "yes", 0.5, 7),
    mbrs_line(0, "", 0.25, 1),
)


def token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": [], "top_logprobs": []}


def chat(index: int, text: str | None, *logprobs: float, reason: str = "stop") -> dict[str, Any]:
    """Return a choice of a chat."""
    held = {"content": [token("x", value) for value in logprobs], "refusal": None}
    return {
        "index": index,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": held if logprobs else None,
        "finish_reason": reason,
    }


def response(*choices: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": list(choices),
        "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21},
    }


def batch(name: str, *choices: dict[str, Any], error: object = None) -> dict[str, Any]:
    """Return a line of a batch's output."""
    body = None if error else response(*choices)
    return {
        "id": f"batch_req_{name}",
        "custom_id": name,
        "response": {"status_code": 400 if error else 200, "request_id": "r", "body": body},
        "error": error,
    }


OPENAI = json_lines(
    batch("req-1", chat(0, "4", -0.5, -0.25), chat(1, "five\n5", -1.5, -2.0, -0.5)),
    batch("req-2", chat(0, "no", -0.125, reason="length"), chat(1, "yes", -0.25)),
)

LM_EVAL = json_lines(
    *(
        {
            "doc_id": k,
            "target": "1",
            "arguments": {
                "gen_args_0": {"arg_0": "?", "arg_1": " a"},
                "gen_args_1": {"arg_0": "?", "arg_1": " b"},
            },
            "resps": [[["-1.5", "False"]], [["-0.5", "True"]]],
            "filtered_resps": [["-1.5", "False"], ["-0.5", "True"]],
            "filter": "none",
        }
        for k in range(3)
    )
)

NEMO_MANIFEST = json_lines(
    {
        "audio_filepath": "a.wav",
        "duration": 1.5,
        "text": "good day",
        "pred_text": "good day",
        "beams": [["good day", -3.25], ["good", -4.5]],
    },
    {
        "audio_filepath": "b.wav",
        "duration": 0.5,
        "text": "yes",
        "pred_text": "yeah",
        "beams": [["yeah", -0.5], ["yes", -0.75], ["", -9.0]],
    },
)

ICEFALL = """\
1089-134686-0000-7:\tref=['HE', 'HOPED', "IT'S", 'STEW']
1089-134686-0000-7:\thyp=['HE', 'HOPED', "IT'S", 'TWO']
1089-134686-0001-8:\tref=['STUFF', 'IT']
1089-134686-0001-8:\thyp=[]
"""

SRILM = """\
-1234.5 -23.25 3 <s> good day sir </s>
-1240.25 -20.5 2 <s> good -pau- day </s>
-1250 -30 0 <s> </s>
"""

#: The first candidates of a job's utterances: a folder output.JOB/1best_recog.
ESPNET = {
    "text": "1089-134686-0000 good day\n1089-134686-0001 yes\n1089-134691-0000 \n",
    "token": "1089-134686-0000 ▁good ▁da y\n1089-134686-0001 ▁yes\n1089-134691-0000 \n",
    "token_int": "1089-134686-0000 7 8 9\n1089-134686-0001 5\n1089-134691-0000 \n",
    "score": "1089-134686-0000 -3.25\n1089-134686-0001 tensor(-0.5)\n"
    "1089-134691-0000 tensor(-9.125, device='cuda:0')\n",
}
