"""Tables: CSV, TSV and Parquet as people write them (pandas, polars), and frames."""

from __future__ import annotations

import csv
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import tunesmith as ts
from tests.helpers.builders import assert_same_set, random_set
from tests.helpers.tiers import examples
from tunesmith.data.columns import with_columns
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.tables import csv as csv_table
from tunesmith.io.tables.base import to_columns
from tunesmith.io.tables.frames import from_arrays, from_frame

FORMAT_NAMES = ["csv", "tsv", "parquet"]

HEADER = "id,text,source,reference,lm,metrics.comet"
ROWS = ["0,good day,guten tag,good day,-1.5,0.8", "0,hello,guten tag,good day,-2,0.7"]


def table(*lines: str) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


@pytest.mark.parametrize("name", FORMAT_NAMES)
@given(
    seed=st.integers(0, 10**6),
    references=st.integers(0, 2),
    ids=st.sampled_from(["numbers", "texts"]),
)
@settings(max_examples=examples(40))
def test_what_is_written_reads_back(tmp_path_factory, name, seed, references, ids):
    made = random_set(seed, references, ids)
    path = tmp_path_factory.mktemp("table") / f"set.{name}"
    n = len(made)
    FORMATS.create(name).write(made, np.arange(n), np.zeros(n), path)
    assert_same_set(ts.read(path), made)


def test_a_csv_file_as_people_write_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        b"\xef\xbb\xbf"
        + table(HEADER, *ROWS, '1,"a, ""b""",quelle,a b,,0.5').replace(b"\n", b"\r\n")
    )
    found = ts.read(path, reading=ts.Reading(missing="zero"))
    assert found.ids == (0, 1)
    assert found.text(2) == 'a, "b"'
    assert found.features.names == ("lm",)
    assert found.features.dense.tolist() == [[-1.5, -2.0, 0.0]]
    assert found.columns["comet"].tolist() == [0.8, 0.7, 0.5]
    assert found.sources == ("guten tag", "quelle")
    assert found.reference_texts(0) == ["good day"]


def test_cells_over_several_lines_and_their_line_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,text,lm", '0,"two\nlines",1', "0,b,2", "0,c,x"))
    with pytest.raises(FormatError, match=r"t\.csv:5: 'lm' is 'x', not a number"):
        ts.read(path)
    path.write_bytes(table("id,text,lm", '0,"two\nlines",1', "0,b,2"))
    assert ts.read(path).text(0) == "two lines"
    assert ts.read(path).original(0) == "two\nlines"


@pytest.mark.parametrize("wrap", [gzip.compress, lzma.compress, bytes])
def test_compressed_tables_and_small_batches(tmp_path, monkeypatch, wrap):
    monkeypatch.setattr(csv_table, "ROWS", 3)
    lines = [f"{g},text {g} {k},{g / 7},{k}" for g in range(5) for k in range(4)]
    path = tmp_path / "t"
    path.write_bytes(wrap(table("id,text,a,b", *lines)))
    found = ts.read(path)
    assert len(found) == 20
    assert found.features.dense[0].tolist() == [g / 7 for g in range(5) for _ in range(4)]


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        (["text,lm", "a,1"], 1, "no column 'id' .* --id-column"),
        (["id,text,lm", "0,a"], 2, "2 cells and the header has 3"),
        (["id,text,lm", "0,a,1", "0,b,2,3"], 3, "4 cells"),
        (["id,text,lm", "0,a,1", "0,b,nan"], 3, "'lm' is nan, which is not finite"),
        (["id,text,lm", "0,a,1", "0,b,inf"], 3, "not finite"),
        (["id,text,lm", "0,a,1", "0,b,-1e999"], 3, "not finite"),
        (["id,text,lm", "0,a,1", "0,b,one"], 3, "'lm' is 'one', not a number"),
        (["id,text,lm", "0,a,1", ",b,1"], 3, "the id is missing"),
        (["id,text,lm,lm", "0,a,1,2"], 1, "two columns are called 'lm'"),
        (["id,text,metrics.m", "0,a,1", "0,b,"], 3, "'metrics.m' is missing"),
        (["id,text,metrics.m", "0,a,x"], 2, "'metrics.m' is 'x', not a number"),
        (["id,text,reference,lm", "0,a,r,1", "0,b,s,1"], 3, "other references"),
        (["id,text,lm,features.lm", "0,a,1,2"], None, "two columns are called 'lm'"),
        (["id,text,references,lm", "0,a,r,1"], 2, "'references' is no list of texts"),
        (["id,text,reference,lm", "0,a,r,1", "1,b,,1"], 3, "group '1' has no references and"),
        (["id,text,lm,right", "0,a,1,true", "0,b,1,2"], 2, "'right' is 'true', not a number"),
        (["id,text,lm"], None, "no row"),
        (["id,text,lm", '0,"a,1'], 2, "no table"),
    ],
)
def test_errors_name_the_line(tmp_path, lines, line, what):
    path = tmp_path / "t.csv"
    path.write_bytes(table(*lines))
    with pytest.raises(TunesmithError, match=what) as caught:
        ts.read(path)
    if line is not None:
        assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_text_column_is_left_out_with_a_warning(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,text,domain,lm", "0,a,news,1", "0,b,law,2"))
    with pytest.warns(UserWarning, match="column 'domain' holds text"):
        found = ts.read(path)
    assert found.features.names == ("lm",)


def test_a_table_without_texts_names_the_column_that_may_have_them(tmp_path, recwarn):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,answer,lm", "0,four,1", "0,five,2"))
    ts.read(path)
    path.write_bytes(table("id,text,answer,lm", "0,a,four,1", "0,b,five,2"))
    ts.read(path)
    without, beside = (str(warning.message) for warning in recwarn)
    assert without.endswith("; if it has the candidates' texts, give --text-column answer")
    assert beside.endswith("column 'answer' holds text and is left out")


def test_a_frame_of_pandas_and_of_polars_and_a_file_of_each(tmp_path):
    columns = {
        "id": ["u1", "u1", "u2"],
        "text": ["a b", "c", "d"],
        "reference": ["a b", "a b", "d"],
        "lm": [-1.5, -2.0, 0.25],
        "n": [2, 1, 1],
        "right": [True, False, True],
    }
    expected = from_arrays(
        columns["id"],
        {k: columns[k] for k in ("lm", "n", "right")},
        columns["text"],
        {"u1": ["a b"], "u2": ["d"]},
    )
    frame, other = pd.DataFrame(columns), pl.DataFrame(columns)
    for held in (frame, other, pa.table(columns), columns):
        assert_same_set(from_frame(held), expected)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.drop(columns="right").to_parquet(tmp_path / "a.parquet")
    other.write_parquet(tmp_path / "b.parquet")
    other.write_ipc(tmp_path / "b.arrow", compression="zstd")
    for name in ("b.parquet", "b.arrow"):
        assert_same_set(ts.read(tmp_path / name), expected)
    assert ts.read(tmp_path / "a.parquet").features.names == ("lm", "n")


def test_a_set_becomes_a_frame_and_comes_back():
    made = random_set(7)
    assert_same_set(from_frame(pd.DataFrame(to_columns(made))), made)
    assert_same_set(from_frame(pl.DataFrame(to_columns(made))), made)


def test_a_frame_without_ids_or_with_gaps_is_an_error():
    with pytest.raises(TunesmithError, match="no column 'id'"):
        from_frame(pd.DataFrame({"text": ["a"]}))
    with pytest.raises(TunesmithError, match="'lm' is missing"):
        from_frame(pd.DataFrame({"id": [0, 0], "lm": [1.0, np.nan]}))
    with pytest.raises(TunesmithError, match="no row"):
        from_frame(pd.DataFrame({"id": []}))
    with pytest.raises(TunesmithError, match="'lm' has not one value"):
        from_arrays([0, 0], {"lm": [1.0]})


def test_a_missing_cell_of_parquet_and_nan_are_errors(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"id": [0, 0], "lm": [None, 2.0]}), path)
    with pytest.raises(FormatError, match=r"t\.parquet:1: 'lm' is missing; .* --missing"):
        ts.read(path)
    zero = ts.Reading(missing="zero")
    assert ts.read(path, reading=zero).features.dense.tolist() == [[0.0, 2.0]]
    parquet.write_table(pa.table({"id": [0, 0], "lm": [1.0, float("nan")]}), path)
    with pytest.raises(FormatError, match=r"t\.parquet:2: 'lm' is nan"):
        ts.read(path)


def test_damaged_and_outsized_parquet_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"id": [0] * 50, "lm": [1.0] * 50}), path)
    data = bytearray(path.read_bytes())
    path.write_bytes(bytes(data[:-20]))
    with pytest.raises(FormatError, match="Parquet data are damaged"):
        ts.read(path)
    # Ten million rows in a few kilobytes: runs of equal values cost nothing in the file.
    n = 10_000_000
    huge = pa.table({"id": pa.array(np.zeros(n, np.int64)), "lm": pa.array(np.ones(n))})
    parquet.write_table(huge, path, compression="zstd")
    assert path.stat().st_size < 200_000
    with pytest.raises(FormatError, match="expands more than"):
        ts.read(path)


def test_score_files_add_features_in_the_order_of_the_candidates(tmp_path):
    lists = tmp_path / "l.nbest"
    lists.write_text("0 ||| a ||| f= 1\n1 ||| b ||| f= 2\n0 ||| a ||| f= 1\n0 ||| c ||| f= 3\n")
    scores = tmp_path / "lm.txt"
    scores.write_text("10\n20\n30\n40.5\n")
    found = ts.read(lists, scores={"lm": scores})
    # The third is no duplicate of the first any more.
    assert len(found) == 4
    held = {(found.text(i), *found.features.dense[:, i].tolist()) for i in range(4)}
    assert held == {("a", 1, 10), ("a", 1, 30), ("c", 3, 40.5), ("b", 2, 20)}
    tuned = ts.read(lists, scores={"lm": scores}, columns=["lm"])
    assert tuned.features.names == ("f",)
    assert sorted(tuned.columns["lm"].tolist()) == [10, 20, 30, 40.5]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1\n2\n", "fewer lines than the 4 candidates"),
        ("1\n2\n3\n4\n5\n", "more lines than the 4 candidates"),
        ("1\n2\nx\n4\n", r"lm\.txt:3: a score is 'x', not a number"),
        ("1\n2\nnan\n4\n", "not finite"),
    ],
)
def test_bad_score_files_are_errors(tmp_path, text, what):
    lists = tmp_path / "l.nbest"
    lists.write_text("0 ||| a ||| f= 1\n1 ||| b ||| f= 2\n0 ||| a ||| f= 1\n0 ||| c ||| f= 3\n")
    scores = tmp_path / "lm.txt"
    scores.write_text(text)
    with pytest.raises(FormatError, match=what):
        ts.read(lists, scores={"lm": scores})
    scores.write_text("1\n2\n3\n4\n")
    with pytest.raises(TunesmithError, match="feature 'f' is in the candidates too"):
        ts.read(lists, scores={"f": scores})


def test_a_table_is_written_as_csv_readers_expect(tmp_path):
    path = tmp_path / "t.csv"
    made = random_set(3)
    FORMATS.create("csv").write(made, np.arange(len(made)), np.zeros(len(made)), path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [row["text"] for row in rows] == [made.text(i) for i in range(len(made))]
    assert (
        pd.read_csv(path)["lm"].tolist()
        == made.features.dense[made.features.dense_names.index("lm")].tolist()
    )


def test_an_empty_reference_cell_is_no_reference(tmp_path):
    path = tmp_path / "t.csv"
    header = "id,text,reference,reference_2,lm"
    path.write_bytes(table(header, "0,a,r,s,1", "1,b,t,,2", "1,c,t,,3", "2,d, ,u,4", "2,e,,,5"))
    found = ts.read(path)
    assert [found.reference_texts(g) for g in range(3)] == [["r", "s"], ["t"], ["u"]]
    path.write_bytes(table(header, "0,a,,,1", "1,b,,,2"))
    assert ts.read(path).references is None
    target = tmp_path / "t.parquet"
    parquet.write_table(
        pa.table({"id": [0, 1], "reference": ["r", "t"], "reference_2": ["s", None]}), target
    )
    found = ts.read(target)
    assert [found.reference_texts(g) for g in range(2)] == [["r", "s"], ["t"]]


def test_an_empty_reference_is_not_written_into_a_table(tmp_path):
    made = from_arrays([0], {"f": [1.0]}, ["a"], {0: [""]})
    for name in FORMAT_NAMES:
        with pytest.raises(UsageError, match="write arrow or jsonl"):
            ts.write(made, tmp_path / f"t.{name}")
    ts.write(made, tmp_path / "t.arrow")
    assert ts.read(tmp_path / "t.arrow").reference_texts(0) == [""]


def test_lists_of_references(tmp_path):
    columns = {
        "id": [0, 0, 1],
        "text": ["a", "b", "c"],
        "references": [["good day", "x"], ["good day", "x"], ["y\nz"]],
        "lm": [1.0, 2.0, 3.0],
    }
    expected = [["good day", "x"], ["y z"]]
    pl.DataFrame(columns).write_ipc(tmp_path / "polars.arrow")
    pl.DataFrame(columns).write_parquet(tmp_path / "polars.parquet")
    pd.DataFrame(columns).to_parquet(tmp_path / "pandas.parquet")
    parquet.write_table(pa.table(columns), tmp_path / "plain.parquet", use_dictionary=False)
    sets = [ts.read(path) for path in sorted(tmp_path.iterdir())]
    sets += [from_frame(f) for f in (columns, pd.DataFrame(columns), pl.DataFrame(columns))]
    sets.append(from_frame(pa.table(columns)))
    assert len(sets) == 8
    for found in sets:
        assert [found.reference_texts(g) for g in range(2)] == expected
        assert found.features.names == ("lm",)
    # A list that is null is none; a text that is null is an error.
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns | {"references": [["r"], None, ["s"]]}), path)
    assert ts.read(path).reference_texts(0) == ["r"]
    parquet.write_table(pa.table(columns | {"references": [["r"], [None], ["s"]]}), path)
    with pytest.raises(FormatError, match=r"t\.parquet:2: 'references' is no list of texts"):
        ts.read(path)
    parquet.write_table(pa.table(columns | {"reference": ["r", "r", "s"]}), path)
    with pytest.raises(FormatError, match="a column 'reference' and a column 'references'"):
        ts.read(path)
    parquet.write_table(pa.table(columns | {"references": [[1], [1], [2]]}), path)
    with pytest.raises(FormatError, match="'references' is a column of list"):
        ts.read(path)


def test_lists_of_references_that_expand_without_bound_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    n = 10_000_000
    one = pa.ListArray.from_arrays([0, n], pa.DictionaryArray.from_arrays(np.zeros(n, "i4"), [""]))
    parquet.write_table(pa.table({"id": [0], "references": one}), path, compression="zstd")
    assert path.stat().st_size < 200_000
    with pytest.raises(FormatError, match="expands more than"):
        ts.read(path)


@pytest.mark.parametrize("share", [1, 10])
def test_a_missing_external_score_is_refused(tmp_path, share):
    """As a feature of the dense block, and of the sparse one."""
    path = tmp_path / "t.csv"
    rows = [f"0,text {k},{k}," + ("0.5" if k % share == 0 else "") for k in range(20)]
    rows[7] = "0,text 7,7,"
    path.write_bytes(table("id,text,lm,comet", *rows))
    lacking, first = (1, 9) if share == 1 else (18, 3)
    what = rf"t\.csv:{first}: 'comet' is missing \(for {lacking} candidates\)"
    with pytest.raises(TunesmithError, match=what):
        ts.read(path, columns=["comet"], reading=ts.Reading(missing="zero"))
    with pytest.raises(TunesmithError, match=rf"t\.csv:{first}: 'comet' is missing; fill"):
        ts.read(path, columns=["comet"])
    parquet.write_table(
        pa.table({"id": [0, 0], "text": ["a", "b"], "comet": [0.5, None]}), tmp_path / "t.parquet"
    )
    with pytest.raises(TunesmithError, match=r"t\.parquet:2: 'comet' is missing"):
        ts.read(tmp_path / "t.parquet", columns=["comet"])
    lists = tmp_path / "t.jsonl"
    group = '{"id": 0, "candidates": [{"text": "a", "features": {"f": 0, "comet": 0.5}}, %s]}\n'
    lists.write_text(group % '{"text": "b", "features": {"f": 1}}')
    with pytest.raises(TunesmithError, match=r"t\.jsonl:1: 'comet' is missing \(for 1 cand"):
        ts.read(lists, columns=["comet"])
    # A zero that is given is a score like any other.
    lists.write_text(group % '{"text": "b", "features": {"f": 1, "comet": 0}}')
    assert ts.read(lists, columns=["comet"]).columns["comet"].tolist() == [0.5, 0.0]
    # What is missing is known after a merge too, and of two files of which one has it.
    lists.write_text(group % '{"text": "b", "features": {"f": 1}}')
    other = from_arrays([1], {"f": [1.0], "comet": [2.0]}, ["c"])
    with pytest.raises(TunesmithError, match=r"'comet' is missing \(for 1 cand"):
        with_columns(ts.merge([other, ts.read(lists)]), ["comet"])
    with pytest.raises(TunesmithError, match=r"'comet' is missing \(for 1 cand"):
        with_columns(ts.merge([other, from_arrays([1], {"f": [3.0]}, ["d"])]), ["comet"])


def test_a_feature_and_an_external_score_of_one_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,text,comet,metrics.comet", "0,a,1,2", "0,b,3,4"))
    assert ts.read(path).features.names == ("comet",)
    with pytest.raises(TunesmithError, match="'comet' is a feature and an external score"):
        ts.read(path, columns=["comet"])


def test_a_column_called_score_is_a_feature_unless_it_is_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,text,score", "0,a,1", "0,b,2.5"))
    assert ts.read(path).features.dense.tolist() == [[1.0, 2.5]]
    path.write_bytes(table("id,text,score,lm", "0,a,good,1", "0,b,bad,2"))
    with pytest.warns(UserWarning, match="column 'score' holds text"):
        assert ts.read(path).features.names == ("lm",)


def test_true_and_false_are_1_and_0(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,text,right,wrong", "0,a,True,false", "0,b,False,true"))
    found = ts.read(path)
    assert found.features.names == ("right", "wrong")
    assert found.features.dense.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    pd.DataFrame({"id": [0, 0], "lm": [1.5, 2], "right": [True, False]}).to_csv(path, index=False)
    assert ts.read(path, columns=["right"]).columns["right"].tolist() == [1.0, 0.0]


def test_ids_stay_apart(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table("id,text,lm", "7,a,1", "007,b,2", "0,c,3", "00,d,4", "+7,e,5"))
    assert ts.read(path).ids == (7, "007", 0, "00", "+7")


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_ids_of_all_kinds_are_written(tmp_path, name):
    path = tmp_path / f"t.{name}"
    mixed = from_arrays([7, "007", "x"], {"f": [1.0, 2.0, 3.0]}, ["a", "b", "c"])
    assert mixed.ids == (7, "007", "x")
    ts.write(mixed, path)
    assert_same_set(ts.read(path), mixed)
    huge = from_arrays([-1, 2**70], {"f": [1.0, 2.0]}, ["a", "b"])
    assert huge.ids == (-1, 2**70)
    ts.write(huge, path)
    assert ts.read(path).ids == ("-1", str(2**70))


def test_whole_numbers_that_would_be_rounded_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"id": [0, 0], "f": [2**60, 5]}), path)
    assert ts.read(path).features.dense.tolist() == [[2.0**60, 5.0]]
    for big in (2**53 + 1, -(2**53) - 1, 2**63 - 1):
        held = pa.table({"id": [0, 0, 0], "f": pa.array([1, None, big], pa.int64())})
        parquet.write_table(held, path)
        with pytest.raises(FormatError, match=rf"t\.parquet:3: 'f' is {big}, which has too many"):
            ts.read(path)
        with pytest.raises(FormatError, match=rf"frame:1: 'f' is {big}, which has too many"):
            from_frame({"id": [0, 0], "f": [1, big]})


def test_ids_that_begin_at_1_are_told(tmp_path):
    (tmp_path / "c.csv").write_text("id,text,a\n1,x,0.5\n1,y,1.5\n2,z,0\n")
    (tmp_path / "ref").write_text("x\nz\n")
    remedy = "no reference for id 2, the file has 2 lines; .* subtract 1 from all ids"
    with pytest.raises(FormatError, match=remedy):
        ts.read(tmp_path / "c.csv", references=tmp_path / "ref")
