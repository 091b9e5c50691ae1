"""Slow readers of weights; see ``fuzz.files.plain``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from fuzz.files.plain_lists import _numbers
from fuzz.files.plain_text import Forbidden, Unclear, number, once


def from_json(text: str) -> dict[str, float]:
    """Read an object of numbers, or one with such an object as ``weights``."""

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(found)) < len(found):
            raise Unclear
        return dict(found)

    try:
        found = json.loads(text, object_pairs_hook=pairs)
    except ValueError as error:
        raise Forbidden("it is no JSON") from error
    if isinstance(found, dict) and "weights" in found:
        found = found["weights"]
    if not isinstance(found, dict):
        raise Forbidden("it is no object")
    return _numbers(found)


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if line.strip():
            yield line.strip()


def moses(text: str) -> dict[str, float]:
    """Read ``Name= value value``; what follows a ``#`` is a comment."""
    values: dict[str, list[float]] = {}
    for line in _lines(text):
        tokens = line.partition("#")[0].split()
        if not tokens:
            continue
        name, equals, first = tokens[0].partition("=")
        if not name or not equals:
            raise Unclear
        if "=" in first or "=" in "".join(tokens[1:]):
            raise Unclear
        given = [*([first] if first else []), *tokens[1:]]
        values.setdefault(name, []).extend(number(token) for token in given)
    found: dict[str, float] = {}
    for name, own in values.items():
        if not own:
            raise Unclear
        for k, value in enumerate(own, 1):
            once(found, name if len(own) == 1 else f"{name}_{k}", value)
    return found


def cdec(text: str) -> dict[str, float]:
    """Read ``name value``, a line each."""
    found: dict[str, float] = {}
    for line in _lines(text):
        if line.startswith("#"):
            continue
        tokens = line.split()
        if len(tokens) != 2:
            raise Forbidden("a line is not a name and a value")
        once(found, tokens[0], number(tokens[1]))
    return found


def travatar(text: str) -> dict[str, float]:
    """Read ``name=value``, on one line or several."""
    found: dict[str, float] = {}
    for line in _lines(text):
        if line.startswith("#"):
            continue
        for token in line.split():
            name, equals, value = token.rpartition("=")
            if not name or not equals:
                raise Forbidden("there is no name")
            if "=" in name:
                raise Unclear
            once(found, name, number(value))
    return found


WEIGHTS: dict[str, Callable[[str], dict[str, float]]] = {
    "json": from_json,
    "moses": moses,
    "cdec": cdec,
    "travatar": travatar,
}
