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


def test_the_worst_of_a_cost_is_the_highest_in_a_combination_too(
    cli: Run, table: Path, make: Make
) -> None:
    weights = make("w.json", '{"length": -1}')
    given = ("evaluate", "--candidates", table, *COLUMNS, "--weights", weights, "--quiet")
    given += ("--missing", "worst", "--json")
    # "one" and "three" win, with rewards of 0.5 or -0.5, the worst, and 0.25; lengths are 1.
    for metric, wanted in [
        ("sum(cost:reward,column:length)", 1 - 0.375 + 1),
        ("sum(column:reward,column:length)", -0.125 + 1),
        ("sum(-1*cost:reward,column:length)", -(1 - -0.125) + 1),
    ]:
        assert cli(*given, "--metric", metric).json()["score"] == pytest.approx(wanted), metric


def test_patterns_of_features_leave_the_column_of_a_metric(
    cli: Run, refused: Callable[..., str], table: Path, tmp_path: Path
) -> None:
    rows = [
        dict(zip(TABLE.split(maxsplit=1)[0].split(","), line.split(","), strict=True))
        for line in TABLE.splitlines()[1:]
    ]
    lines = [
        {k: v if k in {"question", "answer"} else float(v or 0) for k, v in row.items()}
        for row in rows
    ]
    objects = tmp_path / "answers.jsonl"
    objects.write_text("".join(json.dumps(line) + "\n" for line in lines))
    parquet = tmp_path / "answers.parquet"
    pd.DataFrame(lines).to_parquet(parquet)
    groups = tmp_path / "groups.jsonl"
    groups.write_text(
        "".join(
            json.dumps(
                {
                    "id": line["question"],
                    "candidates": [
                        {
                            "text": line["answer"],
                            "features": {k: v for k, v in line.items() if not isinstance(v, str)},
                        }
                    ],
                }
            )
            + "\n"
            for line in lines
        )
    )
    for path in (table, objects, parquet, groups):
        named = ("--id-column", "question", "--text-column", "answer") * (path != groups)
        given = ("tune", "--candidates", path, *named, "--missing", "zero", "--tuner", "mert")
        given += ("--features", "rew*,len*", "--metric", "column:correct", "--json")
        assert set(cli(*given).json()["weights"]) == {"reward", "length"}, path
        given = (
            "convert",
            "--candidates",
            path,
            *named,
            "--missing",
            "zero",
            "--column",
            "correct",
        )
        converted = cli(*given, "--features", "reward", "--to", "jsonl").lines()
        found = [c for line in converted for c in json.loads(line)["candidates"]]
        assert {(*c["features"], *c["metrics"]) for c in found} == {("reward", "correct")}, path


def test_texts_are_compared_only_where_a_metric_does(cli: Run, make: Make) -> None:
    upper = "".join(f"{g} ||| A{g} B{g} C D ||| lm= {k} ||| 0\n" for g in range(30) for k in (1, 2))
    lists = make("lists", upper)
    references = make("refs", "".join(f"a{g} b{g} c d\n" for g in range(30)))
    weights, scores = make("w", "lm= 1\n"), make("s", "1\n" * 60)
    given = ("evaluate", "--candidates", lists, "--references", references, "--weights", weights)
    told = "hardly a word in common but for upper and lower case"
    for metric in ("wer", "bleu", "ter:case-sensitive=true", "sum(bleu,wer:lowercase)"):
        assert told in cli(*given, "--metric", metric).err, metric
    for metric in ("wer:lowercase", "bleu:lowercase=true", "ter", "sum(ter,column:s)", "column:s"):
        found = cli(*given, "--scores", f"s={scores}", "--metric", metric)
        assert found.code == 0, found.err
        assert told not in found.err, metric


def test_scores_of_metricx_are_costs_in_combinations_too(cli: Run, make: Make) -> None:
    lists = make("lists", "0 ||| a ||| lm= 1 ||| 0\n0 ||| b ||| lm= 2 ||| 0\n")
    scores = make("mx.jsonl", '{"hypothesis": "a", "prediction": 1.5}\n{"prediction": 0.5}\n')
    given = ("evaluate", "--candidates", lists, "--weights", make("w", "lm= 1\n"))
    given += ("--scores", f"mx={scores}", "--scores", f"x={make('x', '1' + chr(10) + '2')}")
    for metric, is_wrong in [
        ("column:mx", True),
        ("cost:mx", False),
        ("sum(cost:mx,column:x)", False),
        ("sum(column:mx,column:x)", True),
        ("sum(-1*column:mx,column:x)", False),
    ]:
        found = cli(*given, "--metric", metric)
        assert found.code == 0, found.err
        assert ("--metric cost:mx" in found.err) == is_wrong, metric


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


def test_weights_of_words_and_texts_of_pieces_are_told(
    cli: Run, make: Make, tmp_path: Path
) -> None:
    lines = [f"{g} ||| lo@@ w{g} ||| lm= {k} ||| 0" for g in range(3) for k in (1, 2)]
    lists, references = make("lists", "\n".join(lines) + "\n"), make("refs", "low0\nlow1\nlow2\n")
    given = ("--candidates", lists)
    out = tmp_path / "w.json"
    tuned = ("--references", references, "--metric", "wer", "--tuner", "mert", "--out", out)
    assert cli("tune", *given, *tuned, "--join-bpe").code == 0
    told = "these weights were tuned with --join-bpe, and texts are left as they are; give --join"
    plain = cli("rerank", *given, "--weights", out)
    assert (told in plain.err, plain.lines()[0]) == (True, "lo@@ w0")
    joined = cli("rerank", *given, "--weights", out, "--join-bpe")
    assert (told in joined.err, joined.lines()[0]) == (False, "low0")
    evaluated = ("evaluate", *given, "--weights", out, "--references", references)
    assert told in cli(*evaluated, "--metric", "wer").err


def test_a_column_of_missing_that_is_not_there_is_told(cli: Run, table: Path, make: Make) -> None:
    given = ("convert", "--candidates", table, *COLUMNS, "--to", "jsonl", "--missing", "zero")
    told = "no column is called 'rewrad', as --missing says (near: reward"
    assert told in cli(*given, "--missing", "rewrad=1").err
    scores = make("s", "1\n\n2\n3\n")
    named = ("--missing", "s=1", "--missing", "reward=2", "--scores", f"s={scores}")
    assert "no column is called" not in cli(*given, *named).err


def test_ids_before_texts_are_told(cli: Run, make: Make) -> None:
    texts = "".join(f"utt-{k} w{k} b c\n" for k in range(30))
    output, references = make("out", texts), make("refs", texts.replace(" b", " x"))
    given = ("evaluate", "--metric", "wer", "--hypotheses")
    found = cli(*given, output, "--references", references, "--json")
    assert "if these are ids" in found.err
    assert found.json()["score"] == pytest.approx(25)
    cut = [make(name, text) for name, text in [("o", "w b c\n" * 30), ("r", "w x c\n" * 30)]]
    assert "ids" not in cli(*given, cut[0], "--references", cut[1]).err
    assert "ids" not in cli(*given, output, "--references", cut[1]).err


def test_an_old_configuration_of_moses_says_how_weights_are_written(
    cli: Run, refused: Callable[..., str], make: Make
) -> None:
    lists = make("lists", "0 ||| a b ||| d: 0 -1 lm: -2 ||| 0\n0 ||| a ||| d: 0 -2 lm: -1 ||| 0\n")
    old = make("old.ini", "[ttable-file]\n0 0 0 5 x\n\n[weight-d]\n0.3\n0.3\n\n[weight-l]\n0.5\n")
    said = refused("rerank", "--candidates", lists, "--weights", old)
    assert "write each section's weights on a line, as d= 0.3 0.3" in said
    new = make("new", "d= 0.3 0.3\nlm= 0.5\n")  # as it says
    assert cli("rerank", "--candidates", lists, "--weights", new).lines() == ["a"]


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
        (("evaluate", "--hyps", "h"), "--hypotheses"),
        (("rerank", "--input", "l"), "--candidates"),
        (("tune", "--dev", "l"), "--dev-candidates"),
        (("tune", "--metrics", "bleu"), "--metric"),
        (("convert", "--stat", "bleu"), "--statistics"),
        (("compare", "--sy", "a=b"), "--system"),
        (("tune", "-c", "l", "--metric", "BLEU"), "bleu"),
    ],
)
def test_suggestions_lead_to_what_is_meant(
    refused: Callable[..., str], arguments: tuple[str, ...], meant: str
) -> None:
    assert refused(*arguments).endswith(f"did you mean {meant}?")


def test_options_of_other_commands_are_told(refused: Callable[..., str]) -> None:
    said = refused("rerank", "--references", "r")
    assert said == "there is no option --references here; tune and evaluate take it"


def test_a_score_of_the_candidates_is_a_column(refused: Callable[..., str], table: Path) -> None:
    for name in ("accuracy", "is_right", "reward_of_mine"):
        said = refused("tune", "--candidates", table, "--metric", name)
        assert f"column:{name}, a cost cost:{name}" in said
    said = refused("tune", "--candidates", table, "--metric", "wer:normalise")
    assert "unknown option of metric 'wer' 'normalise'; did you mean" in said


def test_lines_of_files_are_as_long_as_they_are(
    cli: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    given = ("tune", "--candidates", table, *COLUMNS, "--missing", "zero", "--tuner", "mert")
    lines = cli(*given, "--metric", "column:correct", "--test-candidates", table).lines()
    assert lines[0].endswith("fewer than 30 sentences: not enough to tell")


def test_weights_without_a_feature_are_told_once(cli: Run, make: Make) -> None:
    lists = make("lists", "0 ||| a ||| lm= 1 ||| 0\n0 ||| b ||| lm= 2 ||| 0\n")
    references, start = make("refs", "a\n"), make("start", "lm= 1\nother= 2\nmore= 1\n")
    given = ("--candidates", lists, "--references", references)
    held_out = ("--test-candidates", lists, "--test-references", references)
    found = cli("tune", *given, *held_out, "--start", start, "--tuner", "mert")
    assert found.err.count("2 weights without a feature in the data, kept unchanged") == 1
    assert found.err.count("without a feature") == 1
    found = cli("rerank", *given[:2], "--weights", start)
    assert "2 weights without a feature in the data, not used: other, more" in found.err


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
