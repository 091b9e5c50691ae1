"""The formats of candidate files and of weights files, by name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.io.streams import Source, writing
from tunesmith.registry import Registry

if TYPE_CHECKING:
    from tunesmith.io.collector import Collector


#: All that a set may have beside ids, texts and features.
EVERYTHING = frozenset({"references", "sources", "columns"})


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

    @abstractmethod
    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates of a file to the collector."""

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Yield the lines for candidates in an order of one's own, with their model scores."""
        raise UsageError(f"format '{self.name}' can be read only; name another one")

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write a file, whole or not at all."""
        with writing(path) as file:
            for line in self.lines(candidates, order, scores):
                file.write(line.encode() + b"\n")


class WeightsFormat(Protocol):
    """Reads and writes weights in one format."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell from the text whether a file is of this format."""
        ...

    def read(self, text: bytes, name: str) -> Weights:
        """Return the weights in a file's text."""
        ...

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Return the text for weights.

        ``template`` is the file that they came from, empty where there is none.
        """
        ...


FORMATS: Registry[CandidateFormat] = Registry(
    "format", "tunesmith.io", "tunesmith.formats", CandidateFormat
)
WEIGHTS_FORMATS: Registry[WeightsFormat] = Registry(
    "weights format", "tunesmith.io", "tunesmith.weights_formats"
)
