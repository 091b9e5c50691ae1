"""Which words of two texts are the same, and which are not."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import Indel

from tunesmith.report.page.view import Mark

#: Longer texts are cut at this many words, or characters of words.
MOST_WORDS, MOST_CHARACTERS = 400, 8000
#: Stands for what is cut.
ELLIPSIS = "…"

Pieces = tuple[tuple[str, Mark], ...]


def differences(before: str, after: str) -> tuple[Pieces, Pieces]:
    """Return both texts as pieces: what both have in the same order, and what only one has.

    As many words as can be are the same. The pieces of a text, with spaces between them, are
    the text, cut where it is very long.
    """
    old, new = words_of(before), words_of(after)
    left: list[tuple[str, Mark]] = []
    right: list[tuple[str, Mark]] = []
    for step in Indel.opcodes(old, new):
        is_same = step.tag == "equal"
        _add(left, old[step.src_start : step.src_end], "same" if is_same else "out")
        _add(right, new[step.dest_start : step.dest_end], "same" if is_same else "in")
    return tuple(left), tuple(right)


def truncated(text: str) -> str:
    """Return a text without what is beyond the longest that is shown."""
    return " ".join(words_of(text))


def words_of(text: str) -> list[str]:
    """Return the words of a text; an ellipsis is the last one where it is cut."""
    words = text.split(" ") if text else []
    shortened_words = words[:MOST_WORDS]
    room = MOST_CHARACTERS
    for k, word in enumerate(shortened_words):
        if len(word) > room:
            return [*shortened_words[:k], *([word[:room]] if room else []), ELLIPSIS]
        room -= len(word)
    return shortened_words if len(shortened_words) == len(words) else [*shortened_words, ELLIPSIS]


def _add(pieces: list[tuple[str, Mark]], words: Sequence[str], mark: Mark) -> None:
    """Add words to pieces; those of one kind that follow each other are one piece."""
    if not words:
        return
    text = " ".join(words)
    if pieces and pieces[-1][1] == mark:
        text = f"{pieces.pop()[0]} {text}"
    pieces.append((text, mark))
