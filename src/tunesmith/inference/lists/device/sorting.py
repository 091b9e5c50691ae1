"""Breakpoints of many lines in order.

Chunks are sorted by a block each, in fast memory (Batcher's bitonic sort, 1968), then merged: in
each pass every breakpoint finds its place in the run beside its own by bisection. No two
breakpoints of a line have the same candidate on the right, which orders those at the same γ: so
what comes out does not depend on the order in which blocks wrote them.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float64, int32

from tunesmith.inference.lists.device.compiling import CHUNK, INFINITY, device_kernel, on_device

#: The candidate of a place that has no breakpoint: it comes last.
NOTHING = 2**31 - 1


@on_device
def is_before(a: float, i: int, b: float, j: int) -> bool:
    """Tell whether one breakpoint comes before another."""
    return a < b or (a == b and i < j)


@device_kernel
def sort_chunks(count: Any, at: Any, left: Any, right: Any) -> None:
    """Sort each chunk of each line, in place; a block has half as many threads."""
    chunk, line, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    size = min(count[line], at.shape[1])
    begin = chunk * CHUNK
    if begin >= size:
        return
    key = cuda.shared.array(CHUNK, float64)
    tie = cuda.shared.array(CHUNK, int32)
    other = cuda.shared.array(CHUNK, int32)
    for k in range(here, CHUNK, CHUNK // 2):
        if begin + k < size:
            key[k], tie[k] = at[line, begin + k], right[line, begin + k]
            other[k] = left[line, begin + k]
        else:
            key[k], tie[k], other[k] = INFINITY, NOTHING, NOTHING
    cuda.syncthreads()
    width = 2
    while width <= CHUNK:
        gap = width // 2
        while gap > 0:
            i = 2 * gap * (here // gap) + here % gap
            j = i + gap
            upwards = (i & width) == 0
            if is_before(key[j], tie[j], key[i], tie[i]) == upwards:
                key[i], key[j] = key[j], key[i]
                tie[i], tie[j] = tie[j], tie[i]
                other[i], other[j] = other[j], other[i]
            cuda.syncthreads()
            gap //= 2
        width *= 2
    for k in range(here, CHUNK, CHUNK // 2):
        if begin + k < size:
            at[line, begin + k], right[line, begin + k] = key[k], tie[k]
            left[line, begin + k] = other[k]


@device_kernel
def merge_runs(
    count: Any, run: int, at: Any, left: Any, right: Any, at_to: Any, left_to: Any, right_to: Any
) -> None:
    """Merge sorted runs two by two into other arrays; a thread has one breakpoint."""
    place = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    line = cuda.blockIdx.y
    size = min(count[line], at.shape[1])
    if place >= size:
        return
    number = place // run
    begin = (number ^ 1) * run
    low, high = min(begin, size), min(begin + run, size)
    key, tie = at[line, place], right[line, place]
    while low < high:
        middle = (low + high) // 2
        if is_before(at[line, middle], right[line, middle], key, tie):
            low = middle + 1
        else:
            high = middle
    # From the beginning of the pair of runs: those before it in its own run and in the other.
    to = min(number * run, begin) + (place - number * run) + max(low - begin, 0)
    if begin >= size:
        to = place
    at_to[line, to], left_to[line, to], right_to[line, to] = key, left[line, place], tie
