"""Words and their ids, in arrays that may be on disk."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Bytes, Ids, Ints, Words
from tunesmith.data.rows import offsets
from tunesmith.hiero.store import Portable, frozen
from tunesmith.kernels import kernel


@dataclass(frozen=True, eq=False)
class Vocabulary(Portable):
    """Distinct words, numbered from 0 on; nothing is read until a word is asked for.

    Attributes
    ----------
    start : int64[n + 1], letters : uint8[...]
        The bytes of each word.
    hashes : uint64[n], order : int32[n]
        The hashes of all words, ascending, and whose they are.
    """

    start: Ints
    letters: Bytes
    hashes: Words
    order: Ids

    @classmethod
    def of(cls, words: Sequence[str]) -> Vocabulary:
        """Give words, which are distinct, their numbers in the order given."""
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        start = offsets([len(encoded_word) for encoded_word in encoded])
        letters = np.frombuffer(b"".join(encoded), np.uint8)
        hashes = _hashes(encoded)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return cls(frozen(start), frozen(letters), frozen(hashes[order]), frozen(order))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return its arrays by name, as they are written to disk."""
        return {
            "word_start": self.start,
            "word_letters": self.letters,
            "word_hashes": self.hashes,
            "word_order": self.order,
        }

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, word: int) -> str:
        return bytes(self.letters[self.start[word] : self.start[word + 1]]).decode(
            "utf-8", "surrogatepass"
        )

    def __contains__(self, word: str) -> bool:
        return int(self.ids_of([word])[0]) >= 0

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words; the first time takes some milliseconds for each ten thousand."""
        letters, start = self.letters.tobytes(), self.start.tolist()
        return tuple(
            letters[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(start)
        )

    def ids_of(self, words: Sequence[str]) -> Ids:
        """Return the id of each word, -1 for those that are not there."""
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        hashes = _hashes(encoded)
        places = np.searchsorted(self.hashes, hashes)
        ids = np.full(len(words), -1, np.int32)
        for k, (word, value, place) in enumerate(zip(encoded, hashes, places, strict=True)):
            at = int(place)
            while at < len(self.hashes) and self.hashes[at] == value:
                candidate = int(self.order[at])
                if bytes(self.letters[self.start[candidate] : self.start[candidate + 1]]) == word:
                    ids[k] = candidate
                    break
                at += 1
        return ids

    def ids_in(self, other: Vocabulary) -> Ids:
        """Return the id that each word has in another vocabulary, -1 for those it lacks."""
        places = np.searchsorted(other.hashes, self.hashes)
        return _matched(
            self.start, self.letters, self.hashes, self.order,
            other.start, other.letters, other.hashes, other.order,
            places,
        )  # fmt: skip

    def is_sound(self) -> bool:
        """Tell whether its arrays go together, and every word is text."""
        size, start, letters = len(self.order), self.start, self.letters
        if any(array.ndim != 1 for array in (start, letters, self.hashes, self.order)):
            return False
        if self.hashes.shape != (size,) or start.shape != (size + 1,):
            return False
        if start[0] != 0 or start[-1] != len(letters) or bool((start[1:] < start[:-1]).any()):
            return False
        if size and (self.order.min() < 0 or self.order.max() >= size):
            return False
        # No word begins within a character, and all of them together are UTF-8.
        begins = start[:-1][start[:-1] < len(letters)]
        if bool(((letters[begins] & 0xC0) == 0x80).any()):
            return False
        try:
            letters.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        return True


@kernel
def _matched(
    start: Ints,
    letters: Bytes,
    hashes: Words,
    order: Ids,
    other_start: Ints,
    other_letters: Bytes,
    other_hashes: Words,
    other_order: Ids,
    places: Ints,
) -> Ids:
    """Return the ids in the other vocabulary of words whose hashes may be at some places."""
    ids = np.full(order.shape[0], -1, np.int32)
    for k in range(order.shape[0]):
        word = order[k]
        lo, size = start[word], start[word + 1] - start[word]
        at = places[k]
        while at < other_hashes.shape[0] and other_hashes[at] == hashes[k] and ids[word] < 0:
            other = other_order[at]
            first = other_start[other]
            same = other_start[other + 1] - first == size
            place = 0
            while same and place < size:
                same = letters[lo + place] == other_letters[first + place]
                place += 1
            if same:
                ids[word] = other
            at += 1
    return ids


def _hashes(words: Iterable[bytes]) -> Words:
    digests = b"".join(hashlib.blake2b(word, digest_size=8).digest() for word in words)
    return np.frombuffer(digests, "<u8").astype(np.uint64)
