"""The date that a result carries."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tests.helpers.cli.commands import LISTS, REFERENCES, Run


@pytest.fixture
def arguments(tmp_path: Path) -> list[object]:
    lists, references = tmp_path / "lists", tmp_path / "refs"
    lists.write_text(LISTS)
    references.write_text(REFERENCES)
    options = ["--tuner", "mert", "--restarts", 0, "--walks", 0, "--json"]
    return ["tune", "--candidates", lists, "--references", references, *options]


def test_the_environment_sets_the_date(
    cli: Run, arguments: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert cli(*arguments).json()["inputs"]["date"] == "1970-01-02T00:00:00+00:00"


@pytest.mark.parametrize("epoch", ["", "now", "1e9", "9" * 30])
def test_what_is_no_number_of_seconds_is_told(
    cli: Run, arguments: list[object], monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    run = cli(*arguments)
    assert "SOURCE_DATE_EPOCH is not a number of seconds" in run.err
    assert datetime.datetime.fromisoformat(run.json()["inputs"]["date"]) >= before
