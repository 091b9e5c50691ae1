"""Kernels: words of 64 bits that look random.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): splitmix64.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Number
from tunesmith.kernels import inlined

#: The step of its counter.
STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


@inlined
def spread_bits(word: Number) -> Number:
    """Mix the bits of a word, so that each depends on all: the finaliser of splitmix64."""
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)
