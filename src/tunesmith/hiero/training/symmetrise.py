"""One alignment out of two, of which each has one link for a word.

Koehn, Och and Marcu, "Statistical phrase-based translation" (NAACL 2003); Koehn et al.,
"Edinburgh system description for the 2005 IWSLT speech translation evaluation" (IWSLT 2005).
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.data.rows import offsets
from tunesmith.errors import UnknownNameError
from tunesmith.hiero.training.links import Links
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.copying import copy_rows
from tunesmith.parallel.local import map_pieces, pieces_of

#: Ways to do it; a kernel knows them by their places here.
WAYS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
INTERSECTION, UNION, GROW_DIAG, GROW_DIAG_FINAL, GROW_DIAG_FINAL_AND = range(5)

#: The eight neighbours of a point (target, source), in the order of the paper's programme.
_NEIGHBOURS = np.array(
    [[-1, 0], [0, -1], [1, 0], [0, 1], [-1, -1], [-1, 1], [1, -1], [1, 1]], np.int64
)


def check_way(way: str) -> None:
    """Raise an error if there is no such way to symmetrise."""
    if way not in WAYS:
        raise UnknownNameError("way to symmetrise", way, WAYS)


def symmetrised(
    to_source: Ids, to_target: Ids, source_start: Ints, target_start: Ints, way: str
) -> Links:
    """Bring two alignments together.

    Parameters
    ----------
    to_source : int32[target words]
        The place of the source word of each target word within its pair; -1 for none.
    to_target : int32[source words]
        The place of the target word of each source word.
    source_start, target_start : int64[N + 1]
        Where the words of each pair begin.
    way
        One of ``WAYS``.
    """
    check_way(way)
    kind = WAYS.index(way)

    def work(piece: slice) -> tuple[Ints, Ids]:
        first, last = piece.start, piece.stop
        most = source_start[last] - source_start[first] + target_start[last] - target_start[first]
        places, counts = np.empty((most, 2), np.int32), np.zeros(last - first, np.int64)
        used = _symmetrise(
            kind, to_source, to_target, source_start, target_start, first, last, counts, places
        )
        return counts, places[:used].copy()

    parts = map_pieces(work, pieces_of(len(source_start) - 1, np.diff(source_start)))
    counts = np.concatenate([part[0] for part in parts])
    start = offsets(counts)
    return Links(start, np.concatenate([part[1] for part in parts]))


@kernel
def _symmetrise(
    kind: int,
    to_source: Ids,
    to_target: Ids,
    source_start: Ints,
    target_start: Ints,
    first: int,
    last: int,
    counts: Ints,
    places: Ids,
) -> int:
    used = 0
    for pair in range(first, last):
        direct = to_source[target_start[pair] : target_start[pair + 1]]
        inverse = to_target[source_start[pair] : source_start[pair + 1]]
        grid = np.zeros((direct.shape[0], inverse.shape[0]), np.bool_)
        _grid(kind, direct, inverse, grid)
        before = used
        for f in range(inverse.shape[0]):
            for e in range(direct.shape[0]):
                if grid[e, f]:
                    places[used, 0] = f
                    places[used, 1] = e
                    used += 1
        counts[pair - first] = used - before
    return used


@kernel
def _grid(kind: int, direct: Ids, inverse: Ids, grid: Flags) -> None:
    """Set the points of a pair: ``grid[target, source]``."""
    both = np.zeros(grid.shape, np.bool_)
    for e in range(direct.shape[0]):
        if direct[e] >= 0:
            both[e, direct[e]] = True
            grid[e, direct[e]] = inverse[direct[e]] == e
    for f in range(inverse.shape[0]):
        if inverse[f] >= 0:
            both[inverse[f], f] = True
    if kind == UNION:
        copy_rows(grid, 0, both)
    elif kind >= GROW_DIAG:
        targets, sources = np.zeros(direct.shape[0], np.bool_), np.zeros(inverse.shape[0], np.bool_)
        for e in range(direct.shape[0]):
            for f in range(inverse.shape[0]):
                if grid[e, f]:
                    targets[e] = sources[f] = True
        _grow(both, grid, targets, sources)
        if kind >= GROW_DIAG_FINAL:
            _finish(kind, direct, inverse, grid, targets, sources)


@kernel
def _grow(both: Flags, grid: Flags, targets: Flags, sources: Flags) -> None:
    """Add neighbours out of the union whose target or source word has no link yet."""
    grown = True
    while grown:
        grown = False
        for e in range(grid.shape[0]):
            for f in range(grid.shape[1]):
                if not grid[e, f]:
                    continue
                for k in range(_NEIGHBOURS.shape[0]):
                    i, j = e + _NEIGHBOURS[k, 0], f + _NEIGHBOURS[k, 1]
                    if not (0 <= i < grid.shape[0] and 0 <= j < grid.shape[1]):
                        continue
                    if both[i, j] and not (targets[i] and sources[j]):
                        grid[i, j] = targets[i] = sources[j] = True
                        grown = True


@kernel
def _finish(
    kind: int, direct: Ids, inverse: Ids, grid: Flags, targets: Flags, sources: Flags
) -> None:
    """Add links of words without any: of one of the two, or of both for ``-and``.

    Those of target words come first.
    """
    for e in range(direct.shape[0]):
        f = direct[e]
        if f >= 0 and not _is_taken(kind, targets[e], sources[f]):
            grid[e, f] = targets[e] = sources[f] = True
    # As in the paper's programme, target words are the outer loop here too: of several source
    # words with the same target word, the first comes first in either.
    for e in range(direct.shape[0]):
        for f in range(inverse.shape[0]):
            if inverse[f] == e and not _is_taken(kind, targets[e], sources[f]):
                grid[e, f] = targets[e] = sources[f] = True


@inlined
def _is_taken(kind: int, target: Number, source: Number) -> Number:
    return (target or source) if kind == GROW_DIAG_FINAL_AND else (target and source)
