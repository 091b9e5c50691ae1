"""Eight bytes at a time, as the bytes of one number (SIMD within a register).

A mark is the top bit of a byte. Of marks that are made here the lowest is exact, that is the
first byte that is looked for; those above it may be wrong.
"""

from __future__ import annotations

import numba
import numpy as np

from tunesmith.arrays import Bytes, Number
from tunesmith.kernels import inlined

if numba.config.DISABLE_JIT:

    def trailing_zeros(word: Number) -> Number:
        """Return how many bits are 0 below the lowest that is not."""
        return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)

else:
    from numba.cpython.unsafe.numbers import trailing_zeros  # type: ignore[no-redef]

#: A byte eight times: 1, and the top bit.
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
#: A byte has 2^3 bits.
BITS = np.uint64(3)
_1, _2, _3, _4, _5, _6, _7, _8 = map(np.uint64, range(1, 9))
_16, _24, _32 = map(np.uint64, (16, 24, 32))


@inlined
def word_at(data: Bytes, i: Number) -> Number:
    """Return the eight bytes from i on as one number, the first as its lowest: a single load.

    Although it takes an array it may be inlined: it has no branches, and so compilers see that
    nobody has to count references to the array.
    """
    at = np.uint64(i)  # numbers without a sign are no places from the end
    low = (
        np.uint64(data[at])
        | np.uint64(data[at + _1]) << _8
        | np.uint64(data[at + _2]) << _16
        | np.uint64(data[at + _3]) << _24
    )
    high = (
        np.uint64(data[at + _4])
        | np.uint64(data[at + _5]) << _8
        | np.uint64(data[at + _6]) << _16
        | np.uint64(data[at + _7]) << _24
    )
    return low | high << _32


@inlined
def marks_of(word: Number, byte: Number) -> Number:
    """Return marks of the bytes that are equal to one."""
    other = word ^ (np.uint64(byte) * ONES)
    return (other - ONES) & ~other & TOPS


@inlined
def bytes_below(marks: Number) -> Number:
    """Return all bits of the bytes before the first mark, of all bytes if there is none."""
    return ((marks & (~marks + _1)) >> _7) - _1


@inlined
def first_of(marks: Number) -> Number:
    """Return the place of the first mark, 8 where there is none."""
    return np.int64(trailing_zeros(marks) >> BITS)
