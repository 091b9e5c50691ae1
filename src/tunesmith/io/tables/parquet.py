"""Parquet tables with one row per candidate; see :mod:`tunesmith.io.tables.base`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, MissingExtraError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import EVERYTHING, FORMATS, CandidateFormat
from tunesmith.io.reading import Reading
from tunesmith.io.streams import RATIO_FROM, Source, writing
from tunesmith.io.tables.arrow_types import (
    are_whole,
    arrow_columns,
    check_schema,
    first_line,
    has_lists,
    is_flat,
    is_list,
    is_list_of_texts,
    is_text,
    one_a_row,
)
from tunesmith.io.tables.base import (
    REFERENCES,
    Batch,
    Nested,
    SizeLimit,
    add_batches,
    to_columns,
)
from tunesmith.io.tables.parquet_limits import Pages, pages_of

#: Rows that are read at a time.
ROWS = 1 << 16


@FORMATS.register("parquet")
class ParquetFormat(CandidateFormat):
    """Parquet with one row per candidate."""

    suffixes = (".parquet",)
    holds = EVERYTHING

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether it begins as Parquet does."""
        return head.startswith(b"PAR1")

    def read(self, source: Source, collector: Collector) -> None:
        """Add all rows to the collector."""
        from tunesmith.io.tables.lighteval import add_details, is_details

        with reading_parquet(source) as file:
            if is_details(file.schema):
                add_details(file, collector)
                return
            batches = _batches(file, collector.reading)
            add_batches(batches, source.name, collector)

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write one row per candidate."""
        pa, parquet = _libraries()
        columns = to_columns(candidates)
        if not are_whole(candidates.ids):  # each is read as what it looks like
            columns["id"] = [str(i) for i in columns["id"]]
        table = pa.table(columns).take(pa.array(order))
        with writing(path) as file:
            parquet.write_table(table, file)


@dataclass(frozen=True)
class OpenFile:
    """A file that is open: what it would become is known before it is read."""

    name: str
    file: Any
    schema: Any
    pages: dict[str, Pages]
    room: SizeLimit


@contextlib.contextmanager
def reading_parquet(source: Source) -> Iterator[OpenFile]:
    """Open a file; what is wrong with it within the block is a FormatError."""
    pa, parquet = _libraries()
    data = source.buffer()
    try:
        whole = pa.py_buffer(data)
        metadata = parquet.read_metadata(pa.BufferReader(whole))
        room = SizeLimit(source.name, len(data))
        room.check_rows(metadata.num_rows, metadata.num_columns)
        pages = pages_of(data)
        room.check(sum(column.total for column in pages.values()))
        # Entries of a dictionary stay what they are until their lengths are known.
        numbered = [p for p, column in pages.items() if column.has_dictionary and column.is_plain]
        file = parquet.ParquetFile(pa.BufferReader(whole), read_dictionary=numbered)
        yield OpenFile(source.name, file, file.schema_arrow, pages, room)
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        problem = f"the Parquet data are damaged ({first_line(error)})"
        raise FormatError(source.name, None, problem, "write the file again") from None


def _batches(file: OpenFile, reading: Reading) -> Iterator[Batch]:
    import pyarrow as pa

    pages, room = file.pages, file.room
    check_schema(file.schema, file.name)
    kinds = {field.name: field.type for field in file.schema}
    columns = [column for column, kind in kinds.items() if is_flat(kind)]
    is_prompt = has_lists(kinds, reading)
    if is_prompt:
        columns += [n for n, kind in kinds.items() if is_list(kind) and n != REFERENCES]
        room.check(8 * sum(p.values for p in pages.values()))
    if is_list_of_texts(kinds.get(REFERENCES, pa.null())):
        columns.append(REFERENCES)
        list_sizes = [p.values for path, p in pages.items() if path.startswith(f"{REFERENCES}.")]
        room.check(8 * sum(list_sizes))
    row = 1
    few = file.file.iter_batches(_rows_at_once(pages, kinds), columns=columns)
    for read in _joined(few, pa):
        batch, lines = one_a_row(read, reading, file.name, row) if is_prompt else (read, None)
        if is_prompt:
            kinds = {field.name: field.type for field in batch.schema}
            room.check_rows(batch.num_rows, 1)
        cells_read = arrow_columns(batch, room, row).columns
        cells = {
            key: cells_read.get(key, Nested([str(kind)] * batch.num_rows))
            for key, kind in kinds.items()
        }
        yield Batch(cells, row, lines=lines)
        row += read.num_rows


def _joined(batches: Iterator[Any], pa: Any) -> Iterator[Any]:
    """Join small batches, as long as they take little room."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= RATIO_FROM:
            yield pa.concat_batches(waiting) if len(waiting) > 1 else batch
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_batches(waiting)


def _rows_at_once(pages: dict[str, Pages], kinds: dict[str, Any]) -> int:
    """Return how many rows are sure to have room.

    A text may be made of the one before it, or be an entry of a dictionary, and so be as long
    as a page without taking any room in the file.
    """
    long = [
        column.largest
        for path, column in pages.items()
        if not column.is_plain or (column.has_dictionary and path in kinds and is_text(kinds[path]))
    ]
    return max(1, min(ROWS, RATIO_FROM // max(long, default=1)))


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("the Parquet format", "formats") from None
    return pa, parquet
