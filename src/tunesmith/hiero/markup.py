"""Forced translations in a sentence: ``<x translation="the house">das haus</x>``, as of Moses.

The element may have any name. Several translations stand between ``||``, and ``prob`` may give
the probability of each: its natural logarithm is the feature :data:`FORCED`. Elements are not
nested. Moses' ``<wall/>`` and ``<zone>`` are refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tunesmith.decoders.base import DecoderError

#: The feature of the probabilities of forced translations.
FORCED = "Forced"
_TAG = re.compile(
    r"<(?P<name>[A-Za-z][\w.-]*)(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)"
    r"\s*(?P<empty>/?)>|</(?P<closed>[A-Za-z][\w.-]*)\s*>"
)
#: The beginning of an element that is none: without a quote, or without its end.
_BROKEN = re.compile(r"<[A-Za-z][\w.-]*\s+[\w:.-]+\s*=")
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
#: Elements of Moses that say something else.
_OTHERS = ("wall", "zone", "ne", "np")


@dataclass(frozen=True)
class Forced:
    """A translation of the words from ``begin`` to ``end - 1``.

    Attributes
    ----------
    begin, end
        Which words.
    translation
        What they become.
    log_probability
        The natural logarithm of its probability; 0 where none is given.
    """

    begin: int
    end: int
    translation: tuple[str, ...]
    log_probability: float = 0.0


def forced_in(text: str) -> tuple[tuple[str, ...], tuple[Forced, ...]]:
    """Return the words of a sentence, and the translations that elements give to some of them."""
    words: list[str] = []
    forced: list[Forced] = []
    name, attributes, begin, at = "", "", 0, 0
    for tag in _TAG.finditer(text):
        words += _plain(text[at : tag.start()])
        at = tag.end()
        if tag["closed"]:
            if tag["closed"] != name:
                raise DecoderError(f"'{tag[0]}' closes no element; take it out")
            if len(words) == begin:
                raise DecoderError(f"<{name}> has no words; put those that it translates into it")
            forced += _translations(name, attributes, begin, len(words))
            name = ""
        elif name:
            raise DecoderError(f"'{tag[0]}' is within <{name}>; close that first")
        elif tag["empty"] or tag["name"] in _OTHERS:
            raise DecoderError(f"'{tag[0]}' translates no words; take it out")
        else:
            name, attributes, begin = tag["name"], tag["attributes"], len(words)
    if name:
        raise DecoderError(f"<{name}> is not closed; write </{name}> behind its last word")
    words += _plain(text[at:])
    return tuple(words), tuple(forced)


def _plain(text: str) -> list[str]:
    """Return words between elements, none of which begins another."""
    broken = _BROKEN.search(text)
    if broken:
        raise DecoderError(
            f"'{broken[0]}' begins an element that is not complete; put its values between quotes "
            "and end it with >"
        )
    return text.split()


def _translations(name: str, attributes: str, begin: int, end: int) -> list[Forced]:
    """Return what an element says of the words in it."""
    values = {key: value[1:-1] for key, value in _ATTRIBUTE.findall(attributes)}
    for key in values:
        if key not in ("translation", "prob"):
            raise DecoderError(f"<{name}> has the attribute '{key}'; give translation and prob")
    if "translation" not in values:
        raise DecoderError(f'<{name}> has no translation; write <{name} translation="...">')
    for key, value in values.items():
        if "|||" in value:
            raise DecoderError(
                f"the {key} of <{name}> has '|||' in it; write || between several, and no | "
                "beside it"
            )
    texts = values["translation"].split("||")
    logarithms = [0.0] * len(texts)
    if "prob" in values:
        logarithms = [_logarithm(name, text) for text in values["prob"].split("||")]
    if len(logarithms) != len(texts):
        raise DecoderError(
            f"<{name}> has {len(texts)} translations and {len(logarithms)} probabilities; give one "
            "for each, with || between them"
        )
    return [
        Forced(begin, end, tuple(text.split()), logarithm)
        for text, logarithm in zip(texts, logarithms, strict=True)
    ]


def _logarithm(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise DecoderError(f"<{name}> has the probability '{text.strip()}'; give numbers above 0")
    return math.log(value)
