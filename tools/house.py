"""The map of the package, and counts of what makes a code base hard to find one's way in.

    python tools/house.py [ROOT]          counts
    python tools/house.py --map           docs/map.md, made of the first lines of all docstrings

ROOT is a checkout; by default it is the one that this file belongs to.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

TASKS = r"isinstance\([^)]*\b(TuningSet|ForestTuning|LiveTuning)\b"


MAP = """# Map

Every module of `src/tunesmith`, with the first line of its docstring. `python tools/house.py --map`
makes this page. [](architecture.md) says how the rooms belong together.

"""


def main() -> None:
    """Write the map, or print the counts."""
    if "--map" in sys.argv:
        here = Path(__file__).parents[1]
        (here / "docs" / "map.md").write_text(page_of_map(here / "src" / "tunesmith"), "utf-8")
        return
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    source = root / "src"
    package = source / "tunesmith"
    files = {path: path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}

    folders = Counter(path.parent for path in files)
    print(f"lines: {sum(text.count(chr(10)) for text in files.values()):,} in {len(files)} files")
    print("largest folders (modules, their doors included):")
    for folder, count in folders.most_common(5):
        print(f"  {count:3} {folder.relative_to(source)}")

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

    importers = _importers(source, trees)
    single = [module for module, users in importers.items() if len(users) == 1]
    print(f"modules with one importer: {len(single)}")

    def outside(pattern: str, room: str = "") -> int:
        return sum(
            len(re.findall(pattern, text))
            for path, text in files.items()
            if not room or room not in path.parts
        )

    print(f"isinstance on kinds of tasks outside tasks/: {outside(TASKS, 'tasks')}")
    print(f"object.__setattr__: {outside(r'object[.]__setattr__')}")
    print(f"__post_init__: {outside(r'def __post_init__')}")


def page_of_map(package: Path) -> str:
    """Return the page that lists every module."""
    return MAP + "".join(_section(package, package, ())) + "\n"


def _section(folder: Path, package: Path, names: tuple[str, ...]) -> list[str]:
    lines = []
    if names:
        lines.append(f"\n{'#' * min(len(names) + 1, 4)} `{'/'.join(names)}/`\n\n")
        door = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        lines.append(re.sub(r":class:`[^`]*?(\w+)`", r"`\1`", door.replace("``", "`")) + "\n\n")
    modules = [p for p in sorted(folder.glob("*.py")) if p.stem not in {"__init__", "__main__"}]
    lines += [f"- `{path.name}`: {_first_line(path)}\n" for path in modules]
    for below in sorted(path for path in folder.iterdir() if (path / "__init__.py").exists()):
        lines += _section(below, package, (*names, below.name))
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
