"""What is printed, compared with what a page shows of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

#: What stands for any lines.
ANY = "..."
#: Numbers that are the machine's.
_OF_THE_MACHINE = re.compile(r"\b\d+(?:\.\d+)?(?= (?:s|seconds|msec|threads?)\b)")


def first_missing(shown: Sequence[str], printed: str) -> str | None:
    """Return the first line at which what is shown parts from what is printed, or None.

    A line ``...`` stands for any lines, and ``...`` within a line for anything; without them what
    is shown is the whole. Empty lines do not count; seconds and threads are the machine's.
    """
    lines = [line for line in _with_columns(printed) if line[0].strip()]
    pieces: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == ANY:
            pieces.append([])
        elif line.strip():
            pieces[-1].append(line)
    if pieces == [[]]:
        return None
    place = 0
    for k, piece in enumerate(pieces):
        first, last = place, len(lines) - len(piece)
        if k == 0:
            last = first
        elif k == len(pieces) - 1 and piece:
            first = max(first, last)
        same = [_same(piece, lines[n:]) for n in range(first, max(first, last) + 1)]
        if len(piece) not in same:
            return piece[max(same)]
        place = first + same.index(len(piece)) + len(piece)
    is_whole = place == len(lines) or not pieces[-1]
    return None if is_whole else f"... (no more lines than these, but: {lines[place][0]})"


def _same(piece: Sequence[str], lines: Sequence[tuple[str, int | None]]) -> int:
    """Return how many lines of a piece are the first ones printed."""
    fits = [_fits(line, *given) for line, given in zip(piece, lines, strict=False)]
    return [*fits, False].index(False)


def _with_columns(printed: str) -> Iterator[tuple[str, int | None]]:
    """Yield the lines of an output, with the number of the column that holds seconds."""
    seconds: int | None = None
    for line in printed.splitlines():
        if "┃" in line:
            heads = [head.strip() for head in line.split("┃")]
            seconds = heads.index("seconds") if "seconds" in heads else None
        elif not line.startswith(("│", "┏", "┡", "└")):
            seconds = None
        yield line, seconds


def _fits(shown: str, printed: str, seconds: int | None) -> bool:
    wanted, given = (_masked(line, seconds) for line in (shown, printed))
    pattern = ".*".join(re.escape(part) for part in wanted.split("..."))
    return re.fullmatch(pattern, given) is not None


def _masked(line: str, seconds: int | None) -> str:
    cells = line.rstrip().split("│")
    if seconds is not None and len(cells) > seconds:
        cells[seconds] = "#"
    return _OF_THE_MACHINE.sub("#", "│".join(cells))
