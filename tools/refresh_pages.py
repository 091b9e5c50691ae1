"""Run the blocks of pages, and put what is printed now in place of what they show.

``python tools/refresh_pages.py docs/choosing.md`` rewrites the outputs that differ; what a page
leaves out with ``...`` stays left out. Sentences that quote numbers are yours to look at:
``git diff`` shows which numbers are new.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).parents[1]
#: Helpers are imported here before pytest is ready for them.
IGNORED = "ignore::pytest.PytestAssertRewriteWarning"
sys.path.insert(0, str(ROOT))

from tests.helpers.docs import running  # noqa: E402
from tests.helpers.docs.comparing import ANY, first_missing  # noqa: E402


def main() -> None:
    """Refresh the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="+", help="pages, as docs/choosing.md")
    pages = parser.parse_args().pages
    changed: dict[str, list[tuple[tuple[str, ...], list[str] | None]]] = {}

    def compare(page: running.Page, shown: tuple[str, ...], printed: str, line: int) -> None:
        if not page.settings.not_compared and first_missing(shown, printed) is not None:
            changed.setdefault(page.name, []).append((shown, replaced(shown, printed)))

    tests = [f"tests/docs/test_pages.py::test_blocks_run[{page}]" for page in pages]
    with mock.patch.object(running.Page, "_compare", compare):
        code = pytest.main(
            ["-q", "-W", IGNORED, "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
        )
    for name, outputs in changed.items():
        text = (ROOT / name).read_text("utf-8")
        for shown, now in outputs:
            block = "\n".join(shown)
            if now is None or block not in text:
                print(f"{name}: look at what follows {shown[0]!r}")
            else:
                text = text.replace(block, "\n".join(now), 1)
        (ROOT / name).write_text(text, "utf-8")
        print(f"{name}: {len(outputs)} outputs differed")
    sys.exit(code)


def replaced(shown: tuple[str, ...], printed: str) -> list[str] | None:
    """Return what is printed in place of what is shown; None if the two do not go together."""
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    result: list[str] = []
    piece: list[str] = []
    place = 0
    for line in [*shown, ANY]:
        if line.strip() != ANY:
            if line.strip():
                piece.append(line)
            continue
        if piece:
            keys = [key(text) for text in piece]
            here = [key(text) for text in lines]
            starts = [n for n in range(place, len(lines)) if here[n] == keys[0]]
            ends = [n for n in range(place, len(lines)) if here[n] == keys[-1]]
            spans = [(abs(e - s + 1 - len(piece)), s, e) for s in starts for e in ends if s <= e]
            if not spans:
                return None
            _, first, last = min(spans)
            result += lines[first : last + 1]
            place = last + 1
            piece = []
        result.append(ANY)
    return result[:-1]


def key(line: str) -> str:
    """Return what a line begins with, without numbers."""
    if line[:1] in "┏┡└":
        return line[0]
    cells = line.split("│")
    head = "│".join(cells[:3]) if len(cells) > 1 else line.partition(":")[0]
    return re.sub(r"[-+−≥\d.%,~^\s]+", "#", head)[:40]


if __name__ == "__main__":
    main()
