"""Rows that are prompts, with lists of all their candidates, in every kind of table."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tunesmith as ts
from tunesmith.errors import FormatError

PROMPTS = [
    {
        "problem": "what?",
        "level": 3,
        "samples": ["4\n", "five"],
        "reward": [0.5, -1.0],
        "answer_correct": [True, False],
        "references": ["four", "fore", "for"],
    },
    {
        "problem": "why?",
        "level": 1,
        "samples": ["because", "so", "as"],
        "reward": [0.25, 0.75, 2.0],
        "answer_correct": [False, False, True],
        "references": ["because"],
    },
]
READING = ts.Reading(id_column="problem", text_column="samples")


def changed(row, **values):
    return [{**p, **values} if k == row else p for k, p in enumerate(PROMPTS)]


def as_parquet(prompts, folder, reading):
    path = folder / "t.parquet"
    parquet.write_table(pa.Table.from_pylist(prompts), path)
    return ts.read(path, columns=["answer_correct"], reading=reading)


def as_arrow(prompts, folder, reading):
    """Write a data set as Hugging Face's ``save_to_disk`` does: a folder with streams."""
    (folder / "dataset_info.json").write_text("{}")
    table = pa.Table.from_pylist(prompts)
    with pa.ipc.new_stream(folder / "data-00000-of-00001.arrow", table.schema) as writer:
        writer.write_table(table)
    return ts.read(folder, columns=["answer_correct"], reading=reading)


def as_lines(prompts, folder, reading):
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    return ts.read(path, columns=["answer_correct"], reading=reading)


def as_frame(make):
    def read(prompts, folder, reading):
        columns = {name: [prompt[name] for prompt in prompts] for name in prompts[0]}
        names = {"group": "problem", "text": "samples"}
        return ts.from_frame(make(columns), columns=["answer_correct"], reading=reading, **names)

    return read


MAKERS = (dict, pd.DataFrame, pl.DataFrame, pa.table)
WAYS = [as_parquet, as_arrow, as_lines, *map(as_frame, MAKERS)]
NAMES = ["parquet", "arrow", "lines", "dict", "pandas", "polars", "table"]


@pytest.fixture(params=WAYS, ids=NAMES)
def read_as(request, tmp_path):
    return lambda prompts, reading=READING: request.param(prompts, tmp_path, reading)


def test_every_list_has_a_value_for_each_candidate(read_as):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        candidates = read_as(PROMPTS)
    assert candidates.ids == ("what?", "why?")
    assert candidates.start.tolist() == [0, 2, 5]
    texts = [candidates.original(k) for k in range(5)]
    assert texts == ["4\n", "five", "because", "so", "as"]
    features = candidates.features
    assert features.values(features.names.index("reward")).tolist() == [0.5, -1.0, 0.25, 0.75, 2.0]
    assert features.values(features.names.index("level")).tolist() == [3, 3, 1, 1, 1]
    assert candidates.columns["answer_correct"].tolist() == [1, 0, 0, 0, 1]
    references = [candidates.reference_texts(g) for g in range(2)]
    assert references == [["four", "fore", "for"], ["because"]]


def test_lists_of_other_lengths_are_errors_unless_they_are_not_read(read_as):
    prompts = changed(1, reward=[0.25, 0.75])
    with pytest.raises(
        FormatError, match=r"'reward' has 2 values and 'samples' has 3; .*[fF]eatures"
    ):
        read_as(prompts)
    others = ts.Reading(id_column="problem", text_column="samples", features=["level"])
    assert read_as(prompts, others).features.names == ("level",)


def test_prompts_without_candidates_are_errors(read_as):
    nothing = {"samples": [], "reward": [], "answer_correct": []}
    with pytest.raises(FormatError, match=r"'samples' is an empty list.*; leave such rows out"):
        read_as(changed(1, **nothing))


def test_a_value_that_is_missing_follows_the_rule(read_as):
    prompts = changed(1, reward=[None, 0.75, 2.0])
    with pytest.raises(FormatError, match="'reward' is missing"):
        read_as(prompts)
    worst = ts.Reading(id_column="problem", text_column="samples", missing="worst")
    features = read_as(prompts, worst).features
    rewards = features.values(features.names.index("reward")).tolist()
    assert rewards == [0.5, -1.0, -1.0, 0.75, 2.0]


def test_numbers_in_quotes_name_a_way_out(read_as):
    prompts = [{**prompt, "gold": "42"} for prompt in PROMPTS]
    with pytest.raises(FormatError, match=r"'gold'.*if it is no feature, .*[fF]eatures"):
        read_as(prompts)
    chosen = ts.Reading(id_column="problem", text_column="samples", features=["rew*"])
    candidates = read_as(prompts, chosen)
    assert candidates.features.names == ("reward",)
    assert candidates.columns["answer_correct"].tolist() == [1, 0, 0, 0, 1]


def test_lists_that_nobody_named_are_told(tmp_path):
    usual = ts.Reading(id_column="problem")
    for read in (as_parquet, as_arrow):
        with (
            pytest.warns(UserWarning, match=r"columns 'samples', .* hold lists .*--text-column"),
            pytest.raises(ts.TunesmithError, match="unknown column 'answer_correct'"),
        ):
            read(PROMPTS, tmp_path, usual)
    with pytest.raises(FormatError, match=r"'samples' is a list; .*name those with --text-column"):
        as_lines(PROMPTS, tmp_path, usual)
