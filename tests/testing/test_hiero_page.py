"""The page about the hierarchical decoder: its commands and its Python run, on less text."""

from __future__ import annotations

import gzip
import inspect
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from tunesmith.cli import main, train
from tunesmith.decoders.hiero import HieroDecoder
from tunesmith.decoders.hiero.conventions import CDEC, JOSHUA
from tunesmith.decoders.hiero.training.train import START
from tunesmith.io.read import read
from tunesmith.io.read_forests import read_forests
from tunesmith.registry import options_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hiero.md").read_text(encoding="utf-8")
#: Pairs to train on, and sentences of all other sets.
PAIRS, SENTENCES = 300, 6
#: A line of the page that is a setting of the whole repository, not a command.
MAKE = "make example-hiero"

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="too slow interpreted")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> list[str]:
    found = []
    for block in blocks("console"):
        parts = re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]
        found += [part.partition("\n")[0] for part in parts]
    return found


def shortened(folder: Path) -> None:
    """Write the first lines of the example's text."""
    folder.mkdir(parents=True)
    for side in ("de", "en"):
        lines = gzip.decompress((ROOT / f"examples/catalogs/train.{side}.gz").read_bytes())
        head = b"".join(lines.splitlines(keepends=True)[:PAIRS])
        (folder / f"train.{side}.gz").write_bytes(gzip.compress(head))
        for name in ("tune", "dev", "test"):
            whole = (ROOT / f"examples/catalogs/{name}.{side}").read_text(encoding="utf-8")
            held = "".join(whole.splitlines(keepends=True)[:SENTENCES])
            (folder / f"{name}.{side}").write_text(held, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the commands of the page have been run."""
    pytest.importorskip("thot")
    place = tmp_path_factory.mktemp("page")
    shortened(place / "examples" / "catalogs")
    (config,) = (block for block in blocks("text") if block.startswith("tm = "))
    (place / "joshua.config").write_text(config)
    before = Path.cwd()
    os.chdir(place)
    try:
        for command in commands():
            program, *arguments = shlex.split(command)
            if program == "tunesmith":
                assert main(arguments) == 0, command
            else:
                assert command == MAKE or program in {"head", "cmp"}, command
        yield place
    finally:
        os.chdir(before)


@compiled
def test_commands_leave_what_the_page_says(folder: Path) -> None:
    outputs = [(folder / f"{name}.out").read_text() for name in ("test", "other", "joshua")]
    assert {text.count("\n") for text in outputs} == {SENTENCES}
    assert outputs[0] == outputs[1]  # the model, and its parts given by hand
    assert read(folder / "test.kbest").start.tolist()[-1] > SENTENCES
    assert len(read_forests(folder / "tune.arrow").ids) == SENTENCES
    model = {path.name for path in (folder / "model").iterdir()}
    (table,) = re.findall(r"\| file \| what it is \|\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    named = re.findall(r"`([\w./]+)`", "\n".join(row.split("|")[1] for row in table.split("\n")))
    assert {name.rstrip("/") for name in named} == model


@compiled
@pytest.mark.usefixtures("folder")
def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    exec(compile(code, "hiero.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == code.count("print(")
    assert "2 forests" in lines[-1]


def test_every_option_and_feature_is_on_the_page() -> None:
    named = set(re.findall(r"--([a-z-]+)", PAGE))
    own = {option.field.replace("_", "-") for option in options_of(HieroDecoder)}
    own -= {"nbest-size", "glue"}  # --nbest and --no-glue
    given = {name.replace("_", "-") for name in inspect.signature(train.run).parameters}
    given -= {"session", "as-json", "filter-by"}
    assert (own | given | {"nbest", "no-glue", "filter"}) <= named
    features = set(re.findall(r"`([\w]+)`", PAGE))
    assert set(START) <= features
    assert {JOSHUA.passed, CDEC.passed, CDEC.word_penalty} <= features
