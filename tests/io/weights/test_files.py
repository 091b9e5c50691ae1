"""Weights files. cdec's and Moses' are real, the others follow the programs' own readers.

Travatar reads pairs with white space between them (Dict::ParseSparseMap), and cdec a name, a
space and one number per line with comments after # (Weights::InitFromFile).
"""

from __future__ import annotations

import gzip
import json
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, MissingExtraError, UsageError
from tunesmith.io.moses_names import from_zero, regrouped, to_zero
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.io.weights.files import read_weights


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
        ("a 1\n# b\nb x\n", 3, "the weight of 'b' is 'x', not a number"),
        ("a 1\nb -inf\n", 2, "not finite"),
        ("a 1\nb\n", 2, "'b' is no weight"),
        ("a 1\nb 1 2\n", 2, "'b 1 2' is no weight"),
        ("a 1\n\na 2\n", 3, "'a' is given twice"),
        ("a=1 b=2\nc=x\n", 2, "the weight of 'c' is 'x', not a number"),
        ("a=1\nb=nan\n", 2, "not finite"),
        ("a=1\nb= 2\n", 2, "'b=' is no weight"),
        ("a=1\n=2\n", 2, "'=2' is no weight"),
        ("a=1\nb=2 a=1\n", 2, "'a' is given twice"),
        ("a: 1\nb: x\n", 2, "the weight of 'b' is 'x', not a number"),
        ("a: 1\nb: .nan\n", 2, "the weight of 'b' is '.nan'"),
        ("a: 1\nb: 1e999\n", 2, "not finite"),
        ("a: 1\n\nb: [1]\n", 3, "the weight of 'b' is not a number"),
        ("a: 1\nb: 2\na: 1\n", 3, "'a' is given twice"),
        ("a: 1\n? [b]\n: 2\n", 2, "a name is not text"),
        ("a: 1\n b: 2\n", 2, "this is not YAML"),
        ("---\n- 1\n", 2, "this is no mapping"),
        ("x: 1\nweights:\n  a: 1\n  b: y\n", 4, "the weight of 'b' is 'y'"),
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


def test_real_weights_of_cdec(shared_data, tmp_path):
    path = shared_data / "nc-wmt11-de-en" / "weights.init"
    held = read_weights(path)
    assert held.format == "cdec"
    pairs = [line.split() for line in path.read_text().splitlines()]
    assert dict(held.weights) == {name: float(value) for name, value in pairs}
    assert len(held.weights) == 12
    new = Weights.from_dict({name: k / 7 for k, name in enumerate(held.weights)})
    again = read_weights(written(tmp_path, held.rewritten(new).decode()))
    assert (again.format, again.weights) == ("cdec", new)


def test_real_sparse_weights_of_moses_are_written_as_those_of_cdec(shared_data):
    path = shared_data / "m30k-de-en-sparse" / "weights.run2.sparse"
    held = read_weights(path)
    pairs = [line.split() for line in path.read_text().splitlines()]
    assert held.format == "cdec"
    assert dict(held.weights) == {name: float(value) for name, value in pairs}


SAMPLES = {
    "moses": "# made by hand\nLM0= 0.5\nTM0= 0.1 -2e-05\n",
    "moses-ini": "[feature]\nKENLM name=LM0\n\n[weight]\nLM0= 0.5\nTM0= 0.1 -2e-05\n",
    "json": '{"LM0": 0.5, "TM0_1": 0.1, "TM0_2": -2e-05}',
    "cdec": "# made by hand\nLM0 0.5\n\nTM0_1\t0.1\nTM0_2  -2e-05\n",
    "travatar": "# made by hand\nLM0=0.5 TM0_1=0.1\nTM0_2=-2e-05\n",
    "yaml": "# made by hand\nLM0: 0.5  # of en\n'TM0_1': 0.1\n\nTM0_2: -2e-05\n",
}
SAME = {"LM0": 0.5, "TM0_1": 0.1, "TM0_2": -2e-05}


def test_there_is_a_sample_of_each_format():
    assert set(WEIGHTS_FORMATS.names()) == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_is_recognised_by_itself_alone_and_read(name, tmp_path):
    text = SAMPLES[name].encode()
    assert [n for n in WEIGHTS_FORMATS.names() if WEIGHTS_FORMATS.get(n).recognises(text)] == [name]
    path = tmp_path / "w.gz"
    path.write_bytes(gzip.compress(text))
    held = read_weights(path)
    assert held.format == name
    assert dict(held.weights) == SAME


@pytest.mark.parametrize("name", SAMPLES)
def test_a_template_keeps_its_layout(name, tmp_path):
    held = read_weights(written(tmp_path, SAMPLES[name]))
    new = Weights.from_dict({"New_1": 3.0, "LM0": 1e-300, "TM0_2": 1 / 3, "TM0_1": 1e22})
    text = held.rewritten(new).decode()
    for line in SAMPLES[name].splitlines():
        if line.startswith(("#", "[", "KENLM")) or not line:
            assert line in text.splitlines()
    assert ("# of en" in text) == (name == "yaml")
    again = read_weights(written(tmp_path, text))
    assert again.format == name
    assert dict(again.weights) == dict(new)


def test_a_last_line_without_an_end():
    for name, text, expected in (
        ("cdec", b"a 1", b"a 2.0\nb 3.0\n"),
        ("travatar", b"a=1", b"a=2.0\nb=3.0\n"),
        ("yaml", b"a: 1", b"a: 2.0\nb: 3.0"),
        ("moses", b"a= 1", b"a= 2.0\nb= 3.0\n"),
    ):
        new = Weights.from_dict({"a": 2.0, "b": 3.0})
        assert WEIGHTS_FORMATS.get(name)().write(new, text) == expected
        one = Weights.from_dict({"a": 2.0})
        assert WEIGHTS_FORMATS.get(name)().write(one, text) == expected.split(b"\n")[0]


names_of_any_kind = st.one_of(
    st.text("ab_12:=#.é~", min_size=1, max_size=6),
    st.sampled_from(["on", "null", "No", "~", "A_1", "A_2", "A_3", "A", "B_1", "B_2", "x: y"]),
)
values = st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0)


@given(st.dictionaries(names_of_any_kind, values, min_size=1, max_size=7), st.data())
def test_a_fresh_file_reads_back_in_its_own_format(tmp_path_factory, weights, data):
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    held = Weights.from_dict(weights)
    try:
        text = WEIGHTS_FORMATS.get(name)().write(held, b"")
    except UsageError:
        assume(False)
    path = tmp_path_factory.mktemp("fresh") / "w"
    path.write_bytes(text)
    again = read_weights(path)
    assert again.format == name
    assert dict(again.weights) == weights


def test_values_of_one_name_stand_together_again():
    weights = Weights.from_dict({"TM0_1": 1.0, "LM0": 2.0, "TM0_2": 3.0, "X_2": 4.0, "Y_1": 5.0})
    expected = "TM0= 1.0 3.0\nLM0= 2.0\nX_2= 4.0\nY_1= 5.0\n"
    assert WEIGHTS_FORMATS.get("moses")().write(weights, b"").decode() == expected
    ini = WEIGHTS_FORMATS.get("moses-ini")().write(weights, b"").decode()
    assert ini == "[weight]\n" + expected
    # The name itself is a weight of its own.
    taken = Weights.from_dict({"TM0_1": 1.0, "TM0_2": 3.0})
    template = WEIGHTS_FORMATS.get("moses")().write(taken, b"TM0= 9\n").decode()
    assert template == "TM0= 9\nTM0_1= 1.0\nTM0_2= 3.0\n"


@given(st.lists(names_of_any_kind, unique=True, max_size=7))
def test_names_by_number_from_zero_and_back(names):
    numbered = to_zero(names)
    assert sorted(feature for _, feature in numbered) == sorted(names)
    ours = from_zero([name for name, _ in numbered])
    assert ours == [feature for _, feature in numbered]
    assert sorted(f for held in regrouped(names).values() for f in held) == sorted(names)


def test_names_of_the_extractor():
    # As in the header of FEATURES_TXT_BEGIN_0 that the extractor writes.
    assert from_zero(["d_0", "d_1", "lm_0", "w_0"]) == ["d_1", "d_2", "lm", "w"]
    assert from_zero(["d_1", "d_0"]) is None
    assert from_zero(["d", "lm"]) is None


def test_yaml_nested_flow_and_aliases(tmp_path):
    text = "system: {beam: 12}\nweights: {a: 1, b: 2.5}\nnotes:\n- one\n"
    held = read_weights(written(tmp_path, text))
    assert dict(held.weights) == {"a": 1.0, "b": 2.5}
    new = Weights.from_dict({"a": 0.5, "b": 1e-7, "on": 3.0})
    rewritten = held.rewritten(new).decode()
    assert rewritten == text.replace("{a: 1, b: 2.5}", '{a: 0.5, b: 1.0e-07, "on": 3.0}')
    import yaml

    assert yaml.safe_load(rewritten)["weights"] == dict(new)
    shared = read_weights(written(tmp_path, "a: &x 1\nb: *x\n"))
    assert dict(shared.weights) == {"a": 1.0, "b": 1.0}
    assert shared.rewritten(new).decode() == 'a: 0.5\nb: 1.0e-07\n"on": 3.0\n'


@given(st.dictionaries(names_of_any_kind, values, min_size=1, max_size=5))
def test_what_is_written_as_yaml_is_the_same_to_others(weights):
    import yaml

    text = WEIGHTS_FORMATS.get("yaml")().write(Weights.from_dict(weights), b"")
    assert yaml.safe_load(text) == weights


def test_yaml_without_its_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tunesmith\[formats\]'"):
        read_weights(written(tmp_path, "a: 1\n"))


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("cdec", "a b"),
        ("cdec", "#a"),
        ("cdec", "a="),
        ("cdec", "a:"),
        ("travatar", "a b"),
        ("travatar", "#a"),
        ("moses", "a#b"),
        ("moses-ini", "[a"),
    ],
)
def test_names_that_a_format_cannot_hold(name, feature):
    with pytest.raises(UsageError, match="; write "):
        WEIGHTS_FORMATS.get(name)().write(Weights.from_dict({feature: 1.0}), b"")
