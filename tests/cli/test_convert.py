"""``tunesmith convert``: between any two formats, with nothing lost that has a place."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tunesmith as ts
from tests.helpers.builders import assert_same_set
from tests.helpers.cli.commands import LISTS, PREFIX, REFERENCES, Run, files_below

Make = Callable[[str, str | bytes], Path]

#: Formats that hold a set with references, by ending.
ENDINGS = ["arrow", "parquet", "csv", "tsv", "jsonl", "csv.gz", "jsonl.zst", "tsv.xz", "arrow.bz2"]


@pytest.mark.parametrize(("first", "second"), list(itertools.pairwise([*ENDINGS, ENDINGS[0]])))
def test_a_set_goes_through_any_two_formats(
    cli: Run, make: Make, tmp_path: Path, first: str, second: str
) -> None:
    lists, references = make("l.nbest", LISTS), make("refs", REFERENCES)
    a, b, c = tmp_path / f"a.{first}", tmp_path / f"b.{second}", tmp_path / "c.nbest"
    done = cli("convert", "--candidates", lists, "--references", references, "--out", a)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert cli("convert", "--candidates", a, "--out", b).code == 0
    expected = ts.read(lists, references)
    assert_same_set(ts.read(a), expected)
    assert_same_set(ts.read(b), expected)
    done = cli("convert", "--candidates", b, "--out", c)
    assert "format moses has no place for references" in done.err
    assert_same_set(ts.read(c, references), expected)


def test_from_standard_input_to_standard_output(cli: Run) -> None:
    done = cli("convert", "--candidates", "-", "--to", "jsonl", stdin=LISTS.encode())
    groups = [json.loads(line) for line in done.lines()]
    assert [g["id"] for g in groups] == [0, 1]
    assert groups[0]["candidates"][1]["features"] == {"f": 2.0, "g": 1.0}


def test_weights_fill_the_score_field(cli: Run, make: Make) -> None:
    lists, weights = make("l", LISTS), make("w", "f= 2\ng= -1\n")
    done = cli("convert", "--candidates", lists, "--weights", weights, "--to", "moses")
    assert [float(x.split("|||")[3]) for x in done.lines()] == [0.0, 3.0, -3.0, 2.5]


def test_statistics_are_kept_and_tuned_on_without_references(
    cli: Run, make: Make, tmp_path: Path
) -> None:
    lists, references = make("l", LISTS), make("refs", REFERENCES)
    out = tmp_path / "s.jsonl"
    cli(
        "convert",
        "--candidates",
        lists,
        "--references",
        references,
        "--statistics",
        "bleu",
        "--out",
        out,
    )
    bare = [json.loads(line) for line in out.read_text().splitlines()]
    for group in bare:
        del group["references"]
        for candidate in group["candidates"]:
            candidate["text"] = ""
    stripped = make("bare.jsonl", "".join(json.dumps(g) + "\n" for g in bare))
    options = ("--restarts", "1", "--json")
    a = cli("tune", "--candidates", lists, "--references", references, *options).json()
    b = cli("tune", "--candidates", stripped, *options).json()
    assert a["weights"] == b["weights"]
    assert a["score"] == b["score"] == 100.0


def test_a_feature_becomes_a_column(cli: Run, make: Make) -> None:
    done = cli("convert", "--candidates", make("l", LISTS), "--column", "g", "--to", "jsonl")
    first = json.loads(done.lines()[0])["candidates"][0]
    assert first["features"] == {"f": 1.0}
    assert first["metrics"] == {"g": 2.0}


def test_score_files(cli: Run, make: Make) -> None:
    scores = make("lm.txt", "1\n2\n3\n4\n")
    done = cli(
        "convert", "--candidates", make("l", LISTS), "--scores", f"lm={scores}", "--to", "moses"
    )
    assert [x.split("|||")[2].split()[-1] for x in done.lines()] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("target", ["json", "moses", "cdec", "travatar", "yaml"])
def test_weights_files(cli: Run, make: Make, tmp_path: Path, target: str) -> None:
    values = {"LM0": 0.5, "TM0_1": -1e-07, "TM0_2": 1 / 3}
    source = make("w.json", json.dumps(values))
    out = tmp_path / "w.out"
    assert cli("convert", "--weights", source, "--to", target, "--out", out).code == 0
    assert dict(ts.read_weights(out).weights) == values
    back = tmp_path / "back.json"
    assert cli("convert", "--weights", out, "--out", back).code == 0
    assert dict(ts.read_weights(back).weights) == values


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ([], "there is nothing to convert"),
        (["--candidates", "LISTS", "--out", "x.unknown"], "is of no format; name one of"),
        (["--candidates", "LISTS"], "is of no format"),
        (["--candidates", "LISTS", "--to", "jsnol"], "did you mean jsonl"),
        (["--candidates", "LISTS", "--to", "jsonl", "--column", "h"], "unknown column 'h'"),
        (["--candidates", "LISTS", "--to", "jsonl", "--scores", "lm"], "write NAME=FILE"),
        (["--candidates", "LISTS", "--to", "jsonl", "--statistics", "bleu"], "needs references"),
        (["--candidates", "LISTS", "--to", "jsonl", "--statistics", "blue"], "did you mean bleu"),
        (["--candidates", "MISSING", "--to", "jsonl"], "no such file"),
        (["--weights", "W", "--to", "jsonl"], "unknown weights format 'jsonl'"),
        (["--weights", "W", "--to", "json", "--column", "g"], "drop the rest"),
    ],
)
def test_wrong_usage_is_one_line_and_writes_nothing(
    cli: Run, make: Make, tmp_path: Path, options: list[str], what: str
) -> None:
    places = {
        "LISTS": make("l", LISTS),
        "W": make("w.json", '{"f": 1}'),
        "MISSING": tmp_path / "missing",
        "x.unknown": tmp_path / "x.unknown",
    }
    before = files_below(tmp_path)
    done = cli("convert", *[places.get(o, o) for o in options])
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(PREFIX)
    assert done.err.count("\n") == 1
    assert what in done.err
    assert files_below(tmp_path) == before


def test_a_failure_leaves_the_old_file(cli: Run, make: Make, tmp_path: Path) -> None:
    out = make("old.csv", "precious")
    lists = make(
        "l.jsonl",
        json.dumps(
            {"id": 0, "references": ["a"], "candidates": [{"text": "a", "features": {"f": 1}}]}
        )
        + "\n"
        + json.dumps(
            {"id": 1, "references": ["a", "b"], "candidates": [{"text": "a", "features": {"f": 1}}]}
        )
        + "\n",
    )
    done = cli("convert", "--candidates", lists, "--out", out)
    assert done.code == 2
    assert "different numbers of references" in done.err
    assert out.read_text() == "precious"


def test_the_same_input_gives_the_same_bytes(cli: Run, make: Make, tmp_path: Path) -> None:
    lists = make("l", LISTS)
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        cli("convert", "--candidates", lists, "--out", tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).startswith(b"{")


#: Lists as their programs write them, each with scores of its own.
TOTALS = {
    "moses": "0 ||| a b ||| LM0= -1.5 TM0= -0.5 -2 ||| -7.25\n"
    "0 ||| a ||| LM0= -1 TM0= 0 -1 ||| -3\n",
    "cdec": "0 ||| a b ||| Glue=1 LM=-2.5 ||| -7.25\n0 ||| a ||| Glue=2 LM=-1 ||| -3\n",
    "joshua": "0 ||| a b ||| tm_pt_0=-1 lm_0=-2 ||| -7.25\n0 ||| a ||| tm_pt_0=-2 lm_0=-1 ||| -3\n",
    "travatar": "0 ||| a b ||| -7.25 ||| lm=-2 w=2\n0 ||| a ||| -3 ||| lm=-1 w=1\n",
    "marian": "0 ||| a b ||| 0-0 1-1 ||| F0= -2.5 ||| -7.25\n0 ||| a ||| 0-0 ||| F0= -1 ||| -3\n",
}


@pytest.mark.parametrize("name", TOTALS)
def test_the_scores_of_decoders_are_kept(cli: Run, make: Make, name: str) -> None:
    lists = make("lists", TOTALS[name])
    given = ("convert", "--candidates", lists)
    (line,) = cli(*given, "--to", "jsonl").lines()
    assert [c["score"] for c in json.loads(line)["candidates"]] == [-7.25, -3.0]
    groups = make("groups.jsonl", line + "\n")
    if name != "marian":
        again = cli("convert", "--candidates", groups, "--to", name).lines()
        at = 2 if name == "travatar" else 3
        assert [float(line.split(" ||| ")[at]) for line in again] == [-7.25, -3.0]


def test_there_is_no_score_where_none_is_known(cli: Run, make: Make) -> None:
    table = make("t.csv", "id,text,lm\n0,a,1\n")
    (line,) = cli("convert", "--candidates", table, "--to", "jsonl").lines()
    assert json.loads(line)["candidates"] == [{"text": "a", "features": {"lm": 1.0}}]
    assert cli("convert", "--candidates", table, "--to", "moses").lines() == ["0 ||| a ||| lm= 1"]
    lists = make("lists", "0 ||| a ||| lm= 1 ||| -2\n0 ||| b ||| lm= 2\n")
    (line,) = cli("convert", "--candidates", lists, "--to", "jsonl").lines()
    assert ["score" in c for c in json.loads(line)["candidates"]] == [True, False]
    (line,) = cli(
        "convert", "--candidates", lists, "--to", "jsonl", "--weights", make("w", "lm= 3\n")
    ).lines()
    assert [c["score"] for c in json.loads(line)["candidates"]] == [3.0, 6.0]
