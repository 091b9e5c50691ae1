"""The runner of all experiments counts what is there, and every command that it knows is one."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("thot")
pytest.importorskip("matplotlib")
sys.path.append(str(Path(__file__).parents[2] / "experiments"))

import everything

EXPERIMENTS = Path(everything.__file__).parent


@pytest.mark.long
def test_parts_count_what_is_there(tmp_path, monkeypatch):
    parts = everything.all_parts(list(everything.EXPERIMENTS), everything.PROTOCOLS)
    assert {one.page for one in parts} == set(everything.EXPERIMENTS)
    assert all(0 <= one.done <= one.wanted and one.each > 0 for one in parts)
    # A run less is a run that is missing, and takes as long as the others.
    numbers = json.loads((everything.RESULTS / "pro-monsters.json").read_text())
    (gone, *rest) = (row for row in numbers["quick"] if row["tuned"] == "all")
    left = [row for row in numbers["quick"] if row["tuned"] != "all"] + rest
    (tmp_path / "pro-monsters.json").write_text(json.dumps({"quick": left}))

    def control(found):
        return next(one for one in found if (one.page, one.name) == ("pro-monsters", "control"))

    before = control(parts)
    monkeypatch.setattr(everything, "RESULTS", tmp_path)
    after = control(everything.all_parts(["pro-monsters"], ["quick"]))
    assert gone not in left
    assert (after.done, after.wanted) == (before.done - 1, before.wanted)
    assert after.left == pytest.approx(before.left + after.each)
    # Without any numbers all of it is missing.
    (tmp_path / "pro-monsters.json").unlink()
    nothing = everything.all_parts(["pro-monsters"], ["quick"])
    assert [one.done for one in nothing] == [0] * len(nothing)


def test_the_report_adds_up():
    make = everything.Part
    parts = [
        make("one", "quick", "a", ("x.py",), 2, 5, 60.0),
        make("two", "quick", "b", ("y.py",), 7, 7, 1.0),
        make("two", "full", "b", ("y.py",), 0, 10, 3600.0),
    ]
    lines = everything.report(parts).splitlines()
    assert lines[1].split() == ["one", "quick", "a", "2", "of", "5", "3", "min"]
    assert lines[2].split()[-1] == "done"
    assert lines[-2].split() == ["all", "quick", "9", "of", "12", "3", "min"]
    assert lines[-1].split() == ["all", "full", "0", "of", "10", "10.0", "h"]


@pytest.mark.long
def test_scripts_know_the_options_that_they_are_called_with(monkeypatch, capsys):
    parts = everything.all_parts(list(everything.EXPERIMENTS), everything.PROTOCOLS)
    commands = {one.command for one in parts} | set(everything.RENDER.values())
    for script in {command[0] for command in commands}:
        assert (EXPERIMENTS / script).exists()
        flags = {a for c in commands if c[0] == script for a in c[1:] if a.startswith("--")}
        if flags:
            # In this process: a new one would import everything anew.
            monkeypatch.setattr(sys, "argv", [script, "--help"])
            with pytest.raises(SystemExit, match=r"^0$"):
                runpy.run_path(str(EXPERIMENTS / script), run_name="__main__")
            told = capsys.readouterr().out
            assert all(flag in told for flag in flags), script
