"""Forests: all derivations of an input, packed. A lattice is a forest of arity one.

A node stands for what may be put in its place; each hyperedge into it is one way to make it, of
the nodes that are its tails. A derivation chooses one hyperedge for the goal, then one for each
of its tails, and so on. Features, words and what a metric counts are those of the hyperedges, and
add up over a derivation.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.candidates import FileDigest, GroupId, References
from tunesmith.data.features import FeatureSelection
from tunesmith.errors import TunesmithError
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.local import pieces_of


class ForestArrays(NamedTuple):
    """The arrays of S forests with N nodes and E hyperedges, as kernels take them.

    The nodes of a forest are in topological order: tails come before heads, and the last node is
    the goal. Hyperedges stand together by their heads; those of one head are in the order in
    which they were read, which decides among equals.

    Attributes
    ----------
    node_start : int64[S + 1]
        Forest s has the nodes ``node_start[s]`` to ``node_start[s + 1] - 1``.
    edge_start : int64[N + 1]
        The hyperedges into node n are ``edge_start[n]`` to ``edge_start[n + 1] - 1``.
    tail_start : int64[E + 1], tails : int32[...]
        The tails of each hyperedge, as numbers within the forest: node ``node_start[s] + tail``.
    feature_start : int64[E + 1], feature_ids : int32[...], feature_values : float64[...]
        The features of each hyperedge, ids ascending.
    word_start : int64[E + 1], words : int32[...]
        The target side of each hyperedge: token ids, and -k where its k-th tail goes, from 1 on.
        Each tail has one place.
    covered : int32[N]
        How many words of the source a node covers; -1 where that is not known.
    counts : float64[E, K]
        What a metric counts at each hyperedge; K is 0 where nothing was counted.
    """

    node_start: Ints
    edge_start: Ints
    tail_start: Ints
    tails: Ids
    feature_start: Ints
    feature_ids: Ids
    feature_values: Floats
    word_start: Ints
    words: Ids
    covered: Ids
    counts: Floats

    @property
    def bytes(self) -> int:
        """What they take in memory."""
        return sum(array.nbytes for array in self)


class Block(NamedTuple):
    """Some forests in memory: those from ``first`` to ``last - 1`` of the arrays."""

    arrays: ForestArrays
    first: int
    last: int


class Forests(ABC):
    """S forests, in memory or on disk; kernels work on blocks of them.

    Attributes
    ----------
    ids
        Name of each forest.
    edges : int64[S]
        How many hyperedges each has.
    names
        The features.
    vocabulary
        The token of each id.
    references
        None where none were given.
    sources
        The input of each forest, or None.
    files
        What they were read from.
    """

    ids: tuple[GroupId, ...]
    edges: Ints
    names: tuple[str, ...]
    vocabulary: tuple[str, ...]
    references: References | None
    sources: tuple[str, ...] | None
    files: tuple[FileDigest, ...]

    @abstractmethod
    def block(self, first: int, last: int) -> Block:
        """Return the forests ``first`` to ``last - 1`` in memory."""

    @property
    @abstractmethod
    def bytes_per_edge(self) -> float:
        """About how much memory a hyperedge takes in a block that is loaded; 0 if none is."""

    @property
    def groups(self) -> int:
        """The number S of forests."""
        return len(self.ids)

    def pieces(self, per_thread: int = 4, made: float = 0.0) -> list[slice]:
        """Cut the forests into runs of about as many hyperedges, for whoever works.

        What is found for a forest must not depend on the others of its run: the runs depend on
        the number of workers.

        Parameters
        ----------
        per_thread
            How many for each thread, or for each worker, at least.
        made
            What is made of a piece and kept takes so many times its memory.
        """
        from tunesmith.data.memory import budget

        workers = current_engine().workers
        pieces = pieces_of(self.groups, self.edges, per_thread, workers)
        most = budget() / (8.0 * max(2, workers) * (1.0 + made))
        if self.bytes_per_edge * float(self.edges.sum()) <= most:
            return pieces
        # Of what is on disk little may be in memory at a time: a piece for each thread, what is
        # made of it, and all that has nothing to do with forests.
        limit = max(1.0, most / self.bytes_per_edge)
        return [part for piece in pieces for part in _smaller(piece, self.edges, limit)]

    def join(self, tokens: Ids) -> str:
        """Return the text of some token ids."""
        return " ".join([self.vocabulary[i] for i in tokens])

    def with_features(
        self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()
    ) -> Forests:
        """Return the same forests with some of their features; see ``CandidateSet``."""
        selection = FeatureSelection.of(keep, drop)
        selection.check(self.names)
        kept = selection.kept(self.names)
        return self if kept == self.names else SelectedForests(self, kept)

    def in_memory(self) -> ForestSet:
        """Return all of them in memory."""
        return self.with_arrays(self.block(0, self.groups).arrays)

    def with_arrays(self, arrays: ForestArrays) -> ForestSet:
        """Return forests that were made of these, one of each, in memory."""
        return ForestSet(
            self.ids,
            arrays,
            self.names,
            self.vocabulary,
            self.references,
            self.sources,
            self.files,
        )

    def __repr__(self) -> str:
        kind = type(self).__name__
        sizes = f"{self.groups} forests, {int(self.edges.sum())} hyperedges"
        return f"<{kind}: {sizes}, {len(self.names)} features>"


def _smaller(piece: slice, edges: Ints, limit: float) -> list[slice]:
    """Cut a run further, so that no part has more hyperedges, if it has several forests."""
    cuts, held = [piece.start], 0
    for s in range(piece.start, piece.stop):
        if held and held + edges[s] > limit:
            cuts.append(s)
            held = 0
        held += int(edges[s])
    return [slice(a, b) for a, b in itertools.pairwise([*cuts, piece.stop])]


@dataclass(frozen=True, repr=False, eq=False)
class ForestSet(Forests):
    """Forests in memory; see :class:`Forests`.

    Attributes
    ----------
    ids
        The id of each forest.
    arrays
        Nodes, hyperedges and their features, as named arrays.
    names
        The features.
    vocabulary
        The words that target sides are numbers of.
    references, sources
        Texts to compare with, and the inputs, where they are known.
    files
        The files it came from, with their digests.
    """

    ids: tuple[GroupId, ...]
    arrays: ForestArrays
    names: tuple[str, ...]
    vocabulary: tuple[str, ...]
    references: References | None = None
    sources: tuple[str, ...] | None = None
    files: tuple[FileDigest, ...] = ()

    def __post_init__(self) -> None:
        if len(self.ids) + 1 != len(self.arrays.node_start):
            raise TunesmithError("ids and forests do not match; give one id for each")

    @cached_property
    def edges(self) -> Ints:  # type: ignore[override]
        """How many hyperedges each has."""
        arrays = self.arrays
        return np.diff(arrays.edge_start[arrays.node_start])

    @property
    def bytes_per_edge(self) -> float:
        """Nothing is loaded: it is there."""
        return 0.0

    def block(self, first: int, last: int) -> Block:
        """Return some of the forests; nothing is copied."""
        return Block(self.arrays, first, last)

    def in_memory(self) -> ForestSet:
        """Return the set itself."""
        return self

    def with_groups(self, groups: Sequence[int] | Ints) -> ForestSet:
        """Return some of the forests, in the order given."""
        parts = [cut(Block(self.arrays, int(g), int(g) + 1)) for g in groups]
        chosen = replace(
            self,
            ids=tuple(self.ids[g] for g in groups),
            arrays=joined(parts),
            references=None if self.references is None else self.references.some(groups),
            sources=None if self.sources is None else tuple(self.sources[g] for g in groups),
        )
        return chosen


class SelectedForests(Forests):
    """Forests with some of their features alone."""

    def __init__(self, whole: Forests, names: tuple[str, ...]) -> None:
        self.whole, self.names = whole, names
        self.ids, self.edges, self.vocabulary = whole.ids, whole.edges, whole.vocabulary
        self.references, self.sources, self.files = whole.references, whole.sources, whole.files
        number = {name: k for k, name in enumerate(names)}
        self._number = np.array([number.get(name, -1) for name in whole.names], np.int32)
        is_loaded = whole.bytes_per_edge == 0.0
        self._selection = self._selected(whole.block(0, whole.groups)) if is_loaded else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Have the other features left out where the forests are in memory."""
        if self._selection is None:
            return type(self), (self.whole, self.names)
        about = self.names, self.vocabulary, self.references, self.sources, self.files
        return ForestSet, (self.ids, self._selection.arrays, *about)

    @property
    def bytes_per_edge(self) -> float:
        """Twice that of the whole, which is loaded first."""
        return 2.0 * self.whole.bytes_per_edge

    def block(self, first: int, last: int) -> Block:
        """Return some of the forests without the other features."""
        if self._selection is not None:
            return Block(self._selection.arrays, first, last)
        return self._selected(self.whole.block(first, last))

    def _selected(self, block: Block) -> Block:
        arrays = block.arrays
        ids = self._number[arrays.feature_ids]
        kept: Flags = ids >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        # Names that are kept are in the order of the whole: ids of a hyperedge still ascend.
        chosen = arrays._replace(
            feature_start=before[arrays.feature_start],
            feature_ids=ids[kept],
            feature_values=arrays.feature_values[kept],
        )
        return Block(chosen, block.first, block.last)


def cut(block: Block) -> ForestArrays:
    """Return the arrays of a block alone, with offsets from 0 on."""
    a = block.arrays
    nodes = slice(a.node_start[block.first], a.node_start[block.last])
    edges = slice(a.edge_start[nodes.start], a.edge_start[nodes.stop])

    def offsets(start: Ints, part: slice) -> Ints:
        own = start[part.start : part.stop + 1]
        moved: Ints = own - own[0]
        return moved

    def values(start: Ints) -> slice:
        return slice(start[edges.start], start[edges.stop])

    tails, features, words = (values(s) for s in (a.tail_start, a.feature_start, a.word_start))
    return ForestArrays(
        offsets(a.node_start, slice(block.first, block.last)),
        offsets(a.edge_start, nodes),
        offsets(a.tail_start, edges),
        a.tails[tails],
        offsets(a.feature_start, edges),
        a.feature_ids[features],
        a.feature_values[features],
        offsets(a.word_start, edges),
        a.words[words],
        a.covered[nodes],
        a.counts[edges],
    )


def joined(parts: Sequence[ForestArrays]) -> ForestArrays:
    """Lay forests one after the other."""
    if not parts:
        raise TunesmithError("there is no forest; give some")

    def offsets(which: int) -> Ints:
        ends = np.cumsum([0, *(int(part[which][-1]) for part in parts)])
        own = [part[which][:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return np.concatenate([*own, ends[-1:]]).astype(np.int64)

    starts = {"node_start", "edge_start", "tail_start", "feature_start", "word_start"}
    arrays: list[Any] = [
        offsets(k) if name in starts else np.concatenate([part[k] for part in parts])
        for k, name in enumerate(ForestArrays._fields)
    ]
    return ForestArrays(*arrays)
