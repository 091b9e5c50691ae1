"""CSV and TSV tables with one row per candidate; see :mod:`tunesmith.io.tables.base`."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
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
from tunesmith.io.tables.csv_chunks import ChunkColumns, Reader, chunks, numbered, values_of
from tunesmith.io.text.numbers import shortest
from tunesmith.io.text.spans import Spans
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.parallel.local import ahead

#: Rows of one batch.
ROWS = 1 << 14
#: What pandas calls the column of an index when it reads what it has written.
INDEX = "Unnamed: 0"
_LINE_END = re.compile(rb"\r\n|\n|\r")
#: The longest cell.
LONGEST = 1 << 24
#: What numbers, NaN, infinities, true and false begin with.
INITIALS = b"0123456789+-.nNiItTfF"


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
        if line.startswith(b"{"):  # a text of JSON lines may have the word between commas
            return False
        names = [name.strip().strip(b'"') for name in line.split(cls.delimiter.encode())]
        return len(names) > 1 and column.encode() in names

    def read(self, source: Source, collector: Collector) -> None:
        """Add all rows to the collector."""
        add_batches(self._batches(source, collector.reading), source.name, collector)

    def _batches(self, source: Source, reading: Reading) -> Iterator[Batch]:
        csv.field_size_limit(LONGEST)
        whole = chunks(source)
        first = next(whole)
        check_utf8(first, source.name, 1)
        names, lines = self._header(first, source.name)
        header = _Header(names, source.name, {*RESERVED, reading.id_column, reading.text_column})
        # What is left of the first chunk, and of the file.
        rest = numbered(chain([_after(first, lines)], whole), lines + 1)
        reader = header.reader(self.delimiter)
        begin = next(rest)
        parsed = reader.read(begin)
        if parsed is not None:  # the others will have numbers where the first has
            reader = replace(reader, numeric=parsed.numeric())
        results = chain([(begin, parsed)], ahead(reader.read, rest))
        for chunk, columns in results:
            if columns is None:
                # Where a quote is out of place, a chunk may end anywhere in a row.
                data = chain([chunk.data], (other.data for other, _ in results))
                yield from self._slowly(data, header, chunk.first_line)
                return
            if len(columns.lines):
                yield header.batch(columns)

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

    def _slowly(self, parts: Iterator[bytes], header: _Header, start: int) -> Iterator[Batch]:
        """Read rows with Python's reader, from a line on."""
        path, width = header.path, len(header.names)
        reader = csv.reader(_lines(parts, path, start), delimiter=self.delimiter, strict=True)
        before = start - 1
        try:
            rows: list[list[str]] = []
            lines: list[int] = []
            line = start
            for row in reader:
                if row and len(row) != width:
                    problem = f"there are {len(row)} cells and the header has {width}"
                    raise FormatError(path, line, problem, "give one a column")
                if len(rows) >= ROWS:
                    yield header.rows(rows, lines)
                    rows, lines = [], []
                if row:
                    rows.append(row)
                    lines.append(line)  # its first
                line = before + reader.line_num + 1
            if rows:
                yield header.rows(rows, lines)
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


def _column(name: str, cells: Spans | Sequence[str], texts: Set[str]) -> Column:
    """Return numbers where all cells are, texts otherwise, and for names that are of texts."""
    if name in texts or is_reference(name):
        return cells
    if isinstance(cells, Spans):
        empty = cells.is_empty()
        if not (cells.may_be_values(INITIALS) | empty).all():
            return replace(cells, missing=empty)
    texts_or_empty = [cell or "" for cell in cells]
    values = values_of(texts_or_empty)
    if values is not None:
        return Numbers(values)
    missing = np.array([not cell.strip() for cell in texts_or_empty])
    values = values_of([cell if cell.strip() else "0" for cell in texts_or_empty])
    if values is None:
        values = _truths(texts_or_empty)
    if values is not None:
        return Numbers(values, missing if missing.any() else None)
    return [cell if cell.strip() else None for cell in texts_or_empty]


def _truths(cells: Sequence[str]) -> Floats | None:
    """Return 1 for true and 0 for false and nothing; None if a cell is anything else."""
    known = {"true": 1.0, "false": 0.0, "": 0.0}
    truths = [known.get(cell.strip().lower()) for cell in cells]
    return None if None in truths else np.array(truths, np.float64)


@dataclass
class _Header:
    """The names of columns, and which of them hold texts whatever these look like."""

    names: list[str]
    path: str
    texts: Set[str]

    def reader(self, delimiter: str) -> Reader:
        """Return the quick reader, to which all columns are numbers that may be."""
        numeric = frozenset(
            k
            for k, name in enumerate(self.names)
            if name and name not in self.texts and not is_reference(name)
        )
        return Reader(self.path, delimiter, len(self.names), numeric)

    def batch(self, parsed: ChunkColumns) -> Batch:
        """Return what the quick reader has found."""
        columns = self.of(parsed.columns)
        return Batch(columns, int(parsed.lines[0]), lines=parsed.lines)

    def rows(self, rows: list[list[str]], lines: list[int]) -> Batch:
        """Return what Python's reader has found."""
        columns = self.of(list(zip(*rows, strict=True)))
        return Batch(columns, lines[0], lines=np.array(lines, np.int64))

    def of(self, cell_columns: Sequence[Numbers | Spans | tuple[str, ...]]) -> dict[str, Column]:
        """Return columns by name."""
        columns: dict[str, Column] = {}
        for k, cells in enumerate(cell_columns):
            name = self.names[k]
            if isinstance(cells, Numbers):
                columns[name] = cells
            elif name:
                columns[name] = _column(name, cells, self.texts)
            elif k == 0 and all((cell or "").isdigit() for cell in cells):
                columns[INDEX] = _column(INDEX, cells, self.texts)
            elif any(
                (cell or "").strip() for cell in cells
            ):  # a comma too many at line ends is not
                problem = f"column {k + 1} has no name"
                remedy = "name it, or leave out a frame's index"
                raise FormatError(self.path, 1, problem, remedy)
        return columns


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
