"""``tunesmith decode --xml-input``: forced translations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tests.helpers.hiero.model_files import written

FORCED = '<x translation="the new home">das haus</x> ist klein\n'


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    files = written(tmp_path)
    return [t for name in ("grammar", "lm", "weights") for t in (f"--{name}", str(files[name]))]


def test_forced_translations(cli: Run, options: list[str], tmp_path: Path) -> None:
    (tmp_path / "forced").write_text(f"{FORCED}haus\n")
    given = ["decode", *options, "--input", tmp_path / "forced", "--xml-input", "exclusive"]
    assert cli(*given).lines() == ["the new home is small", "house"]


def test_probabilities_without_a_weight_are_told(
    cli: Run, options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "forced").write_text('<x translation="a||b" prob="0.9||0.1">das</x>\n')
    given = ["decode", *options, "--input", tmp_path / "forced", "--xml-input", "inclusive"]
    assert "Forced" in cli(*given).err


@pytest.mark.parametrize("way", ["exclusive", "inclusive"])
def test_a_damaged_element_is_told_with_its_line(
    refused: Callable[..., str], options: list[str], tmp_path: Path, way: str
) -> None:
    path = tmp_path / "forced"
    path.write_text(f"{FORCED}<x>das</x>\n")
    said = refused("decode", *options, "--input", path, "--xml-input", way, file=path, line=2)
    assert said.endswith('<x> has no translation; write <x translation="...">')


def test_without_the_option_they_are_refused(
    refused: Callable[..., str], options: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "forced"
    path.write_text(FORCED)
    said = refused("decode", *options, "--input", path, file=path, line=1)
    assert "is markup; take the elements out, or give --xml-input" in said
