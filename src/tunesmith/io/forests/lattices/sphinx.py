"""Lattices of Sphinx, as pocketsphinx writes them with ``-outlatdir`` (``-outlatfmt s3``).

Nodes are words, with the frame in which they begin; an edge has the acoustic score of the word of
the node that it leaves. Scores are whole numbers, logarithms to the base ``-logbase``, and become
natural ones, the feature ``acoustic``. Words in angle brackets or plus signs (``<sil>``,
``++noise++``) are no words, and ``word(2)`` is a second pronunciation of ``word``.

The id is the file's name without its ending. pocketsphinx' lattices in HTK's format
(``-outlatfmt htk``) are read by ``htk``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.base import FOREST_FORMATS, Numbering, is_pipe, whole_number
from tunesmith.io.forests.lattices.base import NOWHERE, LatticeBuilder, UtteranceFormat, id_of
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import parse_number

_HEAD = re.compile(rb"# getcwd:[^\n]*\n(#[^\n]*\n)*# -logbase ")
_BASE = re.compile(r"# -logbase (\S+)")
_COUNT = re.compile(r"(Frames|Nodes|Initial|Final|BestSegAscr) (\S+)(?: \(.*\))?")
_NO_WORD = re.compile(r"<.*>|\+\+.*\+\+|\[.*\]|\(null\)")
_PRONUNCIATION = re.compile(r"(.+)\(\d+\)")
#: The base of logarithms where the file does not say.
BASE = 1.0001


@FOREST_FORMATS.register("sphinx")
@dataclass(frozen=True)
class SphinxLattice(UtteranceFormat):
    """Lattices of Sphinx: a folder with one file per lattice, or single files."""

    suffixes = (".lat", ".lat3")
    ends_lines = True

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether a comment at the beginning has the base of logarithms."""
        return _HEAD.match(head) is not None

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the lattice of a file."""
        reading = _Reading(source, names["acoustic"], words)
        for line, text in source.lines():
            reading.add(text, line)
        name = "0" if is_pipe(source.path) else _stem(source.path)
        yield self.with_transcript(reading.lattice(name), words, name)


@dataclass
class _Reading:
    """A lattice while it is read."""

    source: Source
    feature: int
    words: Numbering
    base: float = BASE
    counts: dict[str, int] = field(default_factory=dict)
    nodes: dict[int, list[int]] = field(default_factory=dict)
    edges: list[tuple[int, int, float, int]] = field(default_factory=list)
    #: What the lines that come are.
    part: str = ""
    last_line: int = 0

    def add(self, text: str, line: int) -> None:
        """Take in a line."""
        self.last_line = line
        if (based := _BASE.fullmatch(text.strip())) is not None:
            self.base = parse_number(based[1], self.source.name, line, "-logbase")
            if self.base <= 1.0:
                raise self._error(line, f"-logbase is {based[1]}", "give a number above 1")
        elif text.startswith("#"):
            self.part = "" if self.part == "Nodes" else self.part
        elif self.part == "End":
            raise self._error(line, "there is something after the end", "remove it")
        elif (counted := _COUNT.fullmatch(text.strip())) is not None:
            self.part = counted[1]
            self.counts[self.part] = whole_number(counted[2], self.source.name, line, self.part)
        elif text.startswith("Edges"):
            self.part = "Edges"
        elif text.strip() == "End":
            self.part = "End"
        elif self.part == "Nodes":
            self._add_node(text.split(), line)
        elif self.part == "Edges":
            self._add_edge(text.split(), line)
        elif self.part != "BestSegAscr":
            raise self._error(line, "this is no line of a lattice", "write it again")

    def _add_node(self, fields: list[str], line: int) -> None:
        if len(fields) < 5:
            raise self._error(line, "a node has fewer than 5 fields", "write it again")
        node = self._whole(fields[0], line)
        if node in self.nodes:
            raise self._error(line, f"node {node} is there twice", "number nodes from 0")
        pronounced = _PRONUNCIATION.fullmatch(fields[1])
        word = pronounced[1] if pronounced else fields[1]
        self.nodes[node] = [] if _NO_WORD.fullmatch(word) else self.words.split(word)

    def _add_edge(self, fields: list[str], line: int) -> None:
        if len(fields) < 3:
            raise self._error(line, "an edge has fewer than 3 fields", "write it again")
        source, target = (self._whole(text, line) for text in fields[:2])
        for node in (source, target):
            if node not in self.nodes:
                raise self._error(line, f"there is no node {node}", "number nodes from 0")
        score = parse_number(fields[2], self.source.name, line, "an acoustic score")
        self.edges.append((source, target, score * math.log(self.base), line))

    def _whole(self, text: str, line: int) -> int:
        return whole_number(text, self.source.name, line, "a node")

    def lattice(self, name: str) -> RawForest:
        """Return what has been read, if it is whole."""
        if self.part != "End":
            problem = "the lattice has no line 'End', it may be cut off"
            raise self._error(self.last_line, problem, "copy it again")
        for count in ("Nodes", "Initial", "Final"):
            if count not in self.counts:
                raise self._error(self.last_line, f"there is no line '{count}'", "write it again")
        if self.counts["Nodes"] != len(self.nodes):
            problem = f"there are {len(self.nodes)} nodes and should be {self.counts['Nodes']}"
            raise self._error(self.last_line, problem, "write it again")
        start, end = self.counts["Initial"], self.counts["Final"]
        for node in (start, end):
            if node not in self.nodes:
                raise self._error(self.last_line, f"there is no node {node}", "write it again")
        builder = LatticeBuilder()
        builder.add(NOWHERE, start, self.nodes[start], {}, 1)
        for source, target, score, line in self.edges:
            builder.add(source, target, self.nodes[target], {self.feature: score}, line)
        return builder.forest(id_of(name), end, 1)

    def _error(self, line: int, problem: str, remedy: str) -> FormatError:
        return FormatError(self.source.name, line, problem, remedy)


def _stem(path: str) -> str:
    stem = os.path.basename(without_suffix(path))
    for ending in SphinxLattice.suffixes:
        stem = stem.removesuffix(ending)
    return os.fsencode(stem).decode("utf-8", "backslashreplace")
