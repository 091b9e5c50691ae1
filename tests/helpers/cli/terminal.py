"""Commands on a terminal, and what stays on its screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.waiting import PATIENCE

pty = pytest.importorskip("pty")
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
