"""Words that were replaced by the field's own do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tunesmith

ROOT = Path(tunesmith.__file__).parent
#: A word or a phrase that is gone, and what to write instead. Words are found within identifiers
#: too: ``seat`` in ``_seat_of`` and in ``SeatLost``.
RETIRED = {
    "audience": "callbacks",
    "desk": "server",
    "disobedient": "misranked",
    "hear": "callback words: handle, on_...",
    "heard": "callback words: handle, on_...",
    "hearing": "callback words: handle, on_...",
    "hears": "callback words: handle, on_...",
    "kindly": "graceful",
    "eased": "reduced penalty",
    "made apart": "map in workers",
    "mend": "fix",
    "mended": "fixed",
    "our fault": "internal error",
    "a row a candidate": "one row per candidate",
    "a file a forest": "one file per forest",
    "shelf": "cache",
    "seat": "slot",
    "seats": "slots",
}


def words_of(text: str) -> str:
    """Return a text in lower case, with identifiers split into their words."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[\W_]+", " ", text).lower()


#: The words of each source file.
TEXTS = {
    path: f" {words_of(path.read_text())} "
    for path in sorted(ROOT.rglob("*"))
    if path.suffix in {".py", ".pyi", ".js", ".html", ".css"}
}


def test_identifiers_are_split() -> None:
    assert words_of("self._seat_of(SeatLost, our\n# fault)") == "self seat of seat lost our fault "


@pytest.mark.parametrize("word", RETIRED)
def test_a_retired_word_is_gone(word: str) -> None:
    found = [str(path.relative_to(ROOT)) for path, text in TEXTS.items() if f" {word} " in text]
    assert not found, f"'{word}' is back; write {RETIRED[word]}"
