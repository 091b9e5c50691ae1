"""What is translated: a sentence, which is a chain of words, or a lattice, read from PLF.

Arcs without words are taken out: what they lead to follows the word before them, or, where they
begin the lattice, their scores are those of the first word as well. All paths remain, each once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tunesmith.arrays import Flags, Ids
from tunesmith.data.raw_forest import RawForestError
from tunesmith.data.rows import offsets
from tunesmith.decoders.base import DecoderError
from tunesmith.errors import FormatError
from tunesmith.hiero.chart.arcs import ArcScores, LatticeArcs, fewest_words
from tunesmith.io.forests.base import Numbering
from tunesmith.io.forests.lattices.base import Arc, lattice_of
from tunesmith.io.forests.lattices.plf import plf_lattice, score_names

#: What the chart has a place for.
MOST_NODES, MOST_ARCS = 2000, 200_000

#: What looks like a lattice.
LATTICE = re.compile(r"\(\s*\(\s*\(\s*['\"].*\)\s*,?\s*\)$")
#: Features and their values.
Scores: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class WordLattice:
    """Arcs with words between the nodes 0, where all begins, and ``size``, the end.

    Attributes
    ----------
    size
        The last node.
    begins, ends, words
        Arcs, by the nodes that they lead to, which have higher numbers than those they come from.
    scores
        The features of each arc; empty where no arc has any.
    names
        All features, those too that are 0 on all arcs.
    """

    size: int
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    words: tuple[str, ...]
    scores: tuple[Scores, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def chain(cls, words: Sequence[str]) -> WordLattice:
        """Return a sentence."""
        size = len(words)
        return cls(size, tuple(range(size)), tuple(range(1, size + 1)), tuple(words))

    @property
    def unnamed(self) -> int:
        """How many scores of each arc have no names in the file."""
        if score_names(1)[0] in self.names:
            return 1
        count = 0
        while score_names(count + 2)[count] in self.names:
            count += 1
        return count

    @cached_property
    def is_straight(self) -> bool:
        """Whether it is one path."""
        return self.begins == tuple(range(self.size))

    @property
    def is_chain(self) -> bool:
        """Whether it is one path without scores: a sentence."""
        return not self.scores and self.is_straight

    def between(self, begin: str, end: str) -> WordLattice:
        """Return it with a word before all others, and one behind them."""
        last = self.size + 2
        return WordLattice(
            last,
            (0, *(k + 1 for k in self.begins), last - 1),
            (1, *(k + 1 for k in self.ends), last),
            (begin, *self.words, end),
            ((), *self.scores, ()) if self.scores else (),
            self.names,
        )

    def spelled(self, spell: Callable[[str], str]) -> WordLattice:
        """Return it with each word spelled in another way."""
        return replace(self, words=tuple(map(spell, self.words)))

    def arcs(self, ids: Ids) -> LatticeArcs:
        """Return it as kernels see it, with the ids of its words."""
        sources = np.array(self.begins, np.int32)
        scored: Flags = np.zeros(len(ids), np.bool_)
        if self.scores:
            scored = np.array([bool(arc) for arc in self.scores])
        if self.is_straight:  # none leads to node 0, one to each other
            start = np.maximum(np.arange(-1, self.size + 1), 0)
            return LatticeArcs(start, sources, ids, scored, np.zeros((0, 0), np.int32))
        start = offsets(np.bincount(np.array(self.ends, np.int64), minlength=self.size + 1))
        return LatticeArcs(start, sources, ids, scored, fewest_words(start, sources))

    def arc_scores(self, number: Mapping[str, int]) -> ArcScores:
        """Return the features of arcs as kernels see them, with the numbers that names have."""
        if not self.scores:
            start = np.zeros(len(self.words) + 1, np.int64)
            return ArcScores(start, np.zeros(0, np.int32), np.zeros(0))
        rows = [sorted((number[name], value) for name, value in arc) for arc in self.scores]
        return ArcScores(
            offsets([len(row) for row in rows]),
            np.array([k for row in rows for k, _ in row], np.int32),
            np.array([value for row in rows for _, value in row]),
        )


def lattice_in(text: str, probabilities: bool) -> WordLattice:
    """Return the lattice that a line of PLF is.

    Parameters
    ----------
    text
        The line.
    probabilities
        Whether scores are probabilities, whose logarithms are taken.
    """
    names, words = Numbering(), Numbering()
    try:
        arrays, _ = plf_lattice(text, names, words, probabilities).ordered()
    except FormatError as error:
        message = str(error).removeprefix(f"{error.path}:{error.line}: ")
        raise DecoderError(f"it is no lattice (PLF): {message}") from None
    except RawForestError:
        problem = "no path of the lattice leads from its first node to its last"
        raise DecoderError(f"{problem}; write it again with all its arcs") from None
    lattice = lattice_of(arrays, tuple(words))
    arcs = _numbered(_without_empty(lattice.arcs, lattice.states - 1))
    titles = tuple(names)
    scores = tuple(tuple((titles[k], v) for k, v in arc.features.items()) for arc in arcs)
    size = arcs[-1].target
    if size > MOST_NODES:
        raise DecoderError(
            f"the lattice has {size + 1} nodes, and {MOST_NODES + 1} are the most; prune it"
        )
    return WordLattice(
        size,
        tuple(arc.source for arc in arcs),
        tuple(arc.target for arc in arcs),
        tuple(arc.word or "" for arc in arcs),
        scores if any(scores) else (),
        titles,
    )


def _without_empty(arcs: Sequence[Arc], goal: int) -> list[Arc]:
    """Return arcs with words alone: those without come right behind the word before them."""
    leaving: list[list[Arc]] = [[] for _ in range(goal + 1)]
    for arc in arcs:
        leaving[arc.source].append(arc)
    # The ways of arcs without words that begin at each node: where they end, and their scores.
    ways: list[list[tuple[int, dict[int, float]]]] = [[] for _ in range(goal + 1)]
    count = 0
    for node in range(goal, -1, -1):
        if node == goal or any(arc.word is not None for arc in leaving[node]):
            ways[node].append((node, {}))
        for arc in leaving[node]:
            if arc.word is None:
                _checked(count + len(ways[node]) + len(ways[arc.target]))
                for end, features in ways[arc.target]:
                    ways[node].append((end, _sum(arc.features, features)))
        count = _checked(count + len(ways[node]))
    if any(end == goal for end, _ in ways[0]):
        raise DecoderError("a path of the lattice has no words; take it out")
    with_words: list[Arc] = []
    for source in range(goal):
        starts = ways[0] if source == 0 else [(source, {})]
        for node, before in starts:
            for arc in leaving[node]:
                if arc.word is not None:
                    features = _sum(before, arc.features)
                    _checked(len(with_words) + len(ways[arc.target]))
                    with_words += [
                        Arc(source, end, arc.word, _sum(features, after))
                        for end, after in ways[arc.target]
                    ]
    return with_words


def _numbered(arcs: Sequence[Arc]) -> list[Arc]:
    """Return the arcs that the start leads to, by their ends, with the nodes numbered anew."""
    reached = {0}
    reachable = []
    for arc in arcs:  # by their sources
        if arc.source in reached:
            reached.add(arc.target)
            reachable.append(arc)
    number = {node: k for k, node in enumerate(sorted(reached))}
    renumbered = [
        arc._replace(source=number[arc.source], target=number[arc.target]) for arc in reachable
    ]
    return sorted(renumbered, key=lambda arc: arc.target)


def _sum(features: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    total = dict(features)
    for name, value in other.items():
        total[name] = total.get(name, 0.0) + value
    return total


def _checked(count: int) -> int:
    if count > MOST_ARCS:
        raise DecoderError(
            f"the lattice has more than {MOST_ARCS} arcs without those that have no words; prune it"
        )
    return count
