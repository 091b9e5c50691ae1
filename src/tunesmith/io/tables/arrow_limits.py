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
FOOTER_DICTIONARIES, FOOTER_BATCHES = 2, 3

FILE_MAGIC = b"ARROW1"
CONTINUATION = 0xFFFFFFFF


def is_file(data: memoryview) -> bool:
    """Tell an Arrow file from a stream."""
    return bytes(data[: len(FILE_MAGIC)]) == FILE_MAGIC


def check_expansion(data: memoryview, name: str, pa: Any) -> None:
    """Raise an error if compressed Arrow data expand too much."""
    total = 0
    for metadata, body in _in_file(data) if is_file(data) else _in_stream(data, pa):
        total += sum(_lengths(metadata, body))
        if total > RATIO_FROM and total > MAX_RATIO * len(data):
            problem = f"the file expands more than {MAX_RATIO} times"
            raise FormatError(name, None, problem, "write it without compression")


def _in_stream(data: memoryview, pa: Any) -> Iterator[tuple[bytes, memoryview]]:
    reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(pa.py_buffer(data)))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        yield message.metadata.to_pybytes(), memoryview(message.body or b"")


def _in_file(data: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield metadata and body of the blocks that the footer names; a reader takes just these."""
    end = len(data) - len(FILE_MAGIC) - 4
    (size,) = struct.unpack_from("<i", data, end)
    footer = bytes(data[end - size : end])
    root = indirect(footer, 0)
    for kind in (FOOTER_DICTIONARIES, FOOTER_BATCHES):
        at = field_at(footer, root, kind)
        if at is None:
            continue
        vector = indirect(footer, at)
        (count,) = struct.unpack_from("<I", footer, vector)
        for k in range(count):
            offset, meta, length = struct.unpack_from("<qi4xq", footer, vector + 4 + 24 * k)
            (mark,) = struct.unpack_from("<I", data, offset)
            prefix = 8 if mark == CONTINUATION else 4
            metadata = bytes(data[offset + prefix : offset + meta])
            yield metadata, data[offset + meta : offset + meta + length]


def _lengths(metadata: bytes, body: memoryview) -> Iterator[int]:
    """Yield the uncompressed length of each compressed buffer of a message."""
    root = indirect(metadata, 0)
    kind_at, header_at = field_at(metadata, root, HEADER_TYPE), field_at(metadata, root, HEADER)
    if kind_at is None or header_at is None:
        return
    kind, table = metadata[kind_at], indirect(metadata, header_at)
    if kind == DICTIONARY:
        inner = field_at(metadata, table, DICTIONARY_DATA)
        if inner is None:
            return
        table = indirect(metadata, inner)
    elif kind != RECORD_BATCH:
        return
    buffers_at = field_at(metadata, table, BUFFERS)
    if field_at(metadata, table, COMPRESSION) is None or buffers_at is None:
        return
    vector = indirect(metadata, buffers_at)
    (count,) = struct.unpack_from("<I", metadata, vector)
    for k in range(count):
        offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * k)
        if length >= 8:
            (full,) = struct.unpack_from("<q", body, offset)
            yield length if full < 0 else full  # -1: this buffer is as it is


def indirect(data: bytes, at: int) -> int:
    """Return where the table or vector stands that an offset points to."""
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)


def field_at(data: bytes, table: int, index: int) -> int | None:
    """Return where a field of a FlatBuffers table stands, None where it is left out."""
    (back,) = struct.unpack_from("<i", data, table)
    (size,) = struct.unpack_from("<H", data, table - back)
    if 4 + 2 * index >= size:
        return None
    (offset,) = struct.unpack_from("<H", data, table - back + 4 + 2 * index)
    return table + int(offset) if offset else None
