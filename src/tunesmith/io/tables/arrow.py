"""Arrow files: our own, which are mapped into memory, and tables with one row per candidate.

Ours is one record batch of one row, whose cells are the arrays of a CandidateSet, as lists
with offsets of 64 bits. Nothing is copied when it is opened: pages are read when they are
touched, so that a set may be larger than the memory.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet, Originals, References, Texts, pack_texts
from tunesmith.data.features import Features
from tunesmith.errors import FormatError, MissingExtraError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import EVERYTHING, FORMATS, CandidateFormat
from tunesmith.io.reading import Reading
from tunesmith.io.streams import Source, writing
from tunesmith.io.tables.arrow_limits import FILE_MAGIC, check_expansion, is_file
from tunesmith.io.tables.arrow_types import (
    are_whole,
    arrow_columns,
    check_schema,
    first_line,
    has_lists,
    is_text,
    one_a_row,
)
from tunesmith.io.tables.base import Batch, SizeLimit, add_batches

SCHEMA_KEY, SCHEMA = b"tunesmith.schema", b"candidates/1"
STREAM_MAGIC = b"\xff\xff\xff\xff"
#: Numbers that are checked at a time.
CHECKED = 1 << 16

#: The arrays of our own files, with the types of their values.
ARRAYS = {
    "start": "int64",
    "dense": "float64",
    "sparse_data": "float64",
    "sparse_rows": "int32",
    "sparse_start": "int64",
    "text_start": "int64",
    "text_ids": "int32",
    "columns": "float64",
    "reference_group_start": "int64",
    "reference_start": "int64",
    "reference_ids": "int32",
}
#: Lists of texts; ``ids`` may be whole numbers instead.
TEXTS = ("ids", "dense_names", "sparse_names", "column_names", "vocabulary", "sources")
#: Texts with white space of their own, in files that have any: which one each candidate has, or
#: -1, and the texts.
ORIGINAL, ORIGINALS = "text_original", "originals"


def arrow() -> Any:
    """Return pyarrow with its parts."""
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError:
        raise MissingExtraError("the Arrow format", "formats") from None
    return pa


@FORMATS.register("arrow")
class ArrowFormat(CandidateFormat):
    """Arrow: our own files, mapped into memory, and tables with one row per candidate."""

    suffixes = (".arrow",)
    holds = EVERYTHING

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether it is an Arrow file or stream."""
        return head.startswith((FILE_MAGIC, STREAM_MAGIC))

    @staticmethod
    def files_in(folder: str) -> list[str]:
        """Return the files of a data set of Hugging Face, as ``save_to_disk`` leaves it."""
        place = Path(folder)
        is_set = (place / "dataset_info.json").is_file()
        return [os.fspath(path) for path in sorted(place.glob("*.arrow"))] if is_set else []

    def read(self, source: Source, collector: Collector) -> None:
        """Take our own file as it is; add a table row by row."""
        pa = arrow()
        data = source.buffer()
        try:
            check_expansion(data, source.name, pa)
            schema, batches = _opened(data, pa)
            if (schema.metadata or {}).get(SCHEMA_KEY) == SCHEMA:
                candidates = _Opened(source.name, data, list(batches)).candidates()
                collector.add_set(candidates, source.name)
            else:
                check_schema(schema, source.name)
                room = SizeLimit(source.name, len(data))
                rows = _rows(batches, room, collector.reading, source.name)
                add_batches(rows, source.name, collector)
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            LookupError,
            struct.error,
        ) as error:
            problem = f"the Arrow data are damaged ({first_line(error)})"
            raise FormatError(source.name, None, problem, "write the file again") from None

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write our own file."""
        arrow()  # or an empty file would be there
        with writing(path) as file:
            write_arrow(_in_order(candidates, order), file)


def write_arrow(candidates: CandidateSet, file: BinaryIO) -> None:
    """Write our own form of a set to a file that is open."""
    pa = arrow()
    names, cells = zip(*_cells(candidates, pa), strict=True)
    schema = pa.schema(
        [pa.field(n, c.type) for n, c in zip(names, cells, strict=True)],
        metadata={SCHEMA_KEY: SCHEMA},
    )
    batch = pa.record_batch(list(cells), schema=schema)
    with pa.ipc.new_file(file, schema) as writer:
        writer.write_batch(batch)


def _opened(data: memoryview, pa: Any) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the record batches of a file or a stream."""
    reader = pa.BufferReader(pa.py_buffer(data))
    if is_file(data):
        file = pa.ipc.open_file(reader)
        return file.schema, (file.get_batch(k) for k in range(file.num_record_batches))
    stream = pa.ipc.open_stream(reader)
    return stream.schema, iter(stream)


def _rows(batches: Iterator[Any], room: SizeLimit, reading: Reading, name: str) -> Iterator[Batch]:
    row = 1
    for read in batches:
        batch, lines = read, None
        if has_lists({field.name: field.type for field in read.schema}, reading):
            read.validate(full=True)
            batch, lines = one_a_row(read, reading, name, row)
        room.check_rows(batch.num_rows, batch.num_columns)
        yield replace(arrow_columns(batch, room, row), lines=lines)
        row += read.num_rows


def _in_order(candidates: CandidateSet, order: Ints) -> CandidateSet:
    """Return the same groups with their candidates in another order."""
    if np.array_equal(order, np.arange(len(candidates))):
        return candidates
    features = candidates.features
    sparse = features.sparse[order].tocsc()
    sparse.sort_indices()
    return replace(
        candidates,
        features=replace(features, dense=features.dense[:, order], sparse=sparse),
        texts=pack_texts([candidates.texts[i] for i in order]),
        columns={name: values[order] for name, values in candidates.columns.items()},
        originals=None if candidates.originals is None else candidates.originals.take(order),
    )


def _cells(candidates: CandidateSet, pa: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the one-row column of each array."""
    features, references = candidates.features, candidates.references
    references_or_empty = references or References(np.zeros(0, np.int64), Texts.empty())
    arrays: dict[str, NDArray[Any]] = {
        "start": candidates.start,
        "dense": features.dense.reshape(-1),
        "sparse_data": features.sparse.data,
        "sparse_rows": features.sparse.indices,
        "sparse_start": features.sparse.indptr,
        "text_start": candidates.texts.start,
        "text_ids": candidates.texts.ids,
        "columns": np.concatenate([np.zeros(0), *candidates.columns.values()]),
        "reference_group_start": references_or_empty.group_start,
        "reference_start": references_or_empty.texts.start,
        "reference_ids": references_or_empty.texts.ids,
    }
    for name, kind in ARRAYS.items():
        yield name, _cell(pa.array(arrays[name].astype(kind, copy=False)), pa)
    numbers = are_whole(candidates.ids)
    if not numbers:
        for i in candidates.ids:
            if not isinstance(i, str):
                raise UsageError(f"arrow has no place for the id {i} among texts; write jsonl")
    kind = pa.int64() if numbers else pa.large_string()
    yield "ids", _cell(pa.array(candidates.ids, kind), pa)
    texts: dict[str, tuple[str, ...]] = {
        "dense_names": features.dense_names,
        "sparse_names": features.sparse_names,
        "column_names": tuple(candidates.columns),
        "vocabulary": candidates.vocabulary,
        "sources": candidates.sources or (),
    }
    for name in TEXTS[1:]:
        yield name, _cell(pa.array(texts[name], pa.large_string()), pa)
    if candidates.originals is not None:
        yield ORIGINAL, _cell(pa.array(candidates.originals.index), pa)
        yield ORIGINALS, _cell(pa.array(candidates.originals.texts, pa.large_string()), pa)


def _cell(values: Any, pa: Any) -> Any:
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


class _Opened:
    """One of our own files; whatever it says is checked before a kernel sees it."""

    def __init__(self, name: str, data: memoryview, batches: list[Any]) -> None:
        self.name = name
        self.data = data
        if len(batches) != 1:
            raise ValueError("there is not one record batch")
        self.batch = batches[0]
        self.batch.validate(full=True)
        if self.batch.num_rows != 1:
            raise ValueError("the record batch has not one row")

    def candidates(self) -> CandidateSet:
        """Put the set together."""
        numbers = {name: self._array(name, kind) for name, kind in ARRAYS.items()}
        texts = {name: self._texts(name) for name in TEXTS}
        start = self._offsets(numbers["start"], len(texts["ids"]), 1)
        n = int(start[-1])
        names = texts["dense_names"] + texts["sparse_names"]
        if len(set(names)) != len(names) or not self._fits(numbers, texts, n):
            raise ValueError("its arrays do not fit together")
        words = len(texts["vocabulary"])
        candidate_set = CandidateSet(
            texts["ids"],
            start,
            Features(
                texts["dense_names"],
                numbers["dense"].reshape(len(texts["dense_names"]), n),
                texts["sparse_names"],
                self._sparse(numbers, n, len(texts["sparse_names"])),
            ),
            self._tokens(numbers["text_start"], numbers["text_ids"], n, words),
            texts["vocabulary"],
            self._references(numbers, len(texts["ids"]), words),
            dict(zip(texts["column_names"], numbers["columns"].reshape(-1, n), strict=True)),
            texts["sources"] or None,
            originals=self._originals(n),
        )
        for values in (numbers["dense"], numbers["sparse_data"], numbers["columns"]):
            if not _all_finite(values):
                raise FormatError(self.name, None, "a number is not finite", "write it again")
        return candidate_set

    def _fits(self, numbers: dict[str, Any], texts: dict[str, Any], n: int) -> bool:
        return (
            len(numbers["dense"]) == len(texts["dense_names"]) * n
            and len(numbers["columns"]) == len(texts["column_names"]) * n
            and len(set(texts["column_names"])) == len(texts["column_names"])
            and len(set(texts["ids"])) == len(texts["ids"])
            and len(set(texts["vocabulary"])) == len(texts["vocabulary"])
            and " ".join(texts["vocabulary"]).split() == list(texts["vocabulary"])
            and len(texts["sources"]) in {0, len(texts["ids"])}
        )

    def _originals(self, n: int) -> Originals | None:
        """Return texts with white space of their own, where the file has any."""
        if self.batch.schema.get_field_index(ORIGINAL) < 0:
            return None
        index, texts = self._array(ORIGINAL, "int32"), self._texts(ORIGINALS)
        if len(index) != n or _outside(index + 1, len(texts) + 1):
            raise ValueError("its texts as they came do not fit together")
        return Originals(index, texts)

    def _sparse(self, numbers: dict[str, Any], n: int, width: int) -> csc_array:
        data, rows = numbers["sparse_data"], numbers["sparse_rows"]
        start = self._offsets(numbers["sparse_start"], width, 0)
        if len(rows) != start[-1] or len(data) != len(rows) or _outside(rows, n):
            raise ValueError("its sparse features do not fit together")
        jumps = np.flatnonzero(np.diff(rows) <= 0) + 1
        if not np.isin(jumps, start).all():
            raise ValueError("its sparse features are not in order")
        small = start[-1] < np.iinfo(np.int32).max
        return csc_array((data, rows, start.astype(np.int32) if small else start), shape=(n, width))

    def _tokens(self, start: Ints, ids: Any, count: int, words: int) -> Texts:
        self._offsets(start, count, 0)
        if len(ids) != start[-1] or _outside(ids, words):
            raise ValueError("its texts do not fit together")
        return Texts(start, ids)

    def _references(self, numbers: dict[str, Any], groups: int, words: int) -> References | None:
        by_group = numbers["reference_group_start"]
        if len(by_group) == 0:
            return None
        self._offsets(by_group, groups, 1)
        start, ids = numbers["reference_start"], numbers["reference_ids"]
        return References(by_group, self._tokens(start, ids, int(by_group[-1]), words))

    def _offsets(self, start: Ints, count: int, least: int) -> Ints:
        if len(start) != count + 1 or start[0] != 0 or (np.diff(start) < least).any():
            raise ValueError("its offsets do not fit together")
        return start

    def _array(self, name: str, kind: str) -> NDArray[Any]:
        values = self._values(name)
        if str(values.type) != {"float64": "double"}.get(kind, kind):
            raise ValueError(f"'{name}' is of another type")
        buffer = values.buffers()[1]
        if len(values) == 0 or buffer is None:
            return np.zeros(0, kind)
        whole = np.frombuffer(self.data, np.uint8)
        size = np.dtype(kind).itemsize
        at = buffer.address - whole.ctypes.data + values.offset * size
        inside = 0 <= at <= len(whole) - len(values) * size
        if inside and (whole.ctypes.data + at) % size == 0:
            # Writable memory, as kernels are compiled for; the file never changes.
            return np.frombuffer(self.data, kind, len(values), at)
        return np.array(values.to_numpy(zero_copy_only=False), kind)

    def _texts(self, name: str) -> tuple[Any, ...]:
        values = self._values(name)
        if not is_text(values.type) and (name != "ids" or str(values.type) != "int64"):
            raise ValueError(f"'{name}' is of another type")
        return tuple(values.to_pylist())

    def _values(self, name: str) -> Any:
        index = self.batch.schema.get_field_index(name)
        if index < 0 or not hasattr(self.batch.column(index), "flatten"):
            raise ValueError(f"'{name}' is no list")
        values = self.batch.column(index).flatten()
        if isinstance(values, list):  # of a struct's fields
            raise ValueError(f"'{name}' is no list")
        if values.null_count:
            raise ValueError(f"'{name}' has gaps")
        return values


def _all_finite(values: Floats) -> bool:
    # In steps: the flags of all values at once would take an eighth of a set's memory again.
    steps = range(0, len(values), CHECKED)
    return all(np.isfinite(values[lo : lo + CHECKED]).all() for lo in steps)


def _outside(indices: NDArray[Any], count: int) -> bool:
    return len(indices) > 0 and (int(indices.min()) < 0 or int(indices.max()) >= count)
