"""No test module imports from another one: what they share is in ``tests/helpers``."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent


def imported_test_modules(source: str) -> set[str]:
    """Return the parts of imported names that name test modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module or ''}.{alias.name}" for alias in node.names)
    return {part for name in names for part in name.split(".") if part.startswith("test_")}


def test_nothing_is_imported_from_test_modules() -> None:
    found = {
        str(path.relative_to(TESTS)): modules
        for path in TESTS.rglob("*.py")
        if (modules := imported_test_modules(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_the_rule_can_fail() -> None:
    assert imported_test_modules("import tests.io.test_read") == {"test_read"}
    assert imported_test_modules("def f():\n    from .test_read import g") == {"test_read"}
    assert imported_test_modules("from tests.io import test_read as r") == {"test_read"}
