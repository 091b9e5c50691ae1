"""CSV by pyarrow, where it is installed: whole rows at a time, and only what both read alike.

A chunk whose quotes stand where they should, with one row a line, is read here. All else (cells
over several lines, empty lines, rows of another length) is for Python's own reader, which also
finds the words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.io.streams import Source
from tunesmith.io.tables.base import Numbers

#: Bytes of a chunk, about, and the most while a cell goes on.
SIZE, LONGEST = 1 << 22, 1 << 26
QUOTE, NEWLINE, RETURN = b'"', b"\n", b"\r"

#: A column as it is read: texts, or numbers.
Cells = tuple[str, ...] | Numbers


def library() -> Any:
    """Return pyarrow's reader of CSV, or None."""
    try:
        from pyarrow import csv
    except ImportError:
        return None
    return csv


def chunks(source: Source) -> Iterator[bytes]:
    """Yield whole rows, as far as quotes say where they end; a chunk begins where one ended."""
    held: list[bytes] = []
    size = quotes = 0
    for block in source.blocks():
        held.append(block)
        size += len(block)
        quotes += block.count(QUOTE)
        if (size >= SIZE and quotes % 2 == 0) or size >= LONGEST:
            yield b"".join(held)
            held, size, quotes = [], 0, 0
    if held:
        yield b"".join(held)


def is_well_formed(chunk: bytes, delimiter: bytes) -> bool:
    """Tell whether cells are quoted as a whole or not at all, and lines end in LF or CR LF."""
    if RETURN in chunk and chunk.count(RETURN) != chunk.count(b"\r\n"):
        return False
    if QUOTE not in chunk:
        return True
    data = np.frombuffer(NEWLINE + chunk + NEWLINE, np.uint8)
    places = np.flatnonzero(data == QUOTE[0])
    if len(places) % 2:
        return False
    between = np.array([delimiter[0], NEWLINE[0], QUOTE[0]], np.uint8)
    opening, closing = data[places[::2] - 1], data[places[1::2] + 1]
    # A quote within a cell is two of them: one that closes it and one that opens it again.
    doubled = places[2::2] == places[1:-1:2] + 1
    opens = np.isin(opening, between[:2])
    opens[1:] |= doubled
    closes = np.isin(closing, [*between[:2], RETURN[0]])
    closes[:-1] |= doubled
    return bool(opens.all() and closes.all())


@dataclass
class Reader:
    """Reads chunks of one file.

    Attributes
    ----------
    delimiter
        What stands between cells.
    width
        How many columns there are.
    numeric
        Columns that held nothing but numbers so far, by their places.
    """

    delimiter: str
    width: int
    numeric: set[int] = field(default_factory=set)

    def columns(self, chunk: bytes) -> list[Cells] | None:
        """Return the columns of a chunk; None if it is for the other reader."""
        csv = library()
        if csv is None:
            return None
        for numeric in (self.numeric, set()) if self.numeric else (set(),):
            table = self._table(csv, chunk, numeric)
            if table is not None:
                break
            self.numeric.clear()
        if table is None:
            return None
        lines = chunk.count(NEWLINE) + (not chunk.endswith(NEWLINE))
        if table.num_rows != lines:
            return None
        return [
            _numbers(column) if k in numeric else tuple(column.to_pylist())
            for k, column in enumerate(table.columns)
        ]

    def _table(self, csv: Any, chunk: bytes, numeric: set[int]) -> Any:
        import pyarrow as pa

        names = [str(k) for k in range(self.width)]
        kinds = {str(k): pa.float64() if k in numeric else pa.string() for k in range(self.width)}
        try:
            return csv.read_csv(
                pa.BufferReader(chunk),
                csv.ReadOptions(column_names=names, block_size=len(chunk) + 1),
                csv.ParseOptions(delimiter=self.delimiter),
                csv.ConvertOptions(column_types=kinds, null_values=[""], strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            return None


def _numbers(column: Any) -> Numbers:
    """Return a column of numbers, 0 where one is missing."""
    missing = None
    if column.null_count:
        missing = column.is_null().to_numpy()
        column = column.fill_null(0.0)
    values: Floats = column.to_numpy()
    return Numbers(np.array(values, np.float64), missing)
