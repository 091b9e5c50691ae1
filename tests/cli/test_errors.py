"""Bad input: one line that names the place and the remedy, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import LISTS, PREFIX, REFERENCES, Run, files_below, python

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]

#: More than the four megabytes that are read at a time, so that a later block is concerned too.
LATE = 5000
LONG = "0 ||| " + "word " * 200 + "||| f= 1 g= 2 ||| 0\n"
assert LATE * len(LONG) > 4 << 20


@pytest.fixture(params=["tune", "rerank", "evaluate"])
def reading(
    request: pytest.FixtureRequest, refused: Refused, refs: Path, weights: Path, make: Make
) -> Refused:
    """Have candidates refused by each of the commands that read some."""
    command = request.param
    existing = make("existing.json", "as it was")

    def run(*candidates: object, references: object = refs, **where: Any) -> str:
        arguments: list[object] = [command]
        for path in candidates:
            arguments += ["--candidates", path]
        if command != "rerank":
            arguments += ["--references", references]
        if command != "tune":
            arguments += ["--weights", weights]
        if command != "evaluate":
            arguments += ["--out", existing]
        return refused(*arguments, **where)

    return run


@pytest.fixture
def tuning(refused: Refused, lists: Path, refs: Path, make: Make) -> Refused:
    """Have ``tune`` refuse something beside good lists and references."""
    existing = make("existing.json", "as it was")

    def run(*arguments: object, **where: Any) -> str:
        good = ["--candidates", lists, "--references", refs, "--restarts", 0, "--out", existing]
        return refused("tune", *good, *arguments, **where)

    return run


@pytest.fixture(params=["references", "hypotheses", "start", "weights"])
def other(
    request: pytest.FixtureRequest, refused: Refused, lists: Path, refs: Path, weights: Path
) -> Refused:
    """Have a file of another kind than candidates refused."""

    def run(path: object, **where: Any) -> str:
        if request.param == "references":
            return refused("tune", "--candidates", lists, "--references", path, **where)
        if request.param == "hypotheses":
            return refused("evaluate", "--hypotheses", path, "--references", refs, **where)
        if request.param == "start":
            arguments = ["--candidates", lists, "--references", refs, "--start", path]
            return refused("tune", *arguments, **where)
        return refused("rerank", "--candidates", lists, "--weights", path, **where)

    return run


# Compressed files


@pytest.mark.parametrize("cut", [3, 10, 40, -9, -8, -4, -1])
def test_truncated_gzip(reading: Refused, make: Make, cut: int) -> None:
    path = make("bad.gz", gzip.compress(LISTS.encode())[:cut])
    assert "trunc" in reading(path, file=path)


def test_truncated_second_member(reading: Refused, make: Make) -> None:
    whole = gzip.compress(LISTS.encode())
    path = make("bad.gz", whole + whole[:-5])
    assert "trunc" in reading(path, file=path)


@pytest.mark.parametrize("at", [2, 30, 60, -8, -1])
def test_damaged_gzip(reading: Refused, make: Make, at: int) -> None:
    content = bytearray(gzip.compress(LISTS.encode()))
    content[at] ^= 0x55
    path = make("bad.gz", bytes(content))
    assert "damaged" in reading(path, file=path)


def test_garbage_after_gzip(reading: Refused, make: Make) -> None:
    path = make("bad.gz", gzip.compress(LISTS.encode()) + b"garbage")
    assert "damaged" in reading(path, file=path)


def test_other_truncated_gzip(other: Refused, make: Make) -> None:
    path = make("bad.gz", gzip.compress(b"f= 1\ng= 2\n")[:-6])
    assert "trunc" in other(path, file=path)


def test_truncated_gzip_beyond_the_first_block(reading: Refused, make: Make) -> None:
    path = make("bad.gz", gzip.compress(LONG.encode() * LATE, 1)[:-20])
    assert "trunc" in reading(path, file=path)


@pytest.mark.long
def test_expansion_has_a_limit(refused: Refused, weights: Path, make: Make) -> None:
    path = make("bomb.gz", gzip.compress(b"0 ||| a ||| f= 1\n" + b"\n" * (70 << 20), 9))
    said = refused("rerank", "--candidates", path, "--weights", weights, file=path)
    assert "expands" in said


# Lines of Moses lists

BAD_LINES = {
    "too many values": ("0 ||| a ||| f= 1 2 g= 2 ||| 0", "'f'"),
    "too few values": ("0 ||| a ||| f= g= 2 ||| 0", "'f'"),
    "no value at the end": ("0 ||| a ||| f= 1 g=", "'g'"),
    "nan": ("0 ||| a ||| f= nan g= 2 ||| 0", "nan"),
    "NaN with sign": ("0 ||| a ||| f= 1 g= -NaN ||| 0", "-NaN"),
    "inf": ("0 ||| a ||| f= inf g= 2 ||| 0", "inf"),
    "-Infinity": ("0 ||| a ||| f= -Infinity g= 2 ||| 0", "-Infinity"),
    "too large": ("0 ||| a ||| f= 1e999 g= 2 ||| 0", "1e999"),
    "too small": ("0 ||| a ||| f= 1 g=-1e999", "-1e999"),
    "four hundred digits": (f"0 ||| a ||| f= {'9' * 400} g= 2 ||| 0", "999"),
    "word": ("0 ||| a ||| f= one g= 2 ||| 0", "'one'"),
    "underscore": ("0 ||| a ||| f= 1_0 g= 2 ||| 0", "'1_0'"),
    "hexadecimal": ("0 ||| a ||| f= 0x1 g= 2 ||| 0", "'0x1'"),
    "comma": ("0 ||| a ||| f= 0,5 g= 2 ||| 0", "'0,5'"),
    "half an exponent": ("0 ||| a ||| f= 1e g= 2 ||| 0", "'1e'"),
    "two points": ("0 ||| a ||| f= 1.2.3 g= 2 ||| 0", "'1.2.3'"),
    "sign alone": ("0 ||| a ||| f= - g= 2 ||| 0", "'-'"),
    "other digits": ("0 ||| a ||| f= ١ g= 2 ||| 0", "'١'"),
    "value before any name": ("0 ||| a ||| 1 f= 1 g= 2 ||| 0", "'1'"),
    "value without a name": ("0 ||| a ||| f= 1 =2 ||| 0", "'=2'"),
    "given twice": ("0 ||| a ||| f= 1 g= 2 f= 1 ||| 0", "'f'"),
    "id a word": ("one ||| a ||| f= 1 g= 2 ||| 0", "'one'"),
    "id negative": ("-1 ||| a ||| f= 1 g= 2 ||| 0", "'-1'"),
    "id a fraction": ("0.5 ||| a ||| f= 1 g= 2 ||| 0", "'0.5'"),
    "id missing": ("||| a ||| f= 1 g= 2 ||| 0", "'|||'"),
    "id too long": (f"{'1' * 30} ||| a ||| f= 1 g= 2 ||| 0", "111"),
    "one field": ("0", "field"),
    "two fields": ("0 ||| a", "field"),
    "words alone": ("0 a b c", "field"),
}


@pytest.mark.parametrize(("line", "mention"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_line(reading: Refused, make: Make, line: str, mention: str) -> None:
    good = LISTS.splitlines()
    # An empty line counts as a line, too.
    path = make("bad.nbest", "\n".join([*good[:2], "", line, *good[2:]]) + "\n")
    assert mention in reading(path, file=path, line=4)


@pytest.mark.parametrize("case", ["too many values", "nan", "id a word", "given twice"])
def test_bad_last_line_without_an_end(reading: Refused, make: Make, case: str) -> None:
    path = make("bad.nbest", LISTS + BAD_LINES[case][0])
    assert BAD_LINES[case][1] in reading(path, file=path, line=5)


def test_windows_line_ends_are_counted_once(reading: Refused, make: Make) -> None:
    path = make("bad.nbest", (LISTS + "0 ||| a ||| f= nan g= 2\n").replace("\n", "\r\n"))
    assert "nan" in reading(path, file=path, line=5)


def test_the_first_of_two_bad_lines_is_named(reading: Refused, make: Make) -> None:
    width, number = BAD_LINES["too many values"][0], BAD_LINES["word"][0]
    path = make("bad.nbest", f"{LISTS}{width}\n{number}\n")
    assert "'f'" in reading(path, file=path, line=5)
    path = make("bad.nbest", f"{LISTS}{number}\n{width}\n")
    assert "'one'" in reading(path, file=path, line=5)


@pytest.mark.parametrize("case", ["too many values", "nan", "id a word", "two fields"])
@pytest.mark.parametrize("compressed", [False, True])
def test_bad_line_beyond_the_first_block(
    refused: Refused, weights: Path, make: Make, case: str, compressed: bool
) -> None:
    line, mention = BAD_LINES[case]
    content = (LONG * LATE + line + "\n" + LONG).encode()
    path = make("bad.nbest", gzip.compress(content, 1) if compressed else content)
    arguments = ["--candidates", path, "--weights", weights]
    assert mention in refused("rerank", *arguments, file=path, line=LATE + 1)


def test_the_file_of_several_is_named(reading: Refused, lists: Path, make: Make) -> None:
    path = make("bad.nbest", LISTS + BAD_LINES["word"][0] + "\n")
    assert "'one'" in reading(lists, path, file=path, line=5)


def test_number_of_values_differs_between_files(reading: Refused, lists: Path, make: Make) -> None:
    path = make("bad.nbest", "0 ||| a ||| f= 1 5 g= 2 ||| 0\n")
    assert "'f'" in reading(lists, path, file=path)


@pytest.mark.parametrize("content", ["hello\n", "one ||| a ||| f= 1\n", "[]\n"])
def test_format_not_recognised(reading: Refused, make: Make, content: str) -> None:
    path = make("bad.nbest", content)
    said = reading(path, file=path, line=1)
    assert "--format" in said
    assert "moses" in said
    assert "jsonl" in said


def test_no_features(refused: Refused, refs: Path, make: Make) -> None:
    path = make("bad.nbest", "0 ||| a b ||| ||| 0\n1 ||| k l ||| ||| 0\n")
    assert "feature" in refused("tune", "--candidates", path, "--references", refs)


# References


def test_id_without_a_reference(refused: Refused, refs: Path, make: Make) -> None:
    path = make("bad.nbest", LISTS + "7 ||| a ||| f= 1 g= 2 ||| 0\n")
    said = refused("tune", "--candidates", path, "--references", refs, file=refs)
    assert "7" in said


@pytest.mark.parametrize("command", ["tune", "evaluate"])
def test_fewer_references_than_sentences(
    refused: Refused, lists: Path, weights: Path, make: Make, command: str
) -> None:
    short = make("short", REFERENCES.splitlines()[0] + "\n")
    arguments = ["--candidates", lists, "--references", short]
    if command == "evaluate":
        arguments += ["--weights", weights]
    refused(command, *arguments, file=short)


def test_second_references_are_fewer(refused: Refused, lists: Path, refs: Path, make: Make) -> None:
    short = make("short", "a\n")
    arguments = ["--candidates", lists, "--references", refs, "--references", short]
    refused("tune", *arguments, file=short)


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_references_than_hypotheses(
    refused: Refused, make: Make, count: int
) -> None:
    hypotheses = make("hypotheses", "a\nb\n")
    references = make("references", "a\n" * count)
    arguments = ["--hypotheses", hypotheses, "--references", references]
    said = refused("evaluate", *arguments, file=references)
    assert str(count) in said


@pytest.mark.parametrize("command", ["tune", "evaluate"])
def test_no_references(refused: Refused, lists: Path, weights: Path, command: str) -> None:
    arguments = ["--candidates", lists]
    if command == "evaluate":
        arguments += ["--weights", weights]
    assert "--references" in refused(command, *arguments)


def test_no_references_of_the_dev_set(tuning: Refused, lists: Path) -> None:
    assert "--dev-references" in tuning("--dev-candidates", lists)


def test_negative_id_has_no_reference(
    refused: Refused, refs: Path, weights: Path, make: Make
) -> None:
    group = {"id": -1, "candidates": [{"text": "k l m n", "features": {"f": 1, "g": 0}}]}
    path = make("bad.jsonl", json.dumps(group))
    arguments = ["--candidates", path, "--references", refs, "--weights", weights]
    assert "-1" in refused("evaluate", *arguments)


# Files that are empty, missing or none


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "gzip"])
def test_empty_file(reading: Refused, make: Make, content: bytes) -> None:
    path = make("empty", content)
    assert "empty" in reading(path, file=path)


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "gzip"])
def test_other_empty_file(other: Refused, make: Make, content: bytes) -> None:
    path = make("empty", content)
    assert "empty" in other(path, file=path)


@pytest.mark.parametrize("content", ["\n", "\n\n\n", " \t\n\r\n"])
def test_only_blank_lines(reading: Refused, make: Make, content: str) -> None:
    path = make("blank", content)
    assert str(path) in reading(path)


@pytest.mark.parametrize("name", ["moses", "jsonl"])
def test_only_blank_lines_in_a_named_format(
    refused: Refused, weights: Path, make: Make, name: str
) -> None:
    path = make("blank", "\n\n")
    arguments = ["--candidates", path, "--weights", weights, "--format", name]
    refused("rerank", *arguments, file=path)


def test_second_file_is_empty(reading: Refused, lists: Path, make: Make) -> None:
    path = make("empty", "")
    assert "empty" in reading(lists, path, file=path)


@pytest.mark.long
def test_missing_file(reading: Refused, tmp_path: Path) -> None:
    path = tmp_path / "missing"
    assert "no such file" in reading(path, file=path)


def test_other_missing_file(other: Refused, tmp_path: Path) -> None:
    path = tmp_path / "missing"
    assert "no such file" in other(path, file=path)


def test_folder_as_file(reading: Refused, tmp_path: Path) -> None:
    assert "directory" in reading(tmp_path, file=tmp_path)


def test_other_folder_as_file(other: Refused, tmp_path: Path) -> None:
    assert "directory" in other(tmp_path, file=tmp_path)


def test_line_end_in_a_file_name(refused: Refused, tmp_path: Path, weights: Path) -> None:
    refused("rerank", "--candidates", tmp_path / "a\nb", "--weights", weights)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc")
def test_file_that_opens_but_cannot_be_read(refused: Refused, weights: Path) -> None:
    path = "/proc/self/mem"
    refused("rerank", "--candidates", path, "--weights", weights, file=path)


# UTF-8

NOT_UTF8 = {
    "latin-1": b"M\xfcller",
    "half a character": b"\xe2\x82 x",
    "overlong": b"\xc0\xaf",
    "surrogate": b"\xed\xa0\x80",
    "beyond Unicode": b"\xf4\x90\x80\x80",
    "not a first byte": b"\x80",
}


@pytest.mark.parametrize("bad", NOT_UTF8.values(), ids=NOT_UTF8)
def test_invalid_utf8(reading: Refused, make: Make, bad: bytes) -> None:
    path = make("bad.nbest", LISTS.encode() + b"0 ||| a " + bad + b" ||| f= 1 g= 2 ||| 0\n")
    assert "UTF-8" in reading(path, file=path, line=5)


@pytest.mark.parametrize(
    "line",
    [
        b"0 ||| a ||| f= 1 g= 2 \xff= 1 ||| 0",
        b"0 ||| a ||| f= 1 g= 2 ||| 0 ||| \xff",
        b"0 ||| a ||| f= 1 g= 2 ||| 0 \xe2\x82",
    ],
    ids=["feature name", "after the score", "last bytes"],
)
def test_invalid_utf8_outside_the_text(reading: Refused, make: Make, line: bytes) -> None:
    path = make("bad.nbest", LISTS.encode() + line)
    assert "UTF-8" in reading(path, file=path, line=5)


def test_other_invalid_utf8(other: Refused, make: Make) -> None:
    path = make("bad", b"f= 1\ng= 2\n# \xff\n")
    assert "UTF-8" in other(path, file=path, line=3)


@pytest.mark.parametrize("compressed", [False, True])
def test_invalid_utf8_beyond_the_first_block(
    refused: Refused, weights: Path, make: Make, compressed: bool
) -> None:
    # Characters of two bytes everywhere: some lie across the borders of what is read.
    long = LONG.replace("word", "wörd").encode()
    content = long * LATE + b"0 ||| \xff ||| f= 1 g= 2 ||| 0\n" + long
    path = make("bad.nbest", gzip.compress(content, 1) if compressed else content)
    arguments = ["--candidates", path, "--weights", weights]
    assert "UTF-8" in refused("rerank", *arguments, file=path, line=LATE + 1)


def test_invalid_utf8_beyond_the_first_block_of_references(
    refused: Refused, lists: Path, make: Make
) -> None:
    path = make("bad", b"w\xc3\xb6rd " * 800_000 + b"\nk l m n\n\xff\n")
    arguments = ["--candidates", lists, "--references", path]
    assert "UTF-8" in refused("tune", *arguments, file=path, line=3)


def test_invalid_utf8_beyond_the_first_block_of_json_lines(
    refused: Refused, weights: Path, make: Make
) -> None:
    text = "wörd " * 300_000
    candidate = {"text": text, "features": {"f": 1, "g": 2}}
    line = json.dumps({"id": 0, "candidates": [candidate]}, ensure_ascii=False).encode() + b"\n"
    path = make("bad.jsonl", line * 4 + line[:30] + b"\xff" + line[30:])
    arguments = ["--candidates", path, "--weights", weights]
    assert "UTF-8" in refused("rerank", *arguments, file=path, line=5)


# Names of features


def test_no_name_shared(tuning: Refused, make: Make) -> None:
    start = make("start", "F= 1\nG= 1\n")
    said = tuning("--start", start)
    assert "F" in said
    assert "f" in said
    assert str(start) in said, "the file is not named"


@pytest.mark.parametrize("command", ["rerank", "evaluate"])
def test_no_name_shared_with_weights(
    refused: Refused, lists: Path, refs: Path, make: Make, command: str
) -> None:
    held = make("held.json", '{"other": 1}')
    arguments = ["--candidates", lists, "--weights", held]
    if command == "evaluate":
        arguments += ["--references", refs]
    said = refused(command, *arguments)
    assert "other" in said
    assert str(held) in said, "the file is not named"


@pytest.mark.parametrize(
    ("content", "name"),
    [('{"f": 1}', "g"), ('{"f": 1, "g": 1, "extra": 0}', "extra")],
    ids=["feature without weight", "weight without feature"],
)
def test_strict(tuning: Refused, make: Make, content: str, name: str) -> None:
    start = make("start.json", content)
    said = tuning("--start", start, "--strict")
    assert name in said.replace(str(start), "")
    assert str(start) in said, "the file is not named"


# Names of everything else


UNKNOWN = [
    (["--metric", "belu"], "belu", "bleu"),
    (["--metric", "bleu:smoothin=floor"], "smoothin", "smoothing"),
    (["--metric", "bleu:smoothing=flor"], "flor", "floor"),
    (["--metric", "bleu:reference-length=closet"], "closet", "closest"),
    (["--metric", "bleu:tokenize=13b"], "13b", "13a"),
    (["--tuner", "mret"], "mret", "mert"),
    (["--tuner=mret"], "mret", "mert"),
    (["--directions", "powel"], "powel", "powell"),
    (["--begin", "neer"], "neer", "near"),
    (["--format", "mozes"], "mozes", "moses"),
    (["--restrats", "3"], "--restrats", "--restarts"),
    (["--candidate", "x"], "--candidate", "--candidates"),
    (["--jsn"], "--jsn", "--json"),
]


@pytest.mark.parametrize(
    ("arguments", "wrong", "nearest"), UNKNOWN, ids=[" ".join(case[0]) for case in UNKNOWN]
)
def test_unknown_name(tuning: Refused, arguments: list[str], wrong: str, nearest: str) -> None:
    said = tuning(*arguments)
    assert wrong in said
    assert re.search(rf"(?<![\w-]){nearest}(?![\w-])", said)


def test_unknown_command(refused: Refused) -> None:
    said = refused("tun", "--candidates", "x")
    assert "'tun'" in said
    assert "tune" in said.replace("'tun'", "")


def test_unknown_kind(refused: Refused) -> None:
    said = refused("list", "metric")
    assert "metrics" in said


def test_far_from_every_name_shows_all(tuning: Refused) -> None:
    said = tuning("--directions", "xyzzy")
    assert all(name in said for name in ("coordinate", "powell", "random"))


@pytest.mark.skipif(importlib.util.find_spec("MeCab") is not None, reason="MeCab is installed")
def test_tokenizer_that_is_not_installed(tuning: Refused) -> None:
    assert "pip install" in tuning("--metric", "bleu:tokenize=ja-mecab")


# Options


BAD_VALUES = [
    (["--seed", "-1"], "-1"),
    (["--seed", "one"], "--seed"),
    (["--seed", "1.5"], "--seed"),
    (["--restarts", "-1"], "-1"),
    (["--restarts", "many"], "many"),
    (["--restarts", "1.5"], "1.5"),
    (["--walks", "-2"], "-2"),
    (["--threads", "0"], "0"),
    (["--threads", "-3"], "-3"),
    (["--threads", "two"], "--threads"),
    (["--metric", "bleu:order=0"], "0"),
    (["--metric", "bleu:order=four"], "four"),
    (["--metric", "bleu:lowercase=yes"], "yes"),
    (["--metric", "bleu:order"], "order"),
    (["--metric", "bleu:smoothing=add-k,smoothing-value=nan"], "nan"),
    (["--metric", "bleu:smoothing=add-k,smoothing-value=inf"], "inf"),
    (["--metric", ""], "metric"),
    (["--start"], "--start"),
    (["surplus"], "surplus"),
    (["--dev-references", "x"], "--dev-candidates"),
]


@pytest.mark.parametrize(
    ("arguments", "mention"), BAD_VALUES, ids=[" ".join(case[0]) for case in BAD_VALUES]
)
def test_bad_value(tuning: Refused, arguments: list[str], mention: str) -> None:
    assert mention in tuning(*arguments)


LACKING = [
    (["tune"], "--candidates"),
    (["rerank", "--weights", "w"], "--candidates"),
    (["rerank", "--candidates", "c"], "--weights"),
    (["evaluate", "--references", "r"], "--hypotheses"),
    (["evaluate", "--references", "r", "--candidates", "c"], "--weights"),
    (["evaluate", "--references", "r", "--weights", "w"], "--candidates"),
    (["evaluate", "--references", "r", "--hypotheses", "h", "--candidates", "c"], "either"),
    (["evaluate", "--references", "r", "--hypotheses", "h", "--weights", "w"], "--weights"),
    (["evaluate", "--hypotheses", "h", "--bogus"], "--bogus"),
    (["--bogus"], "--bogus"),
    (["doctor", "--bogus"], "--bogus"),
    (["demo", "--seed", "x"], "--seed"),
    (["demo", "--seed", "-1"], "-1"),
]


@pytest.mark.parametrize(
    ("arguments", "mention"), LACKING, ids=[" ".join(case[0]) for case in LACKING]
)
def test_options_that_lack_or_do_not_fit(
    refused: Refused,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    mention: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mention in refused(*arguments)


@pytest.mark.parametrize("twice", ["--candidates", "--references", "--start", "--dev-candidates"])
def test_standard_input_twice(
    refused: Refused, lists: Path, refs: Path, weights: Path, twice: str
) -> None:
    held = {"--candidates": lists, "--references": refs, "--start": weights}
    arguments = [part for pair in held.items() for part in pair]
    other_one = "--references" if twice == "--candidates" else "--candidates"
    arguments += [twice, "-", other_one, "-"]
    said = refused("tune", *arguments, stdin=LISTS.encode())
    assert "standard input" in said
    assert "empty" not in said, "it was read, and nothing was left for the second"


@pytest.mark.parametrize(
    "arguments",
    [
        ["rerank", "--candidates", "-", "--weights", "-"],
        ["evaluate", "--hypotheses", "-", "--references", "-"],
        ["evaluate", "--candidates", "-", "--candidates", "-", "--weights", "w"],
    ],
)
def test_standard_input_twice_elsewhere(refused: Refused, arguments: list[str]) -> None:
    said = refused(*arguments, stdin=b"a\n")
    assert "standard input" in said
    assert "empty" not in said, "it was read, and nothing was left for the second"


def test_error_in_standard_input(refused: Refused, weights: Path) -> None:
    bad = (LISTS + "0 ||| a ||| f= nan g= 1 ||| 0\n").encode()
    arguments = ["--candidates", "-", "--weights", weights]
    assert "nan" in refused("rerank", *arguments, stdin=bad, file="standard input", line=5)


# Output


@pytest.fixture(params=["tune", "rerank"])
def writing(
    request: pytest.FixtureRequest, refused: Refused, lists: Path, refs: Path, weights: Path
) -> Refused:
    """Have an output path refused."""

    def run(out: object, **where: Any) -> str:
        if request.param == "tune":
            arguments = ["--candidates", lists, "--references", refs, "--restarts", 0]
        else:
            arguments = ["--candidates", lists, "--weights", weights]
        return refused(request.param, *arguments, "--out", out, **where)

    return run


def test_output_folder_is_missing(writing: Refused, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "out.json"
    assert "exist" in writing(path, file=path)


def test_output_is_a_folder(writing: Refused, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder"
    assert "folder" in writing(path, file=path)


def test_output_with_a_slash(writing: Refused, tmp_path: Path) -> None:
    path = tmp_path / "new"
    assert "this is a folder; name a file" in writing(f"{path}/", file=path)


@pytest.mark.parametrize("which", ["lists", "refs"])
def test_output_is_read_too(refused: Refused, lists: Path, refs: Path, which: str) -> None:
    out = {"lists": lists, "refs": refs}[which]
    said = refused("tune", "--candidates", lists, "--references", refs, "--out", out)
    assert said == f"--out {out} is read too, and would be lost; name another one"


def test_output_below_a_file(writing: Refused, lists: Path) -> None:
    path = lists / "out.json"
    writing(path, file=path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_is_full(writing: Refused) -> None:
    assert "space" in writing("/dev/full", file="/dev/full")


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["list", "tuners"], ["--help"]])
def test_standard_output_is_full(arguments: list[str], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        found = python(
            *("-m", "tunesmith", *arguments),
            capture_output=False,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONDEVMODE": "1"},
        )
    assert found.returncode == 2
    assert found.stderr == (
        f"{PREFIX}standard output: no space left on device; send it where it can be written\n"
    )


def test_the_end_of_a_file_is_no_interruption(
    cli: Run, lists: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise EOFError("no data left")

    monkeypatch.setattr("tunesmith.cli.rerank.read_candidates", ended)
    found = cli("rerank", "--candidates", lists, "--weights", weights)
    assert found.code == 1
    assert found.err.startswith(
        "tunesmith: internal error: EOFError: no data left; please report it"
    )


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_output_without_permission(writing: Refused, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    path = folder / "out.json"
    assert "permission" in writing(path, file=path)


def test_result_cannot_be_put_in_place(
    writing: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    path.write_text("as it was")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "space" in writing(path, file=path)


def test_demo_folder_is_a_file(refused: Refused, lists: Path) -> None:
    refused("demo", "--out", lists, file=lists)


def test_demo_result_is_a_folder(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "weights.json").mkdir()
    found = cli("demo", "--out", tmp_path)
    assert found.code == 2, found.err
    assert found.err.startswith(f"{PREFIX}{tmp_path / 'weights.json'}: ")
    assert list(files_below(tmp_path)) == ["weights.json"]


# JSON lines

GROUP = {
    "id": 0,
    "references": ["a b"],
    "candidates": [
        {"text": "a b", "features": {"f": 1, "g": 1}},
        {"text": "a", "features": {"f": 0, "g": 2}},
    ],
}


def candidate(**fields: Any) -> dict[str, Any]:
    """Return a second group with one candidate that is changed."""
    entry = {"text": "a", "features": {"f": 1, "g": 1}, **fields}
    return {"id": 1, "references": ["a"], "candidates": [entry]}


BAD_GROUPS: dict[str, tuple[object, str]] = {
    "not JSON": ('{"id": 1,', "JSON"),
    "bare word": ("hello", "JSON"),
    "two objects": ('{"id": 1} {"id": 2}', "JSON"),
    "a list": ("[1, 2]", "object"),
    "a number": ("7", "object"),
    "nested without end": ('{"id": 1, "candidates": ' + "[" * 100_000, "JSON"),
    "no id": ({"candidates": GROUP["candidates"]}, "id"),
    "id null": ({"id": None, "candidates": GROUP["candidates"]}, "id"),
    "id a fraction": ({"id": 1.5, "candidates": GROUP["candidates"]}, "id"),
    "id true": ({"id": True, "candidates": GROUP["candidates"]}, "id"),
    "candidates missing": ({"id": 1}, "candidates"),
    "candidates null": ({"id": 1, "candidates": None}, "candidates"),
    "candidates an object": ({"id": 1, "candidates": {}}, "candidates"),
    "candidates texts": ({"id": 1, "candidates": ["a"]}, "candidates"),
    "candidates none": ({"id": 1, "references": ["a"], "candidates": []}, "candidates"),
    "features missing": (
        {"id": 1, "references": ["a"], "candidates": [{"text": "a"}]},
        "features",
    ),
    "features a list": (candidate(features=[1, 2]), "features"),
    "feature NaN": (candidate(features={"f": float("nan"), "g": 1}), "'f'"),
    "feature infinite": (candidate(features={"f": 1, "g": float("-inf")}), "'g'"),
    "feature too large": (
        json.dumps(candidate(features={"f": 1, "g": 77})).replace("77", "1e999"),
        "'g'",
    ),
    "feature a whole number too large": (candidate(features={"f": 10**400, "g": 1}), "'f'"),
    "feature a text": (candidate(features={"f": "1", "g": 1}), "'f'"),
    "feature null": (candidate(features={"f": None, "g": 1}), "'f'"),
    "feature true": (candidate(features={"f": True, "g": 1}), "'f'"),
    "feature's name half a surrogate pair": (candidate(features={"f": 1, "\ud800": 1}), ""),
    "text a number": (candidate(text=1), "text"),
    "text null": (candidate(text=None), "text"),
    "text half a surrogate pair": (candidate(text="\ud800"), "text"),
    "references a text": ({**candidate(), "references": "a"}, "references"),
    "references numbers": ({**candidate(), "references": [1]}, "references"),
    "references none": ({**candidate(), "references": []}, "references"),
    "references other than before": ({**GROUP, "references": ["other"]}, "references"),
    "metrics differ": (
        {
            "id": 1,
            "references": ["a"],
            "candidates": [
                {"text": "a", "features": {"f": 1, "g": 1}, "metrics": {"comet": 0.5}},
                {"text": "b", "features": {"f": 1, "g": 1}, "metrics": {"ter": 0.5}},
            ],
        },
        "metrics",
    ),
    "metric NaN": (candidate(metrics={"comet": float("nan")}), "comet"),
    "metric a text": (candidate(metrics={"comet": "high"}), "comet"),
    "metric of a whole number too large": (candidate(metrics={"comet": 10**400}), "comet"),
    "metrics a list": (candidate(metrics=[0.5]), "metrics"),
}


@pytest.mark.parametrize(("bad", "mention"), BAD_GROUPS.values(), ids=BAD_GROUPS)
def test_bad_group(tuning: Refused, make: Make, bad: object, mention: str) -> None:
    text = bad if isinstance(bad, str) else json.dumps(bad)
    path = make("bad.jsonl", f"{json.dumps(GROUP)}\n\n{text}\n")
    # Used as the development set, so that `tuning` has its own good lists and an output.
    said = tuning("--dev-candidates", path, file=path, line=3)
    assert mention in said.replace(str(path), "")


def test_references_of_some_groups_alone(tuning: Refused, make: Make) -> None:
    without = {key: value for key, value in candidate().items() if key != "references"}
    path = make("bad.jsonl", f"{json.dumps(GROUP)}\n{json.dumps(without)}\n")
    said = tuning("--dev-candidates", path)
    assert "references" in said
    assert str(path) in said, "the file is not named"


def test_metrics_of_some_groups_alone(tuning: Refused, make: Make) -> None:
    scored = candidate(metrics={"comet": 0.5})
    path = make("bad.jsonl", f"{json.dumps(GROUP)}\n{json.dumps(scored)}\n")
    said = tuning("--dev-candidates", path)
    assert "comet" in said
    assert str(path) in said, "the file is not named"


def test_text_id_and_references_by_line(
    refused: Refused, refs: Path, weights: Path, make: Make
) -> None:
    path = make("named.jsonl", json.dumps({**candidate(), "id": "first"}))
    arguments = ["--candidates", path, "--references", refs, "--weights", weights]
    assert "first" in refused("evaluate", *arguments)


def test_json_lines_read_as_moses(refused: Refused, weights: Path, make: Make) -> None:
    path = make("groups.jsonl", json.dumps(GROUP) + "\n")
    arguments = ["--candidates", path, "--weights", weights, "--format", "moses"]
    refused("rerank", *arguments, file=path, line=1)


def test_moses_read_as_json_lines(refused: Refused, lists: Path, weights: Path) -> None:
    arguments = ["--candidates", lists, "--weights", weights, "--format", "jsonl"]
    refused("rerank", *arguments, file=lists, line=1)


# Weights

BAD_WEIGHTS: dict[str, tuple[str, int | None, str]] = {
    "not JSON": ('{"f": 1,\n"g" 2}', 2, "JSON"),
    "JSON without end": ('{"f": 1', 1, "JSON"),
    "nested without end": ('{"f": ' + "[" * 100_000, None, ""),
    "weights a list": ('{"weights": [1, 2]}', None, "weights"),
    "weights null": ('{"weights": null}', None, "weights"),
    "no weights": ("{}", None, ""),
    "no weights in the object": ('{"weights": {}}', None, ""),
    "JSON text": ('{"f": "1", "g": 1}', None, "'f'"),
    "JSON null": ('{"f": null, "g": 1}', None, "'f'"),
    "JSON true": ('{"f": true, "g": 1}', None, "'f'"),
    "JSON NaN": ('{"f": 1, "g": NaN}', None, "'g'"),
    "JSON infinite": ('{"f": 1, "g": -Infinity}', None, "'g'"),
    "JSON too large": ('{"f": 1, "g": 1e999}', None, "'g'"),
    "JSON whole number too large": ('{"f": 1' + "0" * 400 + ', "g": 1}', None, "'f'"),
    "a JSON list": ("[1, 2]", 1, "json"),
    "plain text": ("hello\n", 1, "moses"),
    "Moses word": ("f= 1\ng= one\n", 2, "'one'"),
    "Moses nan": ("f= 1\n\n# note\ng= nan\n", 4, "nan"),
    "Moses too large": ("f= 1e999\ng= 1\n", 1, "1e999"),
    "Moses no value": ("f= 1\ng=\n", 2, "g"),
    "Moses no name": ("f= 1\n= 2\n", 2, "= 2"),
    "Moses no equals sign": ("f= 1\ng 2\n", 2, "g 2"),
    "only comments": ("# f= 1\n", None, ""),
    "moses.ini word": ("[input]\n0\n\n[weight]\nf= 1\ng= one\n", 6, "'one'"),
    "moses.ini inf": ("[weight]\nf= inf\ng= 1\n\n[input]\n0\n", 2, "inf"),
    "moses.ini empty section": ("[weight]\n\n[input]\n0\n", None, ""),
    "moses.ini without the section": ("[input]\n0\n", None, ""),
}


@pytest.mark.parametrize(("content", "line", "mention"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights(
    tuning: Refused, make: Make, content: str, line: int | None, mention: str
) -> None:
    path = make("bad", content)
    said = tuning("--start", path)
    assert said.startswith(f"{path}:")
    if line is not None:
        assert said.startswith(f"{path}:{line}: ")
    assert mention in said.replace(str(path), "")


def test_bad_weights_for_rerank(refused: Refused, lists: Path, make: Make) -> None:
    path = make("bad", "f= 1\ng= one\n")
    refused("rerank", "--candidates", lists, "--weights", path, file=path, line=2)


# As a program


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["rerank", "--candidates", "bad.gz", "--weights", "weights.json"], "bad.gz: "),
        (["rerank", "--candidates", "bad.nbest", "--weights", "weights.json"], "bad.nbest:2: "),
        (["tune", "--candidates", "lists", "--references", "refs", "--restrats", "2"], "restrats"),
        (["tune", "--candidates", b"\xff", "--references", "refs"], "no such file"),
    ],
    ids=["truncated", "infinite", "option", "file name not UTF-8"],
)
@pytest.mark.usefixtures("lists", "refs", "weights")
def test_program(tmp_path: Path, make: Make, arguments: list[str], mention: str) -> None:
    make("bad.gz", gzip.compress(LISTS.encode())[:-9])
    make("bad.nbest", "0 ||| a ||| f= 1 ||| 0\n0 ||| b ||| f= inf ||| 0\n")
    before = files_below(tmp_path)
    found = python("-m", "tunesmith", *map(os.fsdecode, arguments), cwd=tmp_path)
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith(PREFIX)
    assert found.stderr.count("\n") == 1
    assert mention in found.stderr
    assert files_below(tmp_path) == before


def test_debug_shows_where(cli: Run, weights: Path, make: Make) -> None:
    path = make("bad.nbest", "0 ||| a ||| f= 1 ||| 0\n0 ||| b ||| f= inf ||| 0\n")
    found = cli("rerank", "--candidates", path, "--weights", weights, "--debug")
    assert found.code == 2
    assert found.err.startswith("Traceback")
    assert found.err.splitlines()[-1].startswith(f"{PREFIX}{path}:2: ")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_file_name_that_is_not_utf8_can_be_used(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.nbest")
    (tmp_path / name).write_text(LISTS)
    (tmp_path / "refs").write_text(REFERENCES)
    arguments = ["--candidates", name, "--references", "refs", "--restarts", 0, "--json"]
    # As in most locales; C alone lets any byte out.
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    found = python("-m", "tunesmith", "tune", *arguments, cwd=tmp_path, env=strict)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["score"] == pytest.approx(100, abs=1e-9)
