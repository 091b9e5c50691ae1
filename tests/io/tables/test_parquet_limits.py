"""Headers of Parquet pages, against what the library itself says of the same files."""

from __future__ import annotations

import io
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tunesmith.io.tables.parquet_limits import Struct, pages_of

ENCODINGS = {"PLAIN": 0, "RLE_DICTIONARY": 8, "DELTA_BYTE_ARRAY": 7, "DELTA_LENGTH_BYTE_ARRAY": 6}


def written(**options: object) -> bytes:
    rng = np.random.default_rng(1)
    words = [f"word{k}" * 5 for k in rng.integers(0, 900, 5000)]
    columns = {"id": np.arange(5000), "text": words, "a.b": rng.normal(size=5000)}
    columns["nested"] = [[1, 2]] * 5000
    file = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), file, row_group_size=1500, **options)
    return file.getvalue()


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_sizes_are_those_of_the_metadata(compression: str, version: str) -> None:
    data = written(compression=compression, data_page_version=version, data_page_size=2000)
    metadata = pa.parquet.read_metadata(io.BytesIO(data))
    found = pages_of(memoryview(data))
    totals: dict[str, int] = {}
    for g in range(metadata.num_row_groups):
        for k in range(metadata.num_columns):
            column = metadata.row_group(g).column(k)
            totals.setdefault(column.path_in_schema, 0)
            totals[column.path_in_schema] += column.total_uncompressed_size
    assert found.keys() == totals.keys() == {"id", "text", "a.b", "nested.list.element"}
    for path, total in totals.items():
        # The library counts the headers too.
        assert 0.5 * total < found[path].total < total
        assert 0 < found[path].largest <= found[path].total


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings(encoding: str) -> None:
    chosen = encoding if encoding != "RLE_DICTIONARY" else None
    options = {"use_dictionary": chosen is None}
    if chosen:
        options["column_encoding"] = {"text": chosen, "id": "PLAIN"}
    text = pages_of(memoryview(written(**options)))["text"]
    assert text.encodings == {ENCODINGS[encoding]}
    assert text.has_dictionary == (chosen is None)
    assert text.is_plain == (encoding != "DELTA_BYTE_ARRAY")


def test_damage_is_an_error_of_python() -> None:
    """Nothing else comes out of damaged metadata, and nothing runs forever."""
    data = written()
    rng = random.Random(1)
    for _ in range(200):
        changed = bytearray(data)
        changed[len(data) - 1 - rng.randrange(1500)] = rng.randrange(256)
        try:
            pages_of(memoryview(bytes(changed)))
        except (ValueError, LookupError):
            continue


def test_a_list_longer_than_the_file_is_an_error() -> None:
    endless = bytes([0x19, 0xF7]) + b"\xff" * 8 + b"\x7f"  # a list of 2^62 doubles
    with pytest.raises(ValueError, match="cut off"):
        Struct(memoryview(endless), 0)


@pytest.mark.parametrize("byte", [b"\x1c", b"\x19", b"\x1b"], ids=["structs", "lists", "maps"])
def test_nesting_has_an_end(byte: bytes) -> None:
    with pytest.raises(ValueError, match="deep"):
        Struct(memoryview(byte * 5000), 0)
