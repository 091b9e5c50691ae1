"""The kernels that read lists with ``|||`` between their fields from bytes."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints, Number, Words
from tunesmith.io.text.numbers import parse_decimal, parse_plain
from tunesmith.io.text.tokens import CLASS, SHORT, intern, next_key, slot_of, space_at
from tunesmith.kernels import kernel

# How the kernel ended.
DONE, VOCABULARY_FULL, NAMES_FULL, SLOW_FULL = 0, 1, 2, 3
BAD_ID, MISSING_FIELD, NO_NAME, NO_VALUE, WRONG_WIDTH, NAME_TWICE = 10, 11, 12, 13, 14, 15
# What the kernel writes down: where it is, how much it has, what it stumbled over.
POSITION, LINES, TOKENS, PAIRS, SLOW, COLUMNS, STAMP, LO, HI, WANTED, GOT = range(11)


@kernel
def split_pairs(
    pair_start: Ints,
    columns: Ids,
    values: Floats,
    row_of: Ints,
    dense: Floats,
    rows: Ints,
    sparse: Ints,
    rest: Floats,
) -> int:
    """Lay pairs of dense features into rows; collect the others that are not 0."""
    count = 0
    for i in range(pair_start.shape[0] - 1):
        for k in range(pair_start[i], pair_start[i + 1]):
            row = row_of[columns[k]]
            if row >= 0:
                dense[row, i] = values[k]
            elif values[k] != 0.0:
                rows[count] = i
                sparse[count] = columns[k]
                rest[count] = values[k]
                count += 1
    return count


@kernel
def parse_lines(
    data: Bytes,
    skipped: int,
    info: Ints,
    ids: Ints,
    text_start: Ints,
    tokens: Ids,
    pair_start: Ints,
    columns: Ids,
    values: Floats,
    slow: Ints,
    first_column: Ints,
    width: Ints,
    seen: Ints,
    follower: Ints,
    v_slots: Ids,
    v_keys: Words,
    v_start: Ints,
    v_arena: Bytes,
    v_used: Ints,
    f_slots: Ids,
    f_keys: Words,
    f_start: Ints,
    f_arena: Bytes,
    f_used: Ints,
) -> int:
    """Read candidates from ``info[POSITION]`` on, which is always the start of a line.

    ``skipped`` fields stand between the text and the features.
    """
    n = data.shape[0]
    while info[POSITION] < n:
        i = info[POSITION]
        while i < n and data[i] != 10:
            gap = space_at(data, i)
            if gap == 0:
                break
            i += gap
        if i < n and data[i] == 10:  # an empty line
            info[POSITION] = i + 1
            continue
        if i == n:
            break

        # Field 1: the id.
        info[LO] = i
        number: Number = 0
        while i < n and 48 <= data[i] <= 57 and i - info[LO] < 18:
            number = number * 10 + np.int64(data[i]) - 48
            i += 1
        info[HI] = i
        if i == info[LO] or i == n or space_at(data, i) == 0:
            while info[HI] < n and space_at(data, info[HI]) == 0:
                info[HI] += 1
            return BAD_ID
        i = _bars(data, i)
        if i < 0:
            return MISSING_FIELD

        # Field 2: the text.
        token = info[TOKENS]
        while True:
            while i < n and data[i] != 10:
                gap = space_at(data, i)
                if gap == 0:
                    break
                i += gap
            if i == n or data[i] == 10:
                return MISSING_FIELD
            lo = i
            key = np.uint64(0)
            while i < n and (CLASS[data[i]] == 0 or space_at(data, i) == 0):
                key = next_key(key, data[i])
                i += 1
            if i - lo == 3 and data[lo] == 124 and data[lo + 1] == 124 and data[lo + 2] == 124:
                break
            slot = slot_of(key, v_slots.shape[0])
            word = np.int64(v_slots[slot])
            if word < 0 or v_keys[slot] != key or i - lo > SHORT:
                word = intern(key, data, lo, i, v_slots, v_keys, v_start, v_arena, v_used)
            if word < 0:
                return VOCABULARY_FULL
            tokens[token] = word
            token += 1

        # What stands before the features, and the features.
        for _ in range(skipped):
            i = _next_bars(data, i)
            if i < 0:
                return MISSING_FIELD
        info[STAMP] += 1
        status = _parse_features(
            data,
            i,
            info,
            columns,
            values,
            slow,
            first_column,
            width,
            seen,
            follower,
            f_slots,
            f_keys,
            f_start,
            f_arena,
            f_used,
        )
        if status != DONE:
            return status
        line = info[LINES]
        ids[line] = number
        info[TOKENS] = token
        info[LINES] = line + 1
        text_start[line + 1] = token
        pair_start[line + 1] = info[PAIRS]
    return DONE


@kernel
def _bars(data: Bytes, i: int) -> int:
    """Return the byte after ``|||`` if it is the next token, -1 otherwise."""
    n = data.shape[0]
    while i < n and (data[i] == 32 or data[i] == 9):
        i += 1
    if i + 3 >= n or space_at(data, i + 3) == 0:
        return -1
    return i + 3 if data[i] == 124 and data[i + 1] == 124 and data[i + 2] == 124 else -1


@kernel
def _next_bars(data: Bytes, i: int) -> int:
    """Return the byte after the next ``|||`` of the line, -1 where there is none."""
    n = data.shape[0]
    while i < n and data[i] != 10:
        if space_at(data, i) > 0:
            end = _bars(data, i)
            if end >= 0:
                return end
        i += 1
    return -1


@kernel
def _parse_features(
    data: Bytes,
    i: int,
    info: Ints,
    columns: Ids,
    values: Floats,
    slow: Ints,
    first_column: Ints,
    width: Ints,
    seen: Ints,
    follower: Ints,
    f_slots: Ids,
    f_keys: Words,
    f_start: Ints,
    f_arena: Bytes,
    f_used: Ints,
) -> int:
    """Read names and values up to the next bars, and go to the next line."""
    n = data.shape[0]
    pair, late = info[PAIRS], info[SLOW]
    name = -1
    name_lo = name_hi = i
    first_pair = pair  # the first pair of this name
    while True:
        while i < n and (data[i] == 32 or data[i] == 9 or data[i] == 13):
            i += 1
        if name >= 0 and i < n:
            value, end_of = parse_plain(data, i, 32)  # which ends where names end, too
            if end_of >= 0:
                values[pair] = value
                pair += 1
                i = end_of
                continue
        lo = i
        guess = follower[name + 1]
        equals = _named_so(data, i, guess, f_start, f_arena)
        expected = equals >= 0
        if expected:
            i = equals + 1
        while i < n and data[i] != 32 and data[i] != 9 and data[i] != 13 and data[i] != 10:
            if data[i] == 61:
                equals = i
            i += 1
        bars = i - lo == 3 and data[lo] == 124 and data[lo + 1] == 124 and data[lo + 2] == 124
        end = bars or i == lo
        if end or equals >= 0:
            # A name is over: its values must be as many as ever.
            if name >= 0:
                count = pair - first_pair
                info[LO], info[HI], info[GOT], info[WANTED] = name_lo, name_hi, count, width[name]
                if count == 0:
                    return NO_VALUE
                if width[name] < 0:
                    width[name] = count
                    first_column[name] = info[COLUMNS]
                    info[COLUMNS] += count
                elif width[name] != count:
                    return WRONG_WIDTH
                for k in range(count):
                    columns[first_pair + k] = first_column[name] + k
            if end:
                break
            name_lo, name_hi = lo, equals
            info[LO], info[HI] = lo, equals
            if equals == lo:
                info[HI] = i
                return NO_NAME
            previous = name
            name = guess
            if not expected or equals - lo != f_start[guess + 1] - f_start[guess]:
                key = np.uint64(0)
                for k in range(lo, equals):
                    key = next_key(key, data[k])
                name = intern(key, data, lo, equals, f_slots, f_keys, f_start, f_arena, f_used)
                if name < 0:
                    return NAMES_FULL
                follower[previous + 1] = name
            if seen[name] == info[STAMP]:
                return NAME_TWICE
            seen[name] = info[STAMP]
            first_pair = pair
            lo = equals + 1
            if lo == i:
                continue
        if name < 0:
            info[LO], info[HI] = lo, i
            return NO_NAME
        value = parse_decimal(data, lo, i)
        if np.isnan(value):
            if late == slow.shape[0]:
                return SLOW_FULL
            slow[late, 0], slow[late, 1], slow[late, 2] = pair, lo, i
            late += 1
        values[pair] = value
        pair += 1
    while i < n and data[i] != 10:
        i += 1
    info[POSITION], info[PAIRS], info[SLOW] = i + 1, pair, late
    return DONE


@kernel
def _named_so(data: Bytes, i: int, name: int, start: Ints, arena: Bytes) -> Number:
    """Return where the equals sign after a name stands if just that name is at i, else -1."""
    if name < 0:
        return -1
    length = start[name + 1] - start[name]
    if i + length >= data.shape[0] or data[i + length] != 61:
        return -1
    for k in range(length):
        if data[i + k] != arena[start[name] + k]:
            return -1
    return i + length
