"""Progress: who looks sees it, from threads too, and parts of a whole go on from each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tunesmith.progress import is_shown, part_of, progress, show_with, shown

Seen = list[tuple[str, float, float | None, str]]


@pytest.fixture
def seen() -> Iterator[Seen]:
    found: Seen = []
    show_with(lambda *said: found.append(said))
    yield found
    show_with(None)


def test_nobody_looks() -> None:
    assert not is_shown()
    progress("step", 1, 2)
    shown()("step", 1, 2, "")
    with part_of(3, 9):
        progress("step", 1, 2)


def test_threads(seen: Seen) -> None:
    assert is_shown()
    show = shown()
    thread = threading.Thread(target=lambda: (progress("lost", 1, 2), show("step", 1, 2, "so")))
    thread.start()
    thread.join()
    assert seen == [("step", 1, 2, "so")]


def test_parts(seen: Seen) -> None:
    with part_of(10, 30):
        progress("step", 2, 10)
        shown()("step", 3, 10, "more")
    progress("step", 2, 10)
    assert seen == [("step", 12, 30, ""), ("step", 13, 30, "more"), ("step", 2, 10, "")]


def test_parts_end_with_an_error(seen: Seen) -> None:
    with pytest.raises(ValueError, match="no"), part_of(10, 30):
        raise ValueError("no")
    progress("step", 1, 2)
    assert seen == [("step", 1, 2, "")]
