"""What stands for missing values, in every kind of file by one rule."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import tunesmith as ts
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.missing import Missing
from tunesmith.io.reading import Use
from tunesmith.io.tables import csv as csv_table
from tunesmith.io.tables import json_rows
from tunesmith.metrics.base import METRICS

#: Ids, texts, a feature and an external score, None where one is missing.
TABLE = {
    "id": [0, 0, 0, 1, 1, 2],
    "text": ["a", "b", "c", "d", "e", "f"],
    "lm": [-4.0, None, -1.0, -2.5, None, None],
    "tm": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "metrics.reward": [0.5, 0.25, None, 0.75, 1.0, 0.125],
}
ROWS = [dict(zip(TABLE, cells, strict=True)) for cells in zip(*TABLE.values(), strict=True)]


def as_csv(path):
    cells = [["" if c is None else str(c) for c in row.values()] for row in ROWS]
    path.write_text("\n".join([",".join(TABLE), *map(",".join, cells)]) + "\n")
    return path


def as_groups(path):
    groups = {}
    for row in ROWS:
        features = {"lm": row["lm"], "tm": row["tm"]}
        metrics = {"reward": row["metrics.reward"]}
        candidate = {"text": row["text"], "features": features, "metrics": metrics}
        groups.setdefault(row["id"], []).append(candidate)
    lines = [json.dumps({"id": i, "candidates": c}) + "\n" for i, c in groups.items()]
    path.write_text("".join(lines))
    return path


def as_rows(path, leave_out):
    """Write objects; what is missing is null, or left out."""
    rows = [{k: v for k, v in r.items() if v is not None or not leave_out} for r in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_parquet(path):
    parquet.write_table(pa.table(TABLE), path)
    return path


def as_arrow(path):
    table = pa.table(TABLE)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


KINDS = {
    "csv": as_csv,
    "groups": as_groups,
    "rows": lambda path: as_rows(path, False),
    "rows that leave out": lambda path: as_rows(path, True),
    "parquet": as_parquet,
    "arrow": as_arrow,
    "pandas": None,
    "mapping": None,
}


@pytest.fixture(params=KINDS)
def read_as(request, tmp_path):
    """Read the table from a file of some kind, or from a frame."""

    def run(missing, **options):
        reading = ts.Reading(missing=missing)
        if request.param == "pandas":
            return ts.from_frame(pd.DataFrame(TABLE), reading=reading)
        if request.param == "mapping":
            return ts.from_frame(TABLE, reading=reading)
        path = KINDS[request.param](tmp_path / "in")
        spec = "csv" if request.param == "csv" else None
        return ts.read(path, format=spec, reading=reading, **options)

    return run


def values(candidates, name):
    features = candidates.features
    return features.values(features.names.index(name)).tolist()


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize(
    ("way", "filled"),
    [("zero", 0.0), ("mean", -2.5), ("worst", -4.0), ("-7.25", -7.25), ("1e3", 1000.0)],
)
def test_one_rule_for_features(read_as, monkeypatch, batch, way, filled):
    for module in (csv_table, json_rows):
        monkeypatch.setattr(module, "ROWS", batch)
    found = read_as([way, "reward=0"])
    assert values(found, "lm") == [-4.0, filled, -1.0, -2.5, filled, filled]
    assert values(found, "tm") == TABLE["tm"]
    assert found.columns["reward"].tolist() == [0.5, 0.25, 0.0, 0.75, 1.0, 0.125]


@pytest.mark.parametrize(
    ("way", "filled"), [("zero", 0.0), ("mean", 2.625 / 5), ("worst", 0.125), ("-1", -1.0)]
)
def test_one_rule_for_scores(read_as, way, filled):
    found = read_as({"lm": "zero", "reward": way})
    assert found.columns["reward"].tolist() == [0.5, 0.25, filled, 0.75, 1.0, 0.125]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_candidates_may_be_left_out_and_groups_with_them(read_as, monkeypatch, batch):
    for module in (csv_table, json_rows):
        monkeypatch.setattr(module, "ROWS", batch)
    with pytest.warns(UserWarning, match="4 of 6 candidates lack a value and are left out"):
        found = read_as("drop")
    assert found.ids == (0, 1)
    assert [found.text(k) for k in range(len(found))] == ["a", "d"]
    assert values(found, "lm") == [-4.0, -2.5]
    assert found.columns["reward"].tolist() == [0.5, 0.75]
    if found.rows is not None:
        assert found.rows.tolist() == [0, 3]


def test_rows_are_those_of_the_input_even_so(tmp_path):
    with pytest.warns(UserWarning, match="left out"):
        found = ts.read(
            as_parquet(tmp_path / "t"), keep_rows=True, reading=ts.Reading(missing="drop")
        )
    assert found.rows.tolist() == [0, 3]


def test_missing_is_an_error(read_as):
    with pytest.raises(TunesmithError, match=r"'lm'.* is missing; .*(--missing|missing=)"):
        read_as({"reward": "0"})
    with pytest.raises(TunesmithError, match=r"reward'.* is missing; .*(--missing|missing=)"):
        read_as({"lm": "0"})


def test_ways_that_are_none():
    for text in ("median", "lm=", "lm=nan", "inf", ""):
        with pytest.raises(UsageError, match="--missing"):
            Missing.parse([text])
    texts = ["mean", "lm=zero", "a=b=0.1"]
    assert Missing.parse(texts).texts() == ["mean", "lm=zero", "a=b=0.10000000000000001"]


def test_a_cost_is_worst_where_it_is_highest(tmp_path):
    reading = ts.Reading(missing=["zero", "reward=worst"], use=Use(costs=frozenset({"reward"})))
    found = ts.read(as_parquet(tmp_path / "t"), reading=reading)
    assert found.columns["reward"].max() == found.columns["reward"][2] == 1.0


def test_a_column_without_values_has_no_mean(tmp_path):
    frame = {"id": [0, 0], "text": ["a", "b"], "lm": [math.nan, math.nan]}
    with pytest.raises(TunesmithError, match="'lm' has no value at all"):
        ts.from_frame(frame, reading=ts.Reading(missing="mean"))


def test_score_files_follow_the_rule(tmp_path):
    (tmp_path / "l").write_text("0 ||| a ||| f= 1\n0 ||| b ||| f= 2\n1 ||| c ||| f= 3\n")
    (tmp_path / "lm").write_text("-1\n\n-2\n")
    scores = {"lm": tmp_path / "lm"}
    with pytest.raises(FormatError, match=r"lm:2: the line is empty"):
        ts.read(tmp_path / "l", scores=scores)
    for way, filled in {"mean": -1.5, "worst": -2.0, "0": 0.0}.items():
        found = ts.read(tmp_path / "l", scores=scores, reading=ts.Reading(missing=way))
        assert values(found, "lm") == [-1.0, filled, -2.0]
        assert values(found, "f") == [1.0, 2.0, 3.0]
    with pytest.warns(UserWarning, match="1 of 3"):
        found = ts.read(tmp_path / "l", scores=scores, reading=ts.Reading(missing="drop"))
    assert values(found, "lm") == [-1.0, -2.0]


def test_sparse_features_of_rows_stay_sparse(tmp_path):
    """What most rows leave out does not fire there."""
    path = tmp_path / "rows.jsonl"
    rows = [{"id": k // 2, "text": str(k), "lm": k, f"rule{k % 5}": 1} for k in range(10)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for missing in ("error", "mean"):
        found = ts.read(path, reading=ts.Reading(missing=missing))
        assert found.features.sparse.nnz == 10
    del rows[7]["lm"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(FormatError, match=r"rows\.jsonl:8: 'lm' is missing"):
        ts.read(path)
    found = ts.read(path, reading=ts.Reading(missing="mean"))
    assert values(found, "lm")[7] == pytest.approx((45 - 7) / 9)


cells = st.one_of(st.none(), st.floats(-100, 100), st.just(0.0))


@given(
    st.lists(st.tuples(st.integers(0, 3), cells, cells), min_size=1, max_size=12),
    st.sampled_from(["mean", "worst", "0.5", "drop"]),
    st.sampled_from(["mean", "worst", "-3", "drop"]),
)
@settings(max_examples=examples(80), deadline=None)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_what_stands_for_gaps_is_what_pandas_says(rows, way, other):
    frame = pd.DataFrame(rows, columns=["id", "f", "metrics.m"]).astype(
        {"f": "float64", "metrics.m": "float64"}
    )
    frame["text"] = [f"t{k}" for k in range(len(frame))]
    wanted = frame.copy()
    for name, how in {"f": way, "metrics.m": other}.items():
        fill = {"mean": wanted[name].mean(), "worst": wanted[name].min()}.get(how)
        if how not in {"mean", "worst", "drop"}:
            fill = float(how)
        if fill is not None:
            wanted[name] = wanted[name].fillna(fill)
    wanted = wanted.dropna().sort_values("id", kind="stable")
    reading = ts.Reading(missing=[f"f={way}", f"m={other}"])
    lacks_all = [
        frame[name].isna().all() and how in {"mean", "worst"}
        for name, how in {"f": way, "metrics.m": other}.items()
    ]
    if any(lacks_all) or not len(wanted):
        with pytest.raises(TunesmithError):
            ts.from_frame(frame, reading=reading)
        return
    found = ts.from_frame(frame, reading=reading)
    assert [found.text(k) for k in range(len(found))] == wanted["text"].tolist()
    np.testing.assert_allclose(values(found, "f"), wanted["f"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.columns["m"], wanted["metrics.m"], rtol=1e-12, atol=1e-12)


# Names of columns


def test_columns_of_other_names(tmp_path):
    table = {
        "prompt": ["p", "p", "q"],
        "response": ["7", "8", "9"],
        "row": [0, 1, 2],
        "a_score": [1.0, 2.0, 3.0],
        "b_score": [0.5, 0.25, 0.125],
        "tokens": [10, 20, 30],
        "gold": [[1], [2], [3]],
    }
    reading = ts.Reading(
        id_column="prompt",
        text_column="response",
        index_column="row",
        features=["a_score", "b*"],
    )
    flat = {name: cells for name, cells in table.items() if name != "gold"}
    frame = pd.DataFrame(flat)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "no_ending", index=False)
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [tmp_path / name for name in ("t.csv", "t.tsv", "no_ending", "t.parquet", "t.jsonl")]
    sets = [ts.read(path, reading=reading) for path in paths]
    sets.append(ts.from_frame(frame, group="prompt", text="response", reading=reading))
    for found in sets:
        assert found.ids == ("p", "q")
        assert [found.text(k) for k in range(3)] == ["7", "8", "9"]
        assert found.features.names == ("a_score", "b_score")
        assert values(found, "b_score") == table["b_score"]


def test_names_that_are_not_there(tmp_path):
    path = as_csv(tmp_path / "t.csv")
    for options, said in [
        ({"id_column": "prompt"}, "no column 'prompt'"),
        ({"text_column": "answer"}, "no column 'answer'"),
        ({"index_column": "n"}, "no column 'n'"),
        ({"features": "score*"}, r"no column is called 'score\*'"),
    ]:
        with pytest.raises(FormatError, match=said):
            ts.read(path, reading=ts.Reading(missing="0", **options))


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", "level_0", "__index_level_0__"])
def test_an_index_is_no_feature(name):
    frame = {name: [0, 1, 2], "id": [0, 0, 1], "text": ["a", "b", "c"], "lm": [1.0, 2.0, 3.0]}
    with pytest.warns(UserWarning, match=f"'{name}' is the index of a frame"):
        assert ts.from_frame(frame).features.names == ("lm",)
    if name in {"index", "level_0"}:  # a score that is called so is one
        with pytest.warns(
            UserWarning, match=f"column '{name}' is a feature; .*index_column='{name}'"
        ):
            scores = ts.from_frame(frame | {name: [3.0, 1.0, 2.0]})
        assert scores.features.names == (name, "lm")


# Statistics


@pytest.mark.parametrize("spec", ["bleu", "bleu:order=2", "chrf", "chrf++", "ter", "wer", "cer"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_statistics_of_metrics_are_no_features(tmp_path, spec, ending):
    metric = METRICS.create(spec)
    names = metric.statistic_columns()
    frame = {"id": [0, 0], "text": ["a b", "a"], "lm": [1.0, 2.0]}
    counted = ts.TuningSet(
        ts.from_frame(frame | {"reference": ["a c", "a c"]}), metric
    ).stats.astype(float)
    frame |= {name: counted[:, k].tolist() for k, name in enumerate(names)}
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        pd.DataFrame(frame).to_csv(path, index=False)
    elif ending == "parquet":
        parquet.write_table(pa.table(frame), path)
    else:
        rows = [dict(zip(frame, cells, strict=True)) for cells in zip(*frame.values(), strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = ts.read(path)
    assert found.features.names == ("lm",)
    assert set(found.columns) == set(names)
    assert ts.TuningSet(found, metric).stats.tolist() == counted.tolist()


# A row a prompt

PROMPTS = {
    "problem": ["p0", "p1"],
    "instruction": ["why?", "who?"],
    "samples": [["yes\nno", "b"], ["c", "d", "e"]],
    "first_reward_scores": [[0.5, 0.25], [1.0, -1.0, 0.125]],
    "second_reward_scores": [[3.0, 4.0], [5.0, 6.0, 7.0]],
    "answer_correct": [[True, False], [False, False, True]],
}
AS_LISTS = {"id_column": "problem", "text_column": "samples"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.filterwarnings("ignore:.*holds text")
def test_lists_of_a_prompt_are_candidates(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "jsonl":
        cells = zip(*PROMPTS.values(), strict=True)
        rows = [dict(zip(PROMPTS, row, strict=True)) for row in cells]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        parquet.write_table(pa.table(PROMPTS), path)
    reading = ts.Reading(features="*_scores", **AS_LISTS)
    found = ts.read(path, reading=ts.Reading(**AS_LISTS), columns=["answer_correct"])
    assert found.ids == ("p0", "p1")
    assert [found.original(k) for k in range(5)] == ["yes\nno", "b", "c", "d", "e"]
    assert values(found, "first_reward_scores") == [0.5, 0.25, 1.0, -1.0, 0.125]
    assert values(found, "second_reward_scores") == [3.0, 4.0, 5.0, 6.0, 7.0]
    assert found.columns["answer_correct"].tolist() == [1, 0, 0, 0, 1]
    some = ts.read(path, reading=reading)
    assert some.features.names == ("first_reward_scores", "second_reward_scores")


def test_lists_of_other_lengths_are_refused(tmp_path):
    row = {"id": 0, "text": ["a", "b"], "lm": [1, 2], "n": [3]}
    (tmp_path / "t.jsonl").write_text("\n" + json.dumps(row) + "\n")
    with pytest.raises(FormatError, match=r"t\.jsonl:2: 'n' has 1 values and 'text' has 2"):
        ts.read(tmp_path / "t.jsonl")
    del row["n"]
    row["lm"] = [1, "x"]
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(FormatError, match=r"t\.jsonl:[12]: 'lm' is"):
        ts.read(tmp_path / "t.jsonl")
    row["text"] = []
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(FormatError, match=r"t\.jsonl:1: 'text' is an empty list"):
        ts.read(tmp_path / "t.jsonl")
