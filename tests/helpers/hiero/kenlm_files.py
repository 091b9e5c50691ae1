"""Binary models of KenLM, written in plain Python from the description of the format."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tests.helpers.hiero.arpa_files import Arpa, Ngram
from tunesmith.hiero.lm.language_model import LanguageModel

#: What `build_binary probing` of KenLM (revision 4cb443e) made of the ARPA file of ``EXAMPLE``.
FILE = Path(__file__).parents[2] / "hiero" / "lm" / "files" / "example.binary"
_LONG = "Donaudampfschifffahrt"
#: "über b", "b c" and "über b c" are missing, though longer n-grams end in them.
EXAMPLE = Arpa(
    4,
    {
        ("<unk>",): (-2.5, 0.0),
        ("<s>",): (-12.0, -0.5),
        ("</s>",): (-1.5, 0.0),
        ("a",): (-1.0, -0.25),
        ("b",): (-1.25, 0.125),
        ("c",): (-2.0, 0.0),
        ("über",): (-1.75, -0.75),
        (_LONG,): (-2.25, -1.5),
        ("sixteen",): (-3.0, 0.0),
        ("<s>", "a"): (-0.375, -0.5),
        ("<s>", "über"): (-0.625, 0.0),
        ("a", "b"): (-0.125, -0.875),
        ("b", "a"): (-0.75, 0.0),
        ("b", "</s>"): (-0.5, 0.0),
        ("a", _LONG): (-1.125, -0.375),
        (_LONG, "a"): (-0.875, 0.0),
        ("c", "c"): (-0.25, 0.0),
        ("<s>", "a", "b"): (-0.25, -0.125),
        ("<s>", "über", "b"): (-0.375, -0.25),
        ("a", "b", "a"): (-0.625, 0.0),
        ("a", "b", "c"): (-0.5, 0.0),
        ("b", "a", _LONG): (-0.75, -1.0),
        ("a", _LONG, "a"): (-0.625, -0.5),
        ("<s>", "a", "b", "a"): (-0.125, 0.0),
        ("<s>", "über", "b", "c"): (-0.25, 0.0),
        ("a", "b", "a", _LONG): (-0.375, 0.0),
        ("b", "a", _LONG, "a"): (-0.5, 0.0),
    },
)

_64_BITS = (1 << 64) - 1


def murmur(word: bytes) -> int:
    """Return MurmurHash64A of a word."""
    factor = 0xC6A4A7935BD1E995
    value = len(word) * factor & _64_BITS
    for k in range(0, len(word) - 7, 8):
        part = int.from_bytes(word[k : k + 8], "little") * factor & _64_BITS
        part = (part ^ (part >> 47)) * factor & _64_BITS
        value = (value ^ part) * factor & _64_BITS
    if rest := word[len(word) & ~7 :]:
        value = (value ^ int.from_bytes(rest, "little")) * factor & _64_BITS
    value = (value ^ (value >> 47)) * factor & _64_BITS
    return value ^ (value >> 47)


class Table:
    """A table with linear probing."""

    def __init__(self, count: int, multiplier: float, size: int) -> None:
        places = max(count + 1, int(np.float32(multiplier) * np.float32(count)))
        self.rows = [bytes(size)] * places

    def place(self, key: int) -> int:
        at = key % len(self.rows)
        while any(self.rows[at][:8]) and self.rows[at][:8] != key.to_bytes(8, "little"):
            at = (at + 1) % len(self.rows)
        return at

    def put(self, key: int, value: bytes) -> None:
        assert sum(any(row[:8]) for row in self.rows) < len(self.rows) - 1 or key == 0, "full"
        self.rows[self.place(key)] = key.to_bytes(8, "little") + value


def hashed(ngram: Ngram, numbers: dict[str, int]) -> int:
    """Return the key of an n-gram: a hash of its words from the last to the first."""
    key = numbers[ngram[-1]]
    for word in ngram[-2::-1]:
        factors = 8978948897894561157, 17894857484156487943
        key = (key * factors[0] ^ (numbers[word] + 1) * factors[1]) & _64_BITS
    return key


def with_blanks(arpa: Arpa) -> dict[Ngram, tuple[float, float]]:
    """Add, before each n-gram, what it ends in and is missing, with what back-off gives."""
    ngrams = {gram: value for gram, value in arpa.ngrams.items() if len(gram) == 1}
    for n in range(2, arpa.order + 1):
        for gram, value in arpa.ngrams.items():
            if len(gram) == n:
                ngrams[gram] = value
                for first in range(1, n - 1):
                    suffix = gram[first:]
                    if suffix not in ngrams:
                        ngrams[suffix] = (arpa.after(suffix[:-1], suffix[-1]), 0.0)
    return ngrams


def binary_of(arpa: Arpa, multiplier: float = 1.5) -> bytes:
    """Return a model as ``build_binary probing`` writes it."""
    ngrams = with_blanks(arpa)
    endings = {gram[1:] for gram in ngrams}
    contexts = {gram[:-1] for gram in ngrams}

    def values(gram: Ngram, is_longest: bool = False) -> bytes:
        probability, backoff = ngrams[gram]
        sign = 1.0 if gram in endings else -1.0
        zero = 0.0 if gram in contexts else -0.0
        pair = np.array([np.copysign(probability, sign), backoff or zero], "<f4")
        return pair[: 1 if is_longest else 2].tobytes()

    unigrams = [gram for gram in ngrams if len(gram) == 1 and gram != ("<unk>",)]
    numbers = {"<unk>": 0} | {word: k for k, (word,) in enumerate(unigrams, 1)}
    counts = [sum(len(gram) == n for gram in arpa.ngrams) for n in range(1, arpa.order + 1)]
    header = b"mmap lm http://kheafield.com/code format version 5\n".ljust(56, b"\0")
    header += struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, (1 << 32) - 1, 0, 1)
    header += struct.pack("<B3xfI?3xI", arpa.order, multiplier, 0, True, 0)
    header += struct.pack(f"<{arpa.order}Q", *counts)
    words = Table(counts[0], multiplier, 12)
    for (word,) in unigrams:
        words.put(murmur(word.encode()), struct.pack("<I", numbers[word]))
    parts = [header.ljust(-(-len(header) // 8) * 8, b"\0"), struct.pack("<2I", 0, len(numbers))]
    unknown = values(("<unk>",)) if ("<unk>",) in ngrams else struct.pack("<2f", -100.0, 0.0)
    rows = [unknown, *map(values, unigrams)]
    parts += [*words.rows, b"".join(rows).ljust(8 * (counts[0] + 1), b"\0")]
    for n in range(2, arpa.order + 1):
        is_longest = n == arpa.order
        table = Table(counts[n - 1], multiplier, 12 if is_longest else 16)
        for gram in ngrams:
            if len(gram) == n:
                table.put(hashed(gram, numbers), values(gram, is_longest))
        parts += table.rows
    return b"".join([*parts, *(word.encode() + b"\0" for word in numbers)])


def binary_model(arpa: Arpa, folder: Path) -> LanguageModel:
    """Return a model that was read from such a file; its tables have room for what is missing."""
    (folder / "lm.binary").write_bytes(binary_of(arpa, 8.0))
    return LanguageModel.read(folder / "lm.binary")
