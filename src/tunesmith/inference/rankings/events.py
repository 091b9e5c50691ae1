"""Where along a line the values of queries change, and by how much.

Two documents change places where their lines cross. What a relevant document adds to the value of
its query depends on its own rank alone, and on the relevant documents above it. So each relevant
document is followed by itself: it is sorted among its own crossings, and its rank is counted from
one end of the line on. Crossings of two documents that are not relevant are never looked at. Counts
do not depend on the order of crossings that coincide, and amounts are whole numbers: what is on the
right of all of them is what a ranking from scratch would say, to the last bit.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.rankings.layers import first_layers
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import argsort
from tunesmith.metrics.rankings.terms import CASCADE, FIRST, UNIT, Terms, amount, stay_chance

#: Layers are looked for where a metric looks at no more ranks than this, and at a small part of a
#: query: each is a pass over its documents.
DEEPEST, PART = 64, 8


@kernel
def events_of(
    slopes: Floats,
    scores: Floats,
    start: Ints,
    terms: Terms,
    first: int,
    last: int,
    low: float,
    high: float,
) -> tuple[int, Floats, Ints]:
    """Return what some queries are worth right of ``low``, and how that changes up to ``high``.

    Returns
    -------
    total, at, change
        In the unit of whole numbers; changes of a query at the same γ may be several.
    """
    room, count, total = 1024, 0, 0
    at, change = np.empty(room), np.empty(room, np.int64)
    for q in range(first, last):
        if terms.norm[q] == 0.0:
            continue
        rows, movers = _candidates(slopes, scores, start[q], start[q + 1], terms, q)
        for i in movers:
            if count + rows.shape[0] > room:
                room = 2 * room + rows.shape[0]
                more_at, more_change = np.empty(room), np.empty(room, np.int64)
                copy_to(more_at, 0, at[:count])
                copy_to(more_change, 0, change[:count])
                at, change = more_at, more_change
            begin, count = _follow(slopes, scores, rows, i, terms, q, low, high, at, change, count)
            total += int(begin)
    return total, at[:count], change[:count]


@kernel
def _candidates(
    slopes: Floats, scores: Floats, lo: int, hi: int, terms: Terms, q: int
) -> tuple[Ints, Ints]:
    """Return the documents of a query that count, and the relevant ones that are followed."""
    rows = np.empty(hi - lo, np.int64)
    count = 0
    for i in range(lo, hi):
        if terms.level[i] >= 0:
            rows[count] = i
            count += 1
    rows = rows[:count]
    depth = terms.depth[q]
    if depth <= DEEPEST and PART * depth < count:
        rows = first_layers(slopes, scores, rows, depth)
    movers = np.empty(rows.shape[0], np.int64)
    count = 0
    for row in rows:
        if terms.level[row] > 0:
            movers[count] = row
            count += 1
    movers = movers[:count]
    if terms.kind == FIRST and count > 1:
        movers = first_layers(slopes, scores, movers, 1)
    return rows, movers


@kernel
def _follow(
    slopes: Floats,
    scores: Floats,
    rows: Ints,
    i: int,
    terms: Terms,
    q: int,
    low: float,
    high: float,
    at: Floats,
    change: Ints,
    count: int,
) -> tuple[int, int]:
    """Follow one relevant document; return what it adds at first, and how many changes there are.

    Where ``low`` and ``high`` are finite, nothing outside of them is looked at.
    """
    where, who = np.empty(rows.shape[0]), np.empty(rows.shape[0], np.int64)
    above = np.zeros(terms.gain.shape[0], np.int64)
    if low > -np.inf and high < np.inf:
        rank, crossings = _between(
            slopes, scores, rows, i, terms.level, low, high, where, who, above
        )
    else:
        rank, crossings = _everywhere(slopes, scores, rows, i, terms.level, where, who, above)
    begin = _units(terms, q, i, rank, above)
    now = begin
    order = argsort(where[:crossings])
    for e in range(crossings):
        j = who[order[e]]
        step = 1 if slopes[j] > slopes[i] else -1
        rank += step
        above[terms.level[j]] += step
        if e + 1 < crossings and where[order[e + 1]] == where[order[e]]:
            continue
        after = _units(terms, q, i, rank, above)
        if after != now:
            at[count], change[count] = where[order[e]], after - now
            count += 1
            now = after
    return begin, count


@kernel
def _everywhere(
    slopes: Floats,
    scores: Floats,
    rows: Ints,
    i: int,
    level: Ints,
    where: Floats,
    who: Ints,
    above: Ints,
) -> tuple[int, int]:
    """Find the crossings of one document with others on a whole line.

    Returns
    -------
    rank, crossings
        Its rank at γ = −∞, and how many crossings there are. ``above`` counts those above it.
    """
    slope, score = slopes[i], scores[i]
    rank, crossings = 1, 0
    for j in rows:
        away = slopes[j] - slope
        is_above = away < 0.0
        if away == 0.0:
            is_above = scores[j] > score or (scores[j] == score and j < i)
        else:
            crossing = (score - scores[j]) / away
            if crossing == -np.inf:
                is_above = not is_above
            elif crossing < np.inf:
                where[crossings], who[crossings] = crossing, j
                crossings += 1
        if is_above:
            rank += 1
            above[level[j]] += 1
    return rank, crossings


@kernel
def _between(
    slopes: Floats,
    scores: Floats,
    rows: Ints,
    i: int,
    level: Ints,
    low: float,
    high: float,
    where: Floats,
    who: Ints,
    above: Ints,
) -> tuple[int, int]:
    """Find the crossings of one document with others between two places on a line.

    Two documents cross where their order right of the one place is not that left of the other;
    only then is there anything to divide. The rank is that right of ``low``.
    """
    slope, score = slopes[i], scores[i]
    left, right = score + low * slope, score + high * slope
    rank, crossings = 1, 0
    for j in rows:
        away = slopes[j] - slope
        if away == 0.0:
            is_above = scores[j] > score or (scores[j] == score and j < i)
        else:
            other_left, other_right = scores[j] + low * slopes[j], scores[j] + high * slopes[j]
            rises = away > 0.0
            is_above = other_left > left or (other_left == left and rises)
            ends_above = other_right > right or (other_right == right and not rises)
            if is_above != ends_above and rises == ends_above:
                crossing = (score - scores[j]) / away
                where[crossings], who[crossings] = min(max(crossing, low), high), j
                crossings += 1
        if is_above:
            rank += 1
            above[level[j]] += 1
    return rank, crossings


@kernel
def _units(terms: Terms, q: int, i: int, rank: int, above: Ints) -> int:
    """Return what a relevant document adds at a rank, in the unit."""
    if rank > terms.depth[q]:
        return 0
    relevant = 0
    for level in range(1, above.shape[0]):
        relevant += above[level]
    stay = stay_chance(terms.gain, above) if terms.kind == CASCADE else 1.0
    gain, divisor = terms.gain[terms.level[i]], terms.divisor[rank]
    norm = terms.norm[q]
    value = amount(terms.kind, gain, divisor, rank, relevant, stay, norm, terms.least[q])
    return int(np.rint(value / norm * UNIT))
