"""Rows of different lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.data.rows import gather_rows


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=6), st.data())
def test_rows_are_gathered_in_the_order_given(rows: list[list[int]], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    start = np.cumsum([0, *map(len, rows)])
    values = np.array([value for row in rows for value in row], np.int64)
    offsets, places = gather_rows(start, np.array(wanted, np.int64))
    found = [part.tolist() for part in np.split(values[places], offsets[1:])][:-1]
    assert offsets[0] == 0
    assert found == [rows[k] for k in wanted]
