"""What experiments keep: rows of numbers beside a page, and tables in the page itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def read_rows(numbers: Path) -> dict[str, Rows]:
    """Return all rows so far, by protocol."""
    return json.loads(numbers.read_text()) if numbers.exists() else {}


def known_keys(numbers: Path, name: str, keys: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return what tells the rows so far from each other: they need not be made again."""
    return {tuple(row[key] for key in keys) for row in read_rows(numbers).get(name, [])}


def keep_row(numbers: Path, name: str, row: dict[str, Any], keys: Sequence[str]) -> None:
    """Put a row in place of one with the same keys, or at the end of its protocol's rows."""
    found = read_rows(numbers)
    rest = [old for old in found.get(name, []) if any(old[key] != row[key] for key in keys)]
    found[name] = [*rest, row]
    numbers.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n")


def with_tables(page: str, name: str, tables: Mapping[str, str]) -> str:
    """Return a page with what stands between the marks of each table replaced."""
    for which, text in tables.items():
        begin, end = f"<!-- {which} {name} -->\n", f"<!-- end {which} {name} -->"
        block = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
        page = (begin + text.rstrip() + "\n" + end).join(block.split(page))
    return page
