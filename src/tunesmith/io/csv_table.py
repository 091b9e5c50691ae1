"""CSV and TSV tables with a row a candidate; see :mod:`tunesmith.io.tables`."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.formats import EVERYTHING, FORMATS, CandidateFormat
from tunesmith.io.numbers import shortest
from tunesmith.io.streams import Source, writing
from tunesmith.io.tables import RESERVED, Batch, Column, Numbers, add_batches, to_columns
from tunesmith.io.utf8 import check_utf8

#: Rows of one batch.
ROWS = 1 << 14
#: The longest cell.
LONGEST = 1 << 24


@FORMATS.register("csv")
class CsvFormat(CandidateFormat):
    """CSV with a header and a row a candidate."""

    suffixes = (".csv",)
    holds = EVERYTHING
    delimiter: ClassVar[str] = ","

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Tell whether the first line is a header with ``id`` in it."""
        line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
        names = [name.strip().strip(b'"') for name in line.split(cls.delimiter.encode())]
        return len(names) > 1 and b"id" in names

    def read(self, source: Source, collector: Collector) -> None:
        """Add all rows to the collector."""
        add_batches(self._batches(source), source.name, collector)

    def _batches(self, source: Source) -> Iterator[Batch]:
        csv.field_size_limit(LONGEST)
        reader = csv.reader(_lines(source), delimiter=self.delimiter, strict=True)
        try:
            header = next(reader, [])
            if len(set(header)) < len(header):
                twice = next(name for name in header if header.count(name) > 1)
                problem = f"two columns are called '{twice}'"
                raise FormatError(source.name, 1, problem, "rename one")
            rows: list[list[str]] = []
            first = line = reader.line_num + 1
            for row in reader:
                if row and len(row) != len(header):
                    problem = f"there are {len(row)} cells and the header has {len(header)}"
                    raise FormatError(source.name, line, problem, "give one a column")
                # Errors name a row's first line; rows over several lines begin a new batch.
                if len(rows) >= ROWS or (rows and line != first + len(rows)):
                    yield Batch(_columns(header, rows), first)
                    rows = []
                if row:
                    first = first if rows else line
                    rows.append(row)
                line = reader.line_num + 1
            if rows:
                yield Batch(_columns(header, rows), first)
        except csv.Error as error:
            raise FormatError(
                source.name, reader.line_num, f"this is no table ({error})", "repair the row"
            ) from None

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write a header and a row a candidate."""
        columns = to_columns(candidates, gaps=True)
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
    """Values with tabs between them, a header and a row a candidate."""

    suffixes = (".tsv",)
    delimiter = "\t"


@dataclass
class _Cells:
    """One column's cells as text."""

    cells: tuple[str, ...]

    def column(self, name: str) -> Column:
        """Return numbers where all cells are, texts otherwise."""
        if name in RESERVED or name.startswith("reference"):
            return list(self.cells)
        try:
            return Numbers(np.array(self.cells, np.float64))
        except ValueError:
            missing = np.array([not c.strip() for c in self.cells])
        try:
            filled = [c if c.strip() else "0" for c in self.cells]
            return Numbers(np.array(filled, np.float64), missing)
        except ValueError:
            return [c or None for c in self.cells]


def _columns(header: list[str], rows: list[list[str]]) -> dict[str, Column]:
    return {
        name: _Cells(cells).column(name)
        for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }


def _lines(source: Source) -> Iterator[str]:
    number = 1
    for block in source.blocks():
        check_utf8(block, source.name, number)
        number += block.count(b"\n")
        yield from (
            block.decode().splitlines(keepends=True)
            if b"\r" in block
            else (line + "\n" for line in block.decode().removesuffix("\n").split("\n"))
        )
