"""Hashes of word sequences that can be joined without the words.

A sequence is a number in the base BASE, modulo the prime 2^61 − 1, with one digit a word from 1
on. With BASE to the power of its length beside it, the hash of two sequences in a row follows
from theirs. Two different sequences of n words have the same hash with a chance of about n / 2^61.
"""

from __future__ import annotations

from tunesmith.kernels import inlined, kernel

PRIME = (1 << 61) - 1
#: Any large number does.
BASE = 1_571_308_463_967_252_713
#: Of no words: hash and power.
EMPTY = (0, 1)

_HALF = (1 << 31) - 1
_QUARTER = (1 << 30) - 1


@inlined
def times(a: int, b: int) -> int:
    """Multiply modulo 2^61 − 1, without an intermediate result of more than 63 bits."""
    a_high, a_low = a >> 31, a & _HALF
    b_high, b_low = b >> 31, b & _HALF
    middle = a_low * b_high + a_high * b_low
    low = a_low * b_low
    # 2^62 is 2 and 2^61 is 1, modulo the prime.
    total = 2 * a_high * b_high + (middle >> 30) + ((middle & _QUARTER) << 31)
    total += (low >> 61) + (low & PRIME)
    total = (total >> 61) + (total & PRIME)
    return total - PRIME if total >= PRIME else total


@kernel
def joined(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Return hash and power of one sequence followed by another."""
    total = times(left[0], right[1]) + right[0]
    return (total - PRIME if total >= PRIME else total), times(left[1], right[1])


@kernel
def with_word(prefix: tuple[int, int], word: int) -> tuple[int, int]:
    """Return hash and power of a sequence with a word, by its id, at the end."""
    return joined(prefix, (int(word) + 1, BASE))  # interpreted, ids have 32 bits
