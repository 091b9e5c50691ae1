"""``tunesmith surface``: along what, which metrics, which files, and what it refuses."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import (
    PREFIX,
    Run,
    bleu,
    by_group,
    model_score,
    parse_moses,
    random_lists,
)

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]


@pytest.fixture
def good(lists: Path, refs: Path, weights: Path) -> list[object]:
    """Options that only lack a line."""
    return ["surface", "--candidates", lists, "--references", refs, "--weights", weights]


def score_by_hand(
    candidates: Any, references: list[str], weights: dict[str, float], **o: Any
) -> float:
    """Rerank in plain Python and score with sacrebleu."""
    texts = []
    for group in by_group(candidates).values():
        scores = [model_score(c, weights) for c in group]
        texts.append(group[scores.index(max(scores))].text)
    return float(bleu(texts, [references], **o).score)


# A scan of whole lines with another library


@pytest.mark.parametrize(
    ("option", "feature"),
    [("--feature", "TM0_1"), ("--feature", "s_3"), ("--direction", None), ("--to", None)],
)
def test_scores_are_those_of_a_scan_with_sacrebleu(
    cli: Run, make: Make, option: str, feature: str | None
) -> None:
    lines, references = random_lists(7)
    lists, refs = make("l", "\n".join(lines) + "\n"), make("r", "\n".join(references) + "\n")
    candidates = parse_moses(lines)
    names = sorted({name for c in candidates for name in c.features})
    start = {name: 0.3 + 0.01 * k for k, name in enumerate(names)}
    other = {name: 0.5 - 0.07 * k for k, name in enumerate(names)}
    weights, way = make("w.json", json.dumps(start)), make("o.json", json.dumps(other))
    found = cli(
        "surface", "--candidates", lists, "--references", refs, "--weights", weights,
        option, feature or way, "--json", "--metric", "bleu", "--metric", "bleu:order=2",
    ).json()  # fmt: skip
    assert found["schema"] == "tunesmith.surface/1"
    assert {Path(file["path"]) for file in found["data"]} == {lists, refs}
    (line,) = found["lines"]
    assert line["along"] == {"kind": option[2:], "name": feature or str(way)}

    def at(where: float, order: int) -> float:
        held = dict(start)
        if feature is not None:
            held[feature] = where
        for name in names if feature is None else ():
            change = other[name] if option == "--direction" else other[name] - start[name]
            held[name] += where * change
        return score_by_hand(candidates, references, held, max_ngram_order=order)

    now = start[feature] if feature is not None else 0.0
    assert line["weight"] == now
    for held, order in zip(line["metrics"], (4, 2), strict=True):
        edges, scores = held["edges"], held["scores"]
        assert len(scores) == len(edges) + 1 > 5
        assert edges == sorted(set(edges))
        middles = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
        for where, score in zip([edges[0] - 1, *middles, edges[-1] + 1], scores, strict=True):
            assert at(where, order) == pytest.approx(score, abs=1e-9)
        for k, edge in enumerate(edges):
            little = 1e-6 * min(abs(edge - e) for e in edges if e != edge)
            assert at(edge - little, order) == pytest.approx(scores[k], abs=1e-9)
            assert at(edge + little, order) == pytest.approx(scores[k + 1], abs=1e-9)
        assert held["current_score"] == pytest.approx(at(now, order), abs=1e-9)
        low, high = held["plateau"]
        assert low < now < high
        assert held["plateau_width"] == pytest.approx(high - low)
        assert [e for e in edges if low < e < high] == []
        assert held["best"]["score"] == max(scores)
        assert at(held["best"]["at"], order) == pytest.approx(max(scores), abs=1e-9)
        if option == "--to":
            assert held["end_score"] == pytest.approx(at(1.0, order), abs=1e-9)
        else:
            assert held["end_score"] is None


# What is printed and written


def test_text(cli: Run, good: list[object]) -> None:
    # Group 0 changes at f = 1 and group 1 at f = 5/3, from the references to others.
    found = cli(*good, "--feature", "f")
    assert (found.code, found.err) == (0, "")
    assert found.lines() == [
        "along f: 2 breakpoints",
        "bleu: now 100.0000 at -1, plateau without end below 1; "
        "best 100.0000, by the current weights",
    ]


def test_several_features_and_metrics(cli: Run, good: list[object]) -> None:
    found = cli(*good, "--feature", "g", "--feature", "f", "--metric", "bleu:order=1",
                "--metric", "bleu", "--metric", "bleu:order=1", "--json").json()  # fmt: skip
    assert [line["along"]["name"] for line in found["lines"]] == ["g", "f"]
    for line in found["lines"]:
        assert [held["metric"] for held in line["metrics"]] == ["bleu:order=1", "bleu"]
    assert found["lines"][1]["metrics"][1]["edges"] == pytest.approx([1.0, 5 / 3])


def test_a_range_cuts_the_line(cli: Run, good: list[object]) -> None:
    (line,) = cli(*good, "--feature", "f", "--range", "1.5:3", "--json").json()["lines"]
    assert line["range"] == [1.5, 3.0]
    (held,) = line["metrics"]
    assert held["edges"] == pytest.approx([5 / 3])
    assert held["plateau"] == [None, pytest.approx(1.0)]
    assert held["best"]["score"] == max(held["scores"])
    assert 1.5 <= held["best"]["low"] <= held["best"]["at"] <= held["best"]["high"] <= 3.0


@pytest.mark.long
@pytest.mark.parametrize("ending", ["html", "png", "svg", "pdf", "json"])
def test_out(cli: Run, good: list[object], tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"surface.{ending}"
    out.write_text("something old")
    found = cli(*good, "--feature", "f", "--out", out)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("along f:")
    magic = {"html": b"<!doc", "png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "json": b"{"}
    assert out.read_bytes().startswith(magic[ending])
    assert not list(tmp_path.glob(".tunesmith-*"))


def test_the_file_is_the_object_that_is_printed(
    cli: Run, good: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "surface.json"
    found = cli(*good, "--feature", "f", "--out", out, "--json")
    assert json.loads(out.read_text(encoding="utf-8")) == found.json()


def test_weights_from_standard_input(cli: Run, good: list[object], weights: Path) -> None:
    piped = [("-" if argument == weights else argument) for argument in good]
    found = cli(*piped, "--feature", "f", "--json", stdin=weights.read_bytes())
    assert found.json() == cli(*good, "--feature", "f", "--json").json()


def test_names_that_do_not_match_are_warned_of(cli: Run, good: list[object], make: Make) -> None:
    way = make("way.json", '{"g": 1.0, "other": 2.0}')
    found = cli(*good, "--direction", way, "--json")
    assert found.code == 0
    assert found.err.splitlines() == [
        f"tunesmith: warning: {way}: 1 feature without a weight, taken as 0: f",
        f"tunesmith: warning: {way}: 1 weight without a feature in the data, not used: other",
    ]
    (line,) = found.json()["lines"]
    (along_g,) = cli(*good, "--feature", "g", "--json").json()["lines"]
    assert line["metrics"][0]["scores"] == along_g["metrics"][0]["scores"]
    # γ = 0 is where the weight of g is 1.
    assert [e + 1 for e in line["metrics"][0]["edges"]] == pytest.approx(
        along_g["metrics"][0]["edges"]
    )


@pytest.mark.long
def test_the_bundled_lists(cli: Run, bundled: Path, tmp_path: Path) -> None:
    arguments = ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref",
                 "--weights", bundled / "weights.initial"]  # fmt: skip
    (line,) = cli("surface", *arguments, "--to", bundled / "weights.final", "--json").json()[
        "lines"
    ]
    (held,) = line["metrics"]
    for key, file in (("current_score", "weights.initial"), ("end_score", "weights.final")):
        other = cli("evaluate", *arguments[:4], "--weights", bundled / file, "--json").json()
        assert held[key] == other["score"]
    # The interval of γ = 1 scores as the weights there.
    at_end = sum(edge < 1.0 for edge in held["edges"])
    assert held["scores"][at_end] == pytest.approx(held["end_score"], abs=1e-9)


def test_a_column_is_a_metric_beside_others(cli: Run, good: list[object], make: Make) -> None:
    column = make("column", "0.5\n0.25\n1\n2\n")
    metrics = ["--metric", "column:reward", "--metric", "bleu", "--metric", "wer"]
    scores = ["--scores", f"reward={column}"]
    found = cli(*good, "--feature", "f", *scores, *metrics, "--json").json()
    (line,) = found["lines"]
    reward, other, errors = line["metrics"]
    assert reward["metric"] == "column:reward"
    assert reward["edges"] == pytest.approx([1.0, 5 / 3])
    assert reward["scores"] == pytest.approx([0.75, 0.625, 1.125])
    assert other["edges"] == reward["edges"]
    assert (errors["higher_is_better"], errors["current_score"]) == (False, 0.0)
    assert errors["best"]["score"] == min(errors["scores"])


# What is refused: one line, nothing written


@pytest.fixture
def refusing(refused: Refused, good: list[object], make: Make) -> Refused:
    """Have something refused beside good options and an output that exists."""
    existing = make("existing.json", "as it was")

    def run(*arguments: object, **where: Any) -> str:
        return refused(*good, "--out", existing, *arguments, **where)

    return run


def test_exactly_one_line_is_needed(refusing: Refused, weights: Path) -> None:
    for line in (
        [],
        ["--feature", "f", "--to", weights],
        ["--direction", weights, "--to", weights],
        ["--feature", "f", "--direction", weights],
    ):
        assert "exactly one of --feature, --direction, --to, --exponent and --plane" in refusing(
            *line
        )


def test_unknown_feature(refusing: Refused, make: Make) -> None:
    assert refusing("--feature", "F") == "unknown feature 'F'; did you mean f?"


def test_only_near_names_of_many_are_shown(refused: Refused, make: Make, refs: Path) -> None:
    features = " ".join(f"name{k}= {k}" for k in range(1000))
    lists = make("many", f"0 ||| a ||| {features} ||| 0\n1 ||| b ||| {features} ||| 0\n")
    held = make("held.json", '{"name1": 1.0}')
    good = ["surface", "--candidates", lists, "--references", refs, "--weights", held, "--quiet"]
    assert refused(*good, "--feature", "nome999").count(" or ") == 2
    assert len(refused(*good, "--feature", "???")) < 200


@pytest.mark.parametrize(
    "text", ["", "1", "2:1", "1:1", ":", "1:", ":1", "a:b", "nan:1", "0:inf", "1:2:3", "0,1"]
)
def test_bad_range(refusing: Refused, text: str) -> None:
    said = refusing("--feature", "f", "--range", text)
    assert said.startswith(f"the range is '{text}'; give LOW:HIGH")


@pytest.mark.parametrize("name", ["surface", "surface.jpeg", "-", "surface.json.gz"])
def test_unknown_ending(refused: Refused, good: list[object], tmp_path: Path, name: str) -> None:
    out = name if name == "-" else tmp_path / name
    missing = [tmp_path / "missing" if a == good[2] else a for a in good]  # before any work
    said = refused(*missing, "--feature", "f", "--out", out)
    assert "none of .html, .png, .svg, .pdf, .json" in said


@pytest.mark.parametrize("ending", ["html", "png", "json"])
def test_where_nothing_can_be_written(
    refused: Refused, good: list[object], tmp_path: Path, ending: str
) -> None:
    missing = [tmp_path / "missing" if a == good[2] else a for a in good]
    out = tmp_path / "nowhere" / f"surface.{ending}"
    assert "does not exist" in refused(*missing, "--feature", "f", "--out", out, file=out)
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()
    assert "this is a folder" in refused(*missing, "--feature", "f", "--out", folder, file=folder)


def test_missing_library(
    refused: Refused,
    cli: Run,
    good: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = refused(*good, "--feature", "f", "--out", tmp_path / "surface.svg")
    assert said.endswith("pip install 'tunesmith[plot]'")
    for format_flags in (["--json"], ["--out", tmp_path / "surface.html"]):
        assert cli(*good, "--feature", "f", *format_flags).code == 0


def test_bad_metric(refusing: Refused) -> None:
    said = refusing("--feature", "f", "--metric", "bleu", "--metric", "blue")
    assert said.startswith("unknown metric 'blue'; did you mean ")
    assert "ordr" in refusing("--feature", "f", "--metric", "bleu:ordr=2")


@pytest.mark.parametrize("option", ["--weights", "--direction", "--to"])
def test_bad_weights_files(
    refused: Refused, good: list[object], make: Make, tmp_path: Path, option: str
) -> None:
    line = ["--feature", "f"] if option == "--weights" else []
    base = good[:-2] if option == "--weights" else good

    def refuse(path: Path, *more: object, **where: Any) -> str:
        return refused(*base, *line, option, path, *more, **where)

    missing = tmp_path / "missing"
    assert "no such file" in refuse(missing, file=missing)
    damaged = make("damaged.json", '{"f": 1.0,')
    assert "damaged.json" in refuse(damaged)
    foreign = make("foreign.json", '{"x": 1.0}')
    assert "no weight has the name of a feature" in refuse(foreign, file=foreign)
    part = make("part.json", '{"f": 1.0}')
    assert "without a weight" in refuse(part, "--strict", file=part)


def test_lines_without_a_direction(refusing: Refused, weights: Path, make: Make) -> None:
    zero = make("zero.json", '{"f": 0.0, "g": 0}')
    assert "the direction is 0" in refusing("--direction", zero, file=zero)
    assert f"the weights of {weights}" in refusing("--to", weights, file=weights)


def test_standard_input_only_once(refused: Refused, lists: Path, refs: Path) -> None:
    said = refused("surface", "--candidates", "-", "--references", refs, "--weights", "-",
                   "--feature", "f", stdin=b"")  # fmt: skip
    assert "standard input can be read once" in said


@pytest.mark.parametrize("lacking", ["--candidates", "--weights"])
def test_required_options(refused: Refused, good: list[object], lacking: str) -> None:
    at = good.index(lacking)
    said = refused(*good[:at], *good[at + 2 :], "--feature", "f")
    assert lacking in said


def test_references_are_needed(refused: Refused, lists: Path, weights: Path) -> None:
    said = refused("surface", "--candidates", lists, "--weights", weights, "--feature", "f")
    assert "bleu needs references" in said


def test_too_many_pictures(cli: Run, make: Make, refs: Path, tmp_path: Path) -> None:
    names = [f"name{k}" for k in range(70)]
    features = " ".join(f"{name}= 1" for name in names)
    lists = make("many", f"0 ||| a ||| {features} ||| 0\n1 ||| b ||| {features} ||| 0\n")
    held = make("held.json", json.dumps(dict.fromkeys(names, 1.0)))
    options = [part for name in names for part in ("--feature", name)]
    out = tmp_path / "surface.png"
    found = cli("surface", "--candidates", lists, "--references", refs, "--weights", held,
                *options, "--out", out)  # fmt: skip
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"{PREFIX}the picture would have 70 rows; ")
    assert not out.exists()
