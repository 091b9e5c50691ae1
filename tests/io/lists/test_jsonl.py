"""JSON lines; the samples are written from the format's documentation in docs/files.md."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import as_records
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.jsonl import JsonLinesFormat
from tunesmith.io.lists.moses import MosesFormat
from tunesmith.io.streams import Source

clean = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
names = st.sampled_from(["lm", "tm", "rare"])
finite = st.floats(allow_nan=False, allow_infinity=False)


def collect(*groups, text: bytes | None = None):
    collector = Collector()
    data = text if text is not None else "".join(json.dumps(g) + "\n" for g in groups).encode()
    JsonLinesFormat().read(Source("test", data), collector)
    return collector.finish()


candidates = st.fixed_dictionaries({"text": clean, "features": st.dictionaries(names, finite)})


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "references": st.lists(clean, min_size=1, max_size=3),
                "source": clean,
                "candidates": st.lists(candidates, min_size=1, max_size=4),
            }
        ),
        min_size=1,
        max_size=4,
    )
)
def test_groups_are_read_and_written_value_for_value(groups):
    groups = [{"id": f"g{k}", **g} for k, g in enumerate(groups)]
    found = collect(*groups)
    expected: dict = {}
    for g in groups:
        held = expected.setdefault(g["id"], [])
        for c in g["candidates"]:
            entry = (" ".join(c["text"].split()), {k: v for k, v in c["features"].items() if v})
            if entry not in held:
                held.append(entry)
    assert as_records(found) == expected
    for k, g in enumerate(groups):
        assert found.reference_texts(k) == [" ".join(r.split()) for r in g["references"]]
    assert found.sources == tuple(g["source"] for g in groups)
    n = len(found)
    lines = list(JsonLinesFormat().lines(found, np.arange(n), np.zeros(n)))
    again = collect(text="\n".join(lines).encode())
    assert as_records(again) == expected
    assert again.references is not None


def test_metrics_become_columns_and_numbers_order_groups():
    found = collect(
        {"id": 7, "candidates": [{"text": "a", "features": {"f": 1}, "metrics": {"comet": 0.5}}]},
        {"id": 2, "candidates": [{"text": "b", "features": {"f": 2}, "metrics": {"comet": 0.25}}]},
    )
    assert found.ids == (2, 7)
    assert found.columns["comet"].tolist() == [0.25, 0.5]


def test_it_merges_with_moses_lists():
    collector = Collector()
    MosesFormat().read(Source("m", b"0 ||| a ||| lm= 1 tm= 1 2 ||| 0\n"), collector)
    group = {"id": 0, "candidates": [{"text": "b", "features": {"lm": 3, "tm_1": 4}}]}
    JsonLinesFormat().read(Source("j", json.dumps(group).encode()), collector)
    assert as_records(collector.finish()) == {
        0: [("a", {"lm": 1.0, "tm_1": 1.0, "tm_2": 2.0}), ("b", {"lm": 3.0, "tm_1": 4.0})]
    }


GOOD = {"text": "a", "features": {"f": 1}}


@pytest.mark.parametrize(
    ("group", "problem"),
    [
        ("{", "this is not JSON"),
        ("[1]", "this is not a JSON object"),
        ({"candidates": [GOOD]}, "the group has no id"),
        ({"id": True, "candidates": [GOOD]}, "the group has no id"),
        ({"id": 1}, "'candidates' is not a list of objects"),
        ({"id": 1, "candidates": []}, "group '1' has no candidates"),
        ({"id": 1, "candidates": ["a"]}, "'candidates' is not a list of objects"),
        ({"id": 1, "candidates": [{"text": 1, "features": {}}]}, "a text is 1"),
        ({"id": 1, "candidates": [{"text": "a\0", "features": {}}]}, "NUL"),
        ({"id": 1, "candidates": [{"text": "a"}]}, "a candidate has no 'features'"),
        ({"id": 1, "candidates": [{"features": {"f": "1"}}]}, "'f' in 'features' is \"1\""),
        ({"id": 1, "candidates": [{"features": {"f": True}}]}, "'f' in 'features' is true"),
        ({"id": 1, "candidates": [{"features": {"f": float("nan")}}]}, "'f' in 'features' is nan"),
        ({"id": 1, "candidates": [{"features": {"f": float("inf")}}]}, "'f' in 'features' is inf"),
        ({"id": 1, "candidates": [{"features": {"f": 10**400}}]}, "beyond 1e308"),
        ({"id": 1, "references": [], "candidates": [GOOD]}, "'references' is empty"),
        ({"id": 1, "references": "x", "candidates": [GOOD]}, "'references' is not a list"),
        ({"id": 1, "candidates": [GOOD, {**GOOD, "metrics": {"m": 1}}]}, "different metrics"),
    ],
)
def test_errors_name_the_line(group, problem):
    bad = group if isinstance(group, str) else json.dumps(group)
    text = f"{json.dumps({'id': 0, 'candidates': [GOOD]})}\n\n{bad}\n".encode()
    with pytest.raises(FormatError) as caught:
        collect(text=text)
    assert problem in str(caught.value)
    assert caught.value.line == 3


def test_references_for_all_or_none_and_always_the_same():
    with_refs = {"id": 0, "references": ["x"], "candidates": [GOOD]}
    with pytest.raises(TunesmithError, match="group '1' has no references"):
        collect(with_refs, {"id": 1, "candidates": [GOOD]})
    with pytest.raises(TunesmithError, match="other references than before"):
        collect(with_refs, {**with_refs, "references": ["y"]})
