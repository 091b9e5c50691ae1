"""What relevant documents add to the value of a query, by their ranks.

The value of a query is a sum over its relevant documents. What one of them adds depends on its
rank, on how many relevant documents are above it, and on its grade. Amounts are whole numbers in a
small unit: sums are exact, in whatever order changes along a line are added up.
"""

from __future__ import annotations

from typing import NamedTuple

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import inlined, kernel

#: Amounts are in this part of 1. A sum over two million queries fits in 63 bits.
UNIT = 2.0**42

#: Kinds of amounts: by the rank alone; of average precision; of the first relevant document alone;
#: of expected reciprocal rank; of bpref.
GAIN, PRECISION, FIRST, CASCADE, PREFERENCE = range(5)


class Terms(NamedTuple):
    """What kernels know of a metric.

    Attributes
    ----------
    kind
        One of the five above.
    level : int64[N]
        The row of ``gain`` of each document; 0 is not relevant, -1 is left out.
    gain : float64[L]
        Of each level; of ``CASCADE`` the chance to stop there.
    divisor : float64[R + 1]
        What a gain is divided by at each rank, from 1.
    depth : int64[S]
        The last rank of each query that counts.
    norm : float64[S]
        What the sum of each query is divided by; 0 if its value is 0.
    least : float64[S]
        Of ``PREFERENCE``: the smaller one of the numbers of relevant documents and of others.
    """

    kind: int
    level: Ints
    gain: Floats
    divisor: Floats
    depth: Ints
    norm: Floats
    least: Floats


@inlined
def amount(
    kind: int,
    gain: float,
    divisor: float,
    rank: int,
    above: int,
    stay: float,
    norm: float,
    least: float,
) -> float:
    """Return what a relevant document adds at a rank, before it is divided by the norm.

    ``above`` are the relevant documents above it, ``stay`` is the chance to come as far as here.
    """
    if kind == 0:
        return gain / divisor
    if kind == 1:
        return (above + 1.0) / rank
    if kind == 2:
        return 1.0 / divisor if above == 0 else 0.0
    if kind == 3:
        return stay * gain / rank
    others = rank - 1 - above
    return 1.0 - min(others, norm) / least if others > 0 else 1.0


@kernel
def stay_chance(gain: Floats, above: Ints) -> float:
    """Return the chance that nobody has stopped above, given the documents of each level."""
    chance = 1.0
    for level in range(1, gain.shape[0]):
        for _ in range(above[level]):
            chance *= 1.0 - gain[level]
    return chance
