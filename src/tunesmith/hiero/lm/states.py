"""Kernels: the state of a language model for a phrase, and for phrases put together.

Heafield, "KenLM: faster and smaller language model queries" (WMT 2011), section 4.1, and Li and
Khudanpur, "A scalable decoder for parsing-based machine translation with equivalent language model
state maintenance" (2008). The left state of a phrase are the n-grams of its first words, as long
as words before them may still change their probabilities. The right state are its last words, as
far as words after them may ask for them. With K = max(orders) - 1 a state is

- ``ints``, int32[3 + 2K]: the left length L, whether the left state is complete (0 or 1), the
  right length R; K places for the left nodes, of the n-grams w1, w1 w2, ...; K places for the
  right words, the last one first;
- ``floats``, float32[K]: the back-offs of the contexts that end the phrase, of 1, 2, ... words.

Places without use are 0, so that equal states are equal arrays.

Probabilities count the first words of a phrase with the context that there is; what a longer
context changes is added when it is there. A left state is complete when no word after its nodes
depends on what stands before the phrase, but for the back-offs of contexts that end in the words
of the left state: they are due when the context is known. While it is not complete, all words of
the phrase are in both states: L = R.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Ids, Number
from tunesmith.hiero.lm.keys import child_key
from tunesmith.hiero.tables import (
    EMPTY,
    EXTENDS_LEFT,
    EXTENDS_RIGHT,
    FIRST,
    HASHED,
    MASK,
    PLAIN,
    TABLE,
    ModelArrays,
    Singles,
)
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits
from tunesmith.kernels.copying import copy_to

#: Where a state has its left length, whether it is complete, its right length, its left nodes.
LEFT, COMPLETE, RIGHT, NODES = 0, 1, 2, 3
_0, _1 = np.uint64(0), np.uint64(1)


@kernel
def longest_context(models: ModelArrays) -> int:
    """Return K, how many words back a model looks; 0 if there is none."""
    longest = 1
    for order in models.orders:
        longest = max(longest, order)
    return longest - 1


@kernel
def clear(ints: Ids, floats: Singles) -> None:
    """Nothing is said yet."""
    ints[:] = 0
    floats[:] = 0.0


@kernel
def begin(models: ModelArrays, m: int, ints: Ids, floats: Singles) -> None:
    """``<s>`` is said, which has no probability and nothing before it."""
    ints[:] = 0
    floats[:] = 0.0
    ints[COMPLETE] = 1
    node = models.begins[m]
    entry = models.entries[models.layout[m, FIRST] + node]
    if models.orders[m] > 1 and entry["key"] & EXTENDS_RIGHT != _0:
        ints[RIGHT] = 1
        ints[NODES + floats.shape[0]] = node
        floats[0] = entry["backoff"]


@kernel
def add_word(models: ModelArrays, m: int, word: int, ints: Ids, floats: Singles) -> Number:
    """Append a word, a unigram's node, and return the change of the log10 probability."""
    entries, layout, most = models.entries, models.layout, models.orders[m] - 1
    start, table, mask = layout[m, FIRST], layout[m, TABLE], np.uint64(layout[m, MASK])
    is_hashed = layout[m, HASHED]
    places = floats.shape[0]
    words = NODES + places  # where they begin
    used = np.int64(ints[RIGHT])
    # The longest n-gram that ends in the word. The back-offs of its suffixes, which are the next
    # contexts, take the places of those that it makes needless; one waits until that is known.
    at = start + np.int64(word)
    entry = entries[at]["key"]
    waiting = entries[at]["backoff"]
    context_length = 1 if entry & EXTENDS_RIGHT != _0 else 0
    matched = 0
    while matched < used and entry & EXTENDS_LEFT != _0:
        key = child_key(is_hashed, entry, at - start, ints[words + matched])
        place = spread_bits(key) & mask
        entry = entries[table + np.int64(place)]["key"]
        while entry & PLAIN != key and entry != EMPTY:
            place = (place + _1) & mask
            entry = entries[table + np.int64(place)]["key"]
        if entry == EMPTY:
            break
        at = table + np.int64(place)
        floats[matched] = waiting
        waiting = entries[at]["backoff"]
        matched += 1
        if entry & EXTENDS_RIGHT != _0:
            context_length = matched + 1
    context_length = min(context_length, most)  # of a sound model it is not more
    change = np.float64(entries[at]["probability"])
    for k in range(matched, used):
        change += np.float64(floats[k])

    if ints[COMPLETE] == 0:
        if matched < used or entry & EXTENDS_LEFT == _0:
            ints[COMPLETE] = 1
        else:
            length = np.int64(ints[LEFT])
            ints[NODES + length] = at - start
            ints[LEFT] = length + 1
            # Where the context ends within the phrase, or n-grams do, no later word sees beyond.
            if context_length != used + 1 or length + 1 == most:
                ints[COMPLETE] = 1

    if matched < places:
        floats[matched] = waiting
    for k in range(context_length, min(max(used, matched + 1), places)):
        floats[k] = 0.0
        ints[words + k] = 0
    for k in range(context_length - 1, 0, -1):
        ints[words + k] = ints[words + k - 1]
    if context_length > 0:
        ints[words] = word
    ints[RIGHT] = context_length
    return change


@kernel
def add_phrase(
    models: ModelArrays, m: int, other_ints: Ids, other_floats: Singles, ints: Ids, floats: Singles
) -> Number:
    """Append a phrase, and return what its log10 probability changes by in this context.

    The probability of the phrase itself, which was counted when it was made, is not in it.
    """
    places = floats.shape[0]
    stored_length = np.int64(ints[RIGHT])
    used: Number = stored_length  # words of the context that still matter
    change = 0.0
    if stored_length == 0 and ints[COMPLETE] == 0:  # no words yet
        copy_to(ints, 0, other_ints)
        copy_to(floats, 0, other_floats)
        return change

    entries, layout, most = models.entries, models.layout, models.orders[m] - 1
    start, table, mask = layout[m, FIRST], layout[m, TABLE], np.uint64(layout[m, MASK])
    is_hashed = layout[m, HASHED]
    words = NODES + places  # where they begin
    for first in range(np.int64(other_ints[LEFT])):
        if used == 0:
            break
        at = start + np.int64(other_ints[NODES + first])
        entry = entries[at]["key"]
        change -= np.float64(entries[at]["probability"])
        context_length = 0
        matched = 0
        while matched < used and entry & EXTENDS_LEFT != _0:
            key = child_key(is_hashed, entry, at - start, ints[words + matched])
            place = spread_bits(key) & mask
            entry = entries[table + np.int64(place)]["key"]
            while entry & PLAIN != key and entry != EMPTY:
                place = (place + _1) & mask
                entry = entries[table + np.int64(place)]["key"]
            if entry == EMPTY:
                break
            at = table + np.int64(place)
            # Of the context that ends in this word of the phrase; the one whose place it takes
            # is not needed any more.
            floats[matched] = entries[at]["backoff"]
            matched += 1
            if entry & EXTENDS_RIGHT != _0:
                context_length = matched
        change += np.float64(entries[at]["probability"])
        for k in range(matched, used):
            change += np.float64(floats[k])
        if ints[COMPLETE] == 0:
            if matched < used or entry & EXTENDS_LEFT == _0:
                ints[COMPLETE] = 1
            else:
                length = np.int64(ints[LEFT])
                ints[NODES + length] = at - start
                ints[LEFT] = length + 1
                if context_length != stored_length or length + 1 == most:
                    ints[COMPLETE] = 1
        used = context_length

    added = np.int64(other_ints[RIGHT])
    if other_ints[COMPLETE] != 0:
        for k in range(used):
            change += np.float64(floats[k])
        used = 0
        ints[COMPLETE] = 1
    used = min(used, most - added)  # of a sound model it is not more
    for k in range(used - 1, -1, -1):
        ints[words + k + added] = ints[words + k]
        floats[k + added] = floats[k]
    for k in range(added):
        ints[words + k] = other_ints[words + k]
        floats[k] = other_floats[k]
    for k in range(added + used, stored_length):
        ints[words + k] = 0
        floats[k] = 0.0
    ints[RIGHT] = added + used
    return change
