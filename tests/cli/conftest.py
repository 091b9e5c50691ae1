"""Fixtures of the tests of the command line."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import LISTS, PREFIX, REFERENCES, Outcome, Run, files_below
from tests.helpers.cli.example_forests import FOLDER, WEIGHTS
from tunesmith.cli import main


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process; ``stdin`` is what it can read from ``-``."""

    def run(*arguments: object, stdin: bytes | None = None) -> Outcome:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run


@pytest.fixture
def refused(cli: Run, tmp_path: Path) -> Callable[..., str]:
    """Run a command line that must be refused, and return what it says.

    Checks all that holds for every error: exit code 2, nothing on standard output, one
    line on standard error with a remedy after a semicolon, no file written or changed.
    ``file`` and ``line`` are the place that the line must begin with.
    """

    def run(
        *arguments: object, file: object = None, line: int | None = None, stdin: Any = None
    ) -> str:
        before = files_below(tmp_path)
        found = cli(*arguments, stdin=stdin)
        assert found.code == 2, found
        assert found.out == ""
        assert found.err.startswith(PREFIX)
        assert found.err.endswith("\n")
        assert found.err.count("\n") == 1, found.err
        said = found.err.removeprefix(PREFIX).removesuffix("\n")
        assert said.rpartition("; ")[0], f"no remedy: {said}"
        assert said.rpartition("; ")[2], f"no remedy: {said}"
        if file is not None:
            place = f"{file}: " if line is None else f"{file}:{line}: "
            assert said.startswith(place), said
        assert files_below(tmp_path) == before
        return said

    return run


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file in the test's own folder."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def lists(make: Callable[..., Path]) -> Path:
    """Two groups of two candidates with the features f and g."""
    return make("lists", LISTS)


@pytest.fixture
def refs(make: Callable[..., Path]) -> Path:
    """References of ``lists``."""
    return make("refs", REFERENCES)


@pytest.fixture
def weights(make: Callable[..., Path]) -> Path:
    """Weights for ``lists``."""
    return make("weights.json", '{"f": -1.0, "g": 1.0}')


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the first 5 forests of the example, short ones, references and weights."""
    folder = tmp_path_factory.mktemp("few")
    lines = gzip.decompress((FOLDER / "tune.jsonl.gz").read_bytes()).decode().splitlines()
    references = (FOLDER / "tune.ref").read_text().splitlines()
    short = sorted(range(len(lines)), key=lambda k: len(lines[k]))[:5]
    records = [{**json.loads(lines[k]), "id": n} for n, k in enumerate(short)]
    (folder / "f.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "ref").write_text("".join(references[k] + "\n" for k in short))
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    return folder


@pytest.fixture(scope="session")
def bundled() -> Iterator[Path]:
    """The folder of the lists that come with the package."""
    with resources.as_file(resources.files("tunesmith") / "bundled") as folder:
        yield folder
