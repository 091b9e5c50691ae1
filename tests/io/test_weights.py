from __future__ import annotations

import json

import pytest

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError
from tunesmith.io.weights import read_weights


def written(tmp_path, text: str):
    path = tmp_path / "weights"
    path.write_text(text)
    return path


def test_moses_dense_as_moses_writes_it(bundled, tmp_path):
    held = read_weights(bundled / "weights.initial")
    assert held.format == "moses"
    assert held.weights["LM0"] == 0.5
    assert held.weights["LexicalReordering0_6"] == 0.3
    assert held.weights["TranslationModel0_4"] == 0.2
    assert len(held.weights) == 14
    new = Weights.from_dict({name: k + 0.1 for k, name in enumerate(held.weights)})
    again = read_weights(written(tmp_path, held.rewritten(new).decode()))
    assert again.weights == new
    assert held.rewritten(new).decode().splitlines()[0] == "LexicalReordering0= 0.1"


def test_moses_ini_keeps_everything_else(tmp_path):
    text = (
        "# comment\n[feature]\nKENLM name=LM0 factor=0\n\n[weight]\n# the weights\n"
        "LM0= 0.5\nTM0= 0.1 0.2 0.3\nUnknownWordPenalty0= 1\n\n[threads]\n2\n"
    )
    held = read_weights(written(tmp_path, text))
    assert held.format == "moses-ini"
    assert dict(held.weights) == {
        "LM0": 0.5,
        "TM0_1": 0.1,
        "TM0_2": 0.2,
        "TM0_3": 0.3,
        "UnknownWordPenalty0": 1.0,
    }
    new = held.weights.updated(Weights.from_dict({"LM0": -1.25, "TM0_2": 7.0}))
    assert held.rewritten(new).decode() == text.replace("LM0= 0.5", "LM0= -1.25").replace(
        "TM0= 0.1 0.2 0.3", "TM0= 0.1 7.0 0.3"
    ).replace("UnknownWordPenalty0= 1", "UnknownWordPenalty0= 1.0")


@pytest.mark.parametrize(
    "found", [{"a": 1, "b": -0.5}, {"weights": {"a": 1, "b": -0.5}, "schema": "x"}]
)
def test_json_plain_or_as_a_result(found, tmp_path):
    held = read_weights(written(tmp_path, json.dumps(found)))
    assert held.format == "json"
    assert dict(held.weights) == {"a": 1.0, "b": -0.5}
    again = json.loads(held.rewritten(Weights.from_dict({"a": 2.0, "b": 3.0})))
    assert again.get("weights", again) == {"a": 2.0, "b": 3.0}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("LM0= x\n", 1, "the weight of 'LM0' is 'x', not a number"),
        ("LM0= 1\nTM0= nan\n", 2, "not finite"),
        ("LM0= 1\nTM0\n", 2, "'TM0' is no weight"),
        ("LM0= 1\nTM0=\n", 2, "'TM0=' is no weight"),
        ('{"a": 1,\n]', 2, "this is not JSON"),
        ('{"a": "x"}', None, "weight 'a' is \"x\""),
        ('{"weights": [1]}', None, "'weights' is no object"),
        ("{}", None, "there is no weight in it"),
        ("[weight]\n\n", None, "there is no weight in it"),
        ("hello\n", 1, "this is not a weights file"),
    ],
)
def test_errors_name_file_and_line(text, line, problem, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(FormatError) as caught:
        read_weights(path)
    assert problem in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(path)


def test_real_moses_ini(shared_data):
    folder = shared_data / "m30k-de-en"
    dense = read_weights(folder / "weights.run5.dense").weights
    ini = read_weights(folder / "weights.run5.moses.ini").weights
    assert dict(ini) == {**dense, "UnknownWordPenalty0": 1.0}
