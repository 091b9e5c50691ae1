"""The kernel that finds the cells of CSV in bytes, and the numbers in them."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes, Flags, Floats, Ints
from tunesmith.io.text.numbers import parse_decimal, parse_plain, short_decimal
from tunesmith.io.text.swar import first_of, marks_of, word_at
from tunesmith.kernels import kernel

QUOTE, NEWLINE, RETURN, MINUS = 34, 10, 13, 45
NONE = np.uint64(0)
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
            number = place[column]
            quoted = i < n and data[i] == QUOTE
            has_doubled = False
            value = 0.0
            is_known = False
            lo = hi = i
            if number >= 0 and not quoted and i + 10 <= n:
                # As parse_plain does, but for a call: it would take longer than all of this.
                negative = data[i] == MINUS
                hi += np.int64(negative)
                value, size = short_decimal(word_at(data, hi), data[hi + 8])
                hi += size
                if negative and value != 0.0:
                    value = -value
                is_known = size > 0
            if number >= 0 and not quoted and not is_known and i < n:
                value, hi = parse_plain(data, i, delimiter)
                is_known = hi >= 0
            if is_known and hi < n:  # it may go on
                c = np.int64(data[hi])
                is_known = c in (delimiter, NEWLINE, RETURN)
            if is_known:
                i = hi
            else:
                stop = QUOTE if quoted else delimiter
                if quoted:
                    i += 1
                lo = i
                while True:
                    while i + 8 <= n:
                        word = word_at(data, i)
                        marks = marks_of(word, stop) | marks_of(word, QUOTE)
                        marks |= marks_of(word, NEWLINE) | marks_of(word, RETURN)
                        i += first_of(marks)
                        if marks != NONE:
                            break
                    while i < n and data[i] not in (stop, QUOTE, NEWLINE, RETURN):
                        i += 1
                    if not quoted:
                        break
                    if i == n:
                        return ODD
                    if data[i] == QUOTE:
                        if i + 1 == n or data[i + 1] != QUOTE:
                            break
                        has_doubled = True
                        i += 1
                    elif data[i] == NEWLINE:
                        line += 1
                    elif i + 1 == n or data[i + 1] != NEWLINE:
                        return ODD  # is it the end of a line?
                    i += 1
                if not quoted and i < n and data[i] == QUOTE:
                    return ODD
                hi = i
                i += np.int64(quoted)
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
