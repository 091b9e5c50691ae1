"""The map of the package, and counts that show how easy the code is to find one's way in.

It prints counts unless told otherwise. The map consists of the first lines of all docstrings.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).parents[1]
TASKS = r"isinstance\([^)]*\b(TuningSet|ForestTuning|LiveTuning)\b"


MAP = """# Map

Every module of `src/tunesmith`, with the first line of its docstring. `python tools/house.py --map`
makes this page. [](architecture.md) says how the rooms belong together.

"""


def main() -> None:
    """Write the map, or print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=HERE, help="a checkout [this one]")
    parser.add_argument("--map", action="store_true", help="write docs/map.md of the checkout")
    parser.add_argument("--rooms", action="store_true", help="print lines per room too")
    options = parser.parse_args()
    package = options.root / "src" / "tunesmith"
    if not package.is_dir():
        parser.error(f"{package}: there is no such folder; name a checkout")
    if options.map:
        (options.root / "docs" / "map.md").write_text(page_of_map(package), "utf-8")
        return
    print_counts(package)
    if options.rooms:
        print_rooms(package)


def print_counts(package: Path) -> None:
    """Print counts of lines, of repeated names and of what is best avoided."""
    files = {path: path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}

    folders = Counter(path.parent for path in files)
    print(f"lines: {sum(text.count(chr(10)) for text in files.values()):,} in {len(files)} files")
    print("largest folders (modules, __init__ included):")
    for folder, count in folders.most_common(5):
        print(f"  {count:3} {folder.relative_to(package.parent)}")

    classes = Counter(
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    print(f"class names that occur again: {_repeated(classes)}")
    # A door has the name of its folder; formats and metrics are called what they are in each.
    modules = Counter(path.stem for path in files if path.stem not in {"__init__", "base"})
    print(f"module names that occur again: {_repeated(modules)}")

    importers = _importers(package.parent, trees)
    single = [module for module, users in importers.items() if len(users) == 1]
    print(f"modules with one importer: {len(single)}")

    def occurrences(pattern: str, except_in: str = "") -> int:
        return sum(
            len(re.findall(pattern, text))
            for path, text in files.items()
            if not except_in or except_in not in path.parts
        )

    print(f"isinstance on kinds of tasks outside tasks/: {occurrences(TASKS, 'tasks')}")
    print(f"object.__setattr__: {occurrences(r'object[.]__setattr__')}")
    print(f"__post_init__: {occurrences(r'def __post_init__')}")


def print_rooms(package: Path) -> None:
    """Print lines of source and of tests of each room; modules at the top are one."""
    tests = package.parents[1] / "tests"
    rooms = sorted(path.name for path in package.iterdir() if (path / "__init__.py").exists())
    print("lines per room (source, tests):")
    for name, pattern in [*((room, "**/*.py") for room in rooms), ("", "*.py")]:
        source, tested = (
            sum(len(path.read_bytes().splitlines()) for path in (folder / name).glob(pattern))
            for folder in (package, tests)
        )
        print(f"  {source:6,} {tested:6,} {name or 'top-level modules'}")


def page_of_map(package: Path) -> str:
    """Return the page that lists every module."""
    return MAP + "".join(_section(package, ())) + "\n"


def _section(folder: Path, names: tuple[str, ...]) -> list[str]:
    lines = []
    if names:
        lines.append(f"\n{'#' * min(len(names) + 1, 4)} `{'/'.join(names)}/`\n\n")
        door = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        lines.append(re.sub(r":class:`[^`]*?(\w+)`", r"`\1`", door.replace("``", "`")) + "\n\n")
    modules = [p for p in sorted(folder.glob("*.py")) if p.stem not in {"__init__", "__main__"}]
    lines += [f"- `{path.name}`: {_first_line(path)}\n" for path in modules]
    for below in sorted(path for path in folder.iterdir() if (path / "__init__.py").exists()):
        lines += _section(below, (*names, below.name))
    return lines


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "?"
    line = docstring.partition("\n")[0].replace("``", "`")
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", line)


def _repeated(names: Counter[str]) -> str:
    repeated = sorted(name for name, count in names.items() if count > 1)
    return f"{len(repeated)} ({', '.join(repeated)})"


def _importers(source: Path, trees: dict[Path, ast.Module]) -> dict[str, set[Path]]:
    """Return who imports each module, doors aside."""
    names = {
        ".".join(path.relative_to(source).with_suffix("").parts): path
        for path in trees
        if path.stem not in {"__init__", "__main__"}
    }
    users: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inside = f"{node.module}.{alias.name}"
                    users[inside if inside in names else node.module].add(path)
    return {module: users[module] for module in names}


if __name__ == "__main__":
    main()
