"""From bytes to token ids: white space as ``str.split`` sees it, one id per distinct token."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Bytes, Ids, Ints, Number, Words
from tunesmith.data.candidates import Texts
from tunesmith.kernels import inlined, kernel

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
    lines = block.count(b"\n") + (not block.endswith(b"\n") and len(block) > 0)
    start = np.zeros(lines + 1, np.int64)
    ids = np.empty(len(block) // 2 + 1, np.int32)
    progress = np.zeros(3, np.int64)
    while not _tokenize(data, start, ids, progress, *vocabulary.tables):
        vocabulary.grow(len(block))
    return Texts(start, ids[: start[-1]].copy())


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
    long = hi - lo > SHORT
    if long:
        for i in range(lo, hi):
            key = (key ^ np.uint64(data[i])) * np.uint64(0x100000001B3)  # FNV-1a
        key |= LONG
    size = slots.shape[0]
    slot = slot_of(key, size)
    while slots[slot] >= 0:
        if keys[slot] == key:
            known = np.int64(slots[slot])
            if not long or _same(data, lo, hi, start[known], start[known + 1], arena):
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
def _same(data: Bytes, lo: int, hi: int, first: int, last: int, arena: Bytes) -> bool:
    if last - first != hi - lo:
        return False
    same = True
    for k in range(hi - lo):
        same &= arena[first + k] == data[lo + k]
    return same


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
def _tokenize(
    data: Bytes,
    text_start: Ints,
    ids: Ids,
    progress: Ints,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> bool:
    """Go on at ``progress`` (byte, line, token); false where the vocabulary is full."""
    i, line, token = progress[0], progress[1], progress[2]
    n = data.shape[0]
    while i < n:
        if data[i] == 10:
            line += 1
            text_start[line] = token
            i += 1
            continue
        width = space_at(data, i)
        if width > 0:
            i += width
            continue
        lo = i
        key = np.uint64(0)
        while i < n and (CLASS[data[i]] == 0 or space_at(data, i) == 0):
            key = next_key(key, data[i])
            i += 1
        slot = slot_of(key, slots.shape[0])
        word = np.int64(slots[slot])
        if word < 0 or keys[slot] != key or i - lo > SHORT:
            word = intern(key, data, lo, i, slots, keys, start, arena, used)
        if word < 0:
            progress[0], progress[1], progress[2] = lo, line, token
            return False
        ids[token] = word
        token += 1
    if n > 0 and data[n - 1] != 10:
        text_start[line + 1] = token
    return True
