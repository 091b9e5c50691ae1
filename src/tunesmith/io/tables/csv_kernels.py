"""The kernel that finds the cells of CSV in bytes, and the numbers in them."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes, Flags, Floats, Ints
from tunesmith.io.text.numbers import parse_decimal, parse_plain
from tunesmith.kernels import kernel

QUOTE, NEWLINE, RETURN = 34, 10, 13
#: How it ended: at the end, at something that only Python's reader can tell, without room.
DONE, ODD, SLOW_FULL = 0, 1, 2
#: What it writes down: the byte, the row and the line to go on with, and how many slow cells.
POSITION, ROW, LINE, SLOW = range(4)


@kernel
def parse_rows(
    data: Bytes,
    delimiter: int,
    place: Ints,
    text_lo: Ints,
    text_hi: Ints,
    doubled: Flags,
    values: Floats,
    lines: Ints,
    slow: Ints,
    info: Ints,
) -> int:
    """Read rows from ``info[POSITION]`` on.

    ``place`` says for each column in which row of ``values`` its numbers are, or, as -1 - k, in
    which row k of ``text_lo``, ``text_hi`` and ``doubled`` its cells. Cells of numbers that are
    not plain are listed in ``slow``: the row of ``values``, the row, and the bytes.
    """
    n = data.shape[0]
    width = place.shape[0]
    while info[POSITION] < n:
        i = info[POSITION]
        line = info[LINE]
        if data[i] == NEWLINE or (data[i] == RETURN and i + 1 < n and data[i + 1] == NEWLINE):
            info[POSITION] = i + (1 if data[i] == NEWLINE else 2)
            info[LINE] += 1
            continue
        row = info[ROW]
        late = info[SLOW]
        if late + width > slow.shape[0]:
            return SLOW_FULL
        for column in range(width):
            quoted = i < n and data[i] == QUOTE
            has_doubled = False
            lo = hi = i
            number = place[column]
            value = 0.0
            is_known = False
            if quoted:
                lo = i = i + 1
                while i < n:
                    if data[i] == QUOTE:
                        if i + 1 == n or data[i + 1] != QUOTE:
                            break
                        has_doubled = True
                        i += 1
                    elif data[i] == NEWLINE:
                        line += 1
                    elif data[i] == RETURN and (i + 1 == n or data[i + 1] != NEWLINE):
                        return ODD  # is it the end of a line?
                    i += 1
                if i == n:
                    return ODD
                hi = i
                i += 1
            else:
                if number >= 0 and i < n:
                    value, hi = parse_plain(data, i, delimiter)
                    is_known = hi >= 0
                    if is_known and hi < n:  # what ends at white space may go on after it
                        c = data[hi]
                        is_known = c in (delimiter, NEWLINE, RETURN)
                if is_known:
                    i = hi
                else:
                    while i < n and data[i] != delimiter and data[i] != NEWLINE:
                        if data[i] == QUOTE:
                            return ODD
                        if data[i] == RETURN:
                            break
                        i += 1
                    hi = i
            # After a cell: the delimiter, or the end of the line.
            if column + 1 < width:
                if i == n or data[i] != delimiter:
                    return ODD
                i += 1
            elif i < n:
                if data[i] == RETURN:
                    i += 1
                    if i == n or data[i] != NEWLINE:
                        return ODD
                if data[i] != NEWLINE:
                    return ODD
                i += 1
            if number < 0:
                text = -1 - number
                text_lo[text, row] = lo
                text_hi[text, row] = hi
                doubled[text, row] = has_doubled
                continue
            if not is_known:
                value = parse_decimal(data, lo, hi)
                if np.isnan(value):
                    slow[late, 0], slow[late, 1] = number, row
                    slow[late, 2], slow[late, 3] = lo, hi
                    late += 1
                    value = 0.0
            values[number, row] = value
        lines[row] = info[LINE]
        info[POSITION], info[ROW], info[LINE], info[SLOW] = i, row + 1, line + 1, late
    return DONE
