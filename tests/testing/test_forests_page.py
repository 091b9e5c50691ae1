"""The page about forests: its example is made by its script, its tables are complete."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest

from tunesmith.io.forests.base import FOREST_FORMATS, ForestFormat
from tunesmith.tuners.base import TUNERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "forests.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, which the page says to be in."""
    for path in (ROOT / "examples" / "forests").glob("*"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_is_what_its_script_makes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {path.name: path.read_bytes() for path in folder.glob("t*")}
    for name in made:
        (folder / name).unlink()
    monkeypatch.setattr("sys.argv", ["make.py"])
    code = (folder / "make.py").read_text()
    exec(compile(code, "make.py", "exec"), {"__name__": "__main__"})
    texts = {name for name in made if name.endswith(".ref")}
    assert {path.name for path in folder.glob("t*")} == set(made)
    for name in texts:
        assert (folder / name).read_bytes() == made[name]
    for name in set(made) - texts:  # compressors of other versions write other bytes
        assert gzip.decompress((folder / name).read_bytes()) == gzip.decompress(made[name])


def test_every_format_and_tuner_is_on_the_page() -> None:
    named = set(re.findall(r"`([a-z-]+)`", PAGE))
    assert set(FOREST_FORMATS.names()) <= named
    assert {
        name for name in TUNERS.names() if TUNERS.get(name).__module__.startswith("tunesmith")
    } <= named


@pytest.mark.parametrize("name", FOREST_FORMATS.names())
def test_what_the_page_says_of_formats(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|(.*)\|$", PAGE, flags=re.MULTILINE)
    _, ways, _, texts, _ = (cell.strip() for cell in row.split("|"))
    cls = FOREST_FORMATS.get(name)
    assert (ways == "both") == (cls.write is not ForestFormat.write)
    assert (texts == "yes") == bool(cls.holds)
    assert ("references=FILE" in texts) == hasattr(cls, "references")
