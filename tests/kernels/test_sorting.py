"""Sorting and searching, held against numpy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tunesmith.kernels.copying import copy_rows, copy_to
from tunesmith.kernels.sorting import argsort, first_not_below, kth_smallest, sorted_copy

# Few different values: ties are what a sort that is not stable gets wrong.
ints = arrays(np.int64, st.integers(0, 200), elements=st.integers(-9, 9))
ids = arrays(np.int32, st.integers(0, 200), elements=st.integers(-(2**31), 2**31 - 1))
numbers = st.floats(allow_nan=False) | st.integers(-3, 3).map(float)
floats = arrays(np.float64, st.integers(0, 200), elements=numbers)


@given(ints | ids | floats)
def test_argsort_is_numpys_stable_one(values):
    np.testing.assert_array_equal(argsort(values), np.argsort(values, kind="stable"))


@given(ints | ids | floats)
def test_a_sorted_copy_leaves_the_original(values):
    before = values.copy()
    found = sorted_copy(values)
    np.testing.assert_array_equal(found, np.sort(values))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(values, before)


@given(ints | floats, st.data())
def test_a_place_in_sorted_values(values, data):
    values = np.sort(values)
    begin = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(begin, len(values)))
    wanted = data.draw(st.integers(-10, 10)) if values.dtype == np.int64 else data.draw(numbers)
    expected = begin + np.searchsorted(values[begin:end], wanted)
    assert first_not_below(values, begin, end, wanted) == expected


@given(arrays(np.float64, st.integers(1, 200), elements=numbers), st.data())
def test_the_value_at_a_place(values, data):
    before = values.copy()
    k = data.draw(st.integers(0, len(values) - 1))
    assert kth_smallest(values, k) == np.sort(values)[k]
    np.testing.assert_array_equal(values, before)


@given(floats, st.integers(0, 5))
def test_copies(values, begin):
    target = np.full(len(values) + 7, 0.5)
    expected = target.copy()
    expected[begin : begin + len(values)] = values
    copy_to(target, begin, values)
    np.testing.assert_array_equal(target, expected)
    rows = np.zeros((len(values) + 5, 3))
    copy_rows(rows, begin, np.stack([values, values, values], axis=1))
    np.testing.assert_array_equal(rows[begin : begin + len(values), 1], values)
    assert not rows[:begin].any()
