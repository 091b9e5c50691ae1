"""How large compressed Arrow data would become, found before anything is decompressed.

A buffer of a compressed record batch begins with its uncompressed length; where the buffers
stand is in the message's FlatBuffers metadata (Message.fbs of the Arrow format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from tunesmith.errors import FormatError
from tunesmith.io.streams import MAX_RATIO, RATIO_FROM

#: Kinds of messages, and fields of their tables.
DICTIONARY, RECORD_BATCH = 2, 3
HEADER_TYPE, HEADER = 1, 2
DICTIONARY_DATA = 1
BUFFERS, COMPRESSION = 2, 3


def check_expansion(data: memoryview, name: str, pa: Any) -> None:
    """Raise an error if an Arrow stream, or the stream inside a file, expands too much."""
    total = 0
    for message in _messages(data, pa):
        total += sum(_lengths(message.metadata.to_pybytes(), message.body))
        if total > RATIO_FROM and total > MAX_RATIO * len(data):
            problem = f"the file expands more than {MAX_RATIO} times"
            raise FormatError(name, None, problem, "write it without compression")


def _messages(data: memoryview, pa: Any) -> Iterator[Any]:
    reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(pa.py_buffer(data)))
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _lengths(metadata: bytes, body: Any) -> Iterator[int]:
    """Yield the uncompressed length of each compressed buffer of a message."""
    root = _indirect(metadata, 0)
    kind_at, header_at = _field(metadata, root, HEADER_TYPE), _field(metadata, root, HEADER)
    if kind_at is None or header_at is None:
        return
    kind, table = metadata[kind_at], _indirect(metadata, header_at)
    if kind == DICTIONARY:
        inner = _field(metadata, table, DICTIONARY_DATA)
        if inner is None:
            return
        table = _indirect(metadata, inner)
    elif kind != RECORD_BATCH:
        return
    buffers_at = _field(metadata, table, BUFFERS)
    if _field(metadata, table, COMPRESSION) is None or buffers_at is None:
        return
    vector = _indirect(metadata, buffers_at)
    (count,) = struct.unpack_from("<I", metadata, vector)
    for k in range(count):
        offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * k)
        if length >= 8:
            (full,) = struct.unpack_from("<q", memoryview(body), offset)
            yield length if full < 0 else full  # -1: this buffer is as it is


def _indirect(data: bytes, at: int) -> int:
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)


def _field(data: bytes, table: int, index: int) -> int | None:
    """Return where a field of a FlatBuffers table stands, None where it is left out."""
    (back,) = struct.unpack_from("<i", data, table)
    (size,) = struct.unpack_from("<H", data, table - back)
    if 4 + 2 * index >= size:
        return None
    (offset,) = struct.unpack_from("<H", data, table - back + 4 + 2 * index)
    return table + int(offset) if offset else None
