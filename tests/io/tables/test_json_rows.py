"""JSON lines with one object per candidate; what tables say is in docs/files.md."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import as_records, assert_same_set, random_set
from tests.helpers.tiers import examples
from tunesmith.data.columns import with_columns
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.jsonl import JsonLinesFormat
from tunesmith.io.read import recognise
from tunesmith.io.reading import Reading
from tunesmith.io.streams import Source
from tunesmith.io.tables import json_rows
from tunesmith.io.tables.base import to_columns
from tunesmith.io.tables.csv import CsvFormat

ROW = {"id": 0, "text": "good day", "lm": -1.5}


def as_lines(*rows: object) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def collect(data: bytes, reader=None, missing="error"):
    collector = Collector(Reading(missing))
    (reader or JsonLinesFormat()).read(Source("a.jsonl", data), collector)
    return collector.finish()


def rows_of(candidates) -> list[dict]:
    """Return a set as objects, one for each candidate, without values that are missing."""
    columns = to_columns(candidates, gaps=True)
    lists = {
        name: c.tolist() if isinstance(c, np.ndarray) else list(c) for name, c in columns.items()
    }
    every = [{name: values[i] for name, values in lists.items()} for i in range(len(candidates))]
    return [{name: v for name, v in row.items() if v is not None} for row in every]


@given(
    seed=st.integers(0, 10**6),
    references=st.integers(0, 2),
    ids=st.sampled_from(["numbers", "texts"]),
    size=st.sampled_from([1, 2, 5, 100]),
    cells=st.sampled_from([1, 20, 10**6]),
    nulls=st.booleans(),
)
@settings(max_examples=examples(60))
def test_a_set_comes_back_whatever_the_batches(seed, references, ids, size, cells, nulls):
    made = random_set(seed, references, ids)
    rows = rows_of(made)
    if nulls:
        names = dict.fromkeys(name for row in rows for name in row)
        rows = [dict.fromkeys(names) | row for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "ROWS", size)
        patch.setattr(json_rows, "CELLS", cells)
        assert_same_set(collect(as_lines(*rows), missing="zero"), made)


words = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
tables = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.one_of(st.integers(0, 5), st.sampled_from(["u1", "u 2", "007"])),
            "text": words.filter(lambda text: "\r" not in text),
            "lm": finite,
            "right": st.booleans(),
            "metrics.m": finite,
        },
        optional={"rare": st.integers(-(10**6), 10**6)},
    ),
    min_size=1,
    max_size=12,
)


@given(tables)
@settings(max_examples=examples(100))
def test_rows_in_any_order_are_read_as_the_same_csv_is(rows):
    """Rows of a group need not stand together, and values may be missing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", "text", "lm", "right", "metrics.m", "rare"])
    writer.writeheader()
    writer.writerows(rows)
    found = collect(as_lines(*rows), missing="zero")
    assert_same_set(found, collect(text.getvalue().encode(), CsvFormat(), "zero"))


@given(tables, st.randoms(use_true_random=False))
@settings(max_examples=examples(50))
def test_every_value_arrives(rows, random):
    expected: dict = {}
    kinds: dict = {}
    for row in rows:
        features = {"lm": row["lm"], "right": float(row["right"]), "rare": row.get("rare", 0.0)}
        held = expected.setdefault(row["id"], [])
        entry = (" ".join(row["text"].split()), {k: v for k, v in features.items() if v})
        kind = row["text"], entry[1], row["metrics.m"]
        if kind not in kinds.setdefault(row["id"], []):
            kinds[row["id"]].append(kind)
            held.append((entry, row["metrics.m"]))
    shuffled = [dict(random.sample(list(row.items()), len(row))) for row in rows]
    found = collect(as_lines(*shuffled), missing="zero")
    records = as_records(found)
    scores = iter(found.columns["m"].tolist())
    assert {i: [(entry, next(scores)) for entry in records[i]] for i in found.ids} == expected


@pytest.mark.parametrize("wrap", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_files_are_recognised_compressed_or_not(tmp_path, wrap):
    path = tmp_path / "lists.jsonl"
    path.write_bytes(wrap(as_lines(ROW, {**ROW, "text": "hello", "lm": -2})))
    found = ts.read(path)
    assert as_records(found) == {0: [("good day", {"lm": -1.5}), ("hello", {"lm": -2.0})]}
    assert found.files[0].format == "jsonl"


@pytest.mark.parametrize(
    "text", ["the name , id , or key", "0 ||| a ||| b= 1", "H-0\t-1\ta", "name\tid\tx", '"nodes"']
)
def test_texts_do_not_change_what_a_file_is_taken_for(text):
    assert recognise(Source("a", as_lines({**ROW, "text": text}))) == "jsonl"


def test_references_sources_and_metrics_are_those_of_tables():
    one = {"id": "7", "text": "a", "source": "s", "reference": "r", "reference_2": "t", "f": 1}
    other = {**one, "text": "b", "features.id": 3}
    found = collect(as_lines(one, other), missing="zero")
    assert found.ids == (7,)
    assert found.reference_texts(0) == ["r", "t"]
    assert found.sources == ("s",)
    assert as_records(found) == {7: [("a", {"f": 1.0}), ("b", {"f": 1.0, "id": 3.0})]}
    one, other = {**ROW, "references": ["x", "y\nz"]}, {**ROW, "id": 1.0, "references": ["u"]}
    several = collect(as_lines(one, other))
    assert several.ids == (0, 1)
    assert [several.reference_texts(g) for g in (0, 1)] == [["x", "y z"], ["u"]]


def test_fields_of_text_and_of_null_are_left_out():
    rows = [
        {**ROW, "domain": "news", "answer": "18", "error": None},
        {**ROW, "id": 1, "domain": "law", "answer": "none", "error": None},
    ]
    with pytest.warns(UserWarning, match="holds text and is left out") as caught:
        found = collect(as_lines(*rows))
    assert found.features.names == ("lm",)
    assert [str(w.message).split("'")[1] for w in caught] == ["domain", "answer"]


def test_a_missing_feature_may_be_0_and_a_missing_score_is_an_error():
    data = as_lines(
        {**ROW, "comet": 0.5}, {**ROW, "text": "b"}, {**ROW, "text": "c", "comet": None}
    )
    with pytest.raises(FormatError, match=r"a\.jsonl:3: 'comet' is missing; .* --missing"):
        collect(data)
    found = collect(data, missing="zero")
    column = found.features.names.index("comet")
    assert np.vstack([found.features.dense, found.features.sparse.toarray().T])[
        column
    ].tolist() == [0.5, 0.0, 0.0]
    with pytest.raises(TunesmithError, match=r"a\.jsonl:3: 'comet' is missing \(for 2 candidates"):
        with_columns(found, ["comet"])


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("{", "this is not JSON"),
        ("[1]", "this is not a JSON object"),
        ('{"id": 0, "lm": 1, "lm": 2}', "'lm' is given twice"),
        ({"text": "a", "doc": 1}, "there is no 'id' (the first names are text, doc)"),
        ({}, "there is no 'id' (the first names are none)"),
        ({**ROW, "id": None}, "the id is missing"),
        ({**ROW, "id": " "}, "the id is missing"),
        ({**ROW, "id": True}, "the id is true"),
        ({**ROW, "id": 1.5}, "the id is 1.5"),
        ({**ROW, "id": math.nan}, "the id is NaN"),
        ({**ROW, "id": "a\0"}, "the id is no valid text"),
        ({**ROW, "id": [1]}, "'id' is a list"),
        ({**ROW, "text": 12}, "'text' is 12, not a text"),
        ({**ROW, "text": ["a"]}, "'text' is a list"),
        ({**ROW, "text": "\ud800"}, "'text' holds no valid text"),
        ({**ROW, "source": False}, "'source' is false, not a text"),
        ({**ROW, "reference": 1}, "'reference' is 1, not a text"),
        ({**ROW, "references": "r"}, "'references' is no list of texts"),
        ({**ROW, "references": [1]}, "'references' is no list of texts"),
        ({**ROW, "references": {"a": "b"}}, "'references' is an object"),
        ({**ROW, "lm": math.nan}, "'lm' is nan, which is not finite"),
        ({**ROW, "lm": -math.inf}, "'lm' is -inf, which is not finite"),
        ({**ROW, "lm": 10**400}, "'lm' is a whole number beyond 1e308"),
        ({**ROW, "lm": "one"}, "'lm' is \"one\" here and a number before"),
        ({**ROW, "lm": "-2.5"}, "'lm' is \"-2.5\" here and a number before"),
        ({**ROW, "lm": True}, "'lm' is true here and a number before"),
        ({**ROW, "lm": [1]}, "'lm' is a list"),
        ({**ROW, "features": {"f": 1}}, "'features' is an object"),
        ({**ROW, "candidates": [ROW]}, "'candidates' is a list"),
        ({**ROW, "metrics.m": 1}, "'metrics.m' is missing"),
        ({**ROW, "features.f": "x"}, "'features.f' is \"x\", not a number"),
        ({**ROW, "features.lm": 1}, "'lm' and 'features.lm' are the same feature"),
        ({**ROW, "": 1}, "a value has no name"),
        ({**ROW, "\ud800": 1}, "a name is no valid text"),
        ({**ROW, "n": "1"}, "all values of 'n' are numbers written as texts"),
    ],
)
def test_errors_name_the_line(monkeypatch, bad, problem, batch):
    monkeypatch.setattr(json_rows, "ROWS", batch)
    line = bad if isinstance(bad, str) else json.dumps(bad)
    with pytest.raises(FormatError) as caught:
        collect(as_lines(ROW) + b"\n" + line.encode() + b"\n" + as_lines({**ROW, "text": "c"}))
    assert problem in str(caught.value)
    assert caught.value.line == 3
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("batch", [1, 100])
def test_a_metric_is_given_to_all(monkeypatch, batch):
    monkeypatch.setattr(json_rows, "ROWS", batch)
    with pytest.raises(FormatError, match=r"a\.jsonl:2: 'metrics\.m' is missing; give it to all"):
        collect(as_lines({**ROW, "metrics.m": 1}, ROW))


def test_long_values_are_shortened():
    with pytest.raises(FormatError) as caught:
        collect(as_lines(ROW, {**ROW, "lm": "x" * 5000}))
    assert len(str(caught.value)) < 250


def test_many_names_do_not_make_a_full_table():
    """Each row has a name of its own, so all names for all rows would be four million cells."""
    rows = [{"id": 0, "text": str(k), f"f{k}": 1} for k in range(2000)]
    batches = list(json_rows._Table("a", Reading())._slowly(enumerate(rows, 1)))
    assert sum(map(len, batches)) == 2000
    assert max(len(b) * len(b.columns) for b in batches) < 1.02 * json_rows.CELLS
    found = collect(as_lines(*rows))
    assert found.features.sparse.nnz == len(found) == 2000
