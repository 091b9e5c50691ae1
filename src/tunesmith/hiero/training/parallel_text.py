"""Parallel text to train on: two files with a line for each pair, as ids over one vocabulary."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import FileDigest, Texts
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero.vocabulary import Vocabulary
from tunesmith.io.read import read_lines
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import Interner

Path = str | os.PathLike[str]

#: Pairs with more words on a side are left out: aligners take no more.
LONGEST = 200


@dataclass(frozen=True, eq=False)
class ParallelText:
    """N pairs of sentences.

    Attributes
    ----------
    source, target
        Both sides; neither side of a pair is empty.
    vocabulary
        The words of both.
    lines : int64[N]
        Where each pair stands in the files, from 0.
    total
        Lines of the files.
    empty, long
        Pairs that are left out: with no word on a side, or with more than ``LONGEST``.
    files
        What was read.
    """

    source: Texts
    target: Texts
    vocabulary: Vocabulary
    lines: Ints
    total: int
    empty: int = 0
    long: int = 0
    files: tuple[FileDigest, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def read(cls, source: Path, target: Path) -> ParallelText:
        """Read two files, plain or compressed."""
        words = Interner()
        sides, files = [], []
        for path in (source, target):
            file = Source(path)
            sides.append(read_lines(file, words))
            files.append(file.digest("text"))
        sources, other = sides
        if len(sources) != len(other):
            problem = f"it has {len(other)} lines and {files[0].path} has {len(sources)}"
            raise FormatError(files[1].path, None, problem, "give a line for each line of both")
        empty = (sources.lengths == 0) | (other.lengths == 0)
        long = ~empty & ((sources.lengths > LONGEST) | (other.lengths > LONGEST))
        lines = np.flatnonzero(~(empty | long))
        if not len(lines):
            raise TunesmithError(
                f"{files[0].path}: no line has words on both sides (up to {LONGEST}); "
                "give parallel text, one sentence per line"
            )
        return cls(
            sources.take(lines),
            other.take(lines),
            Vocabulary.of(words.words()),
            lines,
            len(sources),
            int(empty.sum()),
            int(long.sum()),
            tuple(files),
        )
