"""A room may import from the rooms above it, never from those below."""

from __future__ import annotations

import ast
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
    "kernels",
    "interruption",
    "randomness",
    "registry",
    "parallel",
    "data",
    "io",
    "metrics",
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
    """Return the rooms that a file imports from; those for type checkers alone do not count."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tunesmith."):
            found.add(node.module.split(".")[1])
    return found


FILES = [p for p in sorted(ROOT.rglob("*.py")) if p.name not in {"__init__.py", "__main__.py"}]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_from_above_only(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert room in ROOMS
    below = {r for r in imports(path) if ROOMS.index(r) > ROOMS.index(room)}
    assert below == set()


def test_the_rule_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from tunesmith.cli.app import main\n")
    assert imports(bad) == {"cli"}
