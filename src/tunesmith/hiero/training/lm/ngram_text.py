"""Text as numbers: a number for each word, in the order in which words first come."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.streams import Source
from tunesmith.io.text.utf8 import check_utf8

#: The words that a language model has of its own, and their numbers.
RESERVED = ("<unk>", "<s>", "</s>")
UNKNOWN, BEGIN, END = range(3)

#: Sentences that are taken together where they come one by one.
TOGETHER = 1 << 14
#: How lines that come from no file are named in errors.
NO_FILE = "the text"


class NumberedText:
    """Words get numbers as text goes by; the words themselves stay in memory.

    Words are what white space separates (``str.split``). A line is a sentence, also an empty one.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__
        for word in RESERVED:
            self._numbers[word]

    @property
    def words(self) -> tuple[str, ...]:
        """All words so far, by number."""
        return tuple(self._numbers)

    def of_files(self, paths: Sequence[str | os.PathLike[str]]) -> Iterator[tuple[Ids, Ints]]:
        """Yield the words of files, a block of sentences at a time, and how many each has."""
        for path in paths:
            source = Source(path)
            source.check_line_ends()
            first = 1
            for block in source.blocks():
                check_utf8(block, source.name, first)
                lines = block.decode().split("\n")
                if not lines[-1]:
                    lines.pop()
                yield self._numbered(lines, source.name, first)
                first += len(lines)

    def of_lines(self, lines: Iterable[str]) -> Iterator[tuple[Ids, Ints]]:
        """Yield the words of sentences that come one by one."""
        rest, first = iter(lines), 1
        while block := list(itertools.islice(rest, TOGETHER)):
            for number, line in enumerate(block, first):
                if not line.isascii():
                    _check_unicode(line, number)
            yield self._numbered(block, NO_FILE, first)
            first += len(block)

    def _numbered(self, lines: list[str], name: str, first: int) -> tuple[Ids, Ints]:
        split = [line.split() for line in lines]
        lengths = np.fromiter(map(len, split), np.int64, len(split))
        words = map(self._numbers.__getitem__, itertools.chain.from_iterable(split))
        ids = np.fromiter(words, np.int32, int(lengths.sum()))
        reserved = np.flatnonzero(ids < len(RESERVED))
        if len(reserved):
            at = int(reserved[0])
            line = first + int(np.searchsorted(np.cumsum(lengths), at, side="right"))
            problem = f"the word {RESERVED[ids[at]]} belongs to language models themselves"
            raise FormatError(name, line, problem, "take it out of the text, or spell it otherwise")
        return ids, lengths


def _check_unicode(line: str, number: int) -> None:
    try:
        line.encode()
    except UnicodeEncodeError:
        problem = "it holds half a character (a lone surrogate)"
        raise FormatError(NO_FILE, number, problem, "decode the text as what it is") from None


def check_words(words: Sequence[str], name: str) -> None:
    """Raise an error if text had no words at all."""
    if len(words) == len(RESERVED):
        raise TunesmithError(f"{name}: there are no words; give at least one sentence")
