"""What a terminal shows while kernels are compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.cli.terminal import on_terminal, screen
from tunesmith.cli.compiling import CompilingBar, expected_kernels
from tunesmith.kernels.cache import VARIABLE, KernelCache


class Terminal:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shown: list[tuple[float, float]] = []

    def show(self, step: str, done: float, total: float, remark: str) -> None:
        assert step == "compiling kernels"
        assert remark == f"{done} of about {total}"
        self.shown.append((done, total))


def test_one_line_and_a_bar(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(KernelCache, "loaded", 0)
    terminal = Terminal()
    bar = CompilingBar(terminal.lines.append, terminal.show, 100)
    for compiled, is_busy in ((7, True), (8, True), (9, False), (9, True), (10, False)):
        bar(compiled, is_busy)
    assert terminal.lines == ["compiling kernels, once per installation: about 22 s"]
    assert terminal.shown == [(0, 100), (1, 100), (2, 100), (2, 100), (3, 100)]


def test_what_is_there_already_is_not_expected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(KernelCache, "loaded", 98)
    terminal = Terminal()
    bar = CompilingBar(terminal.lines.append, terminal.show, 100)
    for compiled in range(4):
        bar(compiled, True)
    assert terminal.lines == ["compiling kernels, once per installation: about 1 s"]
    assert terminal.shown == [(0, 2), (1, 2), (2, 3), (3, 4)]  # more than expected


def test_commands_differ_in_what_they_need():
    few = expected_kernels(["evaluate", "--hypotheses", "a"])
    more = expected_kernels(["tune", "--candidates", "a"])
    most = expected_kernels(["tune", "--forests", "a"])
    assert 0 < few < more < most
    assert more < expected_kernels(["tune", "--tuner", "lp-mert"])


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_a_first_run_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "text").write_text("a b c d e\n")
    files = ("--hypotheses", str(tmp_path / "text"), "--references", str(tmp_path / "text"))
    shown = on_terminal("evaluate", *files, *options)
    lines = [line for line in screen(shown) if line]
    said = [line for line in lines if line.startswith("tunesmith: compiling kernels, once per")]
    assert len(said) == (not options)
    assert ("of about" in shown) == (not options)
    assert "of about" not in "".join(lines)  # the bar does not stay
    assert lines[-1].startswith("bleu 100")
    if not options:
        assert "compiling" not in on_terminal("evaluate", *files)
