"""Hypergraphs as text: what Moses writes with ``-output-search-graph-hypergraph``.

A line says which fields there are, the next how many vertices and hyperedges. A vertex is a
comment, which may be missing, the number of hyperedges into it, and a line for each: the target
side with ``[n]`` for vertex n, ``name=value`` features, and how many words of the source the
vertex covers, which is that of its first hyperedge (so does Moses' own tuner). The last vertex
is the goal. ``cdec``'s ``target_graph`` is the same without the first line and the last field.

A file is one forest, and a folder holds ``0.txt.gz``, ``1.txt.gz`` and so on; whatever is
beside them, such as Moses' ``weights``, is not looked at. Writing does the same: a name that ends
in .hg or .txt is a file for one forest, any other a new folder, without weights.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tunesmith.data.forests import ForestArrays, Forests, cut
from tunesmith.data.raw_forest import RawForest
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError, UsageError, shortened
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.base import (
    FOREST_FORMATS,
    ForestFormat,
    Numbering,
    whole_number,
)
from tunesmith.io.forests.folders import writing_folder
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.numbers import float_or_nan, number_error, shortest

HEADER = "# target ||| features ||| source-covered"
BAR = "|||"
#: Where a sentence begins and ends: no words of it.
MARKS = frozenset({"<s>", "</s>"})
#: No vertex covers more words.
MOST_WORDS = 1 << 30
TAIL = re.compile(r"\[([0-9]+)\]")
#: Stands for the number of a vertex that has more digits than any: there is no such vertex.
NO_VERTEX = 10**18
WITHOUT_HEADER = re.compile(rb"[0-9]+ [0-9]+\r?\n(?:#[^\n]*\n)*[0-9]+\r?\n[^\n]*\|\|\|")


@FOREST_FORMATS.register("moses-hypergraph")
class MosesHypergraph(ForestFormat):
    """Moses' hypergraphs: a folder with one file per forest, or single files."""

    ends_lines = True
    suffixes: ClassVar[tuple[str, ...]] = (".hg",)
    one_a_file = True
    single_endings: ClassVar[tuple[str, ...]] = (".hg", ".txt")
    #: Whose form it is, for errors.
    program: ClassVar[str] = "Moses"

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether it begins with the line that names the fields, or with two counts."""
        return head.startswith(HEADER.encode()) or WITHOUT_HEADER.match(head) is not None

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the one forest of a file."""
        yield HypergraphReader(source, names, words).forest()

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write one forest to a file, or all to a folder."""
        if without_suffix(path).lower().endswith(self.single_endings):
            if forests.groups != 1:
                raise UsageError(
                    f"a hypergraph of {self.program} is one forest and there are {forests.groups}; "
                    "name a folder, without an ending"
                )
            self._write_file(forests, 0, path)
            return
        for i in forests.ids:
            if not isinstance(i, int) or i < 0:
                raise UsageError(
                    f"{self.program} numbers its forests and has no place for the id '{i}'; "
                    "write arrow"
                )
        with writing_folder(path) as folder:
            for s, i in enumerate(forests.ids):
                self._write_file(forests, s, os.path.join(folder, f"{i}.txt.gz"))

    def _write_file(self, forests: Forests, s: int, path: str | os.PathLike[str]) -> None:
        with writing(path) as file:
            for line in self.lines(cut(forests.block(s, s + 1)), forests):
                file.write(line.encode() + b"\n")

    def lines(self, arrays: ForestArrays, forests: Forests) -> Iterator[str]:
        """Yield the lines of one forest of a set."""
        nodes, edges = int(arrays.node_start[1]), int(arrays.edge_start[-1])
        yield HEADER
        yield f"{nodes} {edges}"
        covered = arrays.covered.tolist()
        for node, texts in enumerate(edge_texts(arrays, forests)):
            yield f"# node {node}"
            yield str(len(texts))
            last = f"{BAR} {covered[node]}" if covered[node] >= 0 else BAR
            for text in texts:
                yield f"{text} {last}"


@dataclass
class _Edges:
    """The hyperedges of a file as they are read."""

    heads: list[int] = field(default_factory=list)
    arity: list[int] = field(default_factory=list)
    tails: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class HypergraphReader:
    """Reads one file."""

    def __init__(self, source: Source, names: Numbering, words: Numbering) -> None:
        self.name = source.name
        self.names = names
        self.words = words
        self.lines = source.lines()
        self.line = 0
        self.edges = _Edges()
        self.fields = {2, 3}
        self.known: dict[str, int] = {}

    def forest(self) -> RawForest:
        """Read all vertices."""
        nodes, edges = self._counts()
        first_line = self.line
        covered = [self._vertex(v, nodes) for v in range(nodes)]
        self._check_end(nodes)
        self._check_edges(edges, first_line)
        return self._raw(nodes, nodes - 1, covered, first_line)

    def _counts(self) -> tuple[int, int]:
        text = self._next("the counts of vertices and hyperedges")
        counts = text.split()
        if len(counts) != 2:
            problem = f"'{text}' is not the counts of vertices and hyperedges"
            raise FormatError(self.name, self.line, problem, "give two numbers")
        nodes, edges = (whole_number(c, self.name, self.line, "a count") for c in counts)
        if nodes == 0 or edges == 0:
            problem = "the forest is empty"
            raise FormatError(self.name, self.line, problem, "leave it out, or write it again")
        return nodes, edges

    def _check_edges(self, edges: int, first_line: int) -> None:
        if len(self.edges.heads) != edges:
            problem = f"{edges} hyperedges are announced and there are {len(self.edges.heads)}"
            raise FormatError(self.name, first_line, problem, "write the forest again")

    def _raw(self, nodes: int, goal: int, covered: list[int], first_line: int) -> RawForest:
        edges = self.edges
        return RawForest(
            0,
            nodes,
            goal,
            np.array(edges.heads, np.int64),
            offsets(edges.arity),
            np.array(edges.tails, np.int64),
            offsets(edges.sizes),
            np.array(edges.features, np.int32),
            np.array(edges.values, np.float64),
            offsets(edges.lengths),
            np.array(edges.words, np.int32),
            np.array(covered, np.int32),
            np.array(edges.lines, np.int64),
            first_line,
        )

    def _next(self, expected: str) -> str:
        """Return the next line that is no comment."""
        for line, text in self.lines:
            self.line = line
            if line == 1 and text.rstrip() == HEADER:
                self.fields = {3}
            elif not text.startswith("#") or BAR in text:
                return text
        problem = f"the file ends where {expected} should be"
        raise FormatError(self.name, self.line, problem, "copy or write it again, it is truncated")

    def _check_end(self, nodes: int) -> None:
        for line, text in self.lines:
            if not text.startswith("#") or BAR in text:
                problem = f"there is more in the file than its {nodes} vertices"
                raise FormatError(self.name, line, problem, "give one forest per file")

    def _vertex(self, vertex: int, nodes: int) -> int:
        """Read a vertex and return how many words of the source it covers."""
        text = self._next(f"vertex {vertex} of {nodes}")
        count = whole_number(text.strip(), self.name, self.line, f"the size of vertex {vertex}")
        covered = -1
        for k in range(count):
            # Not a comment, whatever it begins with: '#' may be a word.
            self.line, text = next(self.lines, (self.line, ""))
            fields = text.split(BAR)
            if len(fields) not in self.fields:
                raise self._no_edge(text, k, count, vertex)
            self._target(fields[0], vertex)
            self._features(fields[1])
            if k == 0 and len(fields) == 3 and fields[2].strip():
                quantity = "the number of covered words"
                covered = whole_number(fields[2].strip(), self.name, self.line, quantity)
                if covered > MOST_WORDS:
                    problem = f"vertex {vertex} covers {covered} words"
                    raise FormatError(self.name, self.line, problem, "give a smaller number")
        return covered

    def _no_edge(self, text: str, done: int, count: int, vertex: int) -> FormatError:
        if not text:
            problem = f"the file ends after {done} of the {count} hyperedges of vertex {vertex}"
            remedy = "copy or write it again, it is truncated"
        else:
            problem = (
                f"hyperedge {done + 1} of the {count} of vertex {vertex} should be here, as "
                f"target {BAR} features {BAR} source-covered"
            )
            remedy = "check the number of hyperedges above"
        return FormatError(self.name, self.line, problem, remedy)

    def _target(self, text: str, vertex: int) -> None:
        edges = self.edges
        tails, words = len(edges.tails), len(edges.words)
        for token in text.split():
            if token[0] == "[" and (tail := TAIL.fullmatch(token)):
                edges.tails.append(int(tail[1]) if len(tail[1]) <= 18 else NO_VERTEX)
                edges.words.append(tails - len(edges.tails))
            elif token not in MARKS:
                edges.words.append(self.words[token])
        edges.heads.append(vertex)
        edges.lines.append(self.line)
        edges.arity.append(len(edges.tails) - tails)
        edges.lengths.append(len(edges.words) - words)

    def _features(self, text: str) -> None:
        edges = self.edges
        fields = text.split()
        try:
            # Mostly names are known and have no '=' in them.
            pairs = [field.split("=") for field in fields]
            ids = [self.known[name] for name, _ in pairs]
            values = [value for _, value in pairs]
        except (KeyError, ValueError):
            parts = [field.rpartition("=") for field in fields]
            names, values = [name for name, _, _ in parts], [value for _, _, value in parts]
            if "" in names:
                raise self._no_feature(fields) from None
            ids = [self.names[name] for name in names]
            self.known.update((n, k) for n, k in zip(names, ids, strict=True) if "=" not in n)
        written = "".join(values)
        try:
            # Python's numbers may also have '_' or digits of other scripts in them.
            if "_" in written or not written.isascii():
                raise ValueError
            edges.values += map(float, values)
        except ValueError:
            raise self._no_feature(fields) from None
        edges.features += ids
        edges.sizes.append(len(ids))

    def _no_feature(self, pairs: list[str]) -> FormatError:
        """Say which feature is none."""
        for pair in pairs:
            name, _, value = pair.rpartition("=")
            if name and math.isnan(float_or_nan(value.encode())):
                return number_error(value.encode(), self.name, self.line, f"feature '{name}'")
            if not name:
                break
        problem = f"'{pair}' is no feature with its value"
        return FormatError(self.name, self.line, problem, "write name=value")


def edge_texts(arrays: ForestArrays, forests: Forests, first: int = 0) -> Iterator[list[str]]:
    """Yield target side and features of each hyperedge into a node; nodes count from ``first``."""
    starts = (arrays.tail_start, arrays.feature_start, arrays.word_start)
    tail_start, feature_start, word_start = (start.tolist() for start in starts)
    for lo, hi in itertools.pairwise(arrays.edge_start.tolist()):
        texts = []
        for e in range(lo, hi):
            tails = (arrays.tails[tail_start[e] : tail_start[e + 1]] + first).tolist()
            ids = arrays.words[word_start[e] : word_start[e + 1]].tolist()
            target = [_word(forests.vocabulary[w]) if w >= 0 else f"[{tails[-w - 1]}]" for w in ids]
            span = slice(feature_start[e], feature_start[e + 1])
            pairs = zip(arrays.feature_ids[span], arrays.feature_values[span], strict=True)
            features = [f"{_feature(forests.names[k])}={shortest(v)}" for k, v in pairs]
            texts.append(" ".join([*target, BAR, *features]))
        yield texts


def _word(word: str) -> str:
    if BAR in word or word in MARKS or TAIL.fullmatch(word):
        problem = f"a hypergraph has no place for the word '{shortened(word)}'"
        raise UsageError(f"{problem}; write arrow")
    return word


def _feature(name: str) -> str:
    if BAR in name or [name] != name.split():
        problem = f"a hypergraph has no place for the name '{shortened(name)}'"
        raise UsageError(f"{problem}; write arrow")
    return name
