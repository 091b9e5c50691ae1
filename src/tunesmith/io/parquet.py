"""Parquet tables with a row a candidate; see :mod:`tunesmith.io.tables`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, MissingExtraError
from tunesmith.io.collector import Collector
from tunesmith.io.formats import EVERYTHING, FORMATS, CandidateFormat
from tunesmith.io.streams import Source, writing
from tunesmith.io.tables import Batch, add_batches, arrow_columns, check_rows, to_columns

#: Rows that are read at a time.
ROWS = 1 << 16


@FORMATS.register("parquet")
class ParquetFormat(CandidateFormat):
    """Parquet with a row a candidate."""

    suffixes = (".parquet",)
    holds = EVERYTHING

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether it begins as Parquet does."""
        return head.startswith(b"PAR1")

    def read(self, source: Source, collector: Collector) -> None:
        """Add all rows to the collector."""
        pa, parquet = _libraries()
        data = source.buffer()
        try:
            file = parquet.ParquetFile(pa.BufferReader(pa.py_buffer(data)))
            found = file.metadata
            check_rows(found.num_rows, found.num_columns, len(data), source.name)
            add_batches(_batches(file, source.name), source.name, collector)
        except (pa.ArrowException, OSError) as error:
            problem = f"the Parquet data are damaged ({str(error).splitlines()[0][:80]})"
            raise FormatError(source.name, None, problem, "write the file again") from None

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write a row a candidate."""
        pa, parquet = _libraries()
        table = pa.table(to_columns(candidates, gaps=True)).take(pa.array(order))
        with writing(path) as file:
            parquet.write_table(table, file)


def _batches(file: Any, name: str) -> Iterator[Batch]:
    row = 1
    for batch in file.iter_batches(ROWS):
        yield arrow_columns(batch, name, row)
        row += batch.num_rows


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("the Parquet format", "formats") from None
    return pa, parquet
