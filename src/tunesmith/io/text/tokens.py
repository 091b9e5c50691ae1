"""From bytes to token ids: white space as ``str.split`` sees it, one id per distinct token."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Bytes, Flags, Ids, Ints, Number, Words
from tunesmith.data.candidates import Texts
from tunesmith.io.text.swar import BITS, ONES, TOPS, first_of, marks_of, word_at
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import spread_bits

SPACE, NEWLINE = 32, 10
#: Bytes of a token that fit into its key.
SHORT = 8
#: The top byte of the key of a longer token; no token in UTF-8 ends in it.
LONG = np.uint64(0xFF << 56)

#: 0: no white space; 1: white space by itself; 2: may begin white space of several bytes.
#: Loops look here first and call :func:`space_at` where it is not 0.
CLASS = np.zeros(256, np.uint8)
CLASS[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = 1
#: White space of one byte that is neither a space nor the end of a line.
NARROW = tuple(bytes([c]) for c in (9, 11, 12, 13, 28, 29, 30, 31))
CLASS[[0xC2, 0xE1, 0xE2, 0xE3]] = 2


class Interner:
    """Distinct byte strings, numbered in the order in which they were first met.

    A hash table on arrays, so that kernels can ask it; they return when it is
    full, and it is grown between two calls.

    Attributes
    ----------
    slots : int32[size], keys : uint64[size]
        Open addressing: the id that hashes here, or -1, and its key.
    start : int64[capacity + 1], arena : uint8[...]
        The bytes of each id.
    used : int64[1]
        How many ids there are.
    """

    def __init__(self, capacity: int = 1 << 12) -> None:
        self.slots = np.full(2 * capacity, -1, np.int32)
        self.keys = np.zeros(2 * capacity, np.uint64)
        self.start = np.zeros(capacity + 1, np.int64)
        self.arena = np.zeros(16 * capacity, np.uint8)
        self.used = np.zeros(1, np.int64)

    @classmethod
    def of(cls, words: Sequence[str]) -> Interner:
        """Give words their numbers; they are distinct and have no white space in them."""
        new = cls(max(1 << 12, 1 << (len(words) + 1).bit_length()))
        tokenize("\n".join([*words, ""]).encode(), new)
        if len(new) != len(words):
            raise ValueError("words are the same, empty or have white space in them")
        return new

    def __len__(self) -> int:
        return int(self.used[0])

    @property
    def capacity(self) -> int:
        """How many ids there is room for."""
        return len(self.start) - 1

    @property
    def tables(self) -> tuple[Ids, Words, Ints, Bytes, Ints]:
        """What :func:`intern` takes."""
        return self.slots, self.keys, self.start, self.arena, self.used

    def grow(self, room: int) -> None:
        """Make place for more ids if there is none left, and for ``room`` more bytes."""
        used = int(self.start[len(self)])
        if used + room > len(self.arena):
            more = max(len(self.arena), used + room - len(self.arena))
            self.arena = np.concatenate([self.arena, np.zeros(more, np.uint8)])
        if len(self) == self.capacity:
            self.start = np.concatenate([self.start, np.zeros(self.capacity, np.int64)])
            slots, keys = self.slots, self.keys
            self.slots = np.full(2 * len(slots), -1, np.int32)
            self.keys = np.zeros(2 * len(slots), np.uint64)
            _rehash(slots, keys, self.slots, self.keys)

    def words(self, first: int = 0) -> list[str]:
        """Return the strings from id ``first`` on, in the order of their ids."""
        start = self.start[first : len(self) + 1]
        data = self.arena[start[0] : start[-1]].tobytes()
        return [data[a:b].decode() for a, b in itertools.pairwise((start - start[0]).tolist())]


def tokenize(block: bytes, vocabulary: Interner) -> Texts:
    """Split each line of a block into tokens."""
    data = np.frombuffer(block, np.uint8)
    hi = np.flatnonzero(data == NEWLINE)
    if block and not block.endswith(b"\n"):
        hi = np.append(hi, len(block))
    lo = np.zeros(len(hi), np.int64)
    lo[1:] = hi[:-1] + 1
    return split_texts(data, lo, hi, vocabulary)[0]


def split_texts(data: Bytes, lo: Ints, hi: Ints, vocabulary: Interner) -> tuple[Texts, Flags]:
    """Split texts at white space, as ``str.split`` does.

    Parameters
    ----------
    data
        UTF-8.
    lo, hi
        Where each text begins and ends.
    vocabulary
        It numbers the tokens.

    Returns
    -------
    texts
        Their tokens.
    odd : bool[n]
        Texts that are more than tokens with single spaces between them.
    """
    start = np.zeros(len(lo) + 1, np.int64)
    ids = np.empty((int((hi - lo).sum()) + len(lo)) // 2 + 1, np.int32)
    odd = np.zeros(len(lo), np.bool_)
    progress = np.zeros(1, np.int64)
    while not _split(data, lo, hi, start, ids, odd, progress, *vocabulary.tables):
        k = progress[0]
        vocabulary.grow(int(hi[k] - lo[k]))
    return Texts(start, ids[: start[-1]].copy()), odd


def tokenize_kept(texts: Sequence[str], vocabulary: Interner) -> tuple[Texts, dict[int, str]]:
    """Split texts into tokens, and keep those that are more than tokens with single spaces.

    Returns
    -------
    tokens
        Of each text. A line's end within a text is white space like any other.
    originals
        By index, the texts that their tokens do not say.
    """
    whole = "\n".join([*texts, ""])
    if whole.count("\n") == len(texts):
        block = whole.encode()
        tokens = tokenize(block, vocabulary)
        if is_plain(block, tokens, vocabulary):
            return tokens, {}
    else:
        block = "\n".join([text.replace("\n", " ") for text in texts] + [""]).encode()
        tokens = tokenize(block, vocabulary)
    return tokens, {k: t for k, t in enumerate(texts) if t != " ".join(t.split())}


def is_plain(block: bytes, texts: Texts, vocabulary: Interner) -> bool:
    """Tell whether lines are nothing but their tokens with single spaces between them."""
    if any(space in block for space in NARROW):
        return False
    widths = np.diff(vocabulary.start[: len(vocabulary) + 1])
    spaces = np.maximum(texts.lengths - 1, 0)
    return int(widths[texts.ids].sum()) + int(spaces.sum()) + len(texts) == len(block)


@kernel
def space_at(data: Bytes, i: int) -> Number:
    """Return the width in bytes of the white space at i, 0 if there is none.

    The characters of ``str.isspace``: U+0009-000D, 001C-001F, 0020, 0085, 00A0,
    1680, 2000-200A, 2028, 2029, 202F, 205F and 3000.
    """
    c = data[i]
    if CLASS[c] < 2:
        return np.int64(CLASS[c])
    n = data.shape[0]
    width = 0
    if c == 0xC2:
        if i + 1 < n and (data[i + 1] == 0x85 or data[i + 1] == 0xA0):
            width = 2
    elif i + 2 < n:
        b, a = data[i + 1], data[i + 2]
        if (
            (c == 0xE1 and b == 0x9A and a == 0x80)
            or (c == 0xE2 and b == 0x80 and (a <= 0x8A or a in (0xA8, 0xA9, 0xAF)))
            or (c == 0xE2 and b == 0x81 and a == 0x9F)
            or (c == 0xE3 and b == 0x80 and a == 0x80)
        ):
            width = 3
    return width


@inlined
def _may_be_spaces(word: Number) -> Number:
    """Return marks of the bytes of which ``CLASS`` is not 0, and of some others."""
    controls = (word - ONES * np.uint64(33)) & ~word & TOPS
    wide = word ^ (ONES * np.uint64(0xE0))  # of 0xE0 to 0xE3 there remain 0 to 3
    return controls | marks_of(word, 0xC2) | ((wide - ONES * np.uint64(4)) & ~wide & TOPS)


@inlined
def next_key(key: Number, byte: Number) -> Number:
    """Take one more byte of a token into its key; a key begins as 0.

    The key of a token of up to 8 bytes is these bytes, so that equal keys are equal tokens.
    There is no NUL in text, see :mod:`tunesmith.io.text.utf8`.
    """
    return (key >> np.uint64(8)) | (np.uint64(byte) << np.uint64(56))


@inlined
def slot_of(key: Number, size: Number) -> Number:
    """Return where the search for a key begins in a table of ``size`` slots."""
    spread = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((spread >> np.uint64(32)) & np.uint64(size - 1))


@kernel
def intern(
    key: Number,
    data: Bytes,
    lo: int,
    hi: int,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> Number:
    """Return the id of ``data[lo:hi]``, a new one if need be; -1 where the table is full.

    ``key`` is what :func:`next_key` made of the bytes. For a token of at most ``SHORT``
    bytes, loops look at ``slot_of(key)`` first: mostly it stands there.
    """
    if hi - lo > SHORT:
        for i in range(lo, hi - SHORT, 8):
            key = spread_bits(key ^ word_at(data, i))
        key |= LONG
    return intern_key(key, data, lo, hi, slots, keys, start, arena, used)


@kernel
def intern_key(
    key: Number,
    data: Bytes,
    lo: int,
    hi: int,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> Number:
    """Return the id of ``data[lo:hi]``, whose key is mixed of all its bytes if it is long."""
    size = slots.shape[0]
    slot = slot_of(key, size)
    while slots[slot] >= 0:
        if keys[slot] == key:
            known = np.int64(slots[slot])
            if hi - lo <= SHORT or _is_same(data, lo, hi, known, start, arena):
                return known
        slot = (slot + 1) & (size - 1)
    new = used[0]
    if new == start.shape[0] - 1 or start[new] + hi - lo > arena.shape[0]:
        return -1
    for i in range(lo, hi):
        arena[start[new] + i - lo] = data[i]
    start[new + 1] = start[new] + hi - lo
    slots[slot] = new
    keys[slot] = key
    used[0] = new + 1
    return new


@kernel
def _is_same(data: Bytes, lo: int, hi: int, number: Number, start: Ints, arena: Bytes) -> bool:
    """Tell whether a long token is the one of a number."""
    first = start[number]
    if start[number + 1] - first != hi - lo:
        return False
    for k in range(0, hi - lo - SHORT, 8):
        if word_at(arena, first + k) != word_at(data, lo + k):
            return False
    return bool(word_at(arena, first + hi - lo - SHORT) == word_at(data, hi - SHORT))


@kernel
def _rehash(slots: Ids, keys: Words, new_slots: Ids, new_keys: Words) -> None:
    size = new_slots.shape[0]
    for old in range(slots.shape[0]):
        if slots[old] >= 0:
            slot = slot_of(keys[old], size)
            while new_slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            new_slots[slot] = slots[old]
            new_keys[slot] = keys[old]


@kernel
def _split(
    data: Bytes,
    lo: Ints,
    hi: Ints,
    text_start: Ints,
    ids: Ids,
    odd: Flags,
    progress: Ints,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> bool:
    """Go on at the text ``progress``; false where the vocabulary is full.

    What comes often is done here: a call takes as long as all the rest for a token.
    """
    n = data.shape[0]
    size = slots.shape[0]
    for k in range(progress[0], lo.shape[0]):
        token = text_start[k]
        i, end = lo[k], hi[k]
        is_odd = False
        while i < end:
            first = i
            key = np.uint64(0)
            is_whole = False
            if i + 8 <= n:
                word = word_at(data, i)
                length = min(first_of(_may_be_spaces(word)), end - i)
                if length > 0:
                    key = word << (np.uint64(8 - length) << BITS)
                    i += length
                    is_whole = i == end or CLASS[data[i]] == 1
            if not is_whole:
                while i < end and (CLASS[data[i]] == 0 or space_at(data, i) == 0):
                    key = next_key(key, data[i])
                    i += 1
                # A text begins and ends with a token, and between two is one space.
                if i == first:
                    is_odd = True
                    i += space_at(data, i)
                    continue
            is_long = i - first > SHORT
            if is_long:
                for at in range(first, i - SHORT, 8):
                    key = spread_bits(key ^ word_at(data, at))
                key |= LONG
            slot = slot_of(key, size)
            number = np.int64(slots[slot])
            while number >= 0 and keys[slot] != key:
                slot = (slot + 1) & (size - 1)
                number = np.int64(slots[slot])
            if number < 0 or (is_long and not _is_same(data, first, i, number, start, arena)):
                number = intern_key(key, data, first, i, slots, keys, start, arena, used)
                if number < 0:
                    progress[0] = k
                    return False
            ids[token] = number
            token += 1
            if i < end:
                if data[i] == SPACE:
                    i += 1
                    is_odd = is_odd or i == end
                else:
                    is_odd = True
                    i += space_at(data, i)
        text_start[k + 1] = token
        odd[k] = is_odd
    return True
