"""Numbers, names and lines, as the descriptions of formats have them."""

from __future__ import annotations

import math
import re

NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class UnclearError(Exception):
    """The description leaves it open."""


class ForbiddenError(Exception):
    """The description forbids it."""


Unclear, Forbidden = UnclearError, ForbiddenError


def number(text: str) -> float:
    """Return a finite number."""
    if not NUMBER.fullmatch(text):
        raise Forbidden(f"'{text[:40]}' is no number")
    value = float(text)
    if not math.isfinite(value):
        raise Forbidden(f"'{text[:40]}' is not finite")
    return value


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line for line in all_lines(data) if line.strip()]


def all_lines(data: bytes) -> list[str]:
    """Return all lines of a text."""
    text = data.decode()
    if "\x00" in text:
        raise Unclear
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def group_id(text: str) -> int:
    """Return the id of a group that is a whole number of at most 18 digits."""
    if not re.fullmatch("[0-9]{1,18}", text):
        raise Forbidden(f"'{text[:40]}' is no id")
    return int(text)


def once(found: dict[str, float], name: str, value: float) -> None:
    """Keep a value under a name that stands once."""
    if name in found:
        raise Forbidden(f"'{name[:40]}' is given twice")
    found[name] = value
