"""The code blocks of a page, and what its comments say of them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: Kinds of blocks that are commands, and those that must be well-formed.
COMMANDS = frozenset({"console", "sh", "bash"})
PARSED = frozenset({"json", "toml", "yaml"})
CODE = COMMANDS | PARSED | {"python"}
#: Kinds that are no code: what is printed, what files hold, and references.
PROSE = frozenset({"text", "bibtex", "csv", "html"})

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<kind>[^\n`]*)\n", re.MULTILINE)
_SAID = re.compile(r"<!--\s*(not run|file|printed)\s*(?::\s*(.*?))?\s*-->\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes
    ----------
    kind
        What stands behind the fence: console, python, json, text ...
    text
        What it holds, without indentation.
    line
        The line of the page where it begins, from 1.
    said
        What a comment right before it says: ``not run``, ``file``, ``printed``, or nothing.
    value
        What stands behind the colon of that comment: a reason, or the name of a file.
    """

    kind: str
    text: str
    line: int
    said: str = ""
    value: str = ""

    @property
    def is_code(self) -> bool:
        """Whether readers take it for something that they can run or give to a program."""
        return self.kind in CODE


@dataclass(frozen=True)
class Command:
    """A command of a block, with the lines that the page shows of its output."""

    text: str
    shown: tuple[str, ...]
    line: int


def pages() -> list[Path]:
    """Return all pages, as paths within the source."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found += [p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts]
    return sorted(path.relative_to(ROOT) for path in found)


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page; directives of Sphinx are none."""
    found, place = [], 0
    while (fence := _FENCE.search(text, place)) is not None:
        end = re.compile(rf"^ *{fence['ticks']} *$", re.MULTILINE).search(text, fence.end())
        if end is None:
            line = text.count("\n", 0, fence.start()) + 1
            raise ValueError(f"line {line}: the block has no end")
        kind = fence["kind"].strip()
        if not kind.startswith("{"):
            said = _SAID.search(text[place : fence.start()])
            name, value = (said[1], said[2] or "") if said else ("", "")
            body = textwrap.dedent(text[fence.end() : end.start()])
            line = text.count("\n", 0, fence.end()) + 1
            found.append(Block(kind, body, line, name, value))
        place = end.end()
    return found


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a block: lines after ``$``, or all where there is none."""
    lines = block.text.splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    found: list[tuple[list[str], list[str], int]] = []
    for number, line in enumerate(lines, start=block.line):
        goes_on = bool(found) and not found[-1][1] and found[-1][0][-1].endswith("\\")
        if prompted and line.startswith("$ "):
            found.append(([line[2:]], [], number))
        elif found and prompted and line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        elif goes_on:
            found[-1][0].append(line)
        elif prompted and found:
            found[-1][1].append(line)
        elif not prompted and line.strip():
            found.append(([line], [], number))
    return [Command("\n".join(said), tuple(shown), number) for said, shown, number in found]
