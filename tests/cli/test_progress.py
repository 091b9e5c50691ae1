"""Progress bars: on a terminal only, and never in the way of a result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.waiting import PATIENCE

pty = pytest.importorskip("pty")

SYNTH = ("synth", "--sentences", "5", "--candidates", "3", "--features", "4", "--noise", "1")
CLEAR_LINE = "\x1b[2K"


def on_terminal(*arguments: str, stdout: Path | None = None) -> str:
    """Run a command with standard error, and output if it goes nowhere else, on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
    with open(stdout or os.devnull, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tunesmith", *arguments],
            stdout=theirs if stdout is None else file,
            stderr=theirs,
            env=environment,
        )
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=PATIENCE) == 0, shown
    os.close(ours)
    return shown.decode()


def screen(shown: str) -> list[str]:
    """Return what stays on a terminal: line ends, cursor up and erased lines are enough."""
    lines, row = [""], 0
    at = 0
    while at < len(shown):
        if shown.startswith("\x1b[", at):
            end = next(k for k in range(at + 2, len(shown)) if shown[k].isalpha())
            code = shown[at : end + 1]
            if code.endswith("A"):
                row -= int(code[2:-1] or 1)
                assert row >= 0
            elif code == CLEAR_LINE:
                lines[row] = ""
            at = end + 1
            continue
        if shown[at] == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif shown[at] == "\r":
            if shown[at + 1 : at + 2] != "\n" and not shown.startswith("\x1b", at + 1):
                lines[row] = ""
        else:
            lines[row] += shown[at]
        at += 1
    return [line.rstrip() for line in lines]


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
    assert left[0] == "bleu"
    assert left[-1].startswith("mert: ")
    assert not any("tuning" in line for line in left)
