"""Columns of Arrow and Parquet in our terms; whatever they say is checked before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import FormatError
from tunesmith.io.reading import Reading
from tunesmith.io.tables.base import (
    FEATURE,
    LENGTHS_REMEDY,
    REFERENCES,
    RESERVED,
    Batch,
    Column,
    Nested,
    Numbers,
    Repeated,
    SizeLimit,
    is_reference,
)
from tunesmith.io.text.spans import Spans

#: All whole numbers below this one are floating-point numbers too, and not all above it.
EXACT = 1 << 53


def check_schema(schema: Any, name: str) -> None:
    """Raise an error if two columns have one name, or ids and texts are of a strange type."""
    for field in schema:
        if schema.names.count(field.name) > 1:
            problem = f"two columns are called '{field.name}'"
            raise FormatError(name, None, problem, "rename one")
        if field.name == REFERENCES and is_list_of_texts(field.type):
            continue
        if (field.name in RESERVED or is_reference(field.name)) and not is_flat(field.type):
            problem = f"'{field.name}' is a column of {field.type}"
            remedy = (
                "write lists of texts" if field.name == REFERENCES else "write texts or numbers"
            )
            raise FormatError(name, None, problem, remedy)


def first_line(error: Exception) -> str:
    """Return what an error of the library says, in short."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:80]


def arrow_columns(batch: Any, room: SizeLimit, first_line: int = 1) -> Batch:
    """Return an Arrow record batch in our terms."""
    batch.validate(full=True)
    columns: dict[str, Column] = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if is_flat(column.type):
            columns[field.name] = _column(field.name, column, room, first_line)
        elif field.name == REFERENCES and is_list_of_texts(column.type):
            columns[field.name] = _lists(column, room)
        else:
            columns[field.name] = Nested([str(column.type)] * len(column))  # or an error
    return Batch(columns, first_line)


def is_flat(kind: Any) -> bool:
    """Tell whether a column holds numbers or texts."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return _is_numeric(kind) or is_text(kind) or bool(types.is_null(kind))


def are_whole(ids: Sequence[object]) -> bool:
    """Tell whether ids are whole numbers for which there is a column."""
    return all(isinstance(i, int) and -(1 << 63) <= i < 1 << 63 for i in ids)


def is_list_of_texts(kind: Any) -> bool:
    """Tell whether a column holds lists of texts."""
    from pyarrow import types

    if not (types.is_list(kind) or types.is_large_list(kind)):
        return False
    element = kind.value_type
    return is_text(element.value_type if types.is_dictionary(element) else element)


def is_list(kind: Any) -> bool:
    """Tell whether a column holds lists of numbers or texts."""
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind)) and is_flat(kind.value_type)


def has_lists(kinds: Mapping[str, Any], reading: Reading) -> bool:
    """Tell whether rows are prompts: whether the column of texts holds lists."""
    text = reading.text_column
    return text != "text" and text in kinds and is_list(kinds[text])


def one_a_row(batch: Any, reading: Reading, name: str, row: int) -> tuple[Any, Ints]:
    """Return rows of candidates, of rows that have a list of each column; and the row of each.

    Parameters
    ----------
    reading
        What is read: a list of another length than that of the texts must not be.
    name, row
        The file, and the number of the first row, for errors.
    """
    import pyarrow as pa
    from pyarrow import compute

    text = reading.text_column
    texts = batch.column(batch.schema.get_field_index(text))
    sizes = _list_sizes(texts)
    if not sizes.all():
        problem = f"'{text}' is an empty list"
        raise FormatError(name, row + int(np.argmin(sizes)), problem, "leave such rows out")
    parents = compute.list_parent_indices(texts)
    columns = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not is_list(field.type) or field.name == REFERENCES:
            columns[field.name] = column.take(parents)
        elif (other := _list_sizes(column) != sizes).any():
            at = int(np.argmax(other))
            if reading.is_feature(field.name.removeprefix(FEATURE)):
                lengths = f"{_list_sizes(column)[at]} values and '{text}' has {sizes[at]}"
                problem, remedy = f"'{field.name}' has {lengths}", LENGTHS_REMEDY
                raise FormatError(name, row + at, problem, remedy)
        else:
            columns[field.name] = column.flatten()
    rows = row + parents.to_numpy(zero_copy_only=False).astype(np.int64)
    return pa.record_batch(list(columns.values()), list(columns)), rows


def _list_sizes(column: Any) -> Ints:
    sizes: Ints = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    return sizes


def is_text(kind: Any) -> bool:
    """Tell whether a column holds texts as they are, not as numbers of a dictionary."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _column(name: str, column: Any, room: SizeLimit, first_line: int) -> Column:
    """Return a column of numbers or texts."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        if is_text(kind.value_type):
            return _entries(column, room)
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_integer(kind) and name == "id":
        numbered = column.dictionary_encode(null_encoding="encode")
        index = numbered.indices.to_numpy(zero_copy_only=False)
        return Repeated(numbered.dictionary.to_pylist(), index.astype(np.int64))
    if _is_numeric(kind):
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        if pa.types.is_integer(kind):
            values = _from_whole(name, column, room, first_line)
        elif pa.types.is_float64(kind) and missing is None:
            values = column.to_numpy()  # not copied
        else:
            filled = column.cast(pa.float64()).fill_null(0.0)
            values = np.array(filled.to_numpy(zero_copy_only=False), np.float64)
        return Numbers(values, missing)
    if is_text(kind):
        room.take(int(_lengths(column).sum()))
        return _texts(column)
    return [None] * len(column)


def _texts(column: Any) -> Spans | list[str | None]:
    """Return texts where they are, if they are UTF-8 without NUL."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type):
        return list(column.to_pylist())
    _, ends, buffer = column.buffers()
    kind = np.int64 if pa.types.is_large_string(column.type) else np.int32
    offsets: Any = np.frombuffer(ends or bytes(8), kind)
    start: Ints = offsets[column.offset :][: len(column) + 1].astype(np.int64)
    data = np.frombuffer(buffer or b"", np.uint8)
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    data.flags.writeable = False  # as all that is read: kernels are compiled for it once
    spans = Spans(data, start[:-1], start[1:], missing)
    return spans if spans.is_text() else list(column.to_pylist())


def _from_whole(name: str, column: Any, room: SizeLimit, first_line: int) -> Floats:
    """Return whole numbers; raise an error if one would be rounded."""
    whole = column.fill_null(0).to_numpy(zero_copy_only=False)
    values: Floats = whole.astype(np.float64)
    for row in np.flatnonzero(abs(values) >= EXACT):
        if int(values[row]) != int(whole[row]):
            problem = f"'{name}' is {whole[row]}, which has too many digits for a feature"
            raise FormatError(room.name, first_line + int(row), problem, "round it")
    return values


def _lists(column: Any, room: SizeLimit) -> list[list[str] | None]:
    """Return lists of texts."""
    import pyarrow as pa

    elements = column.flatten()
    room.take(8 * len(elements))
    if pa.types.is_dictionary(elements.type):
        texts: list[Any] = _texts_by_number(elements, room)
    else:
        room.take(int(_lengths(elements).sum()))
        texts = elements.to_pylist()
    sizes = column.value_lengths().to_pylist()
    ends = np.cumsum([size or 0 for size in sizes]).tolist()
    return [
        None if size is None else texts[end - size : end]
        for size, end in zip(sizes, ends, strict=True)
    ]


def _entries(column: Any, room: SizeLimit) -> Spans | list[str | None]:
    """Return the texts of a dictionary's entries where they are."""
    texts = _texts(column.dictionary) if not column.dictionary.null_count else []
    if not isinstance(texts, Spans) or not len(texts):
        return _texts_by_number(column, room)
    numbers = column.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    entries = Spans(texts.data, texts.lo[numbers], texts.hi[numbers], missing)
    room.take(int((entries.hi - entries.lo)[~missing].sum()))
    return entries if missing.any() else replace(entries, missing=None)


def _texts_by_number(column: Any, room: SizeLimit) -> list[str | None]:
    """Return the texts of a dictionary's entries; each is held once, however often it comes."""
    numbers = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    lengths = _lengths(column.dictionary)
    is_valid = column.indices.is_valid().to_numpy(zero_copy_only=False)
    if is_valid.any():
        room.take(int(lengths[numbers[is_valid].astype(np.int64)].sum()))
    texts = column.dictionary.to_pylist()
    return [None if k is None else texts[k] for k in column.indices.to_pylist()]


def room_of(column: Any) -> int:
    """Return about how many bytes the values of a column take, whatever it holds."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        if not is_text(kind.value_type) or not len(column.dictionary):
            return 8 * len(column)
        numbers = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return int(_lengths(column.dictionary)[numbers].sum())
    if is_text(kind):
        return int(_lengths(column).sum())
    if pa.types.is_struct(kind):
        return sum(room_of(inner) for inner in column.flatten())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return 8 * len(column) + room_of(column.flatten())
    return 8 * len(column)


def _lengths(texts: Any) -> Any:
    """Return the bytes of each text of an Arrow array, 0 where there is none."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_string_view(texts.type):
        # A view is 16 bytes, of which the first four are the length; many may share their text.
        views = np.frombuffer(texts.buffers()[1] or b"", np.int32)[::4]
        lengths = views[texts.offset : texts.offset + len(texts)].astype(np.int64)
        return np.where(texts.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    counted = compute.binary_length(texts).fill_null(0)
    return counted.to_numpy(zero_copy_only=False).astype(np.int64)
