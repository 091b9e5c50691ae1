"""Texts in pictures: names as they are, whatever is in them."""

from __future__ import annotations

import unicodedata

#: Longer names are cut.
LONGEST = 40
#: What a character that cannot be shown becomes.
UNKNOWN = "\ufffd"


def displayed(text: str, longest: int = LONGEST) -> str:
    """Return a text in one line that every kind of picture can hold.

    Control characters, halves of pairs and what is no character at all have no place in an SVG.
    """
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(UNKNOWN if _is_odd(character) else character for character in cut)


def label(text: str, longest: int = LONGEST) -> str:
    """Return the same for a legend, which leaves out what begins with an underscore."""
    visible = displayed(text, longest)
    return f" {visible}" if visible.startswith("_") else visible


def axis_of(metric: str, higher: bool) -> str:
    """Return what an axis of scores is called."""
    return f"{displayed(metric)} ({'higher' if higher else 'lower'} is better)"


def _is_odd(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs"} or ord(character) & 0xFFFE == 0xFFFE
