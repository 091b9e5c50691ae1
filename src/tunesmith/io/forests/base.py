"""The formats of forests, by name, and what their readers share."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.data.raw_forest import RawForest, RawForestError
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.compression import without_suffix
from tunesmith.io.streams import Source
from tunesmith.registry import Registry


class Numbering(dict[str, int]):
    """Texts numbered in the order in which they are first asked for: ``numbering[text]``."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__((text, k) for k, text in enumerate(texts))

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number

    def split(self, text: str) -> list[int]:
        """Return the numbers of a text's tokens."""
        return [self[token] for token in text.split()]


class ForestFormat(ABC):
    """Reads and writes forests in one format.

    A format needs :meth:`read`, and :meth:`write` if it can be written. Options, if there are
    any, are the fields of a frozen dataclass.
    """

    name: ClassVar[str]
    #: Endings of names of files of this format, without that of a compression: a file is
    #: written so without being asked to, and a folder's files are found by them.
    suffixes: ClassVar[tuple[str, ...]] = ()
    #: A file holds one forest, whose id is the number in the file's name, or the count of
    #: forests before it: what :meth:`read` says is not looked at.
    one_a_file: ClassVar[bool] = False
    #: Endings of a file that one forest is written to; of any other name a folder is made,
    #: with one file per forest. Where there are none, all forests go to one file.
    single_endings: ClassVar[tuple[str, ...]] = ()
    #: A line that is cut may look whole, with a number of fewer digits; so the last must end too.
    ends_lines: ClassVar[bool] = False
    #: How to name the words of a format that may have numbers in their place.
    word_table: ClassVar[str] = ""
    #: Which of references and sources it has a place for.
    holds: ClassVar[frozenset[str]] = frozenset()

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell from the first bytes whether a file is of this format."""
        return False

    @abstractmethod
    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the forests of a file, one at a time, as the file has them.

        What is wrong with the text is a FormatError with its line. What is wrong with the graph
        (nodes that are not there, cycles, numbers that are not finite) is found afterwards, by
        :class:`FileOrder`.

        Parameters
        ----------
        source
            The file.
        names, words
            The numbers of features and of tokens, those of all files of a set.
        """

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all; one forest is in memory at a time."""
        raise UsageError(f"format '{self.name}' can be read only; name another one")


FOREST_FORMATS: Registry[ForestFormat] = Registry(
    "forest format",
    "tunesmith.io.forests tunesmith.io.forests.lattices",
    "tunesmith.forest_formats",
    ForestFormat,
)


def forest_format_shown(head: bytes) -> str | None:
    """Return the name of the format that a file's first bytes show; None for none of them."""
    for name in FOREST_FORMATS.names():
        if FOREST_FORMATS.get(name).recognises(head):
            return name
    return None


class FileOrder:
    """Puts the forests of one file in order; at the end it says what was left out of them."""

    def __init__(self, file_name: str) -> None:
        self.file_name = file_name
        self._left_out = 0
        self._first: int | None = None

    def ordered(self, raw: RawForest) -> ForestArrays:
        """Return the arrays of a forest; what is wrong with it names the line."""
        wrong = np.flatnonzero(~np.isfinite(raw.feature_values))
        if len(wrong):
            edge = int(np.searchsorted(raw.feature_start, wrong[0], side="right")) - 1
            problem = f"a feature of {raw.name_of(edge)} is not finite"
            raise self._error(raw, edge, problem, "give a finite number")
        try:
            arrays, left_out = raw.ordered()
        except RawForestError as error:
            raise self._error(raw, error.edge, error.problem, error.remedy) from None
        if not np.isfinite(arrays.feature_values).all():
            problem = "values of a feature that comes twice add up to no finite number"
            raise self._error(raw, None, problem, "give smaller numbers")
        if len(left_out) and not self._left_out:
            self._first = raw.line_of(int(left_out[0]))
        self._left_out += len(left_out)
        return arrays

    def _error(self, raw: RawForest, edge: int | None, problem: str, remedy: str) -> FormatError:
        shown = problem if raw.lines is not None or edge is None else f"forest {raw.id}: {problem}"
        return FormatError(self.file_name, raw.line_of(edge), shown, remedy)

    def warn(self) -> None:
        """Warn once if there were hyperedges that are in no derivation."""
        if self._left_out:
            place = self.file_name if self._first is None else f"{self.file_name}:{self._first}"
            warnings.warn(
                f"{place}: {self._left_out} hyperedges of this file are in no derivation of their "
                "forest and do not count",
                stacklevel=3,
            )


def number_in(path: str) -> int | None:
    """Return the number that a file's name begins with, before its ending; None without one."""
    stem = os.path.basename(without_suffix(path)).partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdigit() and len(stem) < 19 else None


def is_pipe(path: str) -> bool:
    """Tell whether a name is that of standard input or of a pipe, and so says nothing."""
    return path == "-" or Path(path).is_fifo()


def are_numbers(words: Iterable[str]) -> bool:
    """Tell whether words are all whole numbers, as in files without their words."""
    return all(word.isascii() and word.isdigit() for word in words)


def warn_of_numbers(
    name: str, words: Iterable[str], references: Iterable[str], remedy: str
) -> None:
    """Warn if words are numbers and those of references are not: none would be right."""
    if not are_numbers(references) and are_numbers(words):
        problem = "all words of the lattices are numbers and those of the references are not"
        warnings.warn(
            f"{name}: {problem}; name the table of words: --format {remedy}", stacklevel=3
        )


def whole_number(text: str, source_name: str, line: int, quantity: str) -> int:
    """Return a count or a number of a node."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        problem = f"{quantity} is '{text}', not a whole number"
        raise FormatError(source_name, line, problem, "give a whole number from 0 on")
    return int(text)


def check_ids(ids: Iterable[GroupId], format_name: str, other: str) -> None:
    """Raise an error if ids are not the numbers 0, 1, 2 ... of a format that counts."""
    for k, i in enumerate(ids):
        if i != k:
            raise UsageError(
                f"{format_name} counts forests from 0 and has no place for the id '{i}'; "
                f"write {other}"
            )
