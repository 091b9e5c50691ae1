"""A room may import from the rooms above it, never from those below."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

import tunesmith

ROOT = Path(tunesmith.__file__).parent
# From top to bottom; what is not built yet has its place too.
ROOMS = [
    "_version",
    "errors",
    "arrays",
    "progress",
    "notebook",
    "interruption",
    "randomness",
    "kernels",
    "registry",
    "parallel",
    "data",
    "io",
    "metrics",
    "derived",
    "inference",
    "tasks",
    "search",
    "tuners",
    "decoders",
    "hiero",
    "loop",
    "significance",
    "report",
    "integrations",
    "testing",
    "cli",
]


def imports(path: Path) -> set[str]:
    """Return the rooms that a file imports from, in functions and for type checkers too."""
    tree = ast.parse(path.read_text())
    return {
        node.module.split(".")[1]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tunesmith.")
    }


FILES = [p for p in sorted(ROOT.rglob("*.py")) if p.name not in {"__init__.py", "__main__.py"}]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_from_above_only(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert room in ROOMS
    below = {r for r in imports(path) if ROOMS.index(r) > ROOMS.index(room)}
    assert below == set()


def test_the_rule_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "if TYPE_CHECKING:\n    from tunesmith.loop.loop import Loop\n"
        "def f():\n    from tunesmith.cli.app import main\n"
    )
    assert imports(bad) == {"cli", "loop"}


PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py") if path.parent != ROOT)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_package_has_a_door_and_few_modules(package: Path) -> None:
    door = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    modules = {path.stem for path in package.iterdir() if path.name != "__init__.py"}
    assert len(list(package.glob("*.py"))) <= 16
    # The door says in which file to begin.
    assert set(re.findall(r"``(\w+)``", door)) & modules


def test_the_map_is_true() -> None:
    repository = ROOT.parents[1]
    tool = importlib.util.spec_from_file_location("house", repository / "tools" / "house.py")
    assert tool is not None
    assert tool.loader is not None
    house = importlib.util.module_from_spec(tool)
    tool.loader.exec_module(house)
    page = (repository / "docs" / "map.md").read_text("utf-8")
    assert page == house.page_of_map(ROOT), "run `python tools/house.py --map`"


def test_the_architecture_names_files_that_are_there() -> None:
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_/]+\.py)`", page)) - {"path/to/file.py"}
    assert len(named) > 60
    repository = ROOT.parents[1]
    others = [*repository.glob("tests/**/*.py"), *repository.glob("tools/*.py")]
    there = [f"/{path.relative_to(repository)}" for path in [*ROOT.rglob("*.py"), *others]]
    for folder in ("benchmarks", "experiments"):
        there += [f"/{path.relative_to(repository)}" for path in repository.glob(f"{folder}/*.py")]
    missing = {name for name in named if not any(p.endswith(f"/{name}") for p in there)}
    assert missing == set()
