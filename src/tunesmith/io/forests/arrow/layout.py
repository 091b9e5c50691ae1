"""Forests in an Arrow file: which columns there are, and where in the file a row's values stand.

The schema is always the same, and nothing is compressed, so the place of every value follows
from the FlatBuffers metadata of the record batches (Message.fbs and File.fbs of the Arrow
format). Whatever the file says is checked here or, for what is in the arrays, by ``forest_store``.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Ids, Ints
from tunesmith.errors import TunesmithError
from tunesmith.io.tables.arrow_limits import (
    BUFFERS,
    COMPRESSION,
    CONTINUATION,
    FILE_MAGIC,
    FOOTER_BATCHES,
    HEADER,
    HEADER_TYPE,
    RECORD_BATCH,
    field_at,
    indirect,
)

SCHEMA_KEY, SCHEMA = b"tunesmith.schema", b"forests/1"
#: How many statistics a hyperedge has.
COUNTS_KEY = b"tunesmith.counts"

#: The arrays of a forest: how many hyperedges a node has, how many tails a hyperedge, and so on.
NUMBERS: dict[str, np.dtype[Any]] = {
    "node_edges": np.dtype(np.int32),
    "covered": np.dtype(np.int32),
    "edge_tails": np.dtype(np.int32),
    "tails": np.dtype(np.int32),
    "edge_features": np.dtype(np.int32),
    "feature_ids": np.dtype(np.int32),
    "feature_values": np.dtype(np.float64),
    "edge_words": np.dtype(np.int32),
    "words": np.dtype(np.int32),
    "counts": np.dtype(np.float64),
}
#: Lists of texts; a row has one source or none.
TEXTS = ("new_names", "new_words", "source")

#: Fields of the tables of a message, see ``io.tables.arrow_limits``.
NODES = 1
FOOTER_SCHEMA, ENDIANNESS = 1, 0
OFFSET = np.dtype(np.int64)


def forest_schema(pa: Any, counts: int) -> Any:
    """Return the schema of forests whose hyperedges have so many statistics."""
    numbers = {np.dtype(np.int32): pa.int32(), np.dtype(np.float64): pa.float64()}
    kinds = {
        "id": pa.large_string(),
        "id_is_number": pa.int8(),
        **{name: pa.large_list(numbers[kind]) for name, kind in NUMBERS.items()},
        **{name: pa.large_list(pa.large_string()) for name in TEXTS},
        "references": pa.large_list(pa.large_list(pa.int32())),
    }
    metadata = {SCHEMA_KEY: SCHEMA, COUNTS_KEY: str(counts).encode()}
    return pa.schema([pa.field(n, kind) for n, kind in kinds.items()], metadata=metadata)


class Opened:
    """A file that is read at any place, by any thread; it is closed when nobody has it.

    Other processes open it again: through the process that has it, so that it needs no name, or
    by its path, which other machines may have too.

    Parameters
    ----------
    descriptor
        Of the file; it is closed.
    path
        Where the file is, if it has a name.
    """

    def __init__(self, descriptor: int, path: str | None = None) -> None:
        self._descriptor = descriptor
        self._path = path
        self._lock = threading.Lock()
        status = os.fstat(descriptor)
        self.size = status.st_size
        self._written = status.st_mtime_ns
        weakref.finalize(self, os.close, descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        """Have it pickled as where it is."""
        places = [f"/proc/{os.getpid()}/fd/{self._descriptor}"]
        if self._path is not None:
            places.append(os.path.abspath(self._path))
        return _opened_again, (places, self.size, self._written, self._path)

    def read(self, at: int, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return so many values that begin at a byte."""
        if count < 0 or at < 0 or at + count * kind.itemsize > self.size:
            raise ValueError("it ends too early")
        values = np.empty(count, kind)
        self.read_into(values, at)
        return values

    def read_into(self, values: NDArray[Any], at: int) -> None:
        """Fill an array with what begins at a byte."""
        whole = memoryview(values.view(np.uint8).data)
        done = 0
        while done < len(whole):
            count = self._read(whole[done:], at + done)
            if count <= 0:
                raise ValueError("it ends too early")
            done += count

    def _read(self, part: memoryview, at: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._descriptor, [part], at)
        with self._lock:
            os.lseek(self._descriptor, at, os.SEEK_SET)
            data = os.read(self._descriptor, len(part))
        part[: len(data)] = data
        return len(data)


def _opened_again(places: list[str], size: int, written: int, path: str | None) -> Opened:
    """Open a file in another process, if it is the same one."""
    for place in places:
        with contextlib.suppress(OSError):
            file = Opened(os.open(place, os.O_RDONLY | getattr(os, "O_BINARY", 0)), path)
            if (file.size, file._written) == (size, written):
                return file
    where = "in a temporary file" if path is None else f"in {path}"
    raise TunesmithError(
        f"forests are {where}, which a worker on another machine does not find; hold them in "
        "memory, with --memory, or put the file where all machines find it"
    )


@dataclass
class Layout:
    """Where the values of all rows stand.

    Attributes
    ----------
    begin, size : name -> int64[S]
        The first byte and the number of values of each row's array.
    ids, id_is_number, texts, references
        What is read at once, by row.
    """

    begin: dict[str, Ints] = field(default_factory=dict)
    size: dict[str, Ints] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    id_is_number: list[int] = field(default_factory=list)
    texts: dict[str, list[list[str]]] = field(default_factory=dict)
    references: list[list[Ids]] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the set has been made of already."""
        return {"begin": self.begin, "size": self.size}


def layout_of(file: Opened) -> Layout:
    """Find where everything is; ValueError, struct.error or LookupError if it does not fit."""
    begins: dict[str, list[Ints]] = {name: [np.zeros(0, np.int64)] for name in NUMBERS}
    sizes: dict[str, list[Ints]] = {name: [np.zeros(0, np.int64)] for name in NUMBERS}
    layout = Layout(texts={name: [] for name in TEXTS})
    for at, metadata_size, body_size in _blocks(file):
        batch = _Batch.at(file, at, metadata_size, body_size)
        if batch.rows == 0:
            continue
        layout.ids += batch.texts(batch.rows)
        layout.id_is_number += batch.values(np.dtype(np.int8), batch.rows).tolist()
        for name, kind in NUMBERS.items():
            begin, size = batch.places(kind)
            begins[name].append(begin)
            sizes[name].append(size)
        for name in TEXTS:
            start = batch.offsets(batch.rows)
            texts = batch.texts(int(start[-1]))
            layout.texts[name] += [texts[a:b] for a, b in itertools.pairwise(start.tolist())]
        layout.references += batch.lists()
    layout.begin = {name: np.concatenate(parts) for name, parts in begins.items()}
    layout.size = {name: np.concatenate(parts) for name, parts in sizes.items()}
    return layout


def _blocks(file: Opened) -> list[tuple[int, int, int]]:
    """Return where the footer says that record batches are, and the sizes of their parts."""
    end = file.size - len(FILE_MAGIC) - 4
    (size,) = struct.unpack("<i", file.read(end, 4, np.dtype(np.uint8)).tobytes())
    footer = file.read(end - size, size, np.dtype(np.uint8)).tobytes()
    root = indirect(footer, 0)
    schema_at = field_at(footer, root, FOOTER_SCHEMA)
    if schema_at is None:
        raise ValueError("there is no schema")
    order_at = field_at(footer, indirect(footer, schema_at), ENDIANNESS)
    if order_at is not None and struct.unpack_from("<h", footer, order_at) != (0,):
        raise ValueError("its numbers are big-endian")
    at = field_at(footer, root, FOOTER_BATCHES)
    if at is None:
        return []
    vector = indirect(footer, at)
    (count,) = struct.unpack_from("<I", footer, vector)
    if 24 * count > size:
        raise ValueError("it ends too early")
    places = range(vector + 4, vector + 4 + 24 * count, 24)
    return [struct.unpack_from("<qi4xq", footer, place) for place in places]


class _Batch:
    """One record batch, column by column: each call takes the next buffers of the schema."""

    def __init__(self, file: Opened, metadata: bytes, body: int, body_size: int) -> None:
        self._file = file
        self._body, self._body_size = body, body_size
        root = indirect(metadata, 0)
        kind_at, header_at = (field_at(metadata, root, f) for f in (HEADER_TYPE, HEADER))
        if kind_at is None or header_at is None or metadata[kind_at] != RECORD_BATCH:
            raise ValueError("there is no record batch where one should be")
        table = indirect(metadata, header_at)
        if field_at(metadata, table, COMPRESSION) is not None:
            raise ValueError("its numbers are compressed")
        self._nodes = iter(_pairs(metadata, table, NODES))
        self._buffers = iter(_pairs(metadata, table, BUFFERS))
        rows_at = field_at(metadata, table, 0)
        self.rows = 0 if rows_at is None else int(struct.unpack_from("<q", metadata, rows_at)[0])
        if self.rows < 0:
            raise ValueError("its arrays do not fit together")

    @classmethod
    def at(cls, file: Opened, at: int, metadata_size: int, body_size: int) -> _Batch:
        """Read the metadata of the batch that begins at a byte."""
        metadata = file.read(at, metadata_size, np.dtype(np.uint8)).tobytes()
        (mark,) = struct.unpack_from("<I", metadata)
        prefix = 8 if mark == CONTINUATION else 4
        body = at + metadata_size
        if not 0 <= body_size <= file.size - body:
            raise ValueError("it ends too early")
        return cls(file, metadata[prefix:], body, body_size)

    def _node(self, length: int) -> None:
        """Take the next array, which has so many entries and no gaps."""
        entries, gaps = next(self._nodes, (-1, 0))
        if entries != length or gaps != 0:
            raise ValueError("its arrays do not fit together")
        next(self._buffers, None)  # which entries are there: all

    def _buffer(self, count: int, kind: np.dtype[Any]) -> int:
        """Return where the next buffer begins, which holds at least so many values."""
        at, size = next(self._buffers, (0, -1))
        if not (at >= 0 and 0 <= size <= self._body_size - at and count * kind.itemsize <= size):
            raise ValueError("its arrays do not fit together")
        return self._body + at

    def values(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """Return the next column, of numbers."""
        self._node(count)
        return self._file.read(self._buffer(count, kind), count, kind)

    def offsets(self, count: int) -> Ints:
        """Return the offsets of the next array of lists or texts."""
        self._node(count)
        if count == 0:  # there need not even be the first 0
            self._buffer(0, OFFSET)
            return np.zeros(1, np.int64)
        start: Ints = self._file.read(self._buffer(count + 1, OFFSET), count + 1, OFFSET)
        if start[0] != 0 or (np.diff(start) < 0).any():
            raise ValueError("its offsets do not fit together")
        return start

    def texts(self, count: int) -> list[str]:
        """Return the next array, of texts."""
        start = self.offsets(count)
        size = int(start[-1])
        at = self._buffer(size, np.dtype(np.uint8))
        data = self._file.read(at, size, np.dtype(np.uint8)).tobytes()
        return [data[a:b].decode() for a, b in itertools.pairwise(start.tolist())]

    def places(self, kind: np.dtype[Any]) -> tuple[Ints, Ints]:
        """Return where the lists of the next column begin in the file, and their sizes."""
        start = self.offsets(self.rows)
        self._node(int(start[-1]))
        return self._buffer(int(start[-1]), kind) + start[:-1] * kind.itemsize, np.diff(start)

    def lists(self) -> list[list[Ids]]:
        """Return the next column, of lists of lists of numbers."""
        outer = self.offsets(self.rows).tolist()
        inner = self.offsets(outer[-1])
        values = self.values(np.dtype(np.int32), int(inner[-1]))
        bounds = inner.tolist()
        lists = [values[a:b] for a, b in itertools.pairwise(bounds)]
        return [lists[a:b] for a, b in itertools.pairwise(outer)]


def _pairs(metadata: bytes, table: int, field: int) -> list[tuple[int, int]]:
    """Return a vector of two numbers each: lengths and gaps of arrays, or places of buffers."""
    at = field_at(metadata, table, field)
    if at is None:
        return []
    vector = indirect(metadata, at)
    (count,) = struct.unpack_from("<I", metadata, vector)
    if 16 * count > len(metadata):
        raise ValueError("it ends too early")
    places = range(vector + 4, vector + 4 + 16 * count, 16)
    return [struct.unpack_from("<qq", metadata, place) for place in places]
