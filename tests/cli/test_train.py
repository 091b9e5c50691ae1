"""``tunesmith train``: what it says, what it writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tunesmith.hiero.model import HieroModel

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]


@pytest.fixture
def text(make: Make) -> tuple[str, ...]:
    source = make("s", "das haus\ndas alte haus\n\nein haus\n")
    target = make("t", "the house\nthe old house\nextra\na house\n")
    links = make("l", "0-0 1-1\n0-0 1-1 2-2\n\n0-0 1-1\n")
    return tuple(
        map(str, ("--source", source, "--target", target, "--alignment", links, "--order", 2))
    )


def test_what_is_said(cli: Run, text: tuple[str, ...], tmp_path: Path) -> None:
    found = cli("train", *text, "--out", tmp_path / "m", "--text")
    assert found.code == 0, found.err
    lines = dict(line.split(":", 1) for line in found.lines())
    assert lines["pairs"].split() == ["3", "(1", "left", "out)"]
    assert "nonterminals" in lines["rules"]
    assert f"tunesmith tune --decoder hiero --model {tmp_path / 'm'}" in lines["next"]
    assert "1 pairs with an empty side are left out" in found.err
    assert (tmp_path / "m" / "grammar.gz").is_file()


def test_json(cli: Run, text: tuple[str, ...], tmp_path: Path) -> None:
    outcome = cli("train", *text, "--out", tmp_path / "m", "--json", "--quiet")
    assert outcome.err == ""
    found = outcome.json()
    assert found["schema"] == "tunesmith.train/1"
    assert (found["pairs"], found["empty"], found["long"], found["links"]) == (3, 1, 0, 7)
    model = HieroModel.load(tmp_path / "m")
    assert sum(found["rules"].values()) == len(model.grammar) - 2
    assert set(found["seconds"]) == {"reading", "alignment", "rules", "language model"}
    assert found["ngrams"][0] == 8  # the, house, old, extra, a and three of its own
    assert any("too small" in warning for warning in found["warnings"])


@pytest.mark.long
def test_with_an_aligner(cli: Run, text: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("thot")
    options = [*text[:4], "--order", "2", "--aligner", "ibm1", "--symmetrise", "intersection"]
    found = cli("train", *options, "--out", tmp_path / "m", "--json", "--quiet").json()
    assert found["links"] >= 3


def test_long_lines_are_told_of(cli: Run, make: Make, tmp_path: Path) -> None:
    long = " ".join(["w"] * 201)
    files = make("s", f"a\n{long}\n"), make("t", "x\ny\n"), make("l", "0-0\n0-0\n")
    options = [
        str(x)
        for k, f in zip(("source", "target", "alignment"), files, strict=True)
        for x in (f"--{k}", f)
    ]
    found = cli("train", *options, "--order", 1, "--out", tmp_path / "m")
    assert found.code == 0
    assert "warning: 1 pairs with more than 200 words on a side are left out" in found.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-phrase", "0"], "--max-phrase is 0; give a number from 1 to 50"),
        (["--keep-best", "0"], "--keep-best is 0; give 1 or more"),
        (["--span-limit", "0"], "--span-limit is 0; give 1 or more"),
        (["--order", "0"], "--order is 0; give 1 to 16"),
        (["--memory", "much"], "--memory is 'much'; give bytes"),
        (["--target", "-"], "the target side is read twice; give a file"),
        (["--lm", "x", "--lm-text", "y"], "a language model and text for one are given"),
        (["--aligner", "ibm1"], "--aligner is ibm1, but --alignment gives the links; leave one"),
        (["--iterations", "4"], "--iterations is 4, but --alignment gives the links; leave one"),
        (["--symmetrise", "union"], "--symmetrise is union, but --alignment gives the links"),
        (["--lm", "x"], "--order is 2, but --lm gives a language model; leave one of them out"),
        (["--filter", "none"], "none: no such file or directory"),
        (["--source", "none"], "none: no such file or directory"),
    ],
)
def test_wrong_options(
    options: list[str], said: str, refused: Refused, text: tuple[str, ...], tmp_path: Path
) -> None:
    assert refused("train", *text, "--out", tmp_path / "m", *options).startswith(said)


def test_one_file_for_both_sides(refused: Refused, text: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(text[1])
    for target in (text[1], tmp_path / "link"):
        said = refused("train", *text, "--out", tmp_path / "m", "--target", target)
        assert said.startswith(f"{text[1]} is given as source and as target; give the two sides")


def test_a_folder_of_others_stays(
    cli: Run, refused: Refused, text: tuple[str, ...], make: Make, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    make("other/model.json", "{}")
    make("other/thesis", "years of work")
    out = tmp_path / "other"
    assert "something else is there" in refused("train", *text, "--out", out, file=out)
    assert cli("train", *text, "--out", tmp_path / "m", "--quiet").code == 0
    own = tmp_path / "m"
    lm = own / "lm.arpa.gz"
    options = [*text[:-2], "--lm", lm, "--out", own]
    assert "it is in" in refused("train", *options, file=lm)
    make("m/notes", "mine")
    assert "notes in it is no part of a model" in refused("train", *text, "--out", own, file=own)


def test_numbers_look_alike(cli: Run) -> None:
    shown = cli("train", "--help").out
    assert "<int>" not in shown
    assert shown.count("INTEGER") == 10


def test_wrong_ways(refused: Refused, text: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("thot")
    own = [*text[:4], "--out", str(tmp_path / "m")]
    assert "unknown aligner 'hm'" in refused("train", *own, "--aligner", "hm")
    assert "unknown way to symmetrise" in refused("train", *own, "--symmetrise", "grow")


def test_wrong_files(refused: Refused, text: tuple[str, ...], make: Make, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "m")]
    short, empty, links = (
        make("short", "a\n"),
        make("empty", ""),
        make("links", "0-0\n0-0 9-0\n\n\n"),
    )
    assert "it has 1 lines and" in refused("train", *text, *out, "--target", short, file=short)
    refused("train", *text, *out, "--source", empty, file=empty)
    refused("train", *text, *out, "--alignment", links, file=links, line=2)
    latin = make("latin", "a\nü\n\nb\n".encode("latin-1"))
    refused("train", *text, *out, "--source", latin, file=latin, line=2)
    assert "something else is there" in refused("train", *text, "--out", short, file=short)
    marked = make("marked", "das haus\n<seg id='1'>das\n")
    refused("train", *text, *out, "--filter", marked, file=marked, line=2)
