"""The formats of candidate files, by name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.io.streams import Source, writing
from tunesmith.registry import Registry

if TYPE_CHECKING:
    from tunesmith.io.collector import Collector


#: All that a set may have beside ids, texts and features.
EVERYTHING = frozenset({"references", "sources", "columns", "white space"})


class CandidateFormat(ABC):
    """Reads and writes candidates in one format.

    A format needs :meth:`read`, and :meth:`lines` if it can be written. Options, if there are
    any, are the fields of a frozen dataclass.
    """

    name: ClassVar[str]
    #: Endings of names of files that are written in this format without being asked to.
    suffixes: ClassVar[tuple[str, ...]] = ()

    #: What it has a place for beside ids, texts and features.
    holds: ClassVar[frozenset[str]] = frozenset()

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell from the first bytes whether a file is of this format."""
        return False

    @staticmethod
    def files_in(folder: str) -> list[str]:
        """Return the files to read of a folder of this format, in their order.

        It is empty if the format has no folders, or this is not one of them.
        """
        return []

    @abstractmethod
    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates of a file to the collector."""

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Yield the lines for candidates in an order of one's own, with their model scores.

        A score is NaN where it is not known.
        """
        raise UsageError(f"format '{self.name}' can be read only; name another one")

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write a file, whole or not at all."""
        with writing(path) as file:
            for line in self.lines(candidates, order, scores):
                file.write(line.encode() + b"\n")


FORMATS: Registry[CandidateFormat] = Registry(
    "format",
    "tunesmith.io.lists tunesmith.io.lists.evaluation tunesmith.io.lists.speech "
    "tunesmith.io.tables",
    "tunesmith.formats",
    CandidateFormat,
)
