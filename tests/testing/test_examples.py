"""The page about plug-ins: its files conform, its lists of rules are complete."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.helpers.conformance import failing
from tunesmith.cli import main
from tunesmith.decoders.base import DECODERS
from tunesmith.io.lists.base import FORMATS
from tunesmith.metrics.base import METRICS
from tunesmith.registry import options_of
from tunesmith.testing import (
    check_metric,
    decoders,
    directions,
    formats,
    metrics,
    tuners,
    weights,
)
from tunesmith.testing.checks import ConformanceError
from tunesmith.tuners.base import TUNERS

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
PAGE = (DOCS / "plugins.md").read_text(encoding="utf-8")
DECODED = ["the rhine is old", "", "in basel it is cold", "a b c d e f g h"]
PLUGINS = {
    "exact_match.py": (METRICS, "ExactMatch", metrics.metric_checks),
    "random_search.py": (TUNERS, "RandomSearch", tuners.tuner_checks),
    "tabbed.py": (FORMATS, "Tabbed", formats.format_checks),
    "recaser.py": (
        DECODERS,
        "Recaser",
        lambda made: decoders.decoder_checks(made, DECODED, {"first": 1.0, "long": -0.5}),
    ),
}


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def _registries_as_before():
    """Forget what the examples register."""
    held = {registry: None for registry, _, _ in PLUGINS.values()}
    for registry in held:
        registry.names()
        held[registry] = dict(registry._classes)
    modules = set(sys.modules)
    yield
    for registry, classes in held.items():
        registry._classes.clear()
        registry._classes.update(classes)
    for name in set(sys.modules) - modules:
        if name.startswith("tunesmith_file_") or f"{name}.py" in PLUGINS:
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path, bundled, monkeypatch) -> Path:
    """A folder with the examples and the bundled lists, as the page asks for."""
    for path in (*EXAMPLES.glob("*.py"), *bundled.glob("*")):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("name", PLUGINS)
def test_an_example_is_short_shown_as_it_is_and_conforms(name):
    text = (EXAMPLES / name).read_text()
    assert len(text.splitlines()) < 40
    assert text in blocks("python")
    registry, cls, checks_of = PLUGINS[name]
    made = registry.get(f"{EXAMPLES / name}:{cls}")
    assert f'.register("{made.name}")' in text
    checks = checks_of(made)
    assert failing(checks) == {}
    assert all(o.help for o in options_of(made))


def test_the_number_of_tests_is_that_of_the_page():
    shown = (EXAMPLES / "test_plugins.py").read_text()
    assert shown in blocks("python")
    count = sum(len(module.RULES) for module in (metrics, tuners, formats))
    assert f"{count} passed" in PAGE


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a block, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def demand_printed(printed: str, wanted: list[str]) -> None:
    """Demand lines as the page shows them; ... stands for anything."""
    pattern = r"\s*\n".join(re.escape(line).replace(re.escape("..."), ".*") for line in wanted)
    assert re.match(pattern, printed, flags=re.DOTALL), printed


def test_a_file_without_candidates_is_an_error_in_any_format(folder, capsys):
    (folder / "blank.tabbed").write_bytes(b"\n \n")
    code = main(
        [
            "rerank",
            "--candidates=blank.tabbed",
            "--format=tabbed.py:Tabbed",
            "--weights=weights.initial",
        ]
    )
    assert code == 2
    said = "tunesmith: error: blank.tabbed: there is no candidate in it; give some\n"
    assert capsys.readouterr().err == said


def test_a_broken_rule_is_reported_as_on_the_page(tmp_path):
    text = (EXAMPLES / "exact_match.py").read_text()
    mark = "    is_sum = True"
    assert mark in text
    (tmp_path / "broken.py").write_text(text.replace(mark, f"    higher_is_better = False\n{mark}"))
    with pytest.raises(ConformanceError) as error:
        check_metric(METRICS.get(f"{tmp_path / 'broken.py'}:ExactMatch"))
    assert f"{error.value}\n" in blocks("text")


def test_the_lists_of_rules_are_complete():
    for module in (metrics, tuners, formats, decoders, weights, directions):
        rules = []
        for rule in module.RULES:
            said = (rule.__doc__ or "").strip().rstrip(".")
            rules.append(f"- {said[:1].lower()}{said[1:]} (`{rule.__name__}`)")
        assert "\n".join(["", *rules, ""]) in PAGE


@pytest.mark.long
def test_the_example_in_python_runs(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    convert_to_tabbed()
    (code,) = [block for block in blocks("python") if "import exact_match" in block]
    found: dict = {}
    exec(code, found)
    assert found["result"].score > found["result"].initial_score
    assert len(found["candidates"]) == 9958


def test_the_decoder_of_the_page_runs(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    (code,) = [block for block in blocks("python") if "import recaser" in block]
    found: dict = {}
    exec(code, found)
    result = found["decoded"]
    assert result.initial_score < result.rounds[1]["score"]
    assert result.rounds[1]["score"] == pytest.approx(100.0)
    assert result.score == pytest.approx(100.0)


def convert_to_tabbed() -> None:
    names = {"candidates": "tune.nbest.gz", "to": "tabbed.py:Tabbed", "out": "tune.tabbed.gz"}
    assert main(["convert", *(f"--{k}={v}" for k, v in names.items()), "--quiet"]) == 0


@pytest.mark.long
def test_an_installed_package_is_found_by_name(folder):
    """What pip installs of the page's pyproject.toml: modules, and their entry points."""
    points = tomllib.loads(blocks("toml")[0])["project"]["entry-points"]
    assert list(points) == [registry.group for registry in (METRICS, TUNERS, FORMATS)]
    listed = "".join(
        f"[{kind}]\n" + "".join(f"{name} = {place}\n" for name, place in held.items())
        for kind, held in points.items()
    )
    info = folder / "my_plugins-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugins\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(listed)
    convert_to_tabbed()
    ((command, wanted),) = commands(blocks("console")[-1])
    done = subprocess.run(
        [sys.executable, "-m", "tunesmith", *shlex.split(command)[1:]],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    demand_printed(done.stdout, wanted)
