"""JSON lines: the objects of a file with their line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tunesmith.errors import FormatError
from tunesmith.io.streams import Source
from tunesmith.io.text.utf8 import check_utf8

#: A line's number, from 1, and its object.
NumberedObject = tuple[int, dict[str, Any]]


#: What seems to be a key, in an object that is cut off.
_KEY = re.compile(rb'"(\w+)"\s*:')


class RepeatedKeyError(ValueError):
    """A key stands twice in an object; the parser would silently take the last."""


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values, none of which may come again."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        raise RepeatedKeyError(f"'{twice}' is given twice")
    return found


def json_objects(source: Source) -> Iterator[NumberedObject]:
    """Yield the object of each line that is not empty."""
    decode = json.JSONDecoder(object_pairs_hook=distinct).decode
    number = 0
    for block in source.blocks():
        check_utf8(block, source.name, number + 1)
        for line in block.splitlines():
            number += 1
            if not line.strip():
                continue
            try:
                found = decode(line.decode())
            except RepeatedKeyError as error:
                raise FormatError(source.name, number, str(error), "give it once") from None
            except (ValueError, RecursionError) as error:
                problem = f"this is not JSON ({error})"
                raise FormatError(
                    source.name, number, problem, "write one object per line"
                ) from None
            if not isinstance(found, dict):
                problem = "this is not a JSON object"
                raise FormatError(source.name, number, problem, "write one object per line")
            yield number, found


def first_keys(head: bytes) -> frozenset[str]:
    """Return the keys of the first object of a file, given its first bytes."""
    line = head.lstrip().split(b"\n", 1)[0]
    if not line.startswith(b"{"):
        return frozenset()
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return frozenset(key.decode() for key in _KEY.findall(line))
    return frozenset(found)
