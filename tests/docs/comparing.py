"""What is printed, compared with what a page shows of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

#: Numbers that are the machine's.
_OF_THE_MACHINE = re.compile(r"\b\d+(?:\.\d+)?(?= (?:s|seconds|msec|threads?)\b)")


def first_missing(shown: Sequence[str], printed: str) -> str | None:
    """Return the first line that is shown and not printed, in the order shown.

    Pages show outputs in part: other lines may stand between. ``...`` stands for anything;
    seconds and threads are those of the machine.
    """
    lines, place = list(_with_columns(printed)), 0
    for line in shown:
        if line.strip() in {"", "..."}:
            continue
        fitting = (k for k in range(place, len(lines)) if _fits(line, *lines[k]))
        found = next(fitting, None)
        if found is None:
            return line
        place = found + 1
    return None


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
