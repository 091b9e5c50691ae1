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
    assert wrong == [], "use tunesmith.kernels.sorting"


@pytest.mark.long
def test_arrays_are_copied_by_our_kernels():
    """With an array that is assigned to a slice numba compiles its errors about shapes."""
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path, function in kernels()
        for line, text in slices_assigned(function)
    ]
    assert wrong == [], "use tunesmith.kernels.copying"


#: Names of numbers that are assigned to all of a slice.
NUMBERS = {"NONE", "PAD", "count", "lo", "target_words", "words"}


def slices_assigned(function: ast.FunctionDef) -> list[tuple[int, str]]:
    """Return the assignments to slices of what is no number."""
    found = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        else:
            pairs = [(target, value)]
        for to, of in pairs:
            if isinstance(to, ast.Subscript) and any(
                isinstance(one, ast.Slice) for one in ast.walk(to.slice)
            ):
                text = ast.unparse(of)
                is_number = isinstance(of, ast.Constant | ast.UnaryOp) or text in NUMBERS
                if not is_number and text != "np.nan" and not text.endswith(".sum()"):
                    found.append((node.lineno, ast.unparse(node)))
    return found
