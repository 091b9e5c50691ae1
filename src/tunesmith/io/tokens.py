"""From bytes to token ids: white space as ``str.split`` sees it, one id per distinct token."""

from __future__ import annotations

import itertools

import numpy as np

from tunesmith.arrays import Bytes, Ids, Ints, Number, Words
from tunesmith.data.candidates import Texts
from tunesmith.kernels import inlined, kernel


class Interner:
    """Distinct byte strings, numbered in the order in which they were first met.

    A hash table on arrays, so that kernels can ask it; they return when it is
    full, and it is grown between two calls.

    Attributes
    ----------
    slots : int32[size]
        Open addressing: the id that hashes here, or -1.
    hashes : uint64[capacity], start : int64[capacity + 1], arena : uint8[...]
        Hash and bytes of each id.
    used : int64[1]
        How many ids there are.
    """

    def __init__(self, capacity: int = 1 << 12) -> None:
        self.slots = np.full(2 * capacity, -1, np.int32)
        self.hashes = np.zeros(capacity, np.uint64)
        self.start = np.zeros(capacity + 1, np.int64)
        self.arena = np.zeros(16 * capacity, np.uint8)
        self.used = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self.used[0])

    @property
    def tables(self) -> tuple[Ids, Words, Ints, Bytes, Ints]:
        """What :func:`intern` takes."""
        return self.slots, self.hashes, self.start, self.arena, self.used

    def grow(self, room: int = 0) -> None:
        """Double the room for ids, and for bytes where less than ``room`` are left."""
        count = len(self)
        capacity = 2 * len(self.hashes)
        self.hashes = np.concatenate([self.hashes, np.zeros(capacity // 2, np.uint64)])
        self.start = np.concatenate([self.start, np.zeros(capacity // 2, np.int64)])
        self.arena = np.concatenate([self.arena, np.zeros(len(self.arena) + room, np.uint8)])
        self.slots = np.full(2 * capacity, -1, np.int32)
        _rehash(self.slots, self.hashes, count)

    def words(self, first: int = 0) -> list[str]:
        """Return the strings from id ``first`` on."""
        data = self.arena.tobytes()
        start = self.start[first : len(self) + 1].tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(start)]


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


@inlined
def space_at(data: Bytes, i: int) -> int:
    """Return the width in bytes of the white space at i, 0 if there is none.

    The characters of ``str.isspace``: U+0009-000D, 001C-001F, 0020, 0085, 00A0,
    1680, 2000-200A, 2028, 2029, 202F, 205F and 3000.
    """
    c = data[i]
    if c <= 32:
        return 1 if c == 32 or 9 <= c <= 13 or c >= 28 else 0
    if c < 0xC2 or c > 0xE3:
        return 0
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


@kernel
def intern(
    data: Bytes,
    lo: int,
    hi: int,
    slots: Ids,
    hashes: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> Number:
    """Return the id of ``data[lo:hi]``, a new one if need be; -1 where the table is full."""
    key = np.uint64(0xCBF29CE484222325)  # FNV-1a
    for i in range(lo, hi):
        key = (key ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
    mask = np.uint64(slots.shape[0] - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    while slots[np.int64(slot)] >= 0:
        known = np.int64(slots[np.int64(slot)])
        if hashes[known] == key and start[known + 1] - start[known] == hi - lo:
            at = start[known] - lo
            i = lo
            while i < hi and arena[at + i] == data[i]:
                i += 1
            if i == hi:
                return known
        slot = (slot + np.uint64(1)) & mask
    new = used[0]
    if new == hashes.shape[0] or start[new] + hi - lo > arena.shape[0]:
        return -1
    for i in range(lo, hi):
        arena[start[new] + i - lo] = data[i]
    start[new + 1] = start[new] + hi - lo
    hashes[new] = key
    slots[np.int64(slot)] = new
    used[0] = new + 1
    return new


@kernel
def _rehash(slots: Ids, hashes: Words, count: int) -> None:
    mask = np.uint64(slots.shape[0] - 1)
    for k in range(count):
        slot = (hashes[k] ^ (hashes[k] >> np.uint64(32))) & mask
        while slots[np.int64(slot)] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[np.int64(slot)] = k


@kernel
def _tokenize(
    data: Bytes,
    text_start: Ints,
    ids: Ids,
    progress: Ints,
    slots: Ids,
    hashes: Words,
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
        while i < n and space_at(data, i) == 0:
            i += 1
        word = intern(data, lo, i, slots, hashes, start, arena, used)
        if word < 0:
            progress[0], progress[1], progress[2] = lo, line, token
            return False
        ids[token] = word
        token += 1
    if n > 0 and data[n - 1] != 10:
        text_start[line + 1] = token
    return True
