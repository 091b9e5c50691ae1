"""Texts that are missing in columnar files are empty, however the file stores them."""

from __future__ import annotations

import pytest

import tunesmith as ts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = ["a b", None, "c", None, "a b", "d"]
COLUMNS = {"id": [0, 0, 0, 1, 1, 1], "lm": [0.5, 1.0, -1.0, 2.0, 0.0, 1.5]}


def encoded(kind):
    plain = pa.array(TEXTS)
    if kind == "dictionary":
        return plain.dictionary_encode()
    if kind == "bytes in gaps":  # which the format allows
        filled = pa.array([text or "x y z" for text in TEXTS])
        gaps = pa.array([text is not None for text in TEXTS])
        buffers = filled.buffers()
        return pa.Array.from_buffers(filled.type, len(TEXTS), [gaps.buffers()[1], *buffers[1:]])
    return plain


@pytest.mark.parametrize("kind", ["plain", "dictionary", "bytes in gaps"])
@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_missing_texts_are_empty(kind, ending, tmp_path):
    table = pa.table({**COLUMNS, "text": encoded(kind)})
    path = tmp_path / f"lists.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, use_dictionary=kind == "dictionary")
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    candidates = ts.read(path)
    assert [candidates.text(k) for k in range(6)] == [text or "" for text in TEXTS]
