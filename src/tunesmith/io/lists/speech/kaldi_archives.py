r"""Archives of Kaldi with words or scores, in text form or binary.

In text form a line is a key and its values. In a binary one a key and a space are followed by
``\0B`` and values, each after a byte with its size: a number, or how many numbers there are and
then these.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from tunesmith.errors import FormatError
from tunesmith.io.streams import Source

BINARY = b"\0B"
#: A key and whatever comes first of a value.
_ENTRY = re.compile(rb"(\S+) " + BINARY)
_HEAD = re.compile(rb"\S+-1 " + BINARY + rb"\x04")


def is_binary(head: bytes) -> bool:
    """Tell whether a file begins as a binary archive."""
    return _ENTRY.match(head) is not None


def begins_nbest(head: bytes) -> bool:
    """Tell whether a file begins as a binary archive of the words of n-best lists."""
    return _HEAD.match(head) is not None


def read_words(source: Source) -> Iterator[tuple[str, str, int | None]]:
    """Yield the key, the text and the line of each entry; a binary one has no lines."""
    if not is_binary(source.head()):
        for line, text in source.lines():
            key, *rest = text.split(None, 1)
            yield key, "".join(rest), line
        return
    reader = _ArchiveReader(source)
    while not reader.is_over:
        key = reader.key()
        count = reader.number("<i", key)
        numbers = [reader.number("<i", key) for _ in range(int(count))]
        yield key, " ".join(map(str, numbers)), None


def read_numbers(source: Source) -> Iterator[tuple[str, list[str], int | None]]:
    """Yield the key, the values and the line of each entry."""
    if not is_binary(source.head()):
        for line, text in source.lines():
            key, *values = text.split()
            yield key, values, line
        return
    reader = _ArchiveReader(source)
    while not reader.is_over:
        key = reader.key()
        yield key, [repr(reader.number("", key))], None


class _ArchiveReader:
    """Reads the entries of a binary archive."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.data = bytes(source.buffer())
        self.at = 0

    @property
    def is_over(self) -> bool:
        """Whether there are no more entries."""
        return self.at >= len(self.data)

    def key(self) -> str:
        """Return the next key."""
        match = _ENTRY.match(self.data, self.at)
        if match is None:
            raise self._error("there is no key where one should be")
        self.at = match.end()
        return match[1].decode("utf-8", "backslashreplace")

    def number(self, form: str, key: str) -> float:
        """Return a number after its size; a floating-point one where no form is given."""
        size = self.data[self.at] if self.at < len(self.data) else 0
        code = form or {4: "<f", 8: "<d"}.get(size, "")
        if not code or struct.calcsize(code) != size:
            raise self._error(f"the value of '{key}' is of another type")
        self.at += 1 + size
        if self.at > len(self.data):
            raise self._error(f"the value of '{key}' is cut off")
        value: float = struct.unpack_from(code, self.data, self.at - size)[0]
        return value

    def _error(self, problem: str) -> FormatError:
        remedy = "write it as text: copy-int-vector ark:F ark,t:-"
        return FormatError(self.name, None, f"{problem}, at byte {self.at}", remedy)
