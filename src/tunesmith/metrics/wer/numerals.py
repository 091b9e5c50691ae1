"""Numerals in words, by num2words, read as the language writes them: 1,000.5 or 1.000,5."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tunesmith.errors import MissingExtraError, TunesmithError, UnknownNameError

#: Languages of num2words in which a comma stands before decimals, by Unicode's CLDR (of Tetum, as
#: of Portuguese). A variant of a language that is not here is as the language, but for these.
COMMA_BEFORE_DECIMALS = frozenset(
    (
        *("az", "be", "ca", "cs", "da", "de", "eo", "es", "fi", "fr", "hu", "id", "is", "it"),
        *("kz", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tet"),
        *("tg", "tr", "uk", "vi"),
    )
)
POINT_BEFORE_DECIMALS = frozenset({"es_GT", "es_NI"})
#: Whole numbers of more digits are spelled digit by digit.
MOST_DIGITS = 15
#: A number, with marks between thousands or without, and what makes it an English ordinal.
_NUMBER = (
    r"((?:[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+(?![0-9])|[0-9]+)(?:{point}[0-9]+)?)"
    r"(?:(st|nd|rd|th)\b)?"
)


def check_language(language: str) -> None:
    """Raise an error unless numerals can be written out in a language."""
    if language:
        _speller(language)


def spelled_out(text: str, language: str) -> str:
    """Return a text with its numerals in words, which are words of their own."""
    return _pattern(language).sub(functools.partial(_spelled, language), text)


def has_decimal_comma(language: str) -> bool:
    """Tell whether a language writes decimals behind a comma, and thousands behind points."""
    family = language.partition("_")[0]
    return language not in POINT_BEFORE_DECIMALS and family in COMMA_BEFORE_DECIMALS


@functools.cache
def _pattern(language: str) -> re.Pattern[str]:
    mark, point = (r"\.", ",") if has_decimal_comma(language) else (",", r"\.")
    return re.compile(_NUMBER.format(mark=mark, point=point), re.IGNORECASE)


def _spelled(language: str, match: re.Match[str]) -> str:
    """Return a number in words."""
    mark, point = (".", ",") if has_decimal_comma(language) else (",", ".")
    digits, suffix = match[1].replace(mark, "").replace(point, "."), match[2]
    is_english = language.partition("_")[0] == "en"
    kind = "ordinal" if suffix and is_english and "." not in digits else "cardinal"
    words = _in_words(language, digits, kind)
    rest = "" if suffix is None or kind == "ordinal" else suffix
    return f" {words} {rest} "


@functools.lru_cache(maxsize=100_000)
def _in_words(language: str, digits: str, kind: str) -> str:
    spell = _speller(language)
    whole, _, fraction = digits.partition(".")
    if (whole[0] == "0" and len(whole) > 1) or len(whole) > MOST_DIGITS:
        return " ".join([_in_words(language, digit, "cardinal") for digit in whole + fraction])
    try:
        words = spell(digits if fraction else int(whole), lang=language, to=kind)
    except (NotImplementedError, OverflowError, ArithmeticError, ValueError):
        raise TunesmithError(
            f"num2words cannot write {digits} in '{language}'; leave numbers={language} out"
        ) from None
    return words.replace(",", " ").replace("-", " ")


@functools.cache
def _speller(language: str) -> Callable[..., str]:
    try:
        import num2words
    except ImportError:
        raise MissingExtraError(f"numbers={language}", "speech") from None
    known: list[Any] = sorted(num2words.CONVERTER_CLASSES)
    if language not in known:
        raise UnknownNameError("language of numbers", language, known)
    spell: Callable[..., str] = num2words.num2words
    return spell
