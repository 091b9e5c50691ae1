"""JSON lines, found by a kernel: keys, and values that are no lists or objects.

Lines are flat objects, or groups: objects with a list of objects called ``candidates``, which may
have objects called ``features`` and ``metrics``, and with a list of texts called ``references``.
All else is for Python's reader.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Bytes, Flags, Floats, Ids, Ints, Number, Words
from tunesmith.io.text.numbers import parse_decimal, parse_digits, short_decimal
from tunesmith.io.text.spans import Spans
from tunesmith.io.text.swar import BITS, ONES, TOPS, first_of, marks_of, word_at
from tunesmith.io.text.tokens import Interner, intern, next_key, tokenize
from tunesmith.kernels import inlined, kernel

#: Kinds of values; a number that is SLOW has more digits than are read at once, or is -0.
NUMBER, SLOW, TEXT, ESCAPED, TRUE, FALSE, NULL, OBJECT = range(8)
#: How the kernel ended: at the end, at what only Python's reader can tell, without room.
DONE, ODD, FULL = range(3)
#: What it writes down: the byte, the row, the line, the entry and the item to go on with, and how
#: many objects it has seen.
POSITION, ROW, LINE, ENTRY, ITEM_COUNT, OBJECTS = range(6)

#: Where a key stands: in the object of a line, in an item of its list of candidates, or in an
#: object of that. The elements of a list of references have its name.
TOP, ITEM, IN_FEATURES, IN_METRICS, LISTED = range(5)
#: A key is a name and where it stands, in so many bits.
PLACES = 3
#: Names with lists or objects behind them, which are the first ones.
NAMED = ("candidates", "references", "features", "metrics")
CANDIDATES, REFERENCES, FEATURES, METRICS = range(4)

#: Words of eight bytes are looked at, and the byte after them.
AFTER = b"\n" * 16
QUOTE, BACKSLASH, NEWLINE, RETURN, SPACE, TAB = 34, 92, 10, 13, 32, 9
COMMA, COLON, OPEN, CLOSE, MINUS, POINT, BRACKET, BRACKET_END = 44, 58, 123, 125, 45, 46, 91, 93
NONE, _CONTROLS = np.uint64(0), ONES * np.uint64(32)


@dataclass(frozen=True)
class JsonEntries:
    """The values of some lines, one after the other.

    Attributes
    ----------
    names
        Of keys, by their numbers; the first are ``NAMED``.
    keys : int32[e], kinds : uint8[e], values : float64[e]
        Of each value its key, what it is, and the number itself.
    spans
        The values as they stand there, texts without their quotes.
    start : int64[n + 1]
        Where the values of each line begin.
    items : int64[n + 1]
        How many candidates come before each line.
    lines : int64[n]
        The number of each line.
    """

    names: list[str]
    keys: Ids
    kinds: Bytes
    values: Floats
    spans: Spans
    start: Ints
    items: Ints
    lines: Ints


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
    read = json_entries(block, first_line)
    few = len(NAMED)
    if read is None or (read.keys < few << PLACES).any():
        return None
    keys = (read.keys >> PLACES) - few
    return FlatObjects(
        read.names[few:], keys, read.kinds, read.values, read.spans, read.start, read.lines
    )


def json_entries(block: bytes, first_line: int) -> JsonEntries | None:
    """Read lines with an object each; None if one is not of the kinds that are read here."""
    data = np.frombuffer(block + AFTER, np.uint8)
    # A value has a colon before it, or a comma in a list of references.
    most = int(np.count_nonzero(data == COLON) + np.count_nonzero(data == COMMA))
    rows = int(np.count_nonzero(data == NEWLINE)) + 1
    keys, kinds = np.empty(most, np.int32), np.empty(most, np.uint8)
    values, (lo, hi) = np.empty(most), np.empty((2, most), np.int64)
    start, items, lines = np.zeros((3, rows + 1), np.int64)
    names = Interner(64)
    tokenize("\n".join([*NAMED, ""]).encode(), names)
    info = np.zeros(6, np.int64)
    info[LINE] = first_line
    status = FULL
    while status == FULL:
        # Where a line is begun again, what was seen of it is forgotten.
        seen = np.full(names.capacity << PLACES, -1, np.int64)
        follower = np.full((names.capacity << PLACES) + 1, -1, np.int64)
        status = read_entries(
            *(data, keys, kinds, values, lo, hi, start, items, lines, seen, follower, info),
            *names.tables,
        )
        if status == FULL:
            names.grow(len(block))
    if status == ODD:
        return None
    e, n = info[ENTRY], info[ROW]
    spans = Spans(data, lo[:e], hi[:e])
    return JsonEntries(
        names.words(),
        keys[:e],
        kinds[:e],
        values[:e],
        spans,
        start[: n + 1],
        items[: n + 1],
        lines[:n],
    )


@kernel
def read_entries(
    data: Bytes,
    keys: Ids,
    kinds: Bytes,
    values: Floats,
    lo: Ints,
    hi: Ints,
    start: Ints,
    items: Ints,
    lines: Ints,
    seen: Ints,
    follower: Ints,
    info: Ints,
    slots: Ids,
    hashes: Words,
    name_start: Ints,
    arena: Bytes,
    used: Ints,
) -> int:
    """Read objects from ``info[POSITION]`` on; the last bytes are ``AFTER``.

    ``follower`` says which key came after a key before: it is compared first. ``seen`` says in
    which object a key was seen last. Calls are avoided, see ``split_texts``.
    """
    n = data.shape[0]
    while info[POSITION] < n:
        i = info[POSITION]
        i = _skip(data, i)
        if data[i] == RETURN and data[i + 1] == NEWLINE:
            i += 1
        if data[i] == NEWLINE:
            info[POSITION] = i + 1
            info[LINE] += 1
            continue
        if data[i] != OPEN:
            return ODD
        row, entry, item, objects = info[ROW], info[ENTRY], info[ITEM_COUNT], info[OBJECTS] + 1
        place = TOP
        top_object = inner_object = item_object = objects
        previous = -1
        listed = -1  # the key whose list of texts this is
        empty = True  # of the object, so far
        i += 1
        while i > 0:
            i += np.int64(data[i] == SPACE)
            if data[i] != QUOTE:
                i = _skip(data, i)
            ends = empty and listed < 0 and data[i] == CLOSE
            if not ends:
                if listed < 0:
                    # A key without escapes, and its colon.
                    if data[i] != QUOTE:
                        return ODD
                    first = i + 1
                    guess = follower[previous + 1]
                    is_known = False
                    if guess >= 0 and guess & ((1 << PLACES) - 1) == place:
                        name = guess >> PLACES
                        begin = name_start[name]
                        length = name_start[name + 1] - begin
                        i = first + length
                        if i + 8 <= n and begin + length + 8 <= arena.shape[0]:
                            is_known = data[i] == QUOTE
                            for k in range(0, length, 8):
                                other = word_at(data, first + k) ^ word_at(arena, begin + k)
                                if length - k < 8:
                                    other <<= np.uint64(8 - length + k) << BITS
                                is_known = is_known and other == NONE
                    if not is_known:
                        key = NONE
                        i = first
                        while data[i] != QUOTE:
                            if data[i] < SPACE or data[i] == BACKSLASH:
                                return ODD
                            key = next_key(key, data[i])
                            i += 1
                        name = intern(key, data, first, i, slots, hashes, name_start, arena, used)
                        if name < 0:
                            return FULL
                    code = (name << PLACES) + place
                    follower[previous + 1] = code
                    previous = code
                    if place == TOP:
                        inner_object = top_object
                    elif place == ITEM:
                        inner_object = item_object
                    if seen[code] == inner_object:
                        return ODD
                    seen[code] = inner_object
                    i += 1
                    if data[i] != COLON:
                        i = _skip(data, i)
                    if data[i] != COLON:
                        return ODD
                    i += 1
                    i += np.int64(data[i] == SPACE)
                    if data[i] <= SPACE:
                        i = _skip(data, i)
                # Its value.
                c = data[i]
                first = last = i
                value = 0.0
                if c == QUOTE:
                    kind = TEXT
                    i += 1
                    first = i
                    while True:
                        marks = NONE
                        while marks == NONE:
                            word = word_at(data, i)
                            marks = (word - _CONTROLS) & ~word & TOPS
                            marks |= marks_of(word, QUOTE) | marks_of(word, BACKSLASH)
                            i += first_of(marks)
                        if data[i] != BACKSLASH:
                            break
                        kind = ESCAPED
                        i += 1
                        if data[i] == 117:  # u
                            for k in range(1, 5):
                                digit = data[i + k]
                                is_letter = 65 <= digit <= 70 or 97 <= digit <= 102
                                if not (is_letter or 48 <= digit <= 57):
                                    return ODD
                            i += 4
                        elif data[i] not in (QUOTE, BACKSLASH, 47, 98, 102, 110, 114, 116):
                            return ODD
                        i += 1
                    if data[i] != QUOTE:
                        return ODD
                    last = i
                    i += 1
                elif listed >= 0:
                    return ODD
                elif c == MINUS or 48 <= c <= 57:
                    kind = NUMBER
                    if c == MINUS:
                        i += 1
                    value, size = short_decimal(word_at(data, i), data[i + 8])
                    last = i + size
                    if size == 0:
                        value, last = parse_digits(data, i)
                    if last < 0 or data[last] == 101 or data[last] == 69:
                        last = _end_of_number(data, first)
                        if last < 0:
                            return ODD
                        value = parse_decimal(data, first, last)
                        if np.isnan(value):
                            kind = SLOW
                    else:
                        is_zero = data[i] == 48 and last > i + 1 and data[i + 1] != POINT
                        if is_zero or data[i] == POINT or data[last - 1] == POINT:
                            return ODD
                        if c == MINUS:
                            value = -value
                    if c == MINUS and value == 0.0:
                        kind = SLOW
                    i = last
                elif c == OPEN:
                    kind = OBJECT
                    if place != ITEM or name not in (FEATURES, METRICS):
                        return ODD
                elif c == BRACKET:
                    # Of a list each element is an entry, and the list itself is none.
                    if place != TOP or name not in (CANDIDATES, REFERENCES):
                        return ODD
                    i += 1
                    i = _skip(data, i)
                    if name == REFERENCES:
                        listed = (REFERENCES << PLACES) + LISTED
                    else:
                        if data[i] != OPEN:
                            return ODD
                        i += 1
                        objects += 1
                        item_object = objects
                        place = ITEM
                        item += 1
                        empty = True
                    continue
                else:
                    kind = _literal(data, i)
                    if kind < 0:
                        return ODD
                    i = last = i + (5 if kind == FALSE else 4)
                    value = 1.0 if kind == TRUE else 0.0
                keys[entry] = code if listed < 0 else listed
                kinds[entry], values[entry] = kind, value
                lo[entry], hi[entry] = first, last
                entry += 1
                if kind == OBJECT:
                    place = IN_FEATURES if name == FEATURES else IN_METRICS
                    objects += 1
                    inner_object = objects
                    empty = True
                    i += 1
                    continue
            # What comes after a value: another one, or the end of its list, or of its object.
            while True:
                if ends:
                    i += 1
                    if place == TOP:
                        break
                    is_item = place == ITEM
                    place = ITEM
                    i = _skip(data, i)
                    if is_item and data[i] == BRACKET_END:
                        i += 1
                        place = TOP
                    elif is_item:
                        if data[i] != COMMA:
                            return ODD
                        i += 1
                        i = _skip(data, i)
                        if data[i] != OPEN:
                            return ODD
                        i += 1
                        objects += 1
                        item_object = objects
                        item += 1
                        empty = True
                        break
                if data[i] != COMMA:
                    i = _skip(data, i)
                if listed >= 0 and data[i] == BRACKET_END:
                    listed = -1
                    i += 1
                    ends = False
                    continue
                ends = listed < 0 and data[i] == CLOSE
                if not ends:
                    if data[i] != COMMA:
                        return ODD
                    i += 1
                    empty = False
                    break
            if ends and place == TOP:
                break
        i = _skip(data, i)
        if data[i] == RETURN and data[i + 1] == NEWLINE:
            i += 1
        if data[i] != NEWLINE:
            return ODD
        lines[row] = info[LINE]
        start[row + 1], items[row + 1] = entry, item
        info[POSITION], info[ROW], info[ENTRY] = i + 1, row + 1, entry
        info[ITEM_COUNT], info[OBJECTS] = item, objects
        info[LINE] += 1
    return DONE


@kernel
def _skip(data: Bytes, i: int) -> Number:
    """Return where white space within a line ends."""
    while data[i] == SPACE or data[i] == TAB:
        i += 1
    return i


def unescaped(spans: Spans, escaped: Flags) -> Spans | None:
    """Return texts with the characters that escapes stand for.

    None if one is NUL or half of a surrogate pair, which are no text.
    """
    if not escaped.any():
        return spans
    data = np.empty(int((spans.hi - spans.lo).sum()), np.uint8)
    lo, hi = np.empty(len(spans), np.int64), np.empty(len(spans), np.int64)
    if not _copy_unescaped(spans.data, spans.lo, spans.hi, escaped, data, lo, hi):
        return None
    data.flags.writeable = False  # as all that is read: kernels are compiled for it once
    return Spans(data, lo, hi)


@kernel
def _copy_unescaped(
    data: Bytes, lo: Ints, hi: Ints, escaped: Flags, to: Bytes, to_lo: Ints, to_hi: Ints
) -> bool:
    at = 0
    for k in range(lo.shape[0]):
        to_lo[k] = at
        i = lo[k]
        while i < hi[k]:
            c: Number = np.int64(data[i])
            i += 1
            if escaped[k] and c == BACKSLASH:
                c = np.int64(data[i])
                i += 1
                if c == 117:  # u
                    c = 0
                    for place in range(i, i + 4):
                        c = 16 * c + _hex_digit(data[place])
                    i += 4
                    if 0xDC00 <= c < 0xE000 or c == 0:
                        return False
                    if 0xD800 <= c < 0xDC00:
                        low = 0
                        if i + 6 <= hi[k] and data[i] == BACKSLASH and data[i + 1] == 117:
                            for place in range(i + 2, i + 6):
                                low = 16 * low + _hex_digit(data[place])
                        if not 0xDC00 <= low < 0xE000:
                            return False
                        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00)
                        i += 6
                    if c >= 0x80:
                        more = 1 if c < 0x800 else 2 if c < 0x10000 else 3
                        to[at] = (0xFF00 >> (more + 1)) & 0xFF | c >> (6 * more)
                        for shift in range(6 * more - 6, -1, -6):
                            at += 1
                            to[at] = 0x80 | (c >> shift) & 0x3F
                        at += 1
                        continue
                elif c == 98:  # b, f, n, r, t
                    c = 8
                elif c == 102:
                    c = 12
                elif c == 110:
                    c = 10
                elif c == 114:
                    c = 13
                elif c == 116:
                    c = 9
            to[at] = c
            at += 1
        to_hi[k] = at
    return True


@inlined
def _hex_digit(byte: Number) -> Number:
    return np.int64(byte & 15) + (9 if byte > 57 else 0)


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
