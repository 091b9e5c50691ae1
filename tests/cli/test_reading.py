"""Options of commands that read tables: names of columns, and what stands for gaps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import tunesmith as ts
from tests.helpers.cli.commands import Run
from tunesmith.io.reading import Reading

Make = Callable[[str, str | bytes], Path]

TABLE = """\
question,answer,n,reward,length,correct
q1,one two,0,0.5,2,1
q1,one,1,,1,0
q2,three,2,0.25,1,0
q2,four five,3,-0.5,2,1
"""
COLUMNS = ("--id-column", "question", "--text-column", "answer", "--index-column", "n")


@pytest.fixture
def table(make: Make) -> Path:
    return make("answers.csv", TABLE)


def test_columns_by_names_of_ones_own(cli: Run, table: Path) -> None:
    given = ("convert", "--candidates", table, *COLUMNS, "--to", "jsonl", "--missing", "mean")
    groups = [json.loads(line) for line in cli(*given, "--features", "rew*,length").lines()]
    assert [g["id"] for g in groups] == ["q1", "q2"]
    found = [c for g in groups for c in g["candidates"]]
    assert [c["text"] for c in found] == ["one two", "one", "three", "four five"]
    mean = (0.5 + 0.25 - 0.5) / 3
    rewards = [c["features"]["reward"] for c in found]
    assert rewards == pytest.approx([0.5, mean, 0.25, -0.5])
    assert {tuple(c["features"]) for c in found} == {("reward", "length")}


def test_what_is_tuned_for_need_not_match_the_patterns_of_features(
    cli: Run, table: Path, make: Make, tmp_path: Path
) -> None:
    given = ("tune", "--candidates", table, *COLUMNS, "--missing", "mean", "--features", "rew*")
    given += ("--metric", "column:correct", "--out", tmp_path / "w.json")
    found = cli(*given, "--json").json()
    assert found["tuner"] == "auto"
    assert list(found["weights"]) == ["reward"]
    assert found["oracle_score"] == 1.0
    frame = pd.read_csv(make("plain.csv", TABLE.replace("q1,one,1,,", "q1,one,1,0,")))
    reading = Reading(features="rew*", id_column="question", text_column="answer")
    candidates = ts.from_frame(frame, columns=["correct"], reading=reading)
    assert candidates.features.names == ("reward",)
    assert candidates.columns["correct"].tolist() == [1.0, 0.0, 0.0, 1.0]
    # A report reads the files again, as the run did.
    cli("report", tmp_path / "w.json", "--out", tmp_path / "view.json")
    assert json.loads((tmp_path / "view.json").read_text())["missing"] == []


def test_a_gap_is_an_error_unless_told(cli: Run, refused: Callable[..., str], table: Path) -> None:
    given = ("convert", "--candidates", table, *COLUMNS, "--to", "jsonl")
    said = refused(*given, file=table, line=3)
    assert "'reward' is missing" in said
    assert "--missing" in said
    refused(*given, "--missing", "median")
    found = cli(*given, "--missing", "reward=drop")
    assert "1 of 4 candidates lack a value and are left out" in found.err
    assert sum(len(json.loads(line)["candidates"]) for line in found.lines()) == 3


def test_the_worst_of_a_cost_is_the_highest(cli: Run, table: Path, make: Make) -> None:
    weights = make("w.json", '{"length": -1}')
    given = ("evaluate", "--candidates", table, *COLUMNS, "--weights", weights, "--quiet")
    for metric, wanted in [("column:reward", (-0.5 + 0.25) / 2), ("cost:reward", 0.375)]:
        found = cli(*given, "--metric", metric, "--missing", "worst", "--json").json()
        assert found["score"] == pytest.approx(wanted)


def test_a_result_says_how_its_files_were_read(cli: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    given = ("--candidates", table, *COLUMNS, "--missing", "zero", "--metric", "column:correct")
    found = cli("tune", *given, "--tuner", "plane", "--out", out, "--quiet")
    assert found.code == 0, found.err
    assert json.loads(out.read_text())["inputs"]["tune"]["reading"] == {
        "missing": ["zero"],
        "id_column": "question",
        "text_column": "answer",
        "index_column": ["n"],
    }
    page = tmp_path / "page.html"
    assert cli("report", out, "--out", page).code == 0
    assert "is not shown" not in page.read_text()


def test_options_without_candidates_are_refused(refused: Callable[..., str], make: Make) -> None:
    texts, weights = make("h", "a\n"), make("w.json", "{}")
    said = refused("evaluate", "--hypotheses", texts, "--references", texts, "--missing", "0")
    assert said == "--missing goes with --candidates; drop it"
    refused("convert", "--weights", weights, "--to", "moses", "--id-column", "q")


def test_a_column_that_is_no_feature_anyway_may_be_dropped(
    cli: Run, refused: Callable[..., str], make: Make
) -> None:
    text = (
        "id,text,prompt,lm,tm,right\n0,a,why,1,2,1\n0,b,why,2,1,0\n1,c,who,0,1,1\n1,d,who,1,1,0\n"
    )
    rows = [
        dict(zip(text.split("\n", maxsplit=1)[0].split(","), line.split(","), strict=True))
        for line in text.split("\n")[1:-1]
    ]
    numbers = [{k: v if k in {"text", "prompt"} else int(v) for k, v in r.items()} for r in rows]
    lists = make("t.jsonl", "".join(json.dumps(row) + "\n" for row in numbers))
    for path in (make("t.csv", text), lists):
        given = ("tune", "--candidates", path, "--metric", "column:right", "--tuner", "plane")
        plain = cli(*given, "--quiet", "--json").json()["weights"]
        for name in ("prompt", "right", "pro*"):
            found = cli(*given, "--drop", name, "--quiet", "--json").json()
            assert found["weights"] == plain
        assert "'promt' matches no feature" in refused(*given, "--drop", "promt", "--quiet")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("tune", "--reference", "r"), "--references"),
        (("evaluate", "--reference", "r"), "--references"),
        (("tune", "--nbest", "l"), "--candidates"),
        (("evaluate", "--nbest", "l"), "--candidates"),
        (("evaluate", "--hypothesis", "h"), "--hypotheses"),
        (("tune", "--ref", "r"), "--references"),
    ],
)
def test_suggestions_lead_to_what_is_meant(
    refused: Callable[..., str], arguments: tuple[str, ...], meant: str
) -> None:
    assert refused(*arguments).endswith(f"did you mean {meant}?")


def test_a_score_of_the_candidates_is_a_column(refused: Callable[..., str], table: Path) -> None:
    said = refused("tune", "--candidates", table, "--metric", "accuracy")
    assert "column:accuracy" in said


def test_pieces_are_joined(cli: Run, make: Make) -> None:
    lists = make("lists", "0 ||| the lo@@ w@@ er house ||| lm= 1\n0 ||| the house ||| lm= 0\n")
    references = make("refs", "the lower house\n")
    weights = make("w.json", '{"lm": 1}')
    given = ("evaluate", "--candidates", lists, "--references", references, "--weights", weights)
    plain = cli(*given, "--metric", "wer", "--json")
    assert "give --join-bpe" in plain.err
    assert plain.json()["score"] == pytest.approx(100.0)
    joined = cli(*given, "--metric", "wer", "--json", "--join-bpe")
    assert joined.err == ""
    assert joined.json()["score"] == 0.0
    assert cli("rerank", *given[1:3], *given[5:], "--join-bpe").lines() == ["the lower house"]
