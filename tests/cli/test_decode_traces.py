"""``tunesmith decode --alignments --trace``: what is added to texts and lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tunesmith as ts
from tests.helpers.cli.commands import Run
from tests.helpers.hiero.model_files import SENTENCES, WEIGHTS, decoder_of, written

#: Sentences that a list of cdec's has a place for.
PLAIN = [text for text in SENTENCES if "|||" not in text]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return written(tmp_path)


@pytest.fixture
def options(files: dict[str, Path]) -> list[str]:
    files["input"].write_text("".join(f"{text}\n" for text in PLAIN))
    named = ("grammar", "lm", "weights", "input")
    return [text for name in named for text in (f"--{name}", str(files[name]))]


def texts(path: Path) -> list[str]:
    candidates = ts.read(path)
    return [candidates.text(row) for row in range(len(candidates))]


@pytest.mark.parametrize("flags", [[], ["--no-unique"]])
def test_lists(cli: Run, options: list[str], tmp_path: Path, flags: list[str]) -> None:
    out, plain, trace = (tmp_path / name for name in ("with", "without", "trace"))
    lists = ["decode", *options, "--nbest", "3", *flags]
    assert cli(*lists, "--out", plain).code == 0
    assert cli(*lists, "--alignments", "--trace", trace, "--out", out).code == 0
    lines, before = out.read_text().splitlines(), plain.read_text().splitlines()
    told = [json.loads(line) for line in trace.read_text().splitlines()]
    assert len(lines) == len(before) == len(told) > len(PLAIN)
    for line, without, one in zip(lines, before, told, strict=True):
        assert line == f"{without} ||| {one['alignment']}".rstrip(" ")
        name, text, _, score = without.split(" ||| ")
        assert (str(one["id"]), one["text"]) == (name, text.strip())
        assert one["score"] == pytest.approx(float(score), abs=1e-9)
    assert [one["rank"] for one in told[:3]] == [1, 2, 3]
    # What is added is no obstacle to those who read lists.
    assert texts(out) == texts(plain)


def test_translations(cli: Run, options: list[str], files: dict[str, Path], tmp_path: Path) -> None:
    found, traces = decoder_of(files).traced(WEIGHTS, PLAIN)
    lines = cli("decode", *options, "--alignments").lines()
    assert lines == [
        f"{found.text(row)} ||| {trace.alignment}".rstrip(" ") for row, trace in enumerate(traces)
    ]
    trace = tmp_path / "trace.gz"
    assert cli("decode", *options, "--trace", trace).lines() == list(
        map(found.text, range(len(found)))
    )
    assert trace.stat().st_size


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--alignments", "--forest", "f.arrow"], "--alignments goes with texts and lists; drop"),
        (["--trace", "t", "--forest", "f.arrow"], "--trace goes with texts and lists; drop it"),
        (["--trace", "-"], "--trace has a file of its own; name one"),
        (["--trace", "x", "--out", "./x"], "--trace has a file of its own; name one"),
        (["--alignments", "--nbest", "2", "--to", "jsonl"], "'jsonl' has no place for alignments"),
    ],
)
def test_what_does_not_go_together(
    refused: Callable[..., str], options: list[str], flags: list[str], said: str
) -> None:
    assert said in refused("decode", *options, *flags)


def test_a_trace_does_not_replace_what_is_read(
    refused: Callable[..., str], options: list[str], files: dict[str, Path]
) -> None:
    assert "--trace" in refused("decode", *options, "--trace", files["grammar"])
