"""Sorting on disk against a dictionary."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.hiero.training.rules import sorted_sums
from tunesmith.hiero.training.rules.sorted_sums import SortedSums, sorted_order

rows_of_numbers = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-2, 2), st.sampled_from([-(2**31), 0, 2**31 - 1])),
    max_size=60,
)


@given(rows=rows_of_numbers)
def test_order(rows: list[tuple[int, int, int]]) -> None:
    order = sorted_order(np.array(rows, np.int32).reshape(-1, 3))
    # Equal rows stay in the order given.
    assert order.tolist() == sorted(range(len(rows)), key=lambda k: (rows[k], k))


@given(
    runs=st.lists(rows_of_numbers, max_size=6),
    prefix=st.integers(1, 3),
    room=st.sampled_from([1, 3, 1 << 20]),
)
def test_sums(runs: list[list[tuple[int, int, int]]], prefix: int, room: int) -> None:
    expected: Counter[tuple[int, ...]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        held = SortedSums(3, 2, Path(folder), "rows")
        for rows in runs:
            counts = np.arange(2 * len(rows)).reshape(-1, 2) ** 2
            for row, count in zip(rows, counts[:, 0].tolist(), strict=True):
                expected[row] += count
            held.add(np.array(rows, np.int32).reshape(-1, 3), counts)
        with _small_buffers(room):
            blocks = [(r.tolist(), c.copy()) for r, c in held.merged(prefix, room)]
        held.delete()
        assert list(Path(folder).iterdir()) == []
    found = [tuple(row) for rows, _ in blocks for row in rows]
    assert found == sorted(expected)
    assert [int(c) for _, counts in blocks for c in counts[:, 0]] == [expected[r] for r in found]
    for (before, _), (after, _) in itertools.pairwise(blocks):
        assert before[-1][:prefix] != after[0][:prefix]


def _small_buffers(room: int):  # type: ignore[no-untyped-def]
    from unittest.mock import patch

    return patch.multiple(sorted_sums, LEAST_OUT=room, LEAST_READ=room)
