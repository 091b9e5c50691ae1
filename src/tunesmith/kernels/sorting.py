"""Kernels: sorting and searching sorted arrays.

Those of numba (``np.sort``, ``np.argsort``, ``np.searchsorted``, ``np.partition``) are closures
that are compiled anew into each kernel that uses them; these are compiled once for a type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.arrays import Ints, Number
from tunesmith.kernels import kernel

#: Runs of this length are sorted by insertion before they are merged.
RUN = 16


@kernel
def argsort(values: Any) -> Ints:
    """Return the order that sorts values; equal ones stay in their order."""
    n = values.shape[0]
    order = np.empty(n, np.int64)
    for begin in range(0, n, RUN):
        for i in range(begin, min(begin + RUN, n)):
            at = i
            while at > begin and values[i] < values[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    if n <= RUN:
        return order
    other = np.empty(n, np.int64)
    width = RUN
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            left, right = begin, middle
            for k in range(begin, end):
                if left < middle and (
                    right >= end or not values[order[right]] < values[order[left]]
                ):
                    other[k] = order[left]
                    left += 1
                else:
                    other[k] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order


@kernel
def sorted_copy(values: Any) -> Any:
    """Return values in ascending order."""
    order = argsort(values)
    ascending = np.empty(order.shape[0], values.dtype)
    for i in range(order.shape[0]):
        ascending[i] = values[order[i]]
    return ascending


@kernel
def first_not_below(values: Any, begin: int, end: int, bound: Number) -> int:
    """Return the first place between two, in ascending values, whose value is not below another."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < bound:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def kth_smallest(values: Any, k: int) -> Number:
    """Return the value that would be at place k if values were sorted (Hoare's selection)."""
    scratch = values.copy()
    begin, end = 0, scratch.shape[0] - 1
    while begin < end:
        pivot = scratch[(begin + end) // 2]
        left, right = begin, end
        while left <= right:
            while scratch[left] < pivot:
                left += 1
            while pivot < scratch[right]:
                right -= 1
            if left <= right:
                scratch[left], scratch[right] = scratch[right], scratch[left]
                left += 1
                right -= 1
        if k <= right:
            end = right
        elif k >= left:
            begin = left
        else:
            break
    return scratch[k]
