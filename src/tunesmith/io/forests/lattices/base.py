"""What formats of lattices share: arcs as they are read, and forests as states and arcs.

A lattice is a forest of arity one. Each arc is a hyperedge ``[tail] word``, whose head is the
state that the arc leads to; the start state has a hyperedge without tails. So the words of a
derivation are those along a path.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays, Forests, cut
from tunesmith.data.raw_forest import RawForest
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.forests.base import ForestFormat, Numbering
from tunesmith.io.streams import Source
from tunesmith.registry import option

#: Marks of a sentence's ends, which are no words.
MARKS = frozenset({"<s>", "</s>"})
#: No source state: the arc begins paths.
NOWHERE = -1
#: What can hold forests that are no lattices.
OTHERS = "write arrow, or another format of forests"


_FIELD = re.compile(r"[^ \t\r\f\v]+")


def fields_of(text: str) -> list[str]:
    """Split a line as the programs do, which know no white space but that of ASCII."""
    return text.split() if text.isascii() else _FIELD.findall(text)


def id_of(text: str) -> GroupId:
    """Return the id of an utterance: a number where it is one."""
    numeric = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if numeric and str(int(text)) == text else text


@dataclass(frozen=True)
class UtteranceFormat(ForestFormat):
    """A format whose lattices have names, and their transcripts in a file beside them."""

    references: str = option(
        "", "transcripts: the id of an utterance and its words on each line", "FILE"
    )

    @cached_property
    def _transcripts(self) -> dict[str, str]:
        source = Source(self.references)
        transcripts: dict[str, str] = {}
        for line, text in source.lines():
            name, *rest = text.split(None, 1)
            if name in transcripts:
                raise FormatError(source.name, line, f"'{name}' is there twice", "drop one")
            transcripts[name] = "".join(rest)
        return transcripts

    def with_transcript(self, raw: RawForest, words: Numbering, name: str) -> RawForest:
        """Return a lattice with its transcript, if there is a file of them."""
        if not self.references:
            return raw
        text = self._transcripts.get(name, self._transcripts.get(str(raw.id)))
        if text is None:
            problem = f"there is no transcript of '{name}'"
            remedy = "give a line for each utterance"
            raise FormatError(self.references, None, problem, remedy)
        return replace(raw, references=(np.array(words.split(text), np.int32),))


@dataclass
class LatticeBuilder:
    """Arcs of one lattice, in the order of the file; states may have any numbers from 0 on."""

    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(
        self,
        source: int,
        target: int,
        words: Sequence[int],
        features: Mapping[int, float],
        line: int,
    ) -> None:
        """Add an arc, or, from ``NOWHERE``, what makes a state the start."""
        self.sources.append(source)
        self.targets.append(target)
        self.sizes.append(len(features))
        self.features.extend(features)
        self.values.extend(features.values())
        slots = 0 if source == NOWHERE else 1
        self.lengths.append(slots + len(words))
        if slots:
            self.words.append(-1)
        self.words.extend(words)
        self.lines.append(line)

    def forest(self, name: GroupId, goal: int, line: int) -> RawForest:
        """Return the lattice as a forest; only states that have arcs are nodes, in their order."""
        sources = np.array(self.sources, np.int64)
        targets = np.array(self.targets, np.int64)
        tails = sources[sources != NOWHERE]
        states = np.unique(np.concatenate([tails, targets, [goal]]))
        return RawForest(
            name,
            len(states),
            int(np.searchsorted(states, goal)),
            np.searchsorted(states, targets),
            offsets((sources != NOWHERE).astype(np.int64)),
            np.searchsorted(states, tails),
            offsets(self.sizes),
            np.array(self.features, np.int32),
            np.array(self.values, np.float64),
            offsets(self.lengths),
            np.array(self.words, np.int32),
            np.full(len(states), -1, np.int32),
            np.array(self.lines, np.int64),
            line,
        )


class Arc(NamedTuple):
    """An arc as it is written; without a word if that is None. Features are names' numbers."""

    source: int
    target: int
    word: str | None
    features: dict[int, float]


class Lattice(NamedTuple):
    """A lattice as it is written: states 0, which is the start, to ``states - 1``, the goal.

    States are in topological order. Arcs are in the order of their targets, those of one target
    in the order of the hyperedges; so the first arc is one of the start's.
    """

    states: int
    arcs: list[Arc]


def lattices(forests: Forests, format_name: str) -> Iterator[tuple[GroupId, Lattice]]:
    """Yield the id and the lattice of each forest; one that is no lattice is an error.

    An arc has one word at most: a hyperedge with more becomes a chain of arcs, whose first has the
    features.
    """
    for s, name in enumerate(forests.ids):
        arrays = cut(forests.block(s, s + 1))
        _check(arrays, name, format_name)
        yield name, lattice_of(arrays, forests.vocabulary)


def _check(arrays: ForestArrays, name: GroupId, format_name: str) -> None:
    arity = np.diff(arrays.tail_start)
    if arity.max() > 1:
        raise UsageError(
            f"forest {name} is no lattice: it has a hyperedge with {arity.max()} tails, for which "
            f"{format_name} has no place; {OTHERS}"
        )
    first = arrays.words[arrays.word_start[:-1][arity == 1]]
    if (first != -1).any():
        raise UsageError(
            f"forest {name} is no lattice from left to right: a hyperedge has words before its "
            f"tail, for which {format_name} has no place; {OTHERS}"
        )


def lattice_of(arrays: ForestArrays, vocabulary: tuple[str, ...]) -> Lattice:
    """Return one forest of arity one as states and arcs."""
    arity = np.diff(arrays.tail_start)
    lengths = np.diff(arrays.word_start) - arity
    nodes = len(arrays.edge_start) - 1
    # The first node is the start itself if it stands for nothing and no path begins elsewhere.
    bare = lengths[0] == 0 and arrays.feature_start[1] == 0
    is_start = nodes > 1 and bare and int((arity == 0).sum()) == 1
    base = 0 if is_start else 1
    # States within the chain of a hyperedge come right before its head, so that order is kept.
    within = offsets(np.maximum(lengths - 1, 0))
    state: Ints = base + np.arange(nodes) + within[arrays.edge_start[1:]]
    heads = np.repeat(np.arange(nodes), np.diff(arrays.edge_start))
    sources = np.zeros(len(heads), np.int64)
    sources[arity == 1] = state[arrays.tails]
    arcs: list[Arc] = []
    rows = zip(
        sources.tolist(),
        state[heads].tolist(),
        (base + heads + within[:-1]).tolist(),
        _texts(arrays, arity, vocabulary),
        _features(arrays),
        strict=True,
    )
    for e, (source, target, middle, words, features) in enumerate(rows):
        if e == 0 and is_start:
            continue
        chain = [source, *range(middle, middle + len(words) - 1), target]
        for k, word in enumerate(words or [None]):
            arcs.append(Arc(chain[k], chain[k + 1], word, features if k == 0 else {}))
    return Lattice(int(state[-1]) + 1, arcs)


def _texts(
    arrays: ForestArrays, arity: Ints, vocabulary: tuple[str, ...]
) -> Iterator[list[str | None]]:
    """Yield the words of each hyperedge, without the slot before them."""
    words = arrays.words.tolist()
    starts = (arrays.word_start[:-1] + arity).tolist()
    for lo, hi in zip(starts, arrays.word_start[1:].tolist(), strict=True):
        yield [vocabulary[w] for w in words[lo:hi]]


def _features(arrays: ForestArrays) -> Iterator[dict[int, float]]:
    ids, values = arrays.feature_ids.tolist(), arrays.feature_values.tolist()
    bounds = arrays.feature_start.tolist()
    for lo, hi in itertools.pairwise(bounds):
        yield dict(zip(ids[lo:hi], values[lo:hi], strict=True))
