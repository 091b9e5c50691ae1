"""``tunesmith rerank``: the best candidates, or all of them in order."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tunesmith as ts
from tests.helpers.cli.commands import (
    Candidate,
    Run,
    by_group,
    distinct,
    model_score,
    parse_moses,
    parse_weights,
    python,
    random_lists,
)

Make = Callable[[str, str | bytes], Path]


@pytest.fixture
def rerank(cli: Run) -> Callable[..., list[str]]:
    """Rerank and return the lines."""

    def run(candidates: object, weights: object, *options: object) -> list[str]:
        several = candidates if isinstance(candidates, list) else [candidates]
        given = [part for path in several for part in ("--candidates", path)]
        return cli("rerank", *given, "--weights", weights, *options).lines()

    return run


Rerank = Callable[..., list[str]]


def bundled_candidates(bundled: Path) -> list[Candidate]:
    with gzip.open(bundled / "test.nbest.gz", "rt", encoding="utf-8") as file:
        return parse_moses(file)


def test_winners(rerank: Rerank, lists: Path, make: Make) -> None:
    assert rerank(lists, make("w", "f= -1\ng= 1\n")) == ["a b c d e", "k l m n"]
    assert rerank(lists, make("w", "f= 1\ng= 0\n")) == ["a b x d", "k l m x o"]
    # 1 + 2/4 against 2 + 1/4, and 0 + 3/4 against 1.5 + 0.5/4.
    assert rerank(lists, make("w", "f= 1\ng= 0.25\n")) == ["a b x d", "k l m x o"]
    # 1 + 4 against 2 + 2, and 0 + 6 against 1.5 + 1.
    assert rerank(lists, make("w", "f= 1\ng= 2\n")) == ["a b c d e", "k l m n"]


def test_winners_of_the_bundled_lists(rerank: Rerank, bundled: Path) -> None:
    weights = parse_weights((bundled / "weights.final").read_text())
    groups = by_group(bundled_candidates(bundled))
    found = rerank(bundled / "test.nbest.gz", bundled / "weights.final")
    assert len(found) == len(groups) == 200
    for line, group in zip(found, groups.values(), strict=True):
        scores = [model_score(c, weights) for c in group]
        # Sums may be added up in another order.
        best = [c.text for c, s in zip(group, scores, strict=True) if s > max(scores) - 1e-9]
        assert line in best


def test_sparse_features(rerank: Rerank, make: Make) -> None:
    lines, _ = random_lists(3)
    weights = {"TM0_1": 1.0, "TM0_2": 0.1, "WP0": -0.3, **{f"s_{k}": k - 4.0 for k in range(9)}}
    wanted = [
        max(group, key=lambda c: model_score(c, weights)).text
        for group in by_group(parse_moses(lines)).values()
    ]
    found = rerank(make("lists", "\n".join(lines)), make("w.json", json.dumps(weights)))
    assert found == wanted


def test_ways_to_write_a_line(rerank: Rerank, make: Make) -> None:
    lines = [
        "0 ||| low ||| f= 0 s=1",
        "0 ||| high ||| s= 1 f=1 ||| -7.5 ||| 0-0 1-1 ||| word more fields",
        "1 ||| low ||| m= 1 2 3 ||| 0",
        "1 ||| high ||| m= 1 2 3.5e0 ||| 0",
        "2 ||| low ||| s=-.5 f= -1 ||| 0",
        "2\t|||\thigh\t|||\tf= +1.\t|||\t0",
        "3 ||| only |||",
    ]
    weights = make("w.json", '{"f": 1, "s": 1, "m_1": 1, "m_2": 1, "m_3": 1}')
    found = rerank(make("lists", "\n".join(lines) + "\n"), weights)
    assert found == ["high", "high", "high", "only"]


def test_names_with_equals_signs(rerank: Rerank, make: Make) -> None:
    lines = ["0 ||| low ||| p=q= 0 ||| 0", "0 ||| high ||| p=q= 1 ||| 0"]
    assert rerank(make("lists", "\n".join(lines)), make("w.json", '{"p=q": 1}')) == ["high"]


@pytest.mark.parametrize("nbest", [False, True])
def test_ties_keep_the_order_read(rerank: Rerank, make: Make, nbest: bool) -> None:
    lines = [
        "0 ||| first ||| f= 1 g= 0",
        "0 ||| second ||| f= 0 g= 1",
        "0 ||| third ||| f= 1 g= 0",
        "0 ||| last ||| f= 0 g= 0",
        "1 ||| worse ||| f= 0 g= 0",
        "1 ||| b ||| f= 0.5 g= 0.5",
        "1 ||| a ||| f= 0 g= 1",
    ]
    options = ["--nbest"] if nbest else []
    found = rerank(make("lists", "\n".join(lines)), make("w", "f= 1\ng= 1\n"), *options)
    if nbest:
        texts = [c.text for c in parse_moses(found)]
        assert texts == ["first", "second", "third", "last", "b", "a", "worse"]
    else:
        assert found == ["first", "b"]


def test_ties_between_files(rerank: Rerank, make: Make) -> None:
    one, two = make("one", "0 ||| one ||| f= 1\n"), make("two", "0 ||| two ||| f= 1\n")
    weights = make("w", "f= 1\n")
    assert rerank([one, two], weights) == ["one"]
    assert rerank([two, one], weights) == ["two"]


def test_all_weights_0(rerank: Rerank, lists: Path, make: Make) -> None:
    assert rerank(lists, make("w", "f= 0\ng= 0\n")) == ["a b c d e", "k l m n"]


def test_groups_come_in_the_order_of_their_ids(rerank: Rerank, make: Make) -> None:
    ids = [10, 2, 700, 2, 10, 0]
    lines = [f"{i} ||| text {i} {k} ||| f= {k}" for k, i in enumerate(ids)]
    found = rerank(make("lists", "\n".join(lines)), make("w", "f= 1\n"))
    assert found == ["text 0 5", "text 2 3", "text 10 4", "text 700 2"]


def test_empty_hypotheses(rerank: Rerank, make: Make) -> None:
    lines = ["0 ||| ||| f= 1", "0 ||| a ||| f= 0", "1 |||   ||| f= 0", "2 ||| b ||| f= 0"]
    path, weights = make("lists", "\n".join(lines)), make("w", "f= 1\n")
    assert rerank(path, weights) == ["", "", "b"]
    assert [c.text for c in parse_moses(rerank(path, weights, "--nbest"))] == ["", "a", "", "b"]


def test_text_of_all_scripts(rerank: Rerank, make: Make) -> None:
    texts = ["Größe naïve", "日本語 の 文", "👍🏽 é", "| || |||| =", "a\\n <s> &amp;"]
    lines = [f"{k} ||| {text} ||| ƒ=1 ||| 0" for k, text in enumerate(texts)]
    assert rerank(make("lists", "\n".join(lines)), make("w.json", '{"ƒ": 1}')) == texts


def test_characters_across_blocks(rerank: Rerank, make: Make) -> None:
    text = "ö€😀" * 100
    lines = [f"{k} ||| x{k} {text} {text} ||| f= 1 ||| 0" for k in range(3000)]
    path = make("lists", "\n".join(lines))
    assert path.stat().st_size > 4 << 20
    found = rerank(path, make("w", "f= 1\n"))
    assert found == [f"x{k} {text} {text}" for k in range(3000)]


def test_a_line_longer_than_a_block(rerank: Rerank, make: Make) -> None:
    text = " ".join(["wörd"] * 1_000_000)
    path = make("lists", f"0 ||| a ||| f= 0\n0 ||| {text} ||| f= 1\n1 ||| b ||| f= 0\n")
    assert path.stat().st_size > 5 << 20
    assert rerank(path, make("w", "f= 1\n")) == [text, "b"]


@pytest.mark.parametrize("ends", ["\r\n", "\n\n", "\n \t\n"])
def test_line_ends(rerank: Rerank, lists: Path, weights: Path, make: Make, ends: str) -> None:
    other = make("other", lists.read_text().replace("\n", ends))
    assert rerank(other, weights) == rerank(lists, weights)


def test_compressed_in_several_members(
    rerank: Rerank, lists: Path, weights: Path, make: Make
) -> None:
    text = lists.read_bytes()
    packed = make("packed", gzip.compress(text[:50]) + gzip.compress(text[50:]) + bytes(512))
    assert rerank(packed, weights) == rerank(lists, weights)


# All candidates


@pytest.mark.long
def test_nbest_keeps_every_candidate(rerank: Rerank, bundled: Path) -> None:
    paths = bundled / "test.nbest.gz", bundled / "weights.final"
    lines = rerank(*paths, "--nbest")
    found, wanted = parse_moses(lines), distinct(bundled_candidates(bundled))

    def key(c: Candidate) -> tuple[object, ...]:
        return c.group, c.text, *sorted(c.features.items())

    assert sorted(map(key, found)) == sorted(map(key, wanted))
    groups = by_group(found)
    assert [c.group for c in found] == sorted(c.group for c in found)
    assert [group[0].text for group in groups.values()] == rerank(*paths)

    weights = parse_weights(paths[1].read_text())
    written = [float(line.split(" ||| ")[3]) for line in lines]
    for c, score in zip(found, written, strict=True):
        assert score == pytest.approx(model_score(c, weights), rel=1e-9, abs=1e-9)
    for (a, x), (b, y) in zip(
        zip(found, written, strict=True), zip(found[1:], written[1:], strict=False), strict=False
    ):
        assert a.group != b.group or x >= y


def test_nbest_can_be_read_again(rerank: Rerank, make: Make) -> None:
    lines, _ = random_lists(8)
    weights = make("w", "TM0= 1 0.5\nWP0= -0.25\ns_1= 2\ns_7= -2\n")
    once = rerank(make("lists", "\n".join(lines)), weights, "--nbest")
    again = make("again", "\n".join(once) + "\n")
    assert rerank(again, weights, "--nbest") == once
    before, after = (by_group(parse_moses(x)) for x in (lines, once))

    def contents(group: list[Candidate]) -> list[tuple[object, ...]]:
        # A feature that is not given is 0.
        return sorted((c.text, *sorted(i for i in c.features.items() if i[1])) for c in group)

    assert {g: contents(c) for g, c in after.items()} == {g: contents(c) for g, c in before.items()}


def test_nbest_keeps_values_to_the_bit(rerank: Rerank, make: Make) -> None:
    values = ["0.1", "0.30000000000000004", "-1.7976931348623157e308", "5e-324", "123456789012.25"]
    lines = [f"0 ||| t{k} ||| f= {value} g= 0" for k, value in enumerate(values)]
    found = parse_moses(rerank(make("lists", "\n".join(lines)), make("w", "g= 1\n"), "--nbest"))
    assert [c.features["f"] for c in found] == [float(value) for value in values]


def test_nbest_keeps_equal_texts_and_drops_repetitions(rerank: Rerank, make: Make) -> None:
    lines = ["0 ||| a ||| f= 1", "0 ||| a ||| f= 2", "0 ||| a  ||| f= 1.0", "1 ||| a ||| f= 1"]
    found = parse_moses(rerank(make("lists", "\n".join(lines)), make("w", "f= 1\n"), "--nbest"))
    assert [(c.group, c.features["f"]) for c in found] == [(0, 2.0), (0, 1.0), (1, 1.0)]


# JSON lines

GROUPS = [
    {
        "id": "second",
        "source": "ä",
        "references": ["x y", "x"],
        "candidates": [
            {"text": "x", "features": {"f": 1}, "metrics": {"comet": 0.25}},
            {"text": "x y", "features": {"f": 2, "s": 0.5}, "metrics": {"comet": 0.75}},
        ],
    },
    {
        "id": "first",
        "source": "b",
        "references": ["z"],
        "candidates": [{"text": "", "features": {"s": -1}, "metrics": {"comet": 0.5}}],
    },
]


def test_json_lines(rerank: Rerank, make: Make) -> None:
    path = make("groups.jsonl", "\n".join(map(json.dumps, GROUPS)) + "\n")
    weights = make("w", "f= 1\ns= 1\n")
    assert rerank(path, weights) == ["x y", ""]
    found = [json.loads(line) for line in rerank(path, weights, "--nbest")]
    assert [group["id"] for group in found] == ["second", "first"]
    for group, given in zip(found, GROUPS, strict=True):
        assert group["source"] == given["source"]
        assert group["references"] == given["references"]
    assert [c["text"] for c in found[0]["candidates"]] == ["x y", "x"]
    assert [c["metrics"]["comet"] for c in found[0]["candidates"]] == [0.75, 0.25]
    kept = [{n: v for n, v in c["features"].items() if v} for c in found[0]["candidates"]]
    assert kept == [{"f": 2, "s": 0.5}, {"f": 1}]
    assert [c["score"] for c in found[0]["candidates"]] == [2.5, 1.0]


def test_both_formats_together(rerank: Rerank, lists: Path, make: Make) -> None:
    group = {"id": 1, "candidates": [{"text": "from JSON", "features": {"g": 9}}]}
    path = make("groups.jsonl", json.dumps(group))
    assert rerank([lists, path], make("w", "f= 0\ng= 1\n")) == ["a b c d e", "from JSON"]


# Output


@pytest.mark.parametrize("options", [[], ["--nbest"]])
def test_out(
    cli: Run, rerank: Rerank, lists: Path, weights: Path, tmp_path: Path, options: list[str]
) -> None:
    out = tmp_path / "out"
    out.write_text("something old\n" * 1000)
    arguments = ["rerank", "--candidates", lists, "--weights", weights, "--out", out, *options]
    found = cli(*arguments)
    assert (found.code, found.out, found.err) == (0, "", "")
    wanted = rerank(lists, weights, *options)
    assert out.read_bytes().decode() == "\n".join(wanted) + "\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lists", "out", "weights.json"]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_new_file_has_the_usual_mode(
    cli: Run, lists: Path, weights: Path, make: Make, tmp_path: Path
) -> None:
    usual = make("usual", "x").stat().st_mode
    cli("rerank", "--candidates", lists, "--weights", weights, "--out", tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == usual


def test_out_may_be_the_input(cli: Run, rerank: Rerank, lists: Path, weights: Path) -> None:
    wanted = rerank(lists, weights, "--nbest")
    cli("rerank", "--candidates", lists, "--weights", weights, "--nbest", "--out", lists)
    assert lists.read_text().splitlines() == wanted


def test_standard_input(cli: Run, rerank: Rerank, lists: Path, weights: Path) -> None:
    wanted = rerank(lists, weights)
    arguments = ["--candidates", "-", "--weights", weights]
    assert cli("rerank", *arguments, stdin=lists.read_bytes()).lines() == wanted
    packed = gzip.compress(lists.read_bytes())
    assert cli("rerank", *arguments, stdin=packed).lines() == wanted
    arguments = ["--candidates", lists, "--weights", "-"]
    assert cli("rerank", *arguments, stdin=weights.read_bytes()).lines() == wanted


def test_warnings(cli: Run, lists: Path, make: Make) -> None:
    held = make("w", "f= 1\nold= 1\nolder= 1\n")
    arguments = ["rerank", "--candidates", lists, "--weights", held]
    found = cli(*arguments)
    warned = found.err.splitlines()
    assert len(warned) == 2
    assert all(line.startswith("tunesmith: warning: ") for line in warned)
    assert "g" in warned[0].split(":")[-1]
    assert "2 weights" in warned[1]
    quiet = cli(*arguments, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, found.out, "")


@pytest.mark.long
def test_program(rerank: Rerank, lists: Path, weights: Path) -> None:
    # Whatever the locale, texts are UTF-8.
    text = lists.read_text().replace("a b", "ä 語")
    arguments = ["rerank", "--candidates", "-", "--weights", weights]
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = python("-m", "tunesmith", *arguments, input=text, env=plain)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == "ä 語 c d e\nk l m n\n"


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_reader_that_stops(bundled: Path) -> None:
    paths = ["--candidates", bundled / "tune.nbest.gz", "--weights", bundled / "weights.final"]
    with subprocess.Popen(
        [sys.executable, "-m", "tunesmith", "rerank", "--nbest", *map(str, paths)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"0 ||| ")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


# Texts as they came

CODE = "def f(x):\n\treturn  x\n"


def test_texts_are_kept_as_they_came(cli: Run, make: Make) -> None:
    rows = [
        {"id": 0, "text": CODE, "lm": 1.0},
        {"id": 0, "text": "def f(x): return x", "lm": 0.0},
        {"id": 1, "text": " two  spaces\u00a0here ", "lm": 0.0},
    ]
    path = make("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    weights = make("w.json", '{"lm": 1}')
    given = ("rerank", "--candidates", path, "--weights", weights)
    found = cli(*given, "--json").json()
    assert [(g["id"], g["text"]) for g in found["groups"]] == [(0, CODE), (1, rows[2]["text"])]
    groups = [json.loads(line) for line in cli(*given, "--nbest").lines()]
    assert [c["text"] for g in groups for c in g["candidates"]] == [r["text"] for r in rows]
    candidates = ts.read(path)
    assert ts.rerank(candidates, {"lm": 1.0}) == [CODE, rows[2]["text"]]


def test_a_text_of_several_lines_is_no_line(
    cli: Run, refused: Callable[..., str], make: Make, tmp_path: Path
) -> None:
    path = make("rows.jsonl", json.dumps({"id": "a", "text": CODE, "lm": 1.0}) + "\n")
    given = ("--candidates", path, "--weights", make("w.json", '{"lm": 1}'))
    said = refused("rerank", *given, "--out", tmp_path / "out")
    assert said.startswith("the best text of group 'a' has several lines")
    assert "--json" in said
    for form in ("moses", "fairseq", "kaldi", "parallel", "nemo"):
        said = refused("convert", "--candidates", path, "--to", form, "--out", tmp_path / "out")
        assert "jsonl" in said
    for ending in ("jsonl", "csv", "tsv", "parquet", "arrow"):
        out = tmp_path / f"out.{ending}"
        assert cli("convert", "--candidates", path, "--out", out).code == 0
        assert [ts.read(out).original(0)] == [CODE]


def test_texts_that_differ_in_white_space_are_two(make: Make) -> None:
    texts = ["if x:\n  y", "if x:\n    y", "if x: y", "if x:\n  y"]
    rows = [{"id": 0, "text": text, "lm": 0.5} for text in texts]
    found = ts.read(make("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert [found.original(k) for k in range(len(found))] == texts[:3]
    both = ts.merge([found, found])
    assert [both.original(k) for k in range(len(both))] == texts[:3]


def test_lists_of_lines_say_that_white_space_is_lost(cli: Run, make: Make) -> None:
    path = make("rows.jsonl", json.dumps({"id": 0, "text": "a  b", "lm": 1.0}) + "\n")
    found = cli("convert", "--candidates", path, "--to", "moses")
    assert found.out == "0 ||| a b ||| lm= 1\n"
    assert "no place for white space" in found.err


# Groups without candidates, ids and rows

GAPS = "0 ||| a ||| f= 1\n0 ||| b ||| f= 2\n0 ||| b ||| f= 2\n2 ||| c ||| f= 1\n3 ||| d ||| f= 1\n"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((), ["b", "", "c", "d"]),
        (("--gaps", "skip"), ["b", "c", "d"]),
        (("--gaps", "empty", "--sentences", "5"), ["b", "", "c", "d", ""]),
        (("--ids",), ["0\tb", "1\t", "2\tc", "3\td"]),
        (("--rows",), ["1\tb", "\t", "3\tc", "4\td"]),
        (("--ids", "--rows"), ["0\t1\tb", "1\t\t", "2\t3\tc", "3\t4\td"]),
        (("--ids", "--gaps", "skip"), ["0\tb", "2\tc", "3\td"]),
    ],
)
def test_gaps_ids_and_rows(
    cli: Run, make: Make, options: tuple[str, ...], wanted: list[str]
) -> None:
    given = ("--candidates", make("lists", GAPS), "--weights", make("w.json", '{"f": 1}'))
    found = cli("rerank", *given, *options)
    assert found.lines() == wanted
    told = "2 of 5 ids have no candidates (1, 4)" if "5" in options else "1 of 4 ids"
    assert told in found.err


def test_gaps_are_lines_where_most_are_lacking_and_their_number_is_given(
    cli: Run, make: Make
) -> None:
    given = ("--candidates", make("lists", GAPS), "--weights", make("w.json", '{"f": 1}'))
    count = ("--sentences", "9")
    assert cli("rerank", *given, *count).lines() == ["b", "", "c", "d", *[""] * 5]
    assert cli("rerank", *given, *count, "--json").json()["gaps"] == [1, 4, 5, 6, 7, 8]


def test_gaps_may_be_an_error(cli: Run, refused: Callable[..., str], make: Make) -> None:
    given = ("--candidates", make("lists", GAPS), "--weights", make("w.json", '{"f": 1}'))
    said = refused("rerank", *given, "--gaps", "error")
    assert said.startswith("1 of 4 ids have no candidates (1); ")
    assert refused("rerank", *given, "--nbest", "--gaps", "error")
    assert "an id 3" in refused("rerank", *given, "--sentences", "3")
    found = cli("rerank", *given, "--json", "--nbest")
    assert found.json()["gaps"] == [1]
    assert [[c["row"] for c in g["candidates"]] for g in found.json()["groups"]] == [
        [1, 0],
        [3],
        [4],
    ]


def test_rows_of_a_frame() -> None:
    frame = {"id": [7, 3, 7, 3], "text": ["a", "b", "c", "d"], "lm": [0.0, 2.0, 1.0, 2.0]}
    candidates = ts.from_frame(frame)
    assert ts.winning_rows(candidates, {"lm": 1.0}).tolist() == [1, 2]


def test_rows_need_to_be_kept(make: Make) -> None:
    path = make("lists", GAPS)
    with pytest.raises(ts.TunesmithError, match="keep_rows"):
        ts.winning_rows(ts.read(path), {"f": 1.0})
    assert ts.winning_rows(ts.read(path, keep_rows=True), {"f": 1.0}).tolist() == [1, 3, 4]


def test_nbest_in_another_format(cli: Run, make: Make, tmp_path: Path) -> None:
    given = ("--candidates", make("lists", GAPS), "--weights", make("w.json", '{"f": 1}'))
    first = json.loads(cli("rerank", *given, "--nbest", "--to", "jsonl").lines()[0])
    assert [c["text"] for c in first["candidates"]] == ["b", "a"]


def test_options_of_rerank_that_do_not_go_together(refused: Callable[..., str], make: Make) -> None:
    given = ("--candidates", make("lists", GAPS), "--weights", make("w.json", '{"f": 1}'))
    for options in (
        ("--json", "--ids"),
        ("--nbest", "--rows"),
        ("--to", "jsonl"),
        ("--gaps", "none"),
        ("--sentences", "0"),
    ):
        refused("rerank", *given, *options)
