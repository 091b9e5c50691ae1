"""Kernels that read rules from bytes: ``[X] ||| a [X,1] ||| [1] b ||| name=value ... ||| 0-1``.

A token ``[name]`` or ``[name,k]`` is a nonterminal, and ``[k]`` on the target side; any other is a
word. What follows the alignment is passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints, Number, Words
from tunesmith.hiero.grammar.rule_checks import MOST_NONTERMINALS
from tunesmith.io.text.numbers import parse_decimal
from tunesmith.io.text.tokens import CLASS, intern, next_key, space_at
from tunesmith.kernels import kernel

# How the kernel ended: done, a table is full, or what is wrong.
DONE, WORDS_FULL, CATEGORIES_FULL, NAMES_FULL, SLOW_FULL = 0, 1, 2, 3, 4
MISSING_FIELD, NO_HEAD, TOO_MANY, BAD_INDEX, INDEX_TWICE = 10, 11, 12, 13, 14
NO_INDEX, UNLINKED, OTHER_CATEGORY, NO_NAME, NO_VALUE, BAD_POINT = 15, 16, 17, 18, 19, 20
NUMBER = 21
# What the kernel reports: its position, its counts, and the token that it could not read.
POSITION, LINE, RULES, SOURCES, TARGETS, PAIRS, LINKS, SLOW, LO, HI = range(10)
#: No index and no place of a symbol is larger.
_LARGE = 1 << 20


class Table(NamedTuple):
    """An :class:`~tunesmith.io.text.tokens.Interner` as kernels take it."""

    slots: Ids
    keys: Words
    start: Ints
    arena: Bytes
    used: Ints


class RuleBuffers(NamedTuple):
    """Where rules go; offsets end with the last rule that is whole.

    Features without names have the ids -1, -2, ... by their places. ``slow`` holds numbers that
    are left to Python: which pair, and where they stand. ``places`` and ``kinds`` belong to the
    rule at hand: which nonterminal of the source side has an index, and its category.
    """

    lines: Ints
    heads: Ids
    source_start: Ints
    sources: Ids
    target_start: Ints
    targets: Ids
    feature_start: Ints
    feature_ids: Ids
    feature_values: Floats
    link_start: Ints
    links: Ids
    slow: Ints
    places: Ints
    kinds: Ints


@kernel
def parse_rules(
    data: Bytes,
    counts_labelled: bool,
    negated: bool,
    info: Ints,
    room: RuleBuffers,
    words: Table,
    categories: Table,
    names: Table,
) -> Number:
    """Read rules from ``info[POSITION]`` on, which is always the start of a line."""
    n = data.shape[0]
    while info[POSITION] < n:
        lo, hi = _token(data, info[POSITION])
        if lo < hi:
            rule = info[RULES]
            room.heads[rule], status = _head(data, lo, hi, info, categories)
            i = hi
            if status == DONE:
                i, status = _source(data, i, info, room, words, categories)
            if status == DONE:
                i, status = _target(data, i, info, room, words, categories)
            if status == DONE:
                i, status = _features(data, i, counts_labelled, negated, info, room, names)
            if status == DONE:
                i, status = _points(data, i, info, room)
            if status != DONE:
                return status
            hi = i
            room.lines[rule] = info[LINE]
            info[SOURCES] = room.source_start[rule + 1]
            info[TARGETS] = room.target_start[rule + 1]
            info[PAIRS] = room.feature_start[rule + 1]
            info[LINKS] = room.link_start[rule + 1]
            info[RULES] = rule + 1
        while hi < n and data[hi] != 10:
            hi += 1
        info[POSITION] = hi + 1
        info[LINE] += 1
    return DONE


@kernel
def _token(data: Bytes, i: int) -> tuple[Number, Number]:
    """Return where the next token of the line is; it is empty at the line's end."""
    n = data.shape[0]
    while i < n and data[i] != 10:
        gap = space_at(data, i)
        if gap == 0:
            break
        i += gap
    lo = i
    while i < n and (CLASS[data[i]] == 0 or space_at(data, i) == 0):
        i += 1
    return lo, i


@kernel
def _is_bars(data: Bytes, lo: int, hi: int) -> bool:
    return hi - lo == 3 and data[lo] == 124 and data[lo + 1] == 124 and data[lo + 2] == 124


@kernel
def _id(data: Bytes, lo: int, hi: int, table: Table) -> Number:
    """Return the id of a word or name, -1 where the table is full."""
    key = np.uint64(0)
    for i in range(lo, hi):
        key = next_key(key, data[i])
    return intern(key, data, lo, hi, table.slots, table.keys, table.start, table.arena, table.used)


@kernel
def _number(data: Bytes, lo: int, hi: int) -> Number:
    """Return a whole number of digits only, -1 where it is none."""
    number: Number = 0
    for i in range(lo, hi):
        digit = np.int64(data[i]) - 48
        if digit < 0 or digit > 9:
            return -1
        number = min(10 * number + digit, _LARGE)
    return number if hi > lo else -1


@kernel
def _nonterminal(data: Bytes, lo: int, hi: int) -> tuple[Number, Number]:
    """Return where the category of a nonterminal ends, and its index; -1 where there is none."""
    if hi - lo < 3 or data[lo] != 91 or data[hi - 1] != 93:
        return -1, -1
    comma = -1
    for i in range(lo + 1, hi - 1):
        if data[i] == 91 or data[i] == 93:
            return -1, -1
        if data[i] == 44:
            comma = i
    index = -1 if comma <= lo + 1 else _number(data, comma + 1, hi - 1)
    return (comma if index >= 0 else hi - 1), index


@kernel
def _head(data: Bytes, lo: int, hi: int, info: Ints, categories: Table) -> tuple[Number, Number]:
    info[LO], info[HI] = lo, hi
    end, index = _nonterminal(data, lo, hi)
    if end < 0 or index >= 0:
        return 0, NO_HEAD
    category = _id(data, lo + 1, end, categories)
    return category, (DONE if category >= 0 else CATEGORIES_FULL)


@kernel
def _source(
    data: Bytes, i: int, info: Ints, room: RuleBuffers, words: Table, categories: Table
) -> tuple[Number, Number]:
    """Read the source side, and what ends it; bars come before it."""
    lo, i = _token(data, i)
    info[LO], info[HI] = lo, i
    if not _is_bars(data, lo, i):
        return i, (MISSING_FIELD if lo == i else NO_HEAD)
    room.places[:] = 0
    at, arity = info[SOURCES], 0
    while True:
        lo, i = _token(data, i)
        info[LO], info[HI] = lo, i
        if lo == i:
            return i, MISSING_FIELD
        if _is_bars(data, lo, i):
            break
        end, index = _nonterminal(data, lo, i)
        if end < 0:
            word = _id(data, lo, i, words)
            if word < 0:
                return i, WORDS_FULL
            room.sources[at] = word
        else:
            if _number(data, lo + 1, end) >= 0:  # an index alone, as on the target side
                return i, NUMBER
            arity += 1
            index = arity if index < 0 else index
            if arity > MOST_NONTERMINALS:
                return i, TOO_MANY
            if index == 0 or index > MOST_NONTERMINALS:
                return i, BAD_INDEX
            if room.places[index] > 0:
                return i, INDEX_TWICE
            category = _id(data, lo + 1, end, categories)
            if category < 0:
                return i, CATEGORIES_FULL
            room.places[index] = arity
            room.kinds[arity] = category
            room.sources[at] = -1 - category
        at += 1
    room.source_start[info[RULES] + 1] = at
    return i, DONE


@kernel
def _target(
    data: Bytes, i: int, info: Ints, room: RuleBuffers, words: Table, categories: Table
) -> tuple[Number, Number]:
    """Read the target side, and what ends it: bars, or the line's end."""
    at = info[TARGETS]
    while True:
        lo, i = _token(data, i)
        info[LO], info[HI] = lo, i
        if lo == i or _is_bars(data, lo, i):
            break
        end, index = _nonterminal(data, lo, i)
        if end < 0:
            word = _id(data, lo, i, words)
            if word < 0:
                return i, WORDS_FULL
            room.targets[at] = word
        else:
            bare = index < 0 and _number(data, lo + 1, end) >= 0
            index = _number(data, lo + 1, end) if bare else index
            if index < 0:
                return i, NO_INDEX
            if index == 0 or index > MOST_NONTERMINALS:
                return i, BAD_INDEX
            place = room.places[index]
            if place == 0:
                return i, UNLINKED
            if not bare:
                category = _id(data, lo + 1, end, categories)
                if category < 0:
                    return i, CATEGORIES_FULL
                if category != room.kinds[place]:
                    return i, OTHER_CATEGORY
            room.targets[at] = -place
        at += 1
    room.target_start[info[RULES] + 1] = at
    return i, DONE


@kernel
def _features(
    data: Bytes,
    i: int,
    counts_labelled: bool,
    negated: bool,
    info: Ints,
    room: RuleBuffers,
    names: Table,
) -> tuple[Number, Number]:
    """Read values with and without names; cdec takes semicolons between them as well."""
    pair, late = info[PAIRS], info[SLOW]
    index = 0
    while True:
        lo, i = _token(data, i)
        if lo == i or _is_bars(data, lo, i):
            break
        equals, end = _parts(data, lo, i)
        if equals < 0 and lo == end:  # nothing before a semicolon
            i = end + 1
            continue
        info[LO], info[HI] = lo, end
        if equals == lo:
            return i, NO_NAME
        if equals >= 0:
            if equals + 1 == end:
                return i, NO_VALUE
            name = _id(data, lo, equals, names)
            if name < 0:
                return i, NAMES_FULL
            room.feature_ids[pair] = name
            index += 1 if counts_labelled else 0
        else:
            room.feature_ids[pair] = -1 - index
            index += 1
        first = equals + 1 if equals >= 0 else lo
        value = parse_decimal(data, first, end)
        if np.isnan(value):
            if late == room.slow.shape[0]:
                return i, SLOW_FULL
            room.slow[late, 0], room.slow[late, 1], room.slow[late, 2] = pair, first, end
            late += 1
        room.feature_values[pair] = 0.0 - value if negated and equals < 0 else value
        pair += 1
        i = end if end == i else end + 1
    room.feature_start[info[RULES] + 1] = pair
    info[SLOW] = late
    return i, DONE


@kernel
def _parts(data: Bytes, lo: int, hi: int) -> tuple[Number, Number]:
    """Return where the equals sign of a feature is, or -1, and where its value ends.

    A semicolon ends a value; before the equals sign it belongs to the name, unless what comes
    before it is a number.
    """
    for i in range(lo, hi):
        if data[i] == 61:
            end = i + 1
            while end < hi and data[end] != 59:
                end += 1
            return i, end
        if data[i] == 59 and (i == lo or not np.isnan(parse_decimal(data, lo, i))):
            return -1, i
    return -1, hi


@kernel
def _points(data: Bytes, i: int, info: Ints, room: RuleBuffers) -> tuple[Number, Number]:
    """Read the alignment."""
    at = info[LINKS]
    while True:
        lo, i = _token(data, i)
        if lo == i or _is_bars(data, lo, i):
            break
        info[LO], info[HI] = lo, i
        dash = lo
        while dash < i and data[dash] != 45:
            dash += 1
        source, target = _number(data, lo, dash), _number(data, min(dash + 1, i), i)
        if source < 0 or target < 0:
            return i, BAD_POINT
        room.links[at, 0], room.links[at, 1] = source, target
        at += 1
    room.link_start[info[RULES] + 1] = at
    return i, DONE
