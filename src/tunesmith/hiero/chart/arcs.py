"""What is parsed: arcs with words between nodes. A sentence is a chain of them.

Dyer, Muresan and Resnik, "Generalizing word lattice translation" (ACL 2008): rules cover what lies
between two nodes, whichever way leads from one to the other. Arcs may have scores, so that it
matters which of them a rule's words are: a *path* is the arcs with scores among those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits
from tunesmith.kernels.copying import copy_rows, copy_to

NONE = -1
#: The path without arcs; columns of a path: the path that it goes on from, and its last arc.
EMPTY_PATH = 0
BEFORE, ARC = 0, 1
#: More words than there are between any two nodes: there is no way.
NO_WAY = (1 << 31) - 1
_32 = np.uint64(32)


class LatticeArcs(NamedTuple):
    """A arcs between the nodes 0 to n, each to a node with a higher number.

    Attributes
    ----------
    start : int64[n + 2]
        The arcs that lead to node j are ``start[j]`` to ``start[j + 1] - 1``.
    sources, words : int32[A]
        The node that each comes from, and its word; ids that no rule has for unknown words.
    is_scored : bool[A]
        Whether it has scores.
    widths : int32[n + 1, n + 1]
        The fewest words between two nodes. It has no rows for a chain, where they are as many as
        the nodes lie apart.
    """

    start: Ints
    sources: Ids
    words: Ids
    is_scored: Flags
    widths: Ids


class ArcScores(NamedTuple):
    """Scores of arcs as features: those of arc a from ``start[a]`` on, ids ascending."""

    start: Ints
    ids: Ids
    values: Floats


class Paths(NamedTuple):
    """Paths under way: rows of ``BEFORE`` and ``ARC``, and a table of them by both."""

    rows: Ids
    table: Ids


@kernel
def fewest_words(start: Ints, sources: Ids) -> Ids:
    """Return the fewest words between any two nodes [n + 1, n + 1], or NO_WAY."""
    size = start.shape[0] - 1
    widths = np.full((size, size), NO_WAY, np.int32)
    for i in range(size):
        widths[i, i] = 0
        for j in range(i + 1, size):
            for arc in range(start[j], start[j + 1]):
                if sources[arc] >= i and widths[i, sources[arc]] < NO_WAY:
                    widths[i, j] = min(widths[i, j], widths[i, sources[arc]] + 1)
    return widths


@kernel
def no_paths() -> Paths:
    """Return the empty path alone."""
    return Paths(np.full((16, 2), NONE, np.int32), np.full(64, NONE, np.int32))


@kernel
def with_path(paths: Paths, count: int, before: int, arc: int) -> tuple[int, int, Paths]:
    """Return the path that goes on with an arc, how many paths there are then, and all of them."""
    mask = np.uint64(paths.table.shape[0] - 1)
    at = _spread(before, arc) & mask
    while paths.table[at] != NONE:
        path = paths.table[at]
        if paths.rows[path, BEFORE] == before and paths.rows[path, ARC] == arc:
            return int(path), count, paths
        at = (at + np.uint64(1)) & mask
    if count == paths.rows.shape[0]:
        paths = _with_room(paths, count)
        mask = np.uint64(paths.table.shape[0] - 1)
        at = _free_place(paths.table, _spread(before, arc) & mask)
    paths.rows[count, BEFORE], paths.rows[count, ARC] = before, arc
    paths.table[at] = count
    return count, count + 1, paths


@kernel
def _spread(before: int, arc: int) -> Number:
    return spread_bits((np.uint64(before) << _32) | np.uint64(arc))


@kernel
def _free_place(table: Ids, at: Number) -> Number:
    mask = np.uint64(table.shape[0] - 1)
    while table[at] != NONE:
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def _with_room(paths: Paths, count: int) -> Paths:
    rows = np.full((2 * count, 2), NONE, np.int32)
    copy_rows(rows, 0, paths.rows)
    table = np.full(2 * paths.table.shape[0], NONE, np.int32)
    mask = np.uint64(table.shape[0] - 1)
    for path in range(1, count):
        at = _free_place(table, _spread(rows[path, BEFORE], rows[path, ARC]) & mask)
        table[at] = path
    return Paths(rows, table)


@kernel
def count_scores(rows: Ids, path: int, scores: ArcScores) -> int:
    """Return how many features the arcs of a path have."""
    count = 0
    while path != EMPTY_PATH:
        arc = rows[path, ARC]
        count += scores.start[arc + 1] - scores.start[arc]
        path = rows[path, BEFORE]
    return count


@kernel
def write_scores(
    rows: Ids, path: int, scores: ArcScores, ids: Ids, values: Floats, end: int
) -> int:
    """Write the features of the arcs of a path from a place on; return where they end."""
    while path != EMPTY_PATH:
        arc = rows[path, ARC]
        first, last = scores.start[arc], scores.start[arc + 1]
        copy_to(ids, end, scores.ids[first:last])
        copy_to(values, end, scores.values[first:last])
        end += last - first
        path = rows[path, BEFORE]
    return end
