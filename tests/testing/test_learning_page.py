"""The pages about tuners that learn: the part of PRO works, options and names are real."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tunesmith.cli import main
from tunesmith.metrics.candidate_scorer import OBJECTIVES, PRESETS
from tunesmith.registry import options_of
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.pro.selection import SELECTIONS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join((DOCS / f"{name}.md").read_text("utf-8") for name in ("learning", "pro", "online"))
LEARNING = {
    *("pro", "batch-mira", "mira", "arow", "sgd", "perceptron", "min-risk", "ramp", "auto"),
}


@pytest.fixture
def _selections_as_before():
    SELECTIONS.names()
    held = dict(SELECTIONS._classes)
    yield
    SELECTIONS._classes.clear()
    SELECTIONS._classes.update(held)
    for name in [n for n in sys.modules if n.startswith("tunesmith_file_")]:
        del sys.modules[name]


@pytest.mark.long
@pytest.mark.usefixtures("_selections_as_before")
def test_a_part_of_ones_own_runs_as_the_page_says(tmp_path, bundled, monkeypatch, capsys):
    for path in bundled.glob("*"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    (part,) = [b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "Relative" in b]
    Path("relative.py").write_text(part)
    (command,) = [
        block
        for block in re.findall(r"```console\n\$ (.*?)```", PAGE, re.DOTALL)
        if "relative" in block
    ]
    arguments = shlex.split(command.replace("\\\n", ""))
    assert main(arguments[1:]) == 0
    assert Path("weights.json").exists()
    with_all = capsys.readouterr().out
    # A share of 0 leaves pairs of equal length: fewer than 50 in short lists.
    tight = [a.replace("most=0.3", "most=0") for a in arguments[1:]]
    assert main(tight) == 0
    assert capsys.readouterr().out != with_all


@pytest.mark.long
def test_every_objective_and_tuner_is_on_the_page():
    names = set(re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE))
    assert {*PRESETS} <= names
    assert {*OBJECTIVES.names()} - {"sentence"} <= names
    assert set(re.findall(r"`([a-z-]+)`", PAGE)) >= LEARNING


def test_every_option_on_the_page_exists():
    options = [option for name in TUNERS.names() for option in options_of(TUNERS.get(name))]
    known = {f"--{option.flag}" for option in options}
    known |= {f"--no-{option.flag}" for option in options if option.type is bool}
    common = {"--tuner", "--candidates", "--references", "--start", "--out", "--write"}
    common |= {"--dev-candidates", "--dev-references", "--tune-on"}
    common |= {"--engine", "--workers", "--worker-timeout", "--threads"}
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE))
    assert used - common <= known
