"""Language models as KenLM's ``build_binary`` writes them, of its default kind ``probing``.

Heafield, "KenLM: faster and smaller language model queries" (WMT 2011), section 3.1. A file has,
as the machine keeps numbers in memory,

- a header: what it is, numbers whose bytes are as on any such machine, the greatest length of an
  n-gram, how much larger tables are than their contents, and how many n-grams of each length the
  ARPA file had; it ends at a multiple of 8 bytes;
- a table from hashes of words to their numbers, which is not read: the words are there themselves;
- probability and back-off of each unigram, the unknown word first, and room for one more;
- for each further length a table with open addressing and its n-grams: a key, as ``keys`` has it,
  the probability and, but for the greatest length, the back-off; a key of 0 is an empty place;
- the words by their numbers, a NUL behind each.

A probability without its minus sign is that of an n-gram which longer ones end in; a back-off of
-0.0 that of one which no longer one begins with. What lies within n-grams is there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Flags, Ints, Number, Words
from tunesmith.errors import FormatError
from tunesmith.hiero.lm.arpa import MAX_ORDER
from tunesmith.hiero.lm.tables import model_arrays, require_ends, size_for, warn_of_unknown
from tunesmith.hiero.tables import (
    EMPTY,
    ENTRY,
    EXTENDS_LEFT,
    EXTENDS_RIGHT,
    PLAIN,
    ModelArrays,
    Singles,
)
from tunesmith.io.streams import Source
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits

#: How all binary models of KenLM begin, and those that can be read.
BINARY = b"mmap lm http://kheafield.com/code"
_MAGIC = (BINARY + b" format version 5\n").ljust(56, b"\0")
_CHECKED = struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1)
#: Order, size of tables by their contents, kind, whether there are words, version of the kind.
_PARAMETERS = struct.Struct("<B3xfI?3xI")
_KINDS = (
    "probing",
    "probing with rest costs",
    "trie",
    "quantised trie",
    "compressed trie",
    "quantised and compressed trie",
)
_WORD_BYTES = 12
_UNIGRAM = np.dtype([("probability", "<f4"), ("backoff", "<f4")])
_MIDDLE = np.dtype([("key", "<u8"), ("probability", "<f4"), ("backoff", "<f4")])
_LONGEST = np.dtype([("key", "<u8"), ("probability", "<f4")])
#: Places of a table that are taken at a time.
_AT_ONCE = 1 << 20

#: Another binary or the ARPA file, as remedies.
_AGAIN = "make it again with `build_binary probing lm.arpa lm.binary`, or give the ARPA file"
_COPY = "copy the file again, or give the ARPA file"

# How n-grams were added.
_DONE, _NO_LOGARITHM, _MISPLACED, _SHARED = range(4)
# What is known of a table while its n-grams are added: where the places without a gap begin.
_RUN = 0
_0, _1 = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class _Table:
    """The n-grams of one length: where the table begins, its places, and what each holds."""

    offset: int
    places: int
    dtype: np.dtype[Any]

    @property
    def end(self) -> int:
        return self.offset + self.places * self.dtype.itemsize

    def pieces(self, data: memoryview) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the places, some at a time, and the first of them."""
        for first in range(0, self.places, _AT_ONCE):
            count = min(_AT_ONCE, self.places - first)
            begin = self.offset + first * self.dtype.itemsize
            yield first, np.frombuffer(data, self.dtype, count, begin)

    def occupied(self, data: memoryview) -> int:
        """Return how many n-grams there are."""
        return sum(int(np.count_nonzero(piece["key"])) for _, piece in self.pieces(data))


def read_binary(source: Source) -> tuple[ModelArrays, list[str]]:
    """Return a model and its words, whose numbers are nodes.

    The n-grams are put into a table of our own, which the search has for all models.
    """
    name, data = source.name, source.buffer()
    order, multiplier = _header(name, data)
    at = len(_MAGIC) + len(_CHECKED) + _PARAMETERS.size
    if len(data) < at + 8 * order:
        raise _truncated(name)
    counts = struct.unpack_from(f"<{order}Q", data, at)
    at = -(-(at + 8 * order) // 8) * 8
    unigrams_at = at + 8 + _WORD_BYTES * _places(counts[0], multiplier)
    tables = _tables(unigrams_at + (counts[0] + 1) * _UNIGRAM.itemsize, counts[1:], multiplier)
    end = tables[-1].end
    if len(data) < end:
        raise _truncated(name)
    version, size = struct.unpack_from("<2I", data, at)
    if version != 0 or size - counts[0] not in (0, 1):
        raise _damaged(name, "its number of words is not that of its unigrams")
    words = _words(name, bytes(data[end:]), size)
    if size > counts[0]:
        warn_of_unknown(name, float(-np.abs(_unigrams(data, unigrams_at, 1)["probability"][0])))

    occupied = [table.occupied(data) for table in tables]
    for n, (number, count) in enumerate(zip(occupied, counts[1:], strict=True), 2):
        if number < count or (n == order and number > count):
            raise _damaged(name, f"there are {number} {n}-grams, and {count} by its header")
    entries = np.zeros(size + size_for(sum(occupied), name), ENTRY)
    entries["key"][size:] = EMPTY
    _add_unigrams(name, _unigrams(data, unigrams_at, size), entries)
    for n, table in enumerate(tables, 2):
        _add_table(name, n, table, data, entries, size)
    known = require_ends(name, words)
    return model_arrays(order, known["<s>"], known["</s>"], 0, size, entries, True), words


def _header(name: str, data: memoryview) -> tuple[int, float]:
    """Return the order and the relative size of tables, if the model is one that can be read."""
    begin = bytes(data[: len(_MAGIC) + len(_CHECKED)])
    if begin.startswith(BINARY + b" incomplete"):
        raise FormatError(name, None, "build_binary of KenLM did not finish it", _AGAIN)
    if len(data) < len(_MAGIC) + len(_CHECKED) + _PARAMETERS.size:
        raise _truncated(name)
    if not begin.startswith(_MAGIC):
        raise FormatError(name, None, "it is a binary of an old version of KenLM", _AGAIN)
    if not begin.endswith(_CHECKED):
        problem = "it is a binary of KenLM from another kind of machine"
        raise FormatError(name, None, problem, _AGAIN)
    order, multiplier, kind, has_words, version = _PARAMETERS.unpack_from(data, len(begin))
    if kind != 0 or version != 0:
        shown = _KINDS[kind] if kind < len(_KINDS) else f"number {kind}"
        problem = f"it is a '{shown}' binary of KenLM, and only 'probing' ones are read"
        raise FormatError(name, None, problem, _AGAIN)
    if not 2 <= order <= MAX_ORDER:
        problem = f"it has n-grams of up to {order} words, and 2 to {MAX_ORDER} are read"
        raise FormatError(name, None, problem, "give an ARPA file of such an order")
    if not has_words:
        remedy = "make it again without -v, or give the ARPA file"
        raise FormatError(name, None, "it is a binary of KenLM without words", remedy)
    if not 1.0 <= multiplier < 1e6:
        raise _damaged(name, f"its tables are {multiplier:g} times as large as their contents")
    return order, multiplier


def _tables(at: int, counts: Sequence[int], multiplier: float) -> list[_Table]:
    """Return where the n-grams of two words and more are, from a place on."""
    tables: list[_Table] = []
    for count in counts:
        dtype = _MIDDLE if len(tables) + 1 < len(counts) else _LONGEST
        tables.append(_Table(at, _places(count, multiplier), dtype))
        at = tables[-1].end
    return tables


def _truncated(name: str) -> FormatError:
    problem = "the binary of KenLM ends too early"
    return FormatError(name, None, problem, "copy the file again, it is truncated")


def _damaged(name: str, problem: str) -> FormatError:
    return FormatError(name, None, f"the binary of KenLM is damaged: {problem}", _COPY)


def _places(count: int, multiplier: float) -> int:
    """Return the size of a table, which KenLM computes in single precision."""
    return max(count + 1, int(np.float32(multiplier) * np.float32(count)))


def _words(name: str, text: bytes, size: int) -> list[str]:
    if text[:6] != b"<unk>\0":
        raise _damaged(name, "its words are not where its header has them")
    if not text.endswith(b"\0") or text.count(b"\0") < size:
        raise _truncated(name)
    try:
        words = text.decode().split("\0")[:-1]
    except UnicodeDecodeError:
        problem = "it has words that are not UTF-8"
        raise FormatError(name, None, problem, "make it again from an ARPA file in UTF-8") from None
    if len(words) > size or len(set(words)) < size:
        raise _damaged(name, f"there are not {size} words, all different")
    return words


def _unigrams(data: memoryview, at: int, count: int) -> NDArray[Any]:
    return np.frombuffer(data, _UNIGRAM, count, at)


def _add_unigrams(name: str, unigrams: NDArray[Any], entries: NDArray[Any]) -> None:
    probabilities, backoffs = unigrams["probability"], unigrams["backoff"]
    if not (np.isfinite(probabilities).all() and np.isfinite(backoffs).all()):
        raise _damaged(name, "a logarithm of a 1-gram is not finite")
    first = entries[: len(unigrams)]
    has_longer: Flags = ~np.signbit(probabilities)
    is_context: Flags = (backoffs != 0.0) | ~np.signbit(backoffs)
    first["key"] = np.arange(len(unigrams), dtype=np.uint64)
    first["key"] |= has_longer * EXTENDS_LEFT | is_context * EXTENDS_RIGHT
    first["probability"] = -np.abs(probabilities)
    first["backoff"] = backoffs + np.float32(0.0)


def _add_table(
    name: str, n: int, table: _Table, data: memoryview, entries: NDArray[Any], words: int
) -> None:
    known = np.full(1, -1, np.int64)
    for first, piece in table.pieces(data):
        keys, probabilities = piece["key"].copy(), piece["probability"].copy()
        has_backoffs = table.dtype is _MIDDLE
        backoffs = piece["backoff"].copy() if has_backoffs else np.full_like(probabilities, -0.0)
        status = add_hashed(
            keys, probabilities, backoffs, first, table.places, known, words, entries
        )
        if status == _NO_LOGARITHM:
            raise _damaged(name, f"a logarithm of a {n}-gram is not finite")
        if status == _MISPLACED:
            raise _damaged(name, f"a {n}-gram is at a wrong place")
        if status == _SHARED:
            problem = "two n-grams of the binary of KenLM have the same key"
            raise FormatError(name, None, problem, "give the ARPA file")


@kernel
def add_hashed(
    keys: Words,
    probabilities: Singles,
    backoffs: Singles,
    first: int,
    places: int,
    known: Ints,
    words: int,
    entries: NDArray[Any],
) -> int:
    """Add the n-grams in some places of a table, from the first on, behind the unigrams.

    A search of KenLM's begins at the key modulo the number of places, and ends at a gap: so there
    is none between there and the place itself. Where the table begins, searches may come from its
    end; this is not looked at.
    """
    mask = np.uint64(entries.shape[0] - words - 1)
    for k in range(keys.shape[0]):
        if keys[k] == _0:
            known[_RUN] = first + k + 1
            continue
        home = np.int64(keys[k] % np.uint64(places))
        if known[_RUN] >= 0 and not known[_RUN] <= home <= first + k:
            return _MISPLACED
        if not (np.isfinite(probabilities[k]) and np.isfinite(backoffs[k])):
            return _NO_LOGARITHM
        key = keys[k] & PLAIN
        place = spread_bits(key) & mask
        while entries[words + np.int64(place)]["key"] != EMPTY:
            if entries[words + np.int64(place)]["key"] & PLAIN == key:
                return _SHARED
            place = (place + _1) & mask
        at = words + np.int64(place)
        if not _is_negative(probabilities[k]):
            key |= EXTENDS_LEFT
        if not (backoffs[k] == 0.0 and _is_negative(backoffs[k])):
            key |= EXTENDS_RIGHT
        entries[at]["key"] = key
        entries[at]["probability"] = -abs(probabilities[k])
        entries[at]["backoff"] = backoffs[k] + np.float32(0.0)
    return _DONE


@kernel
def _is_negative(value: Number) -> bool:
    """Tell whether a number has a minus sign, -0.0 too."""
    return bool(np.signbit(value))
