"""What kernels may not use, as their text says it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tunesmith

SOURCE = Path(tunesmith.__file__).parent

#: What numba implements with inner functions that each kernel gets a copy of: compiled anew for
#: each, and told apart by a number alone.
NOT_IN_KERNELS = {
    "argpartition",
    "argsort",
    "heapify",
    "heappop",
    "heappush",
    "heapq",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "sort",
    "sorted",
    "unique",
}


def kernels() -> list[tuple[Path, ast.FunctionDef]]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = {ast.unparse(one) for one in node.decorator_list}
                if names & {"kernel", "inlined"}:
                    found.append((path, node))
    return found


def called(function: ast.FunctionDef) -> list[tuple[str, int]]:
    """Return what is called as a method or as a function of numpy, or of Python."""
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found.append((node.func.attr, node.lineno))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.append((node.func.id if node.func.id == "sorted" else "", node.lineno))
    return found


@pytest.mark.long
def test_kernels_are_found():
    assert len(kernels()) > 400


@pytest.mark.long
def test_sorting_is_ours():
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path, function in kernels()
        for name, line in called(function)
        if name in NOT_IN_KERNELS
    ]
    assert wrong == [], "use tunesmith.sorting"


@pytest.mark.long
def test_arrays_are_copied_by_our_kernels():
    """With an array that is assigned to a slice numba compiles its errors about shapes."""
    wrong = []
    for path, function in kernels():
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Subscript):
                continue
            is_slice = any(isinstance(one, ast.Slice) for one in ast.walk(node.targets[0].slice))
            if is_slice and isinstance(node.value, ast.Subscript | ast.BinOp):
                wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == [], "use tunesmith.copying"
