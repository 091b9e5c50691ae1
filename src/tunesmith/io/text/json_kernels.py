"""JSON lines of flat objects, found by a kernel: keys, and values that are no lists or objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints, Number, Words
from tunesmith.io.text.numbers import parse_decimal
from tunesmith.io.text.spans import Spans
from tunesmith.io.text.tokens import Interner, intern, next_key
from tunesmith.kernels import kernel

#: Kinds of values; a number that is SLOW has more digits than are read at once.
NUMBER, SLOW, TEXT, ESCAPED, TRUE, FALSE, NULL = range(7)
#: How the kernel ended: at the end, at what only Python's reader can tell, without room.
DONE, ODD, FULL = range(3)
#: What it writes down: the byte, the row, the line and the entry to go on with.
POSITION, ROW, LINE, ENTRY = range(4)

AFTER = b"\n" * 5
QUOTE, BACKSLASH, NEWLINE, RETURN = 34, 92, 10, 13
COMMA, COLON, OPEN, CLOSE, MINUS, POINT = 44, 58, 123, 125, 45, 46


@dataclass(frozen=True)
class FlatObjects:
    """The objects of some lines, as entries one after the other.

    Attributes
    ----------
    names
        Keys, by their numbers.
    keys : int32[e], kinds : uint8[e], values : float64[e]
        Of each entry its key, and what its value is; numbers themselves.
    spans
        The values as they stand there, texts without their quotes.
    start : int64[n + 1]
        Where the entries of each row begin.
    lines : int64[n]
        The line of each row.
    """

    names: list[str]
    keys: Ids
    kinds: Bytes
    values: Floats
    spans: Spans
    start: Ints
    lines: Ints


def flat_objects(block: bytes, first_line: int) -> FlatObjects | None:
    """Read lines with a flat object each; None if one is anything else, or has a key twice."""
    # Line ends behind it, so that the kernel may look some bytes ahead.
    data = np.frombuffer(block + AFTER, np.uint8)
    most, rows = block.count(b":"), block.count(b"\n") + 1
    keys, kinds = np.empty(most, np.int32), np.empty(most, np.uint8)
    values, (lo, hi) = np.empty(most), np.empty((2, most), np.int64)
    start, lines = np.zeros(rows + 1, np.int64), np.empty(rows, np.int64)
    names = Interner(64)
    info = np.zeros(4, np.int64)
    info[LINE] = first_line
    status = FULL
    while status == FULL:
        # Where a row is begun again, what was seen of it is forgotten.
        seen = np.full(names.capacity, -1, np.int64)
        status = read_flat(
            data, keys, kinds, values, lo, hi, start, lines, seen, info, *names.tables
        )
        if status == FULL:
            names.grow(len(block))
    if status == ODD:
        return None
    e, n = info[ENTRY], info[ROW]
    spans = Spans(data, lo[:e], hi[:e])
    return FlatObjects(
        names.words(), keys[:e], kinds[:e], values[:e], spans, start[: n + 1], lines[:n]
    )


@kernel
def read_flat(
    data: Bytes,
    keys: Ids,
    kinds: Bytes,
    values: Floats,
    lo: Ints,
    hi: Ints,
    start: Ints,
    lines: Ints,
    seen: Ints,
    info: Ints,
    slots: Ids,
    hashes: Words,
    name_start: Ints,
    arena: Bytes,
    used: Ints,
) -> int:
    """Read objects from ``info[POSITION]`` on; the last bytes are ``AFTER``."""
    n = data.shape[0]
    while info[POSITION] < n:
        i = _skip(data, info[POSITION])
        if data[i] == RETURN and data[i + 1] == NEWLINE:
            i += 1
        if data[i] == NEWLINE:
            info[POSITION] = i + 1
            info[LINE] += 1
            continue
        if data[i] != OPEN:
            return ODD
        row, entry = info[ROW], info[ENTRY]
        i = _skip(data, i + 1)
        more = data[i] != CLOSE
        while more:
            # A key without escapes, and its colon.
            if data[i] != QUOTE:
                return ODD
            first = i = i + 1
            key = np.uint64(0)
            while data[i] != QUOTE:
                if data[i] < 32 or data[i] == BACKSLASH:
                    return ODD
                key = next_key(key, data[i])
                i += 1
            name = intern(key, data, first, i, slots, hashes, name_start, arena, used)
            if name < 0:
                return FULL
            if seen[name] == row:
                return ODD
            seen[name] = row
            i = _skip(data, i + 1)
            if data[i] != COLON:
                return ODD
            i = _skip(data, i + 1)
            # Its value.
            c = data[i]
            value: Number = 0.0
            if c == QUOTE:
                first = i + 1
                i = _end_of_text(data, first)
                if i < 0:
                    return ODD
                kind = TEXT
                for k in range(first, i):
                    if data[k] == BACKSLASH:
                        kind = ESCAPED
                        break
                last = i
                i += 1
            elif c == MINUS or 48 <= c <= 57:
                first = i
                i = last = _end_of_number(data, i)
                if i < 0:
                    return ODD
                kind = NUMBER
                value = parse_decimal(data, first, last)
                if np.isnan(value):
                    kind = SLOW
            else:
                first = i
                kind = _literal(data, i)
                if kind < 0:
                    return ODD
                i = last = i + (5 if kind == FALSE else 4)
                value = 1.0 if kind == TRUE else 0.0
            keys[entry], kinds[entry], values[entry] = name, kind, value
            lo[entry], hi[entry] = first, last
            entry += 1
            i = _skip(data, i)
            more = data[i] == COMMA
            if more:
                i = _skip(data, i + 1)
            elif data[i] != CLOSE:
                return ODD
        i = _skip(data, i + 1)
        if data[i] == RETURN and data[i + 1] == NEWLINE:
            i += 1
        if data[i] != NEWLINE:
            return ODD
        lines[row] = info[LINE]
        start[row + 1] = entry
        info[POSITION], info[ROW], info[ENTRY] = i + 1, row + 1, entry
        info[LINE] += 1
    return DONE


@kernel
def _skip(data: Bytes, i: int) -> Number:
    """Return where white space within a line ends."""
    while data[i] == 32 or data[i] == 9:
        i += 1
    return i


@kernel
def _end_of_text(data: Bytes, i: int) -> Number:
    """Return the quote that ends a text, -1 if JSON has no such text."""
    while data[i] != QUOTE:
        if data[i] < 32:
            return -1
        if data[i] == BACKSLASH:
            i += 1
            c = data[i]
            if c == 117:  # u
                for _ in range(4):
                    i += 1
                    digit = data[i]
                    if not (48 <= digit <= 57 or 65 <= digit <= 70 or 97 <= digit <= 102):
                        return -1
            elif c not in (QUOTE, BACKSLASH, 47, 98, 102, 110, 114, 116):
                return -1
        i += 1
    return i


@kernel
def _end_of_number(data: Bytes, i: int) -> Number:
    """Return where a number ends, -1 if JSON has no such number."""
    if data[i] == MINUS:
        i += 1
    first = i
    while 48 <= data[i] <= 57:
        i += 1
    if i == first or (data[first] == 48 and i > first + 1):
        return -1
    if data[i] == POINT:
        i += 1
        first = i
        while 48 <= data[i] <= 57:
            i += 1
        if i == first:
            return -1
    if data[i] == 101 or data[i] == 69:
        i += 1
        if data[i] == 43 or data[i] == MINUS:
            i += 1
        first = i
        while 48 <= data[i] <= 57:
            i += 1
        if i == first:
            return -1
    return i


@kernel
def _literal(data: Bytes, i: int) -> Number:
    """Return which of true, false and null begins here, -1 if none does."""
    a, b, c, d = data[i], data[i + 1], data[i + 2], data[i + 3]
    if a == 116 and b == 114 and c == 117 and d == 101:
        return TRUE
    if a == 110 and b == 117 and c == 108 and d == 108:
        return NULL
    if a == 102 and b == 97 and c == 108 and d == 115 and data[i + 4] == 101:
        return FALSE
    return -1
