"""Eight bytes at a time, as the bytes of one number (SIMD within a register).

A mark is the top bit of a byte. Of marks that are made here the lowest is exact, that is the
first byte that is looked for; those above it may be wrong.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tunesmith.arrays import Bytes, Number
from tunesmith.kernels import inlined

#: A byte eight times: 1, and the top bit.
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
#: A byte has 2^3 bits.
BITS = np.uint64(3)
_1, _7 = np.uint64(1), np.uint64(7)


def word_at(data: Bytes, i: Number) -> Number:
    """Return the eight bytes from i on as one number, the first as its lowest: a single load."""
    return np.uint64(int.from_bytes(data[int(i) : int(i) + 8].tobytes(), "little"))


def trailing_zeros(word: Number) -> Number:
    """Return how many bits are 0 below the lowest that is not, 64 where there is none."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


def leading_zeros(word: Number) -> Number:
    """Return how many bits are 0 above the highest that is not."""
    return np.uint64(64 - int(word).bit_length())


if not numba.config.DISABLE_JIT:
    # Written with the operators of kernels, these would be some hundred instructions for compilers.
    @intrinsic  # type: ignore[untyped-decorator]
    def word_at(_: Any, data: Any, i: Any) -> Any:
        """Load eight bytes."""

        def load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            place = builder.gep(array.data, [args[1]])
            word = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)
            return word

        return types.uint64(data, types.int64), load

    from numba.cpython.unsafe.numbers import (  # type: ignore[no-redef]
        leading_zeros,  # noqa: F401
        trailing_zeros,
    )


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
