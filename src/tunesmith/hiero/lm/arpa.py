r"""Language models in the ARPA format, which all toolkits write.

``\data\``, a line ``ngram 1=COUNT`` for each length, then for each length a line ``\1-grams:``
and lines with the logarithm to base 10 of a probability, the words, and the back-off of the
n-gram as a context; ``\end\``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.errors import FormatError
from tunesmith.hiero.lm.arpa_kernels import (
    BACKOFF_AT_TOP,
    BAD_BACKOFF,
    BAD_PROBABILITY,
    DONE,
    FEW_WORDS,
    FIRST,
    GAP,
    HI,
    LINE,
    LO,
    MANY_WORDS,
    NGRAMS,
    POSITION,
    POSITIVE,
    SECTION,
    TOO_LARGE,
    UNKNOWN_WORD,
    VOCABULARY_FULL,
    WORD_TWICE,
    read_ngrams,
)
from tunesmith.hiero.tables import Singles
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.text.tokens import Interner
from tunesmith.io.text.utf8 import check_utf8

#: The longest n-grams that are read.
MAX_ORDER = 16
#: The logarithm of 0, as many write it.
NOTHING = -99.0

_COUNT = re.compile(r"ngram\s+(\d+)\s*=\s*(\d+)")
_SECTION = re.compile(r"\\(\d+)-grams:")

# Where the reader is, where not within n-grams of some length.
_BEFORE, _HEADER, _AFTER = -2, -1, 0


@dataclass
class Ngrams:
    """The n-grams of one length, as a file has them.

    Attributes
    ----------
    order
        Their length.
    words : int32[order * n], probabilities, backoffs : float32[n]
        Words as numbers of unigrams.
    runs
        Runs of lines without a gap: the first line, and how many n-grams.
    """

    order: int
    words: Ids
    probabilities: Singles
    backoffs: Singles
    runs: list[tuple[int, int]]

    def text_of(self, k: int, words: Sequence[str]) -> str:
        """Return an n-gram as a message shows it."""
        return " ".join(words[w] for w in self.words[k * self.order : (k + 1) * self.order])

    def line_of(self, k: int) -> int:
        """Return the line of an n-gram, from 1."""
        for first, count in self.runs:
            if k < count:
                return first + k
            k -= count
        raise IndexError(k)


@dataclass
class ArpaReader:
    """Reads one file into ``words`` and ``lengths``.

    Parameters
    ----------
    source
        The file, plain or compressed.
    """

    source: Source
    words: Interner = field(default_factory=Interner)
    lengths: list[Ngrams] = field(default_factory=list)

    def read(self) -> None:
        """Read all of it."""
        self._counts: list[int] = []
        self._place, self._line = _BEFORE, 0
        self._has_nothing = False
        self._pieces: list[tuple[Ids, Singles, Singles]] = []
        self._runs: list[tuple[int, int]] = []
        self.source.check_line_ends()
        for block in self.source.blocks():
            if self._place == _BEFORE and not block.lstrip().startswith(b"\\data\\"):
                raise self._wrong(
                    "it does not begin with \\data\\, so it is no ARPA file",
                    "give a language model in the ARPA format",
                )
            check_utf8(block, self.source.name, self._line + 1)
            at = 0
            while at < len(block):
                at = self._ngrams(block, at) if self._place > 0 else self._other(block, at)
        if self._place != _AFTER:
            raise FormatError(
                self.source.name,
                self._line,
                "the file ends without \\end\\",
                "copy the file again, it is truncated",
            )

    def _wrong(self, problem: str, remedy: str) -> FormatError:
        """Return an error of the line that comes next."""
        return FormatError(self.source.name, self._line + 1, problem, remedy)

    def _other(self, block: bytes, at: int) -> int:
        """Take one line that is no n-gram; return where the next one begins."""
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        line = block[at:end].decode().strip()
        if line:
            self._take(line)
        self._line += 1
        return end + 1

    def _take(self, line: str) -> None:
        if self._place == _AFTER:
            raise self._wrong(f"'{line}' stands after \\end\\", "remove what follows")
        if self._place == _BEFORE:
            if line != "\\data\\":
                raise self._wrong(f"'{line}' is not \\data\\", "give the counts after \\data\\")
            self._place = _HEADER
        elif line.startswith("\\"):
            self._mark(line)
        else:
            self._count(line)

    def _count(self, line: str) -> None:
        """Take a line of the header."""
        match = _COUNT.fullmatch(line)
        if not match:
            raise self._wrong(f"'{line}' is no count", "write 'ngram 1=100', one line per length")
        order, count = int(match[1][:9]), int(match[2][:18])
        if order != len(self._counts) + 1:
            problem = f"the count of {order}-grams follows that of {len(self._counts)}-grams"
            raise self._wrong(problem, "give counts for 1, 2, ... words")
        if order > MAX_ORDER:
            problem = f"its n-grams have more than {MAX_ORDER} words"
            raise self._wrong(problem, "give a model of a lower order")
        self._counts.append(count)

    def _mark(self, line: str) -> None:
        """Take a line that begins a section, or the end."""
        done = len(self.lengths)
        if done == len(self._counts) and done > 0:
            if line != "\\end\\":
                raise self._wrong(f"'{line}' follows the last n-grams", "end with \\end\\")
            self._place = _AFTER
            return
        match = _SECTION.fullmatch(line)
        if not self._counts:
            raise self._wrong("there are no counts", "write 'ngram 1=100' below \\data\\")
        if not match or int(match[1][:9]) != done + 1:
            problem = f"'{line}' stands where \\{done + 1}-grams: should"
            raise self._wrong(problem, "give all n-grams, the short ones first")
        self._place = done + 1

    def _ngrams(self, block: bytes, at: int) -> int:
        """Take n-grams; return where something else begins, or the end of the block."""
        order, top = self._place, self._place == len(self._counts)
        data = np.frombuffer(block, np.uint8)
        room = block.count(b"\n", at) + 1
        probabilities, backoffs = np.empty(room, np.float32), np.empty(room, np.float32)
        words = np.empty(room * order, np.int32)
        info = np.zeros(6, np.int64)
        info[POSITION], info[LINE] = at, self._line
        bad_values = np.full(2, np.nan)
        known = self.lengths[0].probabilities.shape[0] if order > 1 else len(self.words)
        arrays = (info, bad_values, probabilities, backoffs, words, known)
        while True:
            status = read_ngrams(data, order, top, *arrays, *self.words.tables)
            self._line = int(info[LINE])
            if status in (DONE, SECTION, GAP):
                break
            if status == VOCABULARY_FULL:
                self.words.grow(len(block))
            else:
                self._stumbled(status, bytes(block[info[LO] : info[HI]]), bad_values)
        count = int(info[NGRAMS])
        if count:
            arrays_read = (words[: count * order], probabilities[:count], backoffs[:count])
            self._pieces.append(
                (arrays_read[0].copy(), arrays_read[1].copy(), arrays_read[2].copy())
            )
            self._runs.append((int(info[FIRST]) + 1, count))
        if status == SECTION:
            self._end_section()
        return int(info[POSITION])

    def _nothing(self, shown: str) -> float:
        """Return what stands for the logarithm of 0, as lmplz may write it."""
        if not self._has_nothing:
            self._has_nothing = True
            warnings.warn(
                f"{self.source.name}:{self._line + 1}: a logarithm is {shown}; it counts as "
                f"{NOTHING:g}, here and further on",
                stacklevel=2,
            )
        return NOTHING

    def _stumbled(self, status: int, token: bytes, bad_values: Floats) -> None:
        """Raise an error, unless it is a number that Python can read."""
        order, shown = self._place, token.decode("utf-8", "replace")
        if status in (BAD_PROBABILITY, BAD_BACKOFF):
            value = self._nothing(shown) if shown.lower() == "-inf" else float_or_nan(token)
            if not np.isnan(value):
                bad_values[0 if status == BAD_PROBABILITY else 1] = value
                return
            field = "the probability"
            if status == BAD_BACKOFF:
                field = f"what follows the {order} word{'s' if order > 1 else ''}, the back-off,"
            raise number_error(token, self.source.name, self._line + 1, field)
        problem, remedy = {
            POSITIVE: (
                f"the logarithm of a probability is {shown}, above 0",
                "give logarithms to base 10",
            ),
            TOO_LARGE: (f"the number {shown} is too large", "give logarithms to base 10"),
            BACKOFF_AT_TOP: (
                f"an n-gram of the greatest length, {order}, has the back-off {shown}",
                "remove it, or give longer n-grams",
            ),
            FEW_WORDS: (f"there are fewer than {order} words", "give the whole n-gram"),
            MANY_WORDS: (f"there are more than {order} words", "give n-grams of this length only"),
            UNKNOWN_WORD: (f"the word '{shown}' is no 1-gram", "list all words as 1-grams"),
            WORD_TWICE: (f"the word '{shown}' is there a second time", "list each word once"),
        }[status]
        raise self._wrong(problem, remedy)

    def _end_section(self) -> None:
        order = self._place
        pieces = self._pieces or [
            (np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.float32))
        ]
        words, probabilities, backoffs = (np.concatenate(p) for p in zip(*pieces, strict=True))
        if len(probabilities) != self._counts[order - 1]:
            problem = (
                f"there are {len(probabilities)} {order}-grams, but {self._counts[order - 1]} "
                "by the count below \\data\\"
            )
            raise self._wrong(problem, "copy the file again, or correct the count")
        self.lengths.append(Ngrams(order, words, probabilities, backoffs, self._runs))
        self._pieces, self._runs = [], []
        self._place = _HEADER
