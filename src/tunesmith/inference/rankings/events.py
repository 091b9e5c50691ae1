"""Where along a line the values of queries change, and by how much.

Two documents change places where their lines cross. What a relevant document adds to the value of
its query depends on its own rank, and on the relevant documents above it. So only crossings that a
relevant document takes part in are looked for, and only documents that are above it at one end of
the line and below it at the other cross it. All crossings are sorted at once, and the ranks of
relevant documents are updated from one to the next. Counts do not depend on the order of crossings
that coincide, and amounts are whole numbers: what is on the right of all of them is what a ranking
from scratch would say, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.rankings.layers import first_layers
from tunesmith.inference.rankings.places import counts_above
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import argsort
from tunesmith.metrics.rankings.terms import CASCADE, FIRST, UNIT, Terms, amount, stay_chance

#: Layers are looked for where a metric looks at no more ranks than this, and at a small part of a
#: query: each is a pass over its documents.
DEEPEST, PART = 64, 8
#: Crossings that there is room for at first.
ROOM = 1024
#: Columns of what is known of a relevant document: its rank, the last rank that counts, what it
#: adds now, and from ``ABOVE`` on how many documents are above it; and what an amount needs.
RANK, DEPTH, NOW, ABOVE = range(4)
GAIN, NORM, LEAST = range(3)


class Relevant(NamedTuple):
    """The relevant documents, and where they stand at one place of a line.

    Attributes
    ----------
    rows : int64[R]
        The documents, ascending.
    start : int64[S + 1]
        Where those of each query begin.
    rank : int64[R]
        Their ranks; 0 of those that are not followed, because they never count.
    above : int64[R, C]
        How many relevant documents are above each, in column 1; of ``CASCADE`` in the column of
        their level. Column 0 counts the others.
    """

    rows: Ints
    start: Ints
    rank: Ints
    above: Ints


class Crossings(NamedTuple):
    """Where relevant documents cross others.

    Attributes
    ----------
    at : float64[T]
        Where, not sorted.
    number : int32[T]
        The relevant document.
    move : int32[T]
        1 more than the column of ``above`` in which the other one is counted; negative if that one
        comes to be below.
    """

    at: Floats
    number: NDArray[np.int32]
    move: NDArray[np.int32]


@kernel
def crossings_of(
    slopes: Floats,
    scores: Floats,
    start: Ints,
    terms: Terms,
    relevant: Relevant,
    first: int,
    last: int,
    low: float,
    high: float,
) -> Crossings:
    """Find where relevant documents of some queries cross others, and fill in ranks at ``low``."""
    crossings = Crossings(np.empty(ROOM), np.empty(ROOM, np.int32), np.empty(ROOM, np.int32))
    count = 0
    for q in range(first, last):
        if terms.norm[q] == 0.0 or relevant.start[q] == relevant.start[q + 1]:
            continue
        rows, followed = _candidates(slopes, scores, start[q], start[q + 1], terms, q)
        number = relevant.start[q]
        numbers = np.empty(followed.shape[0], np.int64)
        for k in range(followed.shape[0]):
            while relevant.rows[number] < followed[k]:
                number += 1
            numbers[k] = number
        crossings, count = _cross(
            slopes, scores, rows, followed, numbers, terms, relevant, low, high, crossings, count
        )
    return Crossings(crossings.at[:count], crossings.number[:count], crossings.move[:count])


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
    followed = np.empty(rows.shape[0], np.int64)
    count = 0
    for row in rows:
        if terms.level[row] > 0:
            followed[count] = row
            count += 1
    followed = followed[:count]
    if terms.kind == FIRST and count > 1:
        followed = first_layers(slopes, scores, followed, 1)
    return rows, followed


@kernel
def _cross(
    slopes: Floats,
    scores: Floats,
    rows: Ints,
    followed: Ints,
    numbers: Ints,
    terms: Terms,
    relevant: Relevant,
    low: float,
    high: float,
    crossings: Crossings,
    count: int,
) -> tuple[Crossings, int]:
    """Add the crossings of one query, and fill the ranks of its relevant documents at ``low``.

    A document has the first ``a`` relevant documents above it at ``low``, and those whose place at
    ``high`` is below ``b`` there. It crosses those that are among the one and not the other.
    """
    columns = relevant.above.shape[1]
    is_bounded = low > -np.inf and high < np.inf
    order, above_low = _above(slopes, scores, rows, followed, low, 1.0)
    order_high, above_high = _above(slopes, scores, rows, followed, high, -1.0)
    place = _places(order, order_high)
    begins, ends = _spans(place)
    numbers = numbers[order]
    some_slopes, some_scores = slopes[followed[order]], scores[followed[order]]
    levels = np.zeros((order.shape[0] + 1, columns), np.int64)
    crossed = np.empty(order.shape[0], np.int64)
    for k in range(rows.shape[0]):
        a, b = above_low[k], above_high[k]
        slope, score = slopes[rows[k]], scores[rows[k]]
        column = _column(terms.kind, terms.level[rows[k]])
        levels[a, column] += 1
        crossing_count = 0
        for i in range(min(begins[b], a), max(ends[b], a)):
            crossed[crossing_count] = i
            crossing_count += (i < a) != (place[i] < b)
        if count + crossing_count > crossings.at.shape[0]:
            crossings = _with_room(crossings, count, count + crossing_count)
        for c in range(crossing_count):
            i = crossed[c]
            away = slope - some_slopes[i]
            rises = away > 0.0
            if rises != (place[i] >= b):
                continue  # so nearly parallel that rounding alone turned them round
            crossing = (some_scores[i] - score) / away
            if is_bounded:
                crossing = min(max(crossing, low), high)
            elif crossing == -np.inf:
                relevant.rank[numbers[i]] += 1 if rises else -1
                relevant.above[numbers[i], column] += 1 if rises else -1
                continue
            elif crossing == np.inf:
                continue
            crossings.at[count], crossings.number[count] = crossing, numbers[i]
            crossings.move[count] = column + 1 if rises else -column - 1
            count += 1
    _add_ranks(levels, numbers, terms, relevant)
    return crossings, count


@inlined
def _column(kind: int, level: int) -> int:
    """Return the column in which a document is counted; 0 is for those that are not relevant."""
    return level if kind == CASCADE else min(level, 1)


@kernel
def _with_room(crossings: Crossings, count: int, wanted: int) -> Crossings:
    """Return crossings with room for more."""
    room = 2 * wanted
    more = Crossings(np.empty(room), np.empty(room, np.int32), np.empty(room, np.int32))
    copy_to(more.at, 0, crossings.at[:count])
    copy_to(more.number, 0, crossings.number[:count])
    copy_to(more.move, 0, crossings.move[:count])
    return more


@kernel
def _above(
    slopes: Floats, scores: Floats, rows: Ints, followed: Ints, limit: float, side: float
) -> tuple[Ints, Ints]:
    """Return the order of relevant documents at a limit, and how many are above each document.

    Just right of the lower limit (``side`` 1) the greater slope is above where scores are equal,
    just left of the upper one (-1) the smaller.
    """
    size = followed.shape[0]
    keys = np.empty(size)
    for k in range(size):
        keys[k] = -scores[followed[k]]
    order = argsort(keys)
    for k in range(size):
        keys[k] = -side * slopes[followed[order[k]]]
    order = order[argsort(keys)]
    at_limit = _at_limit(slopes, scores, followed[order], limit)
    for k in range(size):
        keys[k] = -at_limit[k]
    places = argsort(keys)
    order, best_first = order[places], at_limit[places]
    keys = _at_limit(slopes, scores, rows, limit)
    above = counts_above(best_first, keys)
    for k in range(rows.shape[0]):
        j = rows[k]
        while above[k] < size and best_first[above[k]] == keys[k]:
            i = followed[order[above[k]]]
            if slopes[i] != slopes[j]:
                is_above = side * slopes[i] > side * slopes[j]
            else:
                is_above = scores[i] > scores[j] or (scores[i] == scores[j] and i < j)
            if not is_above:
                break
            above[k] += 1
    return order, above


@kernel
def _at_limit(slopes: Floats, scores: Floats, rows: Ints, limit: float) -> Floats:
    """Return what documents are ranked by at a limit; at an end of the line it is their slopes."""
    keys = np.empty(rows.shape[0])
    for k in range(rows.shape[0]):
        i = rows[k]
        if limit == -np.inf:
            keys[k] = -slopes[i]
        elif limit == np.inf:
            keys[k] = slopes[i]
        else:
            keys[k] = scores[i] + limit * slopes[i]
    return keys


@kernel
def _places(order: Ints, other: Ints) -> Ints:
    """Return the place in another order of what stands at each place of an order."""
    place_of = np.empty(order.shape[0], np.int64)
    for p in range(order.shape[0]):
        place_of[other[p]] = p
    return place_of[order]


@kernel
def _spans(place: Ints) -> tuple[Ints, Ints]:
    """Return, for each b, where the first place is that is not below b, and behind the last below.

    What is before the first is below b, and what is behind the last is not.
    """
    size = place.shape[0]
    begins, ends = np.empty(size + 1, np.int64), np.zeros(size + 1, np.int64)
    first = 0
    for b in range(size + 1):
        while first < size and place[first] < b:
            first += 1
        begins[b] = first
    for i in range(size):
        ends[place[i] + 1] = i + 1
    for b in range(1, size + 1):
        ends[b] = max(ends[b], ends[b - 1])
    return begins, ends


@kernel
def _add_ranks(levels: Ints, numbers: Ints, terms: Terms, relevant: Relevant) -> None:
    """Add how many documents are above relevant ones, by how many have each place among them."""
    counts = np.zeros(levels.shape[1], np.int64)
    for k in range(numbers.shape[0]):
        number = numbers[k]
        for column in range(counts.shape[0]):
            counts[column] += levels[k, column]
            relevant.rank[number] += counts[column]  # itself is among them
            relevant.above[number, column] += counts[column]
        relevant.above[number, _column(terms.kind, terms.level[relevant.rows[number]])] -= 1


@kernel
def changes_of(
    crossings: Crossings, order: Ints, terms: Terms, relevant: Relevant
) -> tuple[int, Floats, Ints]:
    """Return what queries are worth at the lower limit, and how that changes from there on.

    Parameters
    ----------
    crossings
        Those of all queries.
    order
        What sorts them.
    relevant
        Ranks are those at the lower limit.

    Returns
    -------
    total, edges, change
        In the unit of whole numbers, by ascending edges; several may coincide.
    """
    at, numbers, moves = _sorted(crossings, order)
    kind, levels, divisors = terms.kind, terms.gain, terms.divisor
    places, amounts = _of_relevant(terms, relevant)
    total, stay = 0, 1.0
    for i in range(places.shape[0]):
        now = 0
        if 0 < places[i, RANK] <= places[i, DEPTH]:
            if kind == CASCADE:
                stay = stay_chance(levels, places[i, ABOVE:])
            rank, above = places[i, RANK], places[i, ABOVE + 1]
            gain, norm, least = amounts[i, GAIN], amounts[i, NORM], amounts[i, LEAST]
            now = _units(kind, gain, divisors[rank], rank, above, stay, norm, least)
        places[i, NOW] = now
        total += now
    edges, change = at, np.empty(order.shape[0], np.int64)  # edges never overtake crossings
    count, begin = 0, 0
    while begin < order.shape[0]:
        edge, end = at[begin], begin
        while end < order.shape[0] and at[end] == edge:
            i, move = numbers[end], moves[end]
            step = 1 if move > 0 else -1
            places[i, RANK] += step
            places[i, ABOVE - 1 + abs(move)] += step
            end += 1
        for e in range(begin, end):
            i, now = numbers[e], 0
            if places[i, RANK] <= places[i, DEPTH]:
                if kind == CASCADE:
                    stay = stay_chance(levels, places[i, ABOVE:])
                rank, above = places[i, RANK], places[i, ABOVE + 1]
                gain, norm, least = amounts[i, GAIN], amounts[i, NORM], amounts[i, LEAST]
                now = _units(kind, gain, divisors[rank], rank, above, stay, norm, least)
            if now != places[i, NOW]:
                edges[count], change[count] = edge, now - places[i, NOW]
                places[i, NOW] = now
                count += 1
        begin = end
    return total, edges[:count], change[:count]


@kernel
def _sorted(crossings: Crossings, order: Ints) -> Crossings:
    """Return crossings in an order: afterwards memory is read from one end to the other."""
    at, numbers = np.empty(order.shape[0]), np.empty(order.shape[0], np.int32)
    moves = np.empty(order.shape[0], np.int32)
    for t in range(order.shape[0]):
        at[t] = crossings.at[order[t]]
        numbers[t] = crossings.number[order[t]]
        moves[t] = crossings.move[order[t]]
    return Crossings(at, numbers, moves)


@kernel
def _of_relevant(terms: Terms, relevant: Relevant) -> tuple[Ints, Floats]:
    """Return what is known of each relevant document in one row, of whole numbers and of others.

    One row is one place in memory; columns apart would be as many.
    """
    size, columns = relevant.above.shape
    places, amounts = np.zeros((size, ABOVE + columns), np.int64), np.ones((size, 3))
    for q in range(relevant.start.shape[0] - 1):
        for i in range(relevant.start[q], relevant.start[q + 1]):
            places[i, RANK], places[i, DEPTH] = relevant.rank[i], terms.depth[q]
            for column in range(columns):
                places[i, ABOVE + column] = relevant.above[i, column]
            amounts[i, GAIN] = terms.gain[terms.level[relevant.rows[i]]]
            amounts[i, NORM], amounts[i, LEAST] = terms.norm[q], terms.least[q]
    return places, amounts


@inlined
def _units(
    kind: int,
    gain: float,
    divisor: float,
    rank: int,
    above: int,
    stay: float,
    norm: float,
    least: float,
) -> int:
    """Return what a relevant document adds at its rank, in the unit."""
    return int(np.rint(amount(kind, gain, divisor, rank, above, stay, norm, least) / norm * UNIT))
