"""What is wrong in a file of each format, beside its numbers, and the line that is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tests.helpers.cli.commands import REFERENCES, Run
from tests.helpers.cli.format_cases import CSV, SAMPLES, TSV
from tests.helpers.io import list_samples as samples

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]

M, C, T, V = samples.MOSES, samples.CDEC, samples.TRAVATAR, samples.UNNAMED
F, N, D, S = samples.FAIRSEQ, samples.NEMO, samples.FEATURES_DAT, samples.SCORES_DAT
K, P = samples.KALDI, samples.PARALLEL


def swap(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


#: Sample, the files that are spoilt, and the file, the line and a word of the error.
WRONG: dict[str, tuple[str, Mapping[str, str], str, int | None, str]] = {
    "moses: a feature twice": (
        "moses",
        {"list": swap(M, "sparse_x=1", "sparse_x=1 LM0= 2")},
        "list",
        3,
        "'LM0'",
    ),
    "moses: another width": ("moses", {"list": swap(M, "-1.9 -0.7", "-1.9")}, "list", 2, "'TM0'"),
    "moses: two names become one": (
        "moses",
        {"list": swap(M, "sparse_x=1", "TM0_2=1")},
        "list",
        None,
        "'TM0_2'",
    ),
    "moses: id": ("moses", {"list": swap(M, "3 |||", "-3 |||")}, "list", 3, "'-3'"),
    "moses: huge id": ("moses", {"list": swap(M, "3 |||", f"{10**18} |||")}, "list", 3, "100"),
    "moses: bars without blanks": (
        "moses",
        {"list": swap(M, " ||| this is text", "|||this is text")},
        "list",
        2,
        "0|||this",
    ),
    "moses: cut after a field": (
        "moses",
        {"list": M[: M.rindex("|||")]},
        "list",
        3,
        "truncated",
    ),
    "cdec: no text": ("cdec", {"list": swap(C, "1 ||| ja |||", "1 |||")}, "list", 3, "'-1.5'"),
    "cdec: no features": ("cdec", {"list": C + "1 ||| ja\n"}, "list", 4, "fields"),
    "travatar: no score": ("travatar", {"list": swap(T, "||| -13 ", "")}, "list", 2, "fields"),
    "joshua: values less": ("values", {"list": swap(V, "-4 0 ", "-4 ")}, "list", 3, "2 values"),
    "joshua: names and none": ("values", {"list": V + "1 ||| a ||| lm_0=1\n"}, "list", 4, "value"),
    "fairseq: sample": ("fairseq", {"list": swap(F, "S-1", "S-one")}, "list", 12, "'S-one'"),
    "fairseq: no score": ("fairseq", {"list": swap(F, "H-1\t-3\t", "H-1\t")}, "list", 17, "fields"),
    "fairseq: D- without H-": (
        "fairseq",
        {"list": swap(F, "H-4\t-0.5\tgood morning .\n", "")},
        "list",
        8,
        "two lines D-",
    ),
    "fairseq: no P-": ("fairseq", {"list": swap(F, "P-1\t-3.0000\n", "")}, "list", 17, "P-"),
    "fairseq: a damaged copy": (
        "fairseq",
        {"list": swap(F, "D-1\t-3", "D-1\t-x")},
        "list",
        18,
        "x",
    ),
    "fairseq: references of some": (
        "fairseq",
        {"list": swap(F, "T-1\tyes\n", "")},
        "list",
        13,
        "'1'",
    ),
    "fairseq: no hypotheses": ("fairseq", {"list": "S-1\ta\nT-1\tb\n"}, "list", None, "H-"),
    "kaldi: key": ("kaldi", {"words_text": "utt good\n"}, "words_text", 1, "'utt'"),
    "kaldi: key twice": (
        "kaldi",
        {"words_text": K["words_text"] + "s1-utt-b-2 yes\n"},
        "words_text",
        5,
        "twice",
    ),
    "kaldi: fewer scores": (
        "kaldi",
        {"acwt": swap(K["acwt"], "s1-utt-b-2 97.75 \n", "")},
        "words_text",
        4,
        "acwt",
    ),
    "kaldi: other candidates": ("kaldi", {"acwt": "x-1 1\n"}, "acwt", 1, "'x-1'"),
    "kaldi: no number at the start": ("kaldi", {"acwt": "s1-utt-a-1 ?\n"}, "acwt", 1, "'?'"),
    "kaldi: infinite at the start": ("kaldi", {"extra": "s1-utt-a-1 inf\n"}, "extra", 1, "inf"),
    "kaldi: an empty score file": ("kaldi", {"lmwt.rnn": ""}, "lmwt.rnn", None, "empty"),
    "kaldi: no transcript": ("kaldi", {"text": "s1-utt-a good\n"}, "text", None, "'s1-utt-b'"),
    "nemo: no tab": ("nemo", {"list": swap(N, "day\t-7", "day -7")}, "list", 3, "tab"),
    "nemo: a line less": ("nemo", {"list": swap(N, "day\t-7\n", "")}, "list", None, "5 lines"),
    "parallel: a line less": (
        "parallel",
        {"hyp.txt": swap(P["hyp.txt"], "good\n", "")},
        "hyp.txt",
        None,
        "multiple",
    ),
    "parallel: a score less": ("parallel", {"hyp.txt.lm": "1\n2\n3\n"}, "hyp.txt.lm", 3, "fewer"),
    "parallel: a score more": (
        "parallel",
        {"hyp.txt.lm": "1\n2\n3\n4\n5\n"},
        "hyp.txt.lm",
        5,
        "more",
    ),
    "parallel: two scores a line": (
        "parallel",
        {"hyp.txt.nmt": swap(P["hyp.txt.nmt"], "-0.25", "-0.25 1")},
        "hyp.txt.nmt",
        3,
        "'-0.25 1'",
    ),
    "moses-data: count": (
        "moses-data",
        {"features.dat": swap(D, "_0 0 2 4", "_0 0 3 4")},
        "features.dat",
        4,
        "fewer than 3",
    ),
    "moses-data: width": (
        "moses-data",
        {"features.dat": swap(D, "-0.75 -11.5", "-0.75")},
        "features.dat",
        3,
        "3 values",
    ),
    "moses-data: no end": (
        "moses-data",
        {"features.dat": D[: D.rindex("FEATURES_TXT_END_0")]},
        "features.dat",
        6,
        "END",
    ),
    "moses-data: other names": (
        "moses-data",
        {"features.dat": swap(D, "1 1 4 d_0 d_1", "1 1 4 d_0 x_0")},
        "features.dat",
        5,
        "other",
    ),
    "moses-data: a feature twice": (
        "moses-data",
        {"features.dat": swap(D, "sp_x=1", "sp_x=1 sp_x=2")},
        "features.dat",
        2,
        "'sp_x'",
    ),
    "moses-data: other statistics": (
        "moses-data",
        {"scores.dat": swap(S, "9 BLEU", "2 TER")},
        "scores.dat",
        1,
        "TER",
    ),
    "moses-data: statistics of fewer": (
        "moses-data",
        {"scores.dat": S[: S.rindex("SCORES_TXT_BEGIN")]},
        "features.dat",
        6,
        "0 statistics",
    ),
    "moses-data: statistics of more": (
        "moses-data",
        {"scores.dat": S + S[S.rindex("SCORES_TXT_BEGIN") :].replace("_0 1 1", "_0 7 1")},
        "scores.dat",
        9,
        "group 7",
    ),
    "csv: a cell less": ("csv", {"list": swap(CSV, "0,good,", "0,")}, "list", 3, "6 cells"),
    "csv: a cell more": ("csv", {"list": swap(CSV, "1e-3", "1e-3,1")}, "list", 3, "8 cells"),
    "csv: no id": ("csv", {"list": swap(CSV, "\n3,", "\n,")}, "list", 4, "id"),
    "csv: no column id": ("csv", {"list": swap(CSV, "id,", "ID,")}, "list", 1, "'id'"),
    "csv: a column twice": ("csv", {"list": swap(CSV, "lm,tm", "lm,lm")}, "list", 1, "'lm'"),
    "csv: a column without a name": (
        "csv",
        {"list": swap(CSV, ",tm,", ",,")},
        "list",
        1,
        "column 6",
    ),
    "csv: a metric is missing": ("csv", {"list": swap(CSV, ",0.25", ",")}, "list", 3, "comet"),
    "csv: other references": (
        "csv",
        {"list": swap(CSV, "good,guten Tag,good day", "good,guten Tag,bad")},
        "list",
        3,
        "references",
    ),
    "csv: a quote without end": ("csv", {"list": swap(CSV, 'a, b"', "a, b")}, "list", 4, "table"),
    "csv: numbers after texts": (
        "csv",
        {"list": 'id,text,f\n0,"a\nb",x\n0,c,1\n'},
        "list",
        2,  # as in files without cells of several lines
        "'f'",
    ),
    "tsv: read with commas": ("tsv", {"list": CSV}, "list", 1, "'id'"),
    "tsv: a cell less": ("tsv", {"list": swap(TSV, "0\tgood\t", "0\t")}, "list", 3, "6 cells"),
}


@pytest.mark.parametrize(("name", "files", "file", "line", "word"), WRONG.values(), ids=WRONG)
def test_wrong(
    refused: Refused,
    tmp_path: Path,
    name: str,
    files: Mapping[str, str],
    file: str,
    line: int | None,
    word: str,
) -> None:
    sample = SAMPLES[name]
    folder = sample.put(tmp_path / "bad", {**sample.files, **files})
    said = refused(
        "convert", *sample.arguments(folder), "--to", "jsonl", file=folder / file, line=line
    )
    assert word in said


@pytest.mark.parametrize(("name", "missing"), [("kaldi", "acwt"), ("moses-data", "scores.dat")])
def test_a_file_beside_it_is_missing(
    refused: Refused, tmp_path: Path, name: str, missing: str
) -> None:
    sample = SAMPLES[name]
    folder = sample.put(tmp_path / "bad", {sample.first: sample.files[sample.first]})
    option = "scores=acwt" if name == "kaldi" else "statistics=scores.dat"
    assert option.partition("=")[0] in refused(
        "convert", *sample.arguments(folder), "--to", "jsonl", file=folder / sample.first
    )
    option = f"{name}:{option}" if name == "kaldi" else f"{name}:statistics={folder / missing}"
    said = refused("convert", *sample.arguments(folder, option), "--to", "jsonl")
    assert said.startswith(f"{folder / missing}: no such file")


def test_a_damaged_score_file_beside_it(refused: Refused, tmp_path: Path) -> None:
    sample = SAMPLES["kaldi"]
    folder = sample.put(tmp_path / "bad", {**sample.files, "lmwt.rnn.gz": b"\x1f\x8b\x08 damaged"})
    (folder / "lmwt.rnn").unlink()
    refused("convert", *sample.arguments(folder), "--to", "jsonl", file=folder / "lmwt.rnn.gz")


@pytest.mark.parametrize(
    "scores", ["lm", "=f", "lm=", "", "lm=missing", "lm=hyp.txt", "lm=hyp.txt.lm"]
)
def test_scores(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: str
) -> None:
    sample = SAMPLES["parallel"]
    monkeypatch.chdir(sample.put(tmp_path / "bad"))
    arguments = ["--candidates", "hyp.txt", "--format", sample.format, "--to", "jsonl"]
    refused("convert", *arguments, "--scores", "lm=hyp.txt.lm", "--scores", scores)


@pytest.mark.parametrize("option", [["--scores", "f=scores"], ["--format", "moses"]])
def test_an_output_has_no_scores(refused: Refused, refs: Path, option: list[str]) -> None:
    arguments = ["evaluate", "--hypotheses", refs, "--references", refs]
    assert "--candidates" in refused(*arguments, *option)


def test_a_score_file_for_a_feature_that_is_there(
    refused: Refused, lists: Path, make: Make
) -> None:
    scores = make("scores", "1\n2\n3\n4\n")
    arguments = ["--candidates", lists, "--scores", f"f={scores}"]
    assert "'f'" in refused("convert", *arguments, "--to", "jsonl")


# Options of formats

OPTIONS = {
    "moses:x=1": "no options",
    "mosse": "did you mean moses",
    "moses data": "moses-data",
    "nemo": "per-source=N",
    "nemo:per-source=0": "per-source=N",
    "nemo:per-source=-3": "per-source=N",
    "nemo:per-source=three": "whole number",
    "nemo:per-source=1_0": "whole number",
    "nemo:per-source=٣": "whole number",
    "nemo:per-source=1.5": "whole number",
    "nemo:per-source=": "whole number",
    "nemo:per-source": "option=value",
    "nemo:persource=3": "did you mean per-source",
    "nemo:per-source=3,per-source=3": "twice",
    f"nemo:per-source={10**30}": "multiple",
    "fairseq:text=raw": "detokenised or tokenised",
    "kaldi:scores=": "score files",
    "list.py": "list.py:Name",
    "list.py:Name": "no such file",
}


@pytest.mark.parametrize(("form", "word"), OPTIONS.items(), ids=range(len(OPTIONS)))
def test_options(
    refused: Refused, make: Make, monkeypatch: pytest.MonkeyPatch, form: str, word: str
) -> None:
    lists = make("words-1", "a-1 x\na-2 y\n" if "kaldi" in form else "a\t1\nb\t2\nc\t3\n")
    monkeypatch.chdir(lists.parent)
    assert word in refused("convert", "--candidates", lists, "--format", form, "--to", "jsonl")


# Groups


def group(i: object, **more: Any) -> str:
    candidates = [{"text": "a", "features": {"f": 1}}, {"text": "b", "features": {"f": 2}}]
    return json.dumps({"id": i, "candidates": candidates, **more}) + "\n"


def test_one_id_as_number_and_as_text(refused: Refused, make: Make) -> None:
    lists = make("lists", group(1) + group("1"))
    said = refused("convert", "--candidates", lists, "--to", "jsonl", file=lists, line=2)
    assert "'1'" in said


def test_ids_of_both_kinds_stay_apart(cli: Run, make: Make) -> None:
    """It makes no difference which rows are read at once; a cell over two lines ends a batch."""
    table = make("lists.csv", 'id,text,f\n1,"a\nb",1\nx,c,1\n1,d,2\n')
    found = cli("convert", "--candidates", table, "--to", "jsonl")
    groups = [json.loads(line) for line in found.lines()]
    assert [(g["id"], [c["text"] for c in g["candidates"]]) for g in groups] == [
        (1, ["a\nb", "d"]),
        ("x", ["c"]),
    ]


@pytest.mark.parametrize("content", ['{"f": 1, "f": 2}', '{"g": 0, "f": 1, "f": 1}'])
def test_a_feature_twice_in_json(refused: Refused, make: Make, content: str) -> None:
    line = f'{{"id": 0, "candidates": [{{"text": "a", "features": {content}}}]}}\n'
    lists = make("lists", group(1) + line)
    assert "'f'" in refused("convert", "--candidates", lists, "--to", "jsonl", file=lists, line=2)


def test_other_numbers_of_references(cli: Run, make: Make, weights: Path) -> None:
    lists = make("lists", group(0, references=["a"]) + group(1, references=["b", "b c", "d"]))
    arguments = ["--candidates", lists, "--weights", make("w", '{"f": 1}')]
    found = cli("evaluate", *arguments, "--metric", "wer", "--json").json()
    assert found["score"] == 50  # b against a, b against the first of three
    assert found["signature"].endswith("|nrefs:1-3")


# Texts, one per line

TEXTS: dict[str, Callable[[str], str]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte-order mark": lambda text: "\ufeff" + text,
    "no final line end": lambda text: text.removesuffix("\n"),
    "blanks": lambda text: text.replace("\n", " \t\n").replace("a b", "  a   b"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "line ends of Unicode": lambda text: text.replace(" ", "\u2028").replace("k", "\x85k"),
}


@pytest.mark.parametrize("change", TEXTS.values(), ids=TEXTS)
def test_unusual_texts(
    cli: Run, make: Make, lists: Path, refs: Path, weights: Path, change: Callable[[str], str]
) -> None:
    changed = make("changed", change(REFERENCES))
    plain = make("hypotheses", "a b x d\nk l m n\n")
    usual = cli("evaluate", "--hypotheses", plain, "--references", refs, "--json").json()["score"]
    assert 0 < usual < 100
    for arguments in (
        ["--hypotheses", plain, "--references", changed],
        ["--hypotheses", make("other", change("a b x d\nk l m n\n")), "--references", refs],
    ):
        assert cli("evaluate", *arguments, "--json").json()["score"] == usual
    arguments = ["--candidates", lists, "--references", changed, "--weights", weights]
    assert cli("evaluate", *arguments, "--json").json()["score"] == pytest.approx(100, abs=1e-9)


def test_texts_whose_lines_end_in_cr_alone(
    refused: Refused, make: Make, lists: Path, refs: Path
) -> None:
    """Otherwise two such files would be one sentence each, and be scored."""
    bad = make("bad", REFERENCES.replace("\n", "\r"))
    refused("evaluate", "--hypotheses", bad, "--references", bad, file=bad, line=1)
    refused("tune", "--candidates", lists, "--references", bad, file=bad, line=1)


@pytest.mark.long
def test_ten_thousand_groups_of_one(cli: Run, make: Make) -> None:
    texts = [f"a b c d{i}" for i in range(10_000)]
    lists = make("many", "".join(f"{i} ||| {t} ||| f= {i}\n" for i, t in enumerate(texts)))
    refs = make("many.refs", "".join(f"{t}\n" for t in texts))
    arguments = ["--candidates", lists, "--references", refs, "--restarts", 0, "--json"]
    found = cli("tune", *arguments).json()
    assert found["score"] == pytest.approx(100, abs=1e-9)
    assert found["oracle_score"] == found["initial_score"] == found["score"]


# Tables of other programs


def put(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with path.open("wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


ROWS = {"id": [0, 0], "text": ["a", "b"], "f": [1.0, 2.0]}
TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "texts are lists": ({**ROWS, "text": [["a"], ["b"]]}, "'text'"),
    "texts are bytes": ({**ROWS, "text": [b"a", b"b"]}, "'text'"),
    "texts are numbers": ({**ROWS, "text": [1, 2]}, "'text'"),
    "ids are bytes": ({**ROWS, "id": [b"a", b"a"]}, "'id'"),
    "references are lists": ({**ROWS, "reference": [["a"], ["a"]]}, "'reference'"),
    "no id": ({"text": ["a"], "f": [1.0]}, "'id'"),
    "an id is missing": ({**ROWS, "id": [0, None]}, "id"),
    "an id is a fraction": ({**ROWS, "id": [0, 0.5]}, "whole"),
    "not finite": ({**ROWS, "f": [1.0, float("inf")]}, "'f'"),
    "numbers as texts": ({**ROWS, "f": ["1", "2"]}, "'f'"),
    "numbers and words": ({**ROWS, "f": ["1", "x"]}, "'x'"),
    "a metric of text": ({**ROWS, "metrics.m": ["x", "y"]}, "metrics.m"),
    "a metric is missing": ({**ROWS, "metrics.m": [1.0, None]}, "metrics.m"),
    "a column without a name": ({**ROWS, "": [1.0, 2.0]}, "name"),
    "no rows": ({"id": pa.array([], pa.int64()), "f": pa.array([], pa.float64())}, "row"),
    "no columns": ({}, ""),
}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize(("columns", "word"), TABLES.values(), ids=TABLES)
def test_tables(
    refused: Refused, tmp_path: Path, ending: str, columns: dict[str, Any], word: str
) -> None:
    path = put(pa.table(columns), tmp_path / f"table.{ending}")
    said = refused("convert", "--candidates", path, "--to", "jsonl")
    assert said.startswith(str(path))
    assert word in said


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_two_columns_of_one_name(refused: Refused, tmp_path: Path, ending: str) -> None:
    table = pa.Table.from_arrays(
        [pa.array([0]), pa.array(["a"]), pa.array([1.0]), pa.array([2.0])], ["id", "text", "f", "f"]
    )
    path = put(table, tmp_path / f"table.{ending}")
    assert "'f'" in refused("convert", "--candidates", path, "--to", "jsonl", file=path)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_the_index_of_a_frame_is_no_feature(cli: Run, tmp_path: Path, ending: str) -> None:
    name = "Unnamed: 0" if ending == "csv" else "__index_level_0__"
    table = pa.table({**ROWS, name: [7, 8]})
    path = tmp_path / f"table.{ending}"
    if ending == "csv":
        path.write_text(f"id,text,f,{name}\n0,a,1,7\n0,b,2,8\n", encoding="utf-8")
    else:
        put(table, path)
    found = cli("convert", "--candidates", path, "--to", "jsonl")
    (line,) = found.lines()
    assert [c["features"] for c in json.loads(line)["candidates"]] == [{"f": 1}, {"f": 2}]
    assert name in found.err


def test_a_frame_with_an_index(cli: Run, refused: Refused, make: Make) -> None:
    table = make("frame.csv", ",id,text,f\n0,0,a,1\n1,0,b,2\n")
    found = cli("convert", "--candidates", table, "--to", "jsonl")
    (line,) = found.lines()
    assert [c["features"] for c in json.loads(line)["candidates"]] == [{"f": 1}, {"f": 2}]
    assert "index" in found.err
    table = make("frame.csv", ",id,text,f\nx,0,a,1\ny,0,b,2\n")
    said = refused("convert", "--candidates", table, "--to", "jsonl", file=table, line=1)
    assert "index" in said


def test_csv_lines_end_as_lines_of_csv_do(cli: Run, make: Make) -> None:
    """A text may hold what Unicode calls a line end; it is white space."""
    table = make("table.csv", "id,text,f\r\n0,a\u2028b\x85c\x1cd,1\r\n0,e,2\r\n")
    (line,) = cli("convert", "--candidates", table, "--to", "jsonl").lines()
    assert [c["text"] for c in json.loads(line)["candidates"]] == ["a\u2028b\x85c\x1cd", "e"]


# Weights

WEIGHTS: dict[str, tuple[str, int | None, str]] = {
    "cdec: no value": ("f 1\ng\n", 2, "'g'"),
    "cdec: two values": ("f 1\ng 1 2\n", 2, "'g 1 2'"),
    "cdec: a word": ("f 1\ng one\n", 2, "'one'"),
    "cdec: nan": ("f 1\ng nan\n", 2, "nan"),
    "cdec: twice": ("f 1\n# f 2\nf 3\n", 3, "'f'"),
    "travatar: a word": ("f=1\ng=one\n", 2, "'one'"),
    "travatar: no value": ("f=1\ng=\n", 2, "'g='"),
    "travatar: no name": ("f=1\n=2\n", 2, "'=2'"),
    "travatar: inf": ("f=1 g=2\nh=inf\n", 2, "inf"),
    "travatar: twice": ("f=1\nf=1\n", 2, "'f'"),
    "moses: two on a line": ("f= 1\ng= 1 h= 2\n", 2, "g= 1 h= 2"),
    "moses: underscore": ("f= 1\ng= 1_0\n", 2, "'1_0'"),
    "moses: two become one": ("f= 1 2\nf_2= 3\n", None, "'f_2'"),
    "moses.ini: two sections": ("[weight]\nf= 1\n[x]\n0\n[weight]\ng= 1\n", 5, "second"),
    "an n-best list": (M, 1, "no weight"),
    "yaml: a word": ("f: 1\ng: one\n", 2, "'one'"),
    "yaml: .inf": ("f: 1\ng: .inf\n", 2, ".inf"),
    "yaml: underscore": ("f: 1\ng: 1_0\n", 2, "'1_0'"),
    "yaml: hexadecimal": ("f: 1\ng: 0x10\n", 2, "'0x10'"),
    "yaml: nothing": ("f: 1\ng:\n", 2, "''"),
    "yaml: a list": ("f: 1\ng: [1, 2]\n", 2, "'g'"),
    "yaml: twice": ("f: 1\ng: 2\nf: 3\n", 3, "'f'"),
    "yaml: a tab": ("f: 1\n\tg: 2\n", 2, "YAML"),
    "yaml: an object": ("--- !!python/object/apply:os.system ['echo']\n", 1, "mapping"),
    "json: twice": ('{"f": 1, "g": 2, "f": 3}', None, "'f'"),
    "json: half a pair": ('{"f": 1, "\\ud800": 2}', None, "surrogate"),
    "CR LF: a word": ("f 1\r\ng one\r\n", 2, "'one'"),
    "UTF-16": ("\0f\0 \0001\0\n", 1, "UTF-8"),
}


@pytest.mark.parametrize(("content", "line", "word"), WEIGHTS.values(), ids=WEIGHTS)
def test_weights(
    refused: Refused, lists: Path, make: Make, content: str, line: int | None, word: str
) -> None:
    path = make("weights", content)
    for command in (["rerank", "--candidates", lists], ["convert", "--to", "json"]):
        assert word in refused(*command, "--weights", path, file=path, line=line)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize(
    "content", ["f 1\ng -2\n", "f= 1\ng= -2\n", "f=1\ng=-2\n", "f: 1\ng: -2\n"]
)
def test_line_ends_of_weights(cli: Run, make: Make, content: str, end: str) -> None:
    path = make("weights", "\ufeff" + content.replace("\n", end))
    found = cli("convert", "--weights", path, "--to", "json")
    assert found.json()["weights"] == {"f": 1, "g": -2}


def test_nothing_of_a_file_steers_the_terminal(refused: Refused, make: Make) -> None:
    path = make("lists", "\x1b[31m0 ||| a ||| f= 1\n\x1b[2J ||| a ||| f= 1\n")
    said = refused("convert", "--candidates", path, "--format", "moses", "--to", "jsonl")
    assert "\\x1b" in said
