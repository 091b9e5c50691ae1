"""The data of the tutorials are what the scripts beside them make."""

from __future__ import annotations

import gzip
import runpy
from pathlib import Path

import pytest

from tests.helpers.docs.blocks import ROOT

TUTORIALS = ROOT / "examples" / "tutorials"


def content(path: Path) -> bytes:
    """Return what a file holds; compressed bytes may differ from one zlib to another."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.long
def test_the_script_makes_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = TUTORIALS / "answers"
    runpy.run_path(str(folder / "make.py"), run_name="__main__")
    made = {path.name: content(path) for path in tmp_path.iterdir()}
    kept = {p.name: content(p) for p in folder.iterdir() if p.is_file()}
    del kept["make.py"]
    assert made.keys() == kept.keys()
    assert [file for file in made if made[file] != kept[file]] == []
