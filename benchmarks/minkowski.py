"""Envelopes of forests by merge and Minkowski sum (Kumar et al. 2009), to compare with.

Each node has the envelope of all its derivations: the upper hull of those of its hyperedges,
each the sum of its tails' envelopes. Plainly written, in the same compiled arrays as ours. It
notes the hyperedge of every line but does not write derivations down, which would add to its time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.data.forests import ForestArrays
from tunesmith.inference.forests.envelope.gaps import ROUNDING
from tunesmith.inference.forests.envelope.search import edge_lines
from tunesmith.kernels import kernel


class Hull(NamedTuple):
    """Lines from the least slope to the greatest, and where each begins to win."""

    at: Floats
    score: Floats
    slope: Floats
    edge: Ids


@kernel
def minkowski_of_block(
    arrays: ForestArrays, first: int, last: int, weights: Floats, direction: Floats
) -> int:
    """Return how many lines win, over some forests."""
    lines = 0
    for s in range(first, last):
        scores, slopes = edge_lines(arrays, s, weights, direction)
        lines += minkowski_of(arrays, s, scores, slopes)
    return lines


@kernel
def minkowski_of(arrays: ForestArrays, forest: int, scores: Floats, slopes: Floats) -> int:
    """Return how many lines win in one forest."""
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    small = ROUNDING * np.abs(slopes).max()
    pool, own = _room(8 * nodes), np.zeros(nodes + 1, np.int64)
    hull, other, total, spare = _room(64), _room(64), _room(64), _room(64)
    for n in range(nodes):
        size = 0
        for g in range(edge_start[n], edge_start[n + 1]):
            e = g - edge0
            total.at[0], total.score[0], total.slope[0] = -np.inf, scores[e], slopes[e]
            count = 1
            for k in range(arrays.tail_start[g], arrays.tail_start[g + 1]):
                lo, hi = own[arrays.tails[k]], own[arrays.tails[k] + 1]
                spare = _more_room(spare, 0, count + hi - lo)
                count = _add(total, count, pool, lo, hi, spare)
                total, spare = spare, total
            other = _more_room(other, 0, size + count)
            size = _merge(hull, size, total, count, e, other, small)
            hull, other = other, hull
        pool = _more_room(pool, own[n], own[n] + size)
        own[n + 1] = own[n] + size
        pool.at[own[n] : own[n + 1]] = hull.at[:size]
        pool.score[own[n] : own[n + 1]] = hull.score[:size]
        pool.slope[own[n] : own[n + 1]] = hull.slope[:size]
        pool.edge[own[n] : own[n + 1]] = hull.edge[:size]
    return own[nodes] - own[nodes - 1]


@kernel
def _room(size: int) -> Hull:
    """Return room for so many lines."""
    return Hull(np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int32))


@kernel
def _more_room(hull: Hull, used: int, room: int) -> Hull:
    """Return a hull with room for so many lines, of which some are kept."""
    if room <= hull.at.shape[0]:
        return hull
    more = _room(2 * room)
    more.at[:used], more.score[:used] = hull.at[:used], hull.score[:used]
    more.slope[:used], more.edge[:used] = hull.slope[:used], hull.edge[:used]
    return more


@kernel
def _add(one: Hull, count: int, pool: Hull, lo: int, hi: int, total: Hull) -> int:
    """Add two hulls (⊗): where either changes, the sum changes."""
    i, j, found = 0, lo, 0
    begin = -np.inf
    while True:
        total.at[found] = begin
        total.score[found] = one.score[i] + pool.score[j]
        total.slope[found] = one.slope[i] + pool.slope[j]
        found += 1
        x = one.at[i + 1] if i + 1 < count else np.inf
        y = pool.at[j + 1] if j + 1 < hi else np.inf
        begin = min(x, y)
        if begin == np.inf:
            return found
        i += x <= y
        j += y <= x


@kernel
def _merge(
    one: Hull, count: int, other: Hull, others: int, edge: int, hull: Hull, small: float
) -> int:
    """Return the upper hull of two (⊕); all of the other's lines are of one hyperedge."""
    i, j, found = 0, 0, 0
    at, scores, slopes, edges = hull
    while i < count or j < others:
        if j == others or (i < count and one.slope[i] <= other.slope[j]):
            score, slope, own = one.score[i], one.slope[i], one.edge[i]
            i += 1
        else:
            score, slope, own = other.score[j], other.slope[j], edge
            j += 1
        begin, lower = -np.inf, False
        while found > 0:
            rise = slope - slopes[found - 1]
            if rise <= small:
                lower = score <= scores[found - 1]
                if lower:
                    break
            else:
                begin = (scores[found - 1] - score) / rise
                if begin > at[found - 1]:
                    break
            found -= 1
            begin = -np.inf
        if not lower:
            at[found], scores[found], slopes[found], edges[found] = begin, score, slope, own
            found += 1
    return found
