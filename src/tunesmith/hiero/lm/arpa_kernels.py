"""Kernels: from lines of an ARPA file to n-grams."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints, Number, Words
from tunesmith.hiero.tables import Singles
from tunesmith.io.text.numbers import parse_decimal, parse_plain
from tunesmith.io.text.tokens import SHORT, intern, next_key, slot_of
from tunesmith.kernels import kernel

# How the reader of lines ended.
DONE, SECTION, VOCABULARY_FULL, GAP = 0, 1, 2, 3
BAD_PROBABILITY, BAD_BACKOFF, POSITIVE, BACKOFF_AT_TOP = 10, 11, 12, 13
FEW_WORDS, MANY_WORDS, UNKNOWN_WORD, WORD_TWICE, TOO_LARGE = 14, 15, 16, 17, 18
# What it writes down: where it is, lines and n-grams so far, the line of the first n-gram, what
# it stumbled over.
POSITION, LINE, NGRAMS, FIRST, LO, HI = range(6)

#: ASCII white space but the line feed. No other character parts words here: a file may have
#: a no-break space as a word.
BLANK = np.zeros(256, np.bool_)
BLANK[[9, 11, 12, 13, 32]] = True
#: No logarithm of a probability is larger.
LARGEST = 1e30
#: Bytes of a number that are enough for single precision.
DIGITS = 16


@kernel
def read_ngrams(
    data: Bytes,
    order: int,
    top: bool,
    info: Ints,
    bad_values: Floats,
    probabilities: Singles,
    backoffs: Singles,
    words: Ids,
    known: int,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> int:
    """Read lines with n-grams up to an empty line, or to one that begins with a backslash.

    ``bad_values`` are the probability and the back-off of the first line where they could not be
    read here; NaN otherwise. ``known`` words are there; for unigrams each word must be new.
    """
    n = data.shape[0]
    while info[POSITION] < n:
        i = info[POSITION]
        while i < n and BLANK[data[i]]:
            i += 1
        if i == n or data[i] == 10:
            if info[NGRAMS] > 0:
                return GAP
            info[POSITION] = i + 1
            info[LINE] += 1
            continue
        if data[i] == 92:  # a backslash
            return SECTION

        row = info[NGRAMS]
        if row == 0:
            info[FIRST] = info[LINE]
        info[LO] = i
        value, i = _number(data, i)
        info[HI] = i
        if np.isnan(value):
            value = bad_values[0]
            if np.isnan(value):
                return BAD_PROBABILITY
        if value > 0.0:
            return POSITIVE
        if value < -LARGEST:
            return TOO_LARGE
        probabilities[row] = value

        for k in range(order):
            while i < n and BLANK[data[i]]:
                i += 1
            lo = i
            key = np.uint64(0)
            while i < n and data[i] != 10 and not BLANK[data[i]]:
                key = next_key(key, data[i])
                i += 1
            if i == lo:
                return FEW_WORDS
            slot = slot_of(key, slots.shape[0])
            word = np.int64(slots[slot])
            if word < 0 or keys[slot] != key or i - lo > SHORT:
                word = intern(key, data, lo, i, slots, keys, start, arena, used)
            info[LO], info[HI] = lo, i
            if order == 1:
                if word < 0:
                    return VOCABULARY_FULL
                if word != known + row:
                    return WORD_TWICE
            elif word < 0 or word >= known:
                return UNKNOWN_WORD
            words[row * order + k] = word

        while i < n and BLANK[data[i]]:
            i += 1
        value = 0.0
        if i < n and data[i] != 10:
            info[LO] = i
            value, i = _number(data, i)
            info[HI] = i
            while i < n and BLANK[data[i]]:
                i += 1
            if i < n and data[i] != 10:
                return MANY_WORDS
            if np.isnan(value):
                value = bad_values[1]
                if np.isnan(value):
                    return BAD_BACKOFF
            if abs(value) > LARGEST:
                return TOO_LARGE
            if top and value != 0.0:
                return BACKOFF_AT_TOP
        backoffs[row] = value
        bad_values[:] = np.nan
        info[NGRAMS] = row + 1
        info[POSITION] = i + 1
        info[LINE] += 1
    return DONE


@kernel
def _number(data: Bytes, i: int) -> tuple[Number, Number]:
    """Return the number at i, NaN where it is not of a simple kind, and where it ends."""
    n = data.shape[0]
    value, end = parse_plain(data, i, 32)  # up to white space, or not at all
    if end >= 0:
        return value, end
    end = i
    plain = True
    point = n
    while end < n and data[end] != 10 and not BLANK[data[end]]:
        c = data[end]
        if c == 46:
            point = min(point, end)
        elif (c < 48 or c > 57) and (c != 45 or end > i):
            plain = False
        end += 1
    value = parse_decimal(data, i, end)
    if np.isnan(value) and plain and point < i + DIGITS < end:
        # Many digits: those far behind the point change nothing in single precision. A second
        # point would be there still.
        for k in range(point + 1, end):
            if data[k] == 46:
                return value, end
        value = parse_decimal(data, i, i + DIGITS)
    return value, end
