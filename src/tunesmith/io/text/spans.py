"""Texts that stay where they were read: parts of a buffer, which kernels look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from tunesmith.arrays import Bytes, Flags, Ids, Ints, Number, Words
from tunesmith.data.candidates import Texts
from tunesmith.io.text.tokens import (
    Interner,
    intern,
    next_key,
    space_at,
    split_texts,
    tokenize,
)
from tunesmith.io.text.utf8 import first_error
from tunesmith.kernels import kernel

QUOTE = 34


@dataclass(frozen=True)
class Spans(Sequence[str | None]):
    """Texts as parts of a buffer of UTF-8; a sequence of them makes each when it is asked for.

    Attributes
    ----------
    data : uint8[...]
        The buffer.
    lo, hi : int64[n]
        Where each text begins and ends.
    missing : bool[n] or None
        Texts that are None.
    """

    data: Bytes
    lo: Ints
    hi: Ints
    missing: Flags | None = None

    def __len__(self) -> int:
        return len(self.lo)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | list[str | None] | None:
        if isinstance(index, slice):
            return [self[k] for k in range(len(self))[index]]
        if self.missing is not None and self.missing[index]:
            return None
        return self.data[self.lo[index] : self.hi[index]].tobytes().decode()

    def __iter__(self) -> Iterator[str | None]:
        if not len(self):
            return
        first = int(self.lo.min())
        part = self.data[first : int(self.hi.max())].tobytes()
        ends = zip((self.lo - first).tolist(), (self.hi - first).tolist(), strict=True)
        for k, (lo, hi) in enumerate(ends):
            yield None if self.missing is not None and self.missing[k] else part[lo:hi].decode()

    def take(self, rows: Ints) -> Spans:
        """Return some of the texts."""
        missing = None if self.missing is None else self.missing[rows]
        return Spans(self.data, self.lo[rows], self.hi[rows], missing)

    def is_text(self) -> bool:
        """Tell whether all are UTF-8 without NUL."""
        if not len(self):
            return True
        lo, hi = int(self.lo.min()), int(self.hi.max())
        return first_error(self.data[lo:hi]) < 0

    def is_empty(self) -> Flags:
        """Return which texts are missing, or nothing but white space."""
        empty = np.zeros(len(self), np.bool_)
        _find_empty(self.data, self.lo, self.hi, empty)
        return empty if self.missing is None else empty | self.missing

    def may_be_values(self, initials: bytes = b"0123456789+-.") -> Flags:
        """Return which texts begin, after white space, with one of these bytes, as numbers do."""
        is_initial = np.zeros(256, np.bool_)
        is_initial[list(initials)] = True
        begins = np.zeros(len(self), np.bool_)
        _find_initials(self.data, self.lo, self.hi, is_initial, begins)
        return begins if self.missing is None else begins & ~self.missing

    def repeats(self) -> Flags:
        """Return which texts equal the one before."""
        equal = np.zeros(len(self), np.bool_)
        _find_repeats(self.data, self.lo, self.hi, equal)
        if self.missing is not None:
            equal[1:] &= self.missing[1:] == self.missing[:-1]
        return equal

    def numbered(self) -> tuple[list[str], Ints]:
        """Return the distinct texts, in their order, and the number of each one's."""
        words = Interner()
        is_new = ~self.repeats()  # as a rule, rows of a group stand together
        rows = np.flatnonzero(is_new)
        lo, hi = self.lo[rows], self.hi[rows]
        numbers = np.empty(len(rows), np.int64)
        done = np.zeros(1, np.int64)
        while not _number(self.data, lo, hi, numbers, done, *words.tables):
            words.grow(int(hi[done[0]] - lo[done[0]]))
        return words.words(), numbers[np.cumsum(is_new) - 1]


@dataclass(frozen=True)
class Tokens:
    """Texts in tokens, numbered by themselves, so that several threads can make them.

    Attributes
    ----------
    texts
        Token ids.
    words
        What they stand for.
    odd : bool[n]
        Texts that are more than tokens with single spaces between them.
    """

    texts: Texts
    words: list[str]
    odd: Flags

    def renumbered(self, vocabulary: Interner) -> Texts:
        """Return the texts over a vocabulary that several have in common."""
        ids = tokenize("\n".join([*self.words, ""]).encode(), vocabulary).ids
        return Texts(self.texts.start, ids[self.texts.ids])


def tokens_of(spans: Spans) -> Tokens:
    """Split texts at white space, as ``str.split`` does."""
    words = Interner()
    # What is missing may have bytes in its place.
    hi = spans.hi if spans.missing is None else np.where(spans.missing, spans.lo, spans.hi)
    texts, odd = split_texts(spans.data, spans.lo, hi, words)
    return Tokens(texts, words.words(), odd)


def with_single_quotes(spans: Spans, doubled: Flags) -> Spans:
    """Return texts with one quotation mark for each two, where they are doubled."""
    if not doubled.any():
        return spans
    sizes = spans.hi - spans.lo
    data = np.empty(int(sizes.sum()), np.uint8)
    lo, hi = np.empty(len(spans), np.int64), np.empty(len(spans), np.int64)
    _copy_once(spans.data, spans.lo, spans.hi, doubled, data, lo, hi)
    data.flags.writeable = False  # as all that is read: kernels are compiled for it once
    return Spans(data, lo, hi, spans.missing)


@kernel
def _find_empty(data: Bytes, lo: Ints, hi: Ints, empty: Flags) -> None:
    for k in range(lo.shape[0]):
        i = lo[k]
        width: Number = 1
        while i < hi[k] and width > 0:
            width = space_at(data, i)
            i += width
        empty[k] = width > 0


@kernel
def _find_initials(data: Bytes, lo: Ints, hi: Ints, is_initial: Flags, begins: Flags) -> None:
    for k in range(lo.shape[0]):
        i = lo[k]
        while i < hi[k]:
            width = space_at(data, i)
            if width == 0:
                begins[k] = is_initial[data[i]]
                break
            i += width


@kernel
def _find_repeats(data: Bytes, lo: Ints, hi: Ints, equal: Flags) -> None:
    for k in range(1, lo.shape[0]):
        size = hi[k] - lo[k]
        if size != hi[k - 1] - lo[k - 1]:
            continue
        same = True
        for i in range(size):
            if data[lo[k] + i] != data[lo[k - 1] + i]:
                same = False
                break
        equal[k] = same


@kernel
def _number(
    data: Bytes,
    lo: Ints,
    hi: Ints,
    numbers: Ints,
    done: Ints,
    slots: Ids,
    keys: Words,
    start: Ints,
    arena: Bytes,
    used: Ints,
) -> bool:
    """Go on at ``done``; false where the table is full."""
    for k in range(done[0], lo.shape[0]):
        key = np.uint64(0)
        for i in range(lo[k], hi[k]):
            key = next_key(key, data[i])
        number = intern(key, data, lo[k], hi[k], slots, keys, start, arena, used)
        if number < 0:
            done[0] = k
            return False
        numbers[k] = number
    return True


@kernel
def _copy_once(
    data: Bytes, lo: Ints, hi: Ints, doubled: Flags, to: Bytes, to_lo: Ints, to_hi: Ints
) -> None:
    at = 0
    for k in range(lo.shape[0]):
        to_lo[k] = at
        i = lo[k]
        while i < hi[k]:
            to[at] = data[i]
            at += 1
            i += 2 if doubled[k] and data[i] == QUOTE else 1
        to_hi[k] = at
