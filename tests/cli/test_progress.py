"""Progress bars: on a terminal only, and never in the way of a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.cli.terminal import on_terminal, screen
from tunesmith.cli.app import time_left

SYNTH = ("synth", "--sentences", "5", "--candidates", "3", "--features", "4", "--noise", "1")


@pytest.mark.long
def test_a_result_goes_to_its_file_though_there_is_a_bar(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    shown = on_terminal(*SYNTH, "--out", str(tmp_path / "d"), "--json", stdout=out)
    assert json.loads(out.read_text())["schema"] == "tunesmith.synth/1"
    assert "noise" in shown
    assert "━" in shown
    assert "tunesmith.synth/1" not in shown
    assert "".join(screen(shown)) == ""


@pytest.mark.long
def test_a_result_stays_on_the_terminal_when_the_bar_goes(tmp_path: Path) -> None:
    folder = str(tmp_path / "d")
    shown = on_terminal(*SYNTH, "--out", folder)
    assert "━" in shown
    left = [line for line in screen(shown) if line]
    assert left[0].startswith("5 × 3 candidates, 4 features, noise 1; ")
    assert left[1:] == [
        f"candidates: {folder}/candidates.arrow",
        f"gold:       {folder}/gold.json",
    ]


@pytest.mark.long
def test_a_table_stays_on_the_terminal(lists: Path, refs: Path) -> None:
    tune = ["tune", "--candidates", str(lists), "--references", str(refs), "--restarts", "2"]
    shown = on_terminal(*tune)
    assert "tuning" in shown
    left = [line for line in screen(shown) if line]
    assert left[0].startswith("nothing was held out")
    assert "bleu" in left
    assert left[-1].startswith("mert: ")
    assert not any("tuning" in line for line in left)


def test_the_time_that_is_left_is_that_of_what_is_done() -> None:
    assert time_left(60.0, 1, 4) == "0:03:00 left"
    assert time_left(3000.0, 25.0, 100.0) == "2:30:00 left"
    assert time_left(60.0, 0, 4) == time_left(60.0, 4, 4) == time_left(60.0, 1, None) == ""
    assert time_left(1.0, 1, 100) == ""
