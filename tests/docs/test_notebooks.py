"""Notebooks run from beginning to end, and show tables, pictures and progress."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.docs.blocks import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
#: Pictures that each shows.
PICTURES = {"moses-lists": 2, "best-of-n": 1, "speech": 1}

nbformat = pytest.importorskip("nbformat", reason="nbformat is missing")


def test_there_is_one_for_each_use() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(PICTURES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_valid_and_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("nbclient", reason="nbclient is missing")
    pytest.importorskip("ipykernel", reason="ipykernel is missing")
    # Two levels deep, for notebooks name data of the folder beside theirs.
    shutil.copytree(ROOT / "examples" / "tutorials", tmp_path / "tutorials")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    client.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(tmp_path / "notebooks")}}
    ).execute()
    shown = [
        output.data
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    tables = [_html(data) for data in shown if "<details" in _html(data)]
    (table,) = tables
    assert "unseen sentences" in table
    assert '<td style="text-align: left">test</td>' in table
    pictures = [data["image/png"] for data in shown if "image/png" in data]
    assert len(pictures) == PICTURES[path.stem]
    assert all(len(picture) > 10_000 for picture in pictures)


def _html(data: Any) -> str:
    return str(data.get("text/html", ""))
