"""Packed forests: all derivations of an input. A lattice is a forest of arity one.

Each hyperedge into a node (its head) is one way to derive it from other nodes (its tails). A
derivation chooses one hyperedge for the goal, then one for each of its tails, and so on.
Features, words and a metric's counts belong to hyperedges, and add up over a derivation.
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
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.local import pieces_of


class ForestArrays(NamedTuple):
    """The arrays of S forests with N nodes and E hyperedges, as kernels take them.

    The nodes of a forest are in topological order: tails come before heads, and the last node is
    the goal. Hyperedges are sorted by head; those of one head are in the order in which they
    were read, which breaks ties.

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
        The target side of each hyperedge: token ids, and -k for its k-th tail, from 1 on.
        Each tail occurs once.
    covered : int32[N]
        How many words of the source a node covers; -1 if unknown.
    counts : float64[E, K]
        A metric's counts at each hyperedge; K is 0 if nothing was counted.
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
        """Their size in memory."""
        return sum(array.nbytes for array in self)


class Block(NamedTuple):
    """Forests in memory: those from ``first`` to ``last - 1`` of the arrays."""

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
        None if none were given.
    sources
        The input of each forest, or None.
    files
        The files they were read from.
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
        """Roughly the memory of a hyperedge in a block; 0 if blocks need not be loaded."""

    @property
    def groups(self) -> int:
        """The number S of forests."""
        return len(self.ids)

    def pieces(self, per_thread: int = 4, made: float = 0.0) -> list[slice]:
        """Cut the forests into ranges with about the same number of hyperedges, for workers.

        The result for a forest must not depend on the others of its range: the ranges depend
        on the number of workers.

        Parameters
        ----------
        per_thread
            At least this many ranges per thread or worker.
        made
            Memory of what is computed from a range and kept, as a multiple of the range's own.
        """
        from tunesmith.data.memory import budget

        workers = current_engine().workers
        pieces = pieces_of(self.groups, self.edges, per_thread, workers)
        largest = budget() / (8.0 * max(2, workers) * (1.0 + made))
        if self.bytes_per_edge * float(self.edges.sum()) <= largest:
            return pieces
        # Forests on disk may use little memory at a time: a range per thread, what is computed
        # from it, and everything that has nothing to do with forests.
        limit = max(1.0, largest / self.bytes_per_edge)
        return [part for piece in pieces for part in _split(piece, self.edges, limit)]

    def join(self, tokens: Ids) -> str:
        """Return the text of some token ids."""
        return " ".join([self.vocabulary[i] for i in tokens])

    def with_features(
        self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()
    ) -> Forests:
        """Return the same forests with some of their features; see ``CandidateSet``."""
        selection = FeatureSelection.of(keep, drop)
        selection.check(self.names)
        names = selection.select(self.names)
        return self if names == self.names else SelectedForests(self, names)

    def in_memory(self) -> ForestSet:
        """Return all forests in memory."""
        return self.with_arrays(self.block(0, self.groups).arrays)

    def with_arrays(self, arrays: ForestArrays) -> ForestSet:
        """Return a set in memory with other arrays, one forest for each of this set."""
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


def _split(piece: slice, edges: Ints, limit: float) -> list[slice]:
    """Split a range so that no part with several forests has more hyperedges than the limit."""
    bounds, size = [piece.start], 0
    for s in range(piece.start, piece.stop):
        if size and size + edges[s] > limit:
            bounds.append(s)
            size = 0
        size += int(edges[s])
    return [slice(a, b) for a, b in itertools.pairwise([*bounds, piece.stop])]


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
        The token of each id in the target sides.
    references, sources
        The references and the inputs, if known.
    files
        The files it was read from, with their digests.
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
            raise TunesmithError("ids and forests do not match; give one id per forest")

    @cached_property
    def edges(self) -> Ints:  # type: ignore[override]
        """The number of hyperedges of each forest."""
        arrays = self.arrays
        return np.diff(arrays.edge_start[arrays.node_start])

    @property
    def bytes_per_edge(self) -> float:
        """0: blocks are in memory already."""
        return 0.0

    def block(self, first: int, last: int) -> Block:
        """Return a range of the forests; nothing is copied."""
        return Block(self.arrays, first, last)

    def in_memory(self) -> ForestSet:
        """Return the set itself."""
        return self

    def with_groups(self, groups: Sequence[int] | Ints) -> ForestSet:
        """Return some of the forests, in the order given."""
        parts = [cut(Block(self.arrays, int(g), int(g) + 1)) for g in groups]
        return replace(
            self,
            ids=tuple(self.ids[g] for g in groups),
            arrays=joined(parts),
            references=None if self.references is None else self.references.take(groups),
            sources=None if self.sources is None else tuple(self.sources[g] for g in groups),
        )


class SelectedForests(Forests):
    """Forests with a selection of their features."""

    def __init__(self, whole: Forests, names: tuple[str, ...]) -> None:
        self.whole, self.names = whole, names
        self.ids, self.edges, self.vocabulary = whole.ids, whole.edges, whole.vocabulary
        self.references, self.sources, self.files = whole.references, whole.sources, whole.files
        number = {name: k for k, name in enumerate(names)}
        self._number = np.array([number.get(name, -1) for name in whole.names], np.int32)
        is_loaded = whole.bytes_per_edge == 0.0
        self._selection = self._selected(whole.block(0, whole.groups)) if is_loaded else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle forests in memory without the features that are left out."""
        if self._selection is None:
            return type(self), (self.whole, self.names)
        rest = self.names, self.vocabulary, self.references, self.sources, self.files
        return ForestSet, (self.ids, self._selection.arrays, *rest)

    @property
    def bytes_per_edge(self) -> float:
        """Twice that of the whole, which is loaded first."""
        return 2.0 * self.whole.bytes_per_edge

    def block(self, first: int, last: int) -> Block:
        """Return a range of the forests with the selected features."""
        if self._selection is not None:
            return Block(self._selection.arrays, first, last)
        return self._selected(self.whole.block(first, last))

    def _selected(self, block: Block) -> Block:
        arrays = block.arrays
        ids = self._number[arrays.feature_ids]
        is_kept: Flags = ids >= 0
        # Selected names are in the order of the whole: ids of a hyperedge still ascend.
        selected = arrays._replace(
            feature_start=offsets(is_kept)[arrays.feature_start],
            feature_ids=ids[is_kept],
            feature_values=arrays.feature_values[is_kept],
        )
        return Block(selected, block.first, block.last)


def cut(block: Block) -> ForestArrays:
    """Return the arrays of a block alone, with offsets from 0 on."""
    a = block.arrays
    nodes = slice(a.node_start[block.first], a.node_start[block.last])
    edges = slice(a.edge_start[nodes.start], a.edge_start[nodes.stop])

    def rebased(start: Ints, rows: slice) -> Ints:
        part = start[rows.start : rows.stop + 1]
        from_zero: Ints = part - part[0]
        return from_zero

    def values(start: Ints) -> slice:
        return slice(start[edges.start], start[edges.stop])

    tails, features, words = (values(s) for s in (a.tail_start, a.feature_start, a.word_start))
    return ForestArrays(
        rebased(a.node_start, slice(block.first, block.last)),
        rebased(a.edge_start, nodes),
        rebased(a.tail_start, edges),
        a.tails[tails],
        rebased(a.feature_start, edges),
        a.feature_ids[features],
        a.feature_values[features],
        rebased(a.word_start, edges),
        a.words[words],
        a.covered[nodes],
        a.counts[edges],
    )


def joined(parts: Sequence[ForestArrays]) -> ForestArrays:
    """Return the arrays of all forests, one part after the other."""
    if not parts:
        raise TunesmithError("there is no forest; give some")

    def join_offsets(field: int) -> Ints:
        ends = offsets([int(part[field][-1]) for part in parts])
        moved = [part[field][:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return np.concatenate([*moved, ends[-1:]])

    starts = {"node_start", "edge_start", "tail_start", "feature_start", "word_start"}
    arrays: list[Any] = [
        join_offsets(k) if name in starts else np.concatenate([part[k] for part in parts])
        for k, name in enumerate(ForestArrays._fields)
    ]
    return ForestArrays(*arrays)
