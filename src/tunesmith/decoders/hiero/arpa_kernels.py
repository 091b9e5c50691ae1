"""Kernels: from lines of an ARPA file to n-grams, and from n-grams to a table of children."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes, Flags, Floats, Ids, Ints, Number, Words
from tunesmith.bits import spread_bits
from tunesmith.decoders.hiero.lm_states import EMPTY
from tunesmith.decoders.hiero.tables import EXTENDS_LEFT, EXTENDS_RIGHT, Singles
from tunesmith.io.numbers import parse_decimal, parse_plain
from tunesmith.io.tokens import SHORT, intern, next_key, slot_of
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

_1, _32 = np.uint64(1), np.uint64(32)


@kernel
def read_ngrams(
    data: Bytes,
    order: int,
    top: bool,
    info: Ints,
    given: Floats,
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

    ``given`` are the probability and the back-off of the first line where they could not be read
    here; NaN otherwise. ``known`` words are there; for unigrams each word must be a new one.
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
            value = given[0]
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
                value = given[1]
                if np.isnan(value):
                    return BAD_BACKOFF
            if abs(value) > LARGEST:
                return TOO_LARGE
            if top and value != 0.0:
                return BACKOFF_AT_TOP
        backoffs[row] = value
        given[:] = np.nan
        info[NGRAMS] = row + 1
        info[POSITION] = i + 1
        info[LINE] += 1
    return DONE


@kernel
def _number(data: Bytes, i: int) -> tuple[Number, Number]:
    """Return the number at i, NaN where it is not of a simple kind, and where it ends."""
    n = data.shape[0]
    value, end = parse_plain(data, i)
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


@kernel
def find_child(keys: Words, children: Ids, node: Number, word: Number) -> Number:
    """Return the node of the n-gram that begins with a word before another n-gram, or -1."""
    mask = np.uint64(keys.shape[0] - 1)
    key = (np.uint64(node) << _32) | np.uint64(word)
    place = spread_bits(key) & mask
    while keys[place] != EMPTY:
        if keys[place] == key:
            return np.int64(children[place])
        place = (place + _1) & mask
    return np.int64(-1)


@kernel
def put_child(keys: Words, children: Ids, node: Number, word: Number, child: Number) -> None:
    """Add to a table a child that is not there yet."""
    mask = np.uint64(keys.shape[0] - 1)
    key = (np.uint64(node) << _32) | np.uint64(word)
    place = spread_bits(key) & mask
    while keys[place] != EMPTY:
        place = (place + _1) & mask
    keys[place] = key
    children[place] = child


@kernel
def add_ngrams(
    order: int,
    words: Ids,
    given: Singles,
    given_backoffs: Singles,
    progress: Ints,
    probabilities: Singles,
    backoffs: Singles,
    flags: Bytes,
    parents: Ids,
    keys: Words,
    children: Ids,
    twice: Flags,
) -> bool:
    """Add n-grams of one length; all shorter ones are there.

    ``progress`` is the next n-gram and the number of nodes. Returns false where there may be no
    room for the next one, and true at the end, or where ``twice[0]`` says that it is there already.
    """
    chains = np.zeros((order + 1, order + 1), np.int64)
    while progress[0] < given.shape[0]:
        at = progress[0]
        if progress[1] + order * order > probabilities.shape[0]:
            return False
        ngram = words[at * order : (at + 1) * order]
        suffix = _walk(ngram, 1, order, keys, children)
        prefix = _walk(ngram, 0, order - 1, keys, children)
        if suffix < 0 or prefix < 0:
            _add_parts(
                ngram, chains, progress, probabilities, backoffs, flags, parents, keys, children
            )
            suffix, prefix = chains[order, order - 1], chains[order - 1, order - 1]
        elif find_child(keys, children, suffix, ngram[0]) >= 0:
            twice[0] = True
            return True
        node = progress[1]
        progress[1] = node + 1
        put_child(keys, children, suffix, ngram[0], node)
        probabilities[node] = given[at]
        backoffs[node] = given_backoffs[at]
        flags[node] = 0
        parents[node] = suffix
        flags[suffix] |= EXTENDS_LEFT
        flags[prefix] |= EXTENDS_RIGHT
        progress[0] = at + 1
    return True


@kernel
def _walk(ngram: Ids, first: int, last: int, keys: Words, children: Ids) -> Number:
    """Return the node of ``ngram[first:last]``, or -1."""
    node = np.int64(ngram[last - 1])
    for k in range(last - 2, first - 1, -1):
        node = find_child(keys, children, node, ngram[k])
        if node < 0:
            break
    return node


@kernel
def _add_parts(
    ngram: Ids,
    chains: Ints,
    progress: Ints,
    probabilities: Singles,
    backoffs: Singles,
    flags: Bytes,
    parents: Ids,
    keys: Words,
    children: Ids,
) -> None:
    """Add what lies within an n-gram and is missing, with what back-off gives, which is exact.

    ``chains[e, l]`` is then the node of the l words that end before place e.
    """
    order = ngram.shape[0]
    for e in range(1, order + 1):
        chains[e, 1] = ngram[e - 1]
        for length in range(2, min(e, order - 1) + 1):
            first, suffix = ngram[e - length], chains[e, length - 1]
            node = find_child(keys, children, suffix, first)
            if node < 0:
                context = chains[e - 1, length - 1]
                node = progress[1]
                progress[1] = node + 1
                put_child(keys, children, suffix, first, node)
                probabilities[node] = backoffs[context] + probabilities[suffix]
                backoffs[node] = 0.0
                flags[node] = 0
                parents[node] = suffix
                flags[suffix] |= EXTENDS_LEFT
                flags[context] |= EXTENDS_RIGHT
            chains[e, length] = node


@kernel
def mark_contexts(count: int, backoffs: Singles, flags: Bytes, parents: Ids) -> None:
    """Mark contexts that have a back-off, and what such a context ends in.

    So the words that matter of a context are always its last ones. A parent stands before its
    children.
    """
    for node in range(count - 1, -1, -1):
        if backoffs[node] != 0.0:
            flags[node] |= EXTENDS_RIGHT
        if flags[node] & EXTENDS_RIGHT and parents[node] >= 0:
            flags[parents[node]] |= EXTENDS_RIGHT


@kernel
def copy_children(
    keys: Words, children: Ids, shift: int, new_keys: Words, new_children: Ids
) -> None:
    """Put all of a table into another one, with nodes that have other numbers."""
    for place in range(keys.shape[0]):
        if keys[place] != EMPTY:
            node = np.int64(keys[place] >> _32)
            word = np.int64(keys[place] & np.uint64(0xFFFFFFFF))
            put_child(new_keys, new_children, node + shift, word + shift, children[place] + shift)
