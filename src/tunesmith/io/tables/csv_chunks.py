"""CSV by kernels, some rows at a time, on all threads.

What stands between quotes as it should, and rows as long as the header, are read here. All else
is for Python's own reader, which also finds the words for what is wrong.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints
from tunesmith.io.streams import Source
from tunesmith.io.tables.base import Numbers
from tunesmith.io.tables.csv_kernels import (
    DONE,
    LINE,
    NEWLINE,
    QUOTE,
    ROW,
    SLOW,
    SLOW_FULL,
    parse_rows,
)
from tunesmith.io.text.numbers import float_or_nan
from tunesmith.io.text.spans import Spans, with_single_quotes
from tunesmith.io.text.utf8 import check_utf8

#: Bytes of a chunk, about, and the most while a cell goes on.
SIZE, LONGEST = 1 << 22, 1 << 26
#: Cells for the slow way that there is room for at first.
SLOW_ROOM = 1 << 12


def chunks(source: Source) -> Iterator[bytes]:
    """Yield whole rows, as far as quotes say where they end; a chunk begins where one ended."""
    blocks: list[bytes] = []
    size = quotes = 0
    for block in source.blocks(SIZE):
        blocks.append(block)
        size += len(block)
        quotes += _count(block, QUOTE)
        if (size >= SIZE and quotes % 2 == 0) or size >= LONGEST:
            yield b"".join(blocks)
            blocks, size, quotes = [], 0, 0
    if blocks:
        yield b"".join(blocks)


def _count(data: bytes, byte: int) -> int:
    """Count a byte that is frequent; ``bytes.count`` is made for rare ones."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == byte))


@dataclass(frozen=True)
class Chunk:
    """Whole rows, the number of the line that they begin with, and how many lines end in it."""

    data: bytes
    first_line: int
    line_ends: int


def numbered(whole: Iterator[bytes], first_line: int) -> Iterator[Chunk]:
    """Yield chunks with their lines."""
    for data in whole:
        line_ends = _count(data, NEWLINE)
        yield Chunk(data, first_line, line_ends)
        first_line += line_ends


@dataclass(frozen=True)
class ChunkColumns:
    """The columns of a chunk.

    Attributes
    ----------
    columns
        Numbers, or the cells as they stand there.
    lines : int64[n]
        The line where each row begins.
    """

    columns: list[Numbers | Spans]
    lines: Ints

    def numeric(self) -> frozenset[int]:
        """Return the places of columns of numbers."""
        return frozenset(k for k, c in enumerate(self.columns) if isinstance(c, Numbers))


@dataclass(frozen=True)
class Reader:
    """Reads chunks of one file, in any order.

    Attributes
    ----------
    path
        The file.
    delimiter
        What stands between cells.
    width
        How many columns there are.
    numeric
        Columns that are expected to hold numbers alone, by their places.
    """

    path: str
    delimiter: str
    width: int
    numeric: frozenset[int]

    def read(self, chunk: Chunk) -> ChunkColumns | None:
        """Return the columns of a chunk; None if it is for the other reader."""
        check_utf8(chunk.data, self.path, chunk.first_line)
        if not self.width:
            return None
        reader = self
        while True:
            arrays = _Arrays.of(chunk, reader)
            if arrays is None:
                return None
            columns, others = arrays.columns(sorted(reader.numeric))
            if not others:
                break
            reader = replace(reader, numeric=reader.numeric - others)
        return ChunkColumns(columns, arrays.lines)


@dataclass(frozen=True)
class _Arrays:
    """What the kernel fills."""

    data: Any
    place: Ints
    text_lo: Ints
    text_hi: Ints
    doubled: Flags
    values: Floats
    lines: Ints
    slow: Ints

    @classmethod
    def of(cls, chunk: Chunk, reader: Reader) -> _Arrays | None:
        """Read a chunk; None if the kernel cannot."""
        rows = chunk.line_ends + (not chunk.data.endswith(b"\n"))
        # Empty lines are no rows, and others have at least a separator or end for each cell. One
        # more has room for what only turns out to be no row as it is read.
        rows = min(rows, len(chunk.data) // reader.width + 1)
        numbers = len(reader.numeric)
        texts = reader.width - numbers
        place = np.empty(reader.width, np.int64)
        is_number = np.isin(np.arange(reader.width), sorted(reader.numeric))
        place[is_number] = np.arange(numbers)
        place[~is_number] = -1 - np.arange(texts)
        data = np.frombuffer(chunk.data, np.uint8)
        text_lo, text_hi = np.empty((2, texts, rows), np.int64)
        doubled = np.zeros((texts, rows), np.bool_)
        values, lines = np.empty((numbers, rows)), np.empty(rows, np.int64)
        slow = np.empty((SLOW_ROOM + reader.width, 4), np.int64)
        info = np.zeros(4, np.int64)
        info[LINE] = chunk.first_line
        byte = ord(reader.delimiter)
        while True:
            status = parse_rows(
                data, byte, place, text_lo, text_hi, doubled, values, lines, slow, info
            )
            if status != SLOW_FULL:
                break
            slow = np.concatenate([slow, np.empty_like(slow)])
        if status != DONE:
            return None
        n = info[ROW]
        return cls(
            data,
            place,
            text_lo[:, :n],
            text_hi[:, :n],
            doubled[:, :n],
            values[:, :n],
            lines[:n],
            slow[: info[SLOW]],
        )

    def columns(self, numeric: Sequence[int]) -> tuple[list[Numbers | Spans], set[int]]:
        """Return the columns, and those that are not numbers against what was expected."""
        missing: dict[int, Flags] = {}
        others = {
            column for column in numeric if not self._settle(int(self.place[column]), missing)
        }
        columns: list[Numbers | Spans] = []
        for place in self.place.tolist() if not others else ():
            if place >= 0:
                columns.append(Numbers(self.values[place], missing.get(place)))
            else:
                text = -1 - place
                spans = Spans(self.data, self.text_lo[text], self.text_hi[text])
                columns.append(with_single_quotes(spans, self.doubled[text]))
        return columns, others

    def _settle(self, number: int, missing: dict[int, Flags]) -> bool:
        """Read the cells of a column that are not plain; false if one is no number at all."""
        slow = self.slow[self.slow[:, 0] == number] if len(self.slow) else self.slow
        if not len(slow):
            return True
        cells = Spans(self.data, slow[:, 2].copy(), slow[:, 3].copy())
        empty = cells.is_empty()
        if empty.any():
            gaps = np.zeros(self.values.shape[1], np.bool_)
            gaps[slow[empty, 1]] = True
            missing[number] = gaps
        values = values_of([cells[k] or "" for k in np.flatnonzero(~empty).tolist()])
        if values is None:
            return False
        self.values[number, slow[~empty, 1]] = values
        return True


def values_of(cells: Sequence[str]) -> Floats | None:
    """Return the numbers of cells, NaN and infinities among them; None if one is no number."""
    whole = "".join(cells)
    # NumPy also takes 1_0 and digits of other scripts.
    if whole.isascii() and "_" not in whole:
        with contextlib.suppress(ValueError):
            return np.array(cells, np.float64)
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        values[k] = float_or_nan(cell.strip().encode())
        if math.isnan(values[k]):
            return None
    return values
