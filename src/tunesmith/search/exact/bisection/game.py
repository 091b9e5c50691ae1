"""A matrix game: the mixture of some rows whose least value is greatest.

Few rows and fewer columns, solved by the simplex method on a table. What it returns are shares
whatever rounding does; whoever uses them adds up the rows and takes the least value.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel

#: Entries of the table that are smaller are rounding.
NOTHING = 1e-9
#: Steps for each row and column: first by the steepest column, then by the first that rises.
STEEPEST, MOST = 3, 8


@kernel
def solve_game(rows: Floats, count: int, shares: Floats, place: Floats) -> None:
    """Fill in the shares of the first ``count`` rows, and the shares of columns that meet them.

    With all values of A above 0, ``z / sum(z)`` of the greatest ``sum(z)`` with ``A z <= 1`` is the
    best mixture of the columns for who wants the greatest of the rows small, and the prices of
    these constraints are that of the rows.
    """
    size = place.shape[0]
    width = size + count
    table = np.zeros((count + 1, width + 1))
    basis = np.empty(count, np.int64)
    _begin(rows, table, basis, count, size)
    for step in range(MOST * width):
        enter, least = -1, -NOTHING
        for c in range(width):
            if table[count, c] < least:
                enter, least = c, table[count, c]
                if step > STEEPEST * width:
                    break
        if enter < 0:
            break
        leave, ratio = -1, np.inf
        for k in range(count):
            if table[k, enter] > NOTHING and table[k, width] < ratio * table[k, enter]:
                leave, ratio = k, table[k, width] / table[k, enter]
        if leave < 0:
            break
        pivot = table[leave, enter]
        for c in range(width + 1):
            table[leave, c] /= pivot
        for k in range(count + 1):
            factor = table[k, enter]
            if k != leave and factor != 0.0:
                for c in range(width + 1):
                    table[k, c] -= factor * table[leave, c]
        basis[leave] = enter
    place[:] = 0.0
    for k in range(count):
        shares[k] = max(table[count, size + k], 0.0)
        if basis[k] < size:
            place[basis[k]] = max(table[k, width], 0.0)
    _to_one(shares, count)
    _to_one(place, size)


@kernel
def _begin(rows: Floats, table: Floats, basis: Ints, count: int, size: int) -> None:
    """Fill in the table, with all values brought to between 0 and 1."""
    low, high = 0.0, 0.0
    for k in range(count):
        for c in range(size):
            low, high = min(low, rows[k, c]), max(high, rows[k, c])
    low -= 0.1 * (high - low) + 1e-300
    for k in range(count):
        for c in range(size):
            table[k, c] = (rows[k, c] - low) / (high - low)
        table[k, size + k] = 1.0
        table[k, size + count] = 1.0
        basis[k] = size + k
    for c in range(size):
        table[count, c] = -1.0


@kernel
def _to_one(values: Floats, count: int) -> None:
    """Divide values by their sum; have them equal if that is 0."""
    whole = 0.0
    for k in range(count):
        whole += values[k]
    for k in range(count):
        values[k] = values[k] / whole if whole > 0.0 else 1.0 / count
