"""CSV and TSV tables with one row per candidate; see :mod:`tunesmith.io.tables.base`."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import EVERYTHING, FORMATS, CandidateFormat
from tunesmith.io.reading import Reading
from tunesmith.io.streams import Source, writing
from tunesmith.io.tables.base import (
    RESERVED,
    Batch,
    Column,
    Numbers,
    add_batches,
    is_reference,
    to_columns,
)
from tunesmith.io.tables.csv_chunks import Cells, Reader, chunks, is_well_formed, library
from tunesmith.io.text.numbers import float_or_nan, shortest
from tunesmith.io.text.utf8 import check_utf8

#: Rows of one batch.
ROWS = 1 << 14
#: What pandas calls the column of an index when it reads what it has written.
INDEX = "Unnamed: 0"
_LINE_END = re.compile(rb"\r\n|\n|\r")
#: The longest cell.
LONGEST = 1 << 24


@FORMATS.register("csv")
class CsvFormat(CandidateFormat):
    """CSV with a header and one row per candidate."""

    suffixes = (".csv",)
    holds = EVERYTHING
    delimiter: ClassVar[str] = ","

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Tell whether the first line is a header with ``id`` in it."""
        return cls.has_column(head, "id")

    @classmethod
    def has_column(cls, head: bytes, column: str) -> bool:
        """Tell whether the first line is a header with a column of this name."""
        line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
        names = [name.strip().strip(b'"') for name in line.split(cls.delimiter.encode())]
        # A text of JSON lines may have the word between commas.
        return len(names) > 1 and column.encode() in names and not line.startswith(b"{")

    def read(self, source: Source, collector: Collector) -> None:
        """Add all rows to the collector."""
        add_batches(self._batches(source, collector.reading), source.name, collector)

    def _batches(self, source: Source, reading: Reading) -> Iterator[Batch]:
        csv.field_size_limit(LONGEST)
        whole = chunks(source)
        first = next(whole)
        check_utf8(first, source.name, 1)
        header, lines = self._header(first, source.name)
        columns = _Header(header, source.name, {*RESERVED, reading.id_column, reading.text_column})
        reader = Reader(self.delimiter, len(header))
        # What is left of the first chunk, and of the file.
        rest = chain([_after(first, lines)], whole)
        line = lines + 1
        for chunk in rest:
            if line > lines + 1:
                check_utf8(chunk, source.name, line)
            if library() is None or not is_well_formed(chunk, self.delimiter.encode()):
                yield from self._slowly(chain([chunk], rest), columns, line)
                return
            found = reader.columns(chunk) if chunk else []
            if found is None:
                yield from self._slowly(iter([chunk]), columns, line)
            elif found:
                batch = Batch(columns.of(found), line)
                reader.numeric = columns.numeric(batch.columns)
                yield batch
            line += chunk.count(b"\n")

    def _header(self, chunk: bytes, path: str) -> tuple[list[str], int]:
        """Return the names of columns, and how many lines they take."""
        reader = csv.reader(
            io.StringIO(chunk.decode(), newline=""), delimiter=self.delimiter, strict=True
        )
        try:
            header = [name.strip() for name in next(reader, [])]
        except csv.Error as error:
            problem = f"this is no table ({error})"
            raise FormatError(path, reader.line_num, problem, "repair the row") from None
        named = list(filter(None, header))
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise FormatError(path, 1, f"two columns are called '{twice}'", "rename one")
        return header, reader.line_num

    def _slowly(self, parts: Iterator[bytes], columns: _Header, start: int) -> Iterator[Batch]:
        """Read rows with Python's reader, from a line on."""
        path, width = columns.path, len(columns.names)
        reader = csv.reader(_lines(parts, path, start), delimiter=self.delimiter, strict=True)
        before = start - 1
        try:
            rows: list[list[str]] = []
            first = line = start
            for row in reader:
                if row and len(row) != width:
                    problem = f"there are {len(row)} cells and the header has {width}"
                    raise FormatError(path, line, problem, "give one a column")
                # Errors name a row's first line; rows over several lines begin a new batch.
                if len(rows) >= ROWS or (rows and line != first + len(rows)):
                    yield Batch(columns.of(list(zip(*rows, strict=True))), first)
                    rows = []
                if row:
                    first = first if rows else line
                    rows.append(row)
                line = before + reader.line_num + 1
            if rows:
                yield Batch(columns.of(list(zip(*rows, strict=True))), first)
        except csv.Error as error:
            problem = f"this is no table ({error})"
            raise FormatError(path, before + reader.line_num, problem, "repair the row") from None

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write a header and one row per candidate."""
        columns = to_columns(candidates)
        cells = [
            list(map(shortest, c)) if isinstance(c, np.ndarray) else c for c in columns.values()
        ]
        with writing(path) as file:
            text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
            writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
            writer.writerow(columns)
            for i in order:
                writer.writerow([cell[i] for cell in cells])
            text.flush()
            text.detach()


@FORMATS.register("tsv")
class TsvFormat(CsvFormat):
    """Values with tabs between them, a header and one row per candidate."""

    suffixes = (".tsv",)
    delimiter = "\t"


@dataclass
class _Cells:
    """One column's cells as text."""

    cells: tuple[str, ...]

    def column(self, name: str, texts: Set[str]) -> Column:
        """Return numbers where all cells are, texts otherwise, and for names that are of texts."""
        if name in texts or is_reference(name):
            return list(self.cells)
        values = _values(self.cells)
        if values is not None:
            return Numbers(values)
        missing = np.array([not c.strip() for c in self.cells])
        values = _values([c if c.strip() else "0" for c in self.cells])
        if values is None:
            values = _truths(self.cells)
        if values is not None:
            return Numbers(values, missing if missing.any() else None)
        return [c if c.strip() else None for c in self.cells]


def _values(cells: Sequence[str]) -> Floats | None:
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


def _truths(cells: Sequence[str]) -> Floats | None:
    """Return 1 for true and 0 for false and nothing; None if a cell is anything else."""
    known = {"true": 1.0, "false": 0.0, "": 0.0}
    found = [known.get(cell.strip().lower()) for cell in cells]
    return None if None in found else np.array(found, np.float64)


@dataclass
class _Header:
    """The names of columns, and which of them hold texts whatever these look like."""

    names: list[str]
    path: str
    texts: Set[str]

    def of(self, found: Sequence[Cells]) -> dict[str, Column]:
        """Return columns by name."""
        columns: dict[str, Column] = {}
        for k, cells in enumerate(found):
            name = self.names[k]
            if isinstance(cells, Numbers):
                columns[name] = cells
            elif name:
                columns[name] = _Cells(cells).column(name, self.texts)
            elif k == 0 and all(cell.isdigit() for cell in cells):
                columns[INDEX] = _Cells(cells).column(INDEX, self.texts)
            elif any(cell.strip() for cell in cells):  # a comma too many at line ends is not
                problem = f"column {k + 1} has no name"
                remedy = "name it, or leave out a frame's index"
                raise FormatError(self.path, 1, problem, remedy)
        return columns

    def numeric(self, columns: Mapping[str, Column]) -> set[int]:
        """Return the places of columns of numbers."""
        return {
            k for k, name in enumerate(self.names) if name and isinstance(columns[name], Numbers)
        }


def _after(chunk: bytes, lines: int) -> bytes:
    """Return what comes after the first lines."""
    at = 0
    for _ in range(lines):
        end = _LINE_END.search(chunk, at)
        if end is None:
            return b""
        at = end.end()
    return chunk[at:]


def _lines(parts: Iterator[bytes], path: str, number: int) -> Iterator[str]:
    for block in parts:
        check_utf8(block, path, number)
        number += block.count(b"\n")
        # Lines end in LF, CR LF or CR, and in nothing else that Unicode has.
        yield from io.StringIO(block.decode(), newline="")
