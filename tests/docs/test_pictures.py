"""The script of the pictures draws every one that pages name it for."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numba
import pytest

from tests.helpers.docs.blocks import ROOT, pages

SCRIPT = ROOT / "docs" / "images" / "make_pictures.py"
#: Takes a quarter of a minute.
SLOW = "online"


@pytest.fixture(scope="module")
def drawers() -> dict[str, dict]:
    """The functions of the script by the names of their pictures."""
    found = runpy.run_path(str(SCRIPT))
    return {draw.__name__.replace("_", "-"): draw for draw in found["PICTURES"]}


def test_pages_name_the_pictures_of_the_script(drawers: dict) -> None:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in pages()]
    named = {name for text in texts for name in re.findall(r"make_pictures\.py ([a-z-]+)`", text)}
    shown = {name for text in texts for name in re.findall(r"images/([a-z-]+)\.png", text)}
    assert named == set(drawers)
    assert named <= shown


@pytest.mark.long
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="too slow interpreted")
def test_pictures_are_drawn(drawers: dict, tmp_path: Path) -> None:
    for name, draw in drawers.items():
        if name != SLOW:
            draw.__globals__["HERE"] = tmp_path
            draw()
            assert (tmp_path / f"{name}.png").stat().st_size > 5_000
