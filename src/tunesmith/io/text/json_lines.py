"""JSON lines: the objects of a file with their line numbers."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.errors import FormatError
from tunesmith.io.streams import Source
from tunesmith.io.text.utf8 import check_utf8

#: A line's number, from 1, and its object.
NumberedObject = tuple[int, dict[str, Any]]


#: Bytes of lines that are read at a time, about.
SIZE = 1 << 22
#: What seems to be a key, in an object that is cut off.
_KEY = re.compile(rb'"(\w+)"\s*:')


class RepeatedKeyError(ValueError):
    """A key stands twice in an object; the parser would silently take the last."""


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values, none of which may come again."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        raise RepeatedKeyError(f"'{twice}' is given twice")
    return entries


@dataclass(frozen=True)
class LineBlock:
    """Some lines of a file, whole ones.

    Attributes
    ----------
    data
        UTF-8.
    path
        The file.
    first
        The number of the first line.
    """

    data: bytes
    path: str
    first: int

    def objects(self) -> Iterator[NumberedObject]:
        """Yield the object of each line that is not empty."""
        decode = json.JSONDecoder(object_pairs_hook=distinct).decode
        for number, line in enumerate(self.data.splitlines(), self.first):
            if not line.strip():
                continue
            try:
                record = decode(line.decode())
            except RepeatedKeyError as error:
                raise FormatError(self.path, number, str(error), "give it once") from None
            except (ValueError, RecursionError) as error:
                problem = f"this is not JSON ({error})"
                raise FormatError(self.path, number, problem, "write one object per line") from None
            if not isinstance(record, dict):
                problem = "this is not a JSON object"
                raise FormatError(self.path, number, problem, "write one object per line")
            yield number, record


def json_lines(source: Source) -> Iterator[LineBlock]:
    """Yield the lines of a file, some megabytes at a time."""
    number = 1
    blocks: list[bytes] = []
    size = 0
    for block in itertools.chain(source.blocks(SIZE), [b""]):
        blocks.append(block)
        size += len(block)
        if size >= SIZE or (size and not block):
            data = b"".join(blocks)
            check_utf8(data, source.name, number)
            yield LineBlock(data, source.name, number)
            is_plain = b"\r" not in data
            number += _line_ends(data) if is_plain else len(data.splitlines())
            blocks, size = [], 0


def _line_ends(data: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def json_objects(source: Source) -> Iterator[NumberedObject]:
    """Yield the object of each line that is not empty."""
    for lines in json_lines(source):
        yield from lines.objects()


def first_keys(head: bytes) -> frozenset[str]:
    """Return the keys of the first object of a file, given its first bytes."""
    line = head.lstrip().split(b"\n", 1)[0]
    if not line.startswith(b"{"):
        return frozenset()
    try:
        keys = json.loads(line)
    except (ValueError, RecursionError):
        return frozenset(key.decode() for key in _KEY.findall(line))
    return frozenset(keys)
