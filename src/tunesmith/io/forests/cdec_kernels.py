"""Hyperedges of cdec's forests, from the bytes of a JSON line to arrays.

What is not plain (numbers with many digits, characters outside the basic plane written as
escapes, keys that are not known) is left to Python's own reader, and so are all errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints, Number, Words
from tunesmith.io.text.numbers import parse_decimal
from tunesmith.io.text.tokens import CLASS, Interner, intern, next_key, space_at
from tunesmith.kernels import kernel

FINE, NOT_PLAIN, FULL = range(3)
HEAD, TAILS, SIDE, SPAN, FEATS = range(5)
NEEDED = 1 << HEAD | 1 << TAILS | 1 << SIDE | 1 << FEATS

QUOTE, COMMA, COLON, ESCAPE = ord('"'), ord(","), ord(":"), ord("\\")
OPEN_LIST, CLOSE_LIST, OPEN, CLOSE = ord("["), ord("]"), ord("{"), ord("}")


class EdgeArrays(NamedTuple):
    """What is read: hyperedges one after the other.

    Attributes
    ----------
    heads, covered : int64[E]
        The node that each makes, and how many words it covers; -1 without a span.
    ends : int64[E + 1, 3]
        Where its tails, features and words end.
    tails : int64[...], places : int64[...], values : float64[...], words : int32[...]
        Tails; features as indices into the forest's own names; words as the interner's ids, -k
        for the k-th tail.
    """

    heads: Ints
    covered: Ints
    ends: Ints
    tails: Ints
    places: Ints
    values: Floats
    words: Ids


def read_edges(data: bytes, begin: int, interner: Interner) -> tuple[EdgeArrays, int] | None:
    """Read the list of hyperedges that begins at a byte.

    Returns
    -------
    The arrays, and where the list ends; None if it is not plain.
    """
    # Every value but the first of a list comes after a comma.
    most = data.count(b",", begin) + data.count(b"[", begin) + 1
    edges = data.count(b"{", begin) + 1
    room = EdgeArrays(
        np.empty(edges, np.int64),
        np.empty(edges, np.int64),
        np.zeros((edges + 1, 3), np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int32),
    )
    # The NUL at the end stops every loop.
    array = np.frombuffer(data + b"\0", np.uint8)
    scratch = np.empty(len(data), np.uint8)
    while True:
        status, end, count = _read_edges(array, begin, room, scratch, *interner.tables)
        if status != FULL:
            break
        interner.grow(len(data))
    if status == NOT_PLAIN:
        return None
    tails, features, words = room.ends[count].tolist()
    arrays = EdgeArrays(
        room.heads[:count],
        room.covered[:count],
        room.ends[: count + 1],
        room.tails[:tails],
        room.places[:features],
        room.values[:features],
        room.words[:words],
    )
    return arrays, int(end)


@kernel
def _read_edges(
    data: Bytes,
    begin: int,
    room: EdgeArrays,
    scratch: Bytes,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> tuple[int, Number, Number]:
    """Return how it went, where the list ends, and how many hyperedges there are."""
    span = np.empty(2, np.int64)
    i = _blank(data, begin)
    edge = 0
    if data[i] == CLOSE_LIST:
        return FINE, i + 1, edge
    while True:
        if data[i] != OPEN:
            return NOT_PLAIN, i, edge
        seen = 0
        covered: Number = -1
        ends = room.ends[edge]
        new_ends = room.ends[edge + 1]
        while True:
            i = _blank(data, i + 1)
            key, i = _key(data, i)
            if key < 0 or (seen >> key) & 1:
                return NOT_PLAIN, i, edge
            seen |= 1 << key
            if key == HEAD:
                room.heads[edge], i = _whole(data, i)
            elif key == TAILS:
                new_ends[0], i = _whole_list(data, i, room.tails, ends[0])
            elif key == SPAN:
                count, i = _whole_list(data, i, span, 0)
                if i >= 0 and (count != 2 or span[1] < span[0]):
                    return NOT_PLAIN, i, edge
                covered = span[1] - span[0]
            elif key == FEATS:
                new_ends[1], i = _features(data, i, room.places, room.values, ends[1])
            else:
                new_ends[2], i = _side(
                    data, i, room.words, ends[2], scratch, slots, keys, start, arena, used
                )
                if i == -2:
                    return FULL, i, edge
            if i < 0:
                return NOT_PLAIN, i, edge
            i = _blank(data, i)
            if data[i] == CLOSE:
                break
            if data[i] != COMMA:
                return NOT_PLAIN, i, edge
        if seen & NEEDED != NEEDED:
            return NOT_PLAIN, i, edge
        room.covered[edge] = covered
        edge += 1
        i = _blank(data, i + 1)
        if data[i] == CLOSE_LIST:
            return FINE, i + 1, edge
        if data[i] != COMMA:
            return NOT_PLAIN, i, edge
        i = _blank(data, i + 1)


@kernel
def _blank(data: Bytes, i: Number) -> Number:
    """Return where the next character is that is no white space of JSON."""
    while data[i] == 32 or data[i] == 9 or data[i] == 10 or data[i] == 13:
        i += 1
    return i


@kernel
def _key(data: Bytes, i: Number) -> tuple[Number, Number]:
    """Return which key stands at i, -1 for others, and where its value begins."""
    if data[i] != QUOTE:
        return -1, i
    hi = i + 1
    while data[hi] != QUOTE and data[hi] != 0 and hi < i + 7:
        hi += 1
    size = hi - i - 1
    first, last = data[i + 1], data[hi - 1]
    # head, tails, e, span, feats
    key = -1
    if size == 4 and first == 104 and data[i + 2] == 101 and data[i + 3] == 97 and last == 100:
        key = HEAD
    elif size == 5 and first == 116 and data[i + 2] == 97 and data[i + 3] == 105:
        key = TAILS if data[i + 4] == 108 and last == 115 else -1
    elif size == 1 and first == 101:
        key = SIDE
    elif size == 4 and first == 115 and data[i + 2] == 112 and data[i + 3] == 97 and last == 110:
        key = SPAN
    elif size == 5 and first == 102 and data[i + 2] == 101 and data[i + 3] == 97:
        key = FEATS if data[i + 4] == 116 and last == 115 else -1
    if key < 0 or data[hi] != QUOTE:
        return -1, i
    i = _blank(data, hi + 1)
    if data[i] != COLON:
        return -1, i
    return key, _blank(data, i + 1)


@kernel
def _whole(data: Bytes, i: Number) -> tuple[Number, Number]:
    """Return a whole number of at most nine digits and where it ends, -1 if there is none."""
    value: Number = 0
    lo = i
    while 48 <= data[i] <= 57:
        value = value * 10 + np.int64(data[i]) - 48
        i += 1
        if i - lo > 9:
            return 0, -1
    c = data[i]
    ends = c in (COMMA, CLOSE_LIST, CLOSE, 32)
    return value, i if i > lo and ends else -1


@kernel
def _whole_list(data: Bytes, i: Number, values: Ints, count: Number) -> tuple[Number, Number]:
    """Put a list of whole numbers into an array from ``count`` on; return the two ends."""
    if data[i] != OPEN_LIST:
        return count, -1
    i = _blank(data, i + 1)
    if data[i] == CLOSE_LIST:
        return count, i + 1
    while True:
        value, i = _whole(data, i)
        if i < 0 or count == values.shape[0]:
            return count, -1
        values[count] = value
        count += 1
        i = _blank(data, i)
        if data[i] == CLOSE_LIST:
            return count, i + 1
        if data[i] != COMMA:
            return count, -1
        i = _blank(data, i + 1)


@kernel
def _features(
    data: Bytes, i: Number, places: Ints, values: Floats, count: Number
) -> tuple[Number, Number]:
    """Put a list of index, value, index, value ... into arrays; return the two ends."""
    if data[i] != OPEN_LIST:
        return count, -1
    i = _blank(data, i + 1)
    if data[i] == CLOSE_LIST:
        return count, i + 1
    while True:
        place, i = _whole(data, i)
        if i < 0:
            return count, -1
        i = _blank(data, i)
        if data[i] != COMMA:
            return count, -1
        lo = _blank(data, i + 1)
        i = lo
        while data[i] > 32 and data[i] != COMMA and data[i] != CLOSE_LIST:
            i += 1
        value = parse_decimal(data, lo, i)
        if np.isnan(value):
            return count, -1
        places[count] = place
        values[count] = value
        count += 1
        i = _blank(data, i)
        if data[i] == CLOSE_LIST:
            return count, i + 1
        if data[i] != COMMA:
            return count, -1
        i = _blank(data, i + 1)


@kernel
def _side(
    data: Bytes,
    i: Number,
    words: Ids,
    count: Number,
    scratch: Bytes,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> tuple[Number, Number]:
    """Put a target side into an array; -2 as the end in the text if the interner is full."""
    slot = np.empty(1, np.int64)
    if data[i] != OPEN_LIST:
        return count, -1
    i = _blank(data, i + 1)
    if data[i] == CLOSE_LIST:
        return count, i + 1
    while True:
        if data[i] == QUOTE:
            lo = i + 1
            key = np.uint64(0)
            i = lo
            while CLASS[data[i]] == 0 and data[i] != QUOTE and data[i] != ESCAPE and data[i] != 0:
                key = next_key(key, data[i])
                i += 1
            if data[i] == QUOTE and i > lo:
                word = intern(key, data, lo, i, slots, keys, start, arena, used)
            else:
                size, i = _plain(data, lo, scratch)
                if i < 0:
                    return count, -1
                key = np.uint64(0)
                for k in range(size):
                    key = next_key(key, scratch[k])
                word = intern(key, scratch, 0, size, slots, keys, start, arena, used)
            if word < 0:
                return count, -2
            i += 1
        else:
            entries, i = _whole_list(data, i, slot, 0)
            if i < 0 or entries != 1:
                return count, -1
            word = -1 - slot[0]
        words[count] = word
        count += 1
        i = _blank(data, i)
        if data[i] == CLOSE_LIST:
            return count, i + 1
        if data[i] != COMMA:
            return count, -1
        i = _blank(data, i + 1)


@kernel
def _plain(data: Bytes, i: Number, scratch: Bytes) -> tuple[Number, Number]:
    """Write a token without its escapes; return its size and where its quote is, -1 for none."""
    size = 0
    while data[i] != QUOTE:
        c: Number = np.int64(data[i])
        if c == 0 or (CLASS[c] > 0 and space_at(data, i) > 0):
            return size, -1
        i += 1
        if c == ESCAPE:
            c = np.int64(data[i])
            i += 1
            if c == 117:  # u
                c = 0
                for _ in range(4):
                    digit = np.int64(data[i]) | 32
                    if 48 <= digit <= 57:
                        digit -= 48
                    elif 97 <= digit <= 102:
                        digit -= 87
                    else:
                        return size, -1
                    c = c * 16 + digit
                    i += 1
                if 0xD800 <= c < 0xE000:
                    return size, -1
            elif c not in (QUOTE, ESCAPE, 47):
                return size, -1
            if c == 0 or (c < 128 and CLASS[c] > 0):
                return size, -1
            if c >= 0x800:
                scratch[size] = 0xE0 | c >> 12
                scratch[size + 1] = 0x80 | (c >> 6 & 0x3F)
                size += 2
            elif c >= 0x80:
                scratch[size] = 0xC0 | c >> 6
                size += 1
            c = c if c < 0x80 else 0x80 | (c & 0x3F)
        scratch[size] = c
        size += 1
    for k in range(size):
        if CLASS[scratch[k]] > 0 and space_at(scratch[:size], k) > 0:
            return size, -1
    return size, (i if size > 0 else -1)
