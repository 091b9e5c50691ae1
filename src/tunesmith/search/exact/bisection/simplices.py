"""Exact search for few features: cones of vectors, bisected until they are small enough.

A cone is spanned by as many corners as there are features. A point that another point of its
group equals or beats at every corner wins nowhere inside, and nowhere in a part of the cone. What
every vector of a cone loses at least is the least loss of the living points, added up. The widest
edge is bisected: the cost is exponential in the features, and grows little with the groups, since
in a small cone most groups have one loss left and are settled.

Corners may lie on ties, as those on the axes of whole-numbered features do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows

#: Cones that wait within a dive, at most; cones whose widest edge is shorter stay as they are.
DEPTH, SHORTEST = 512, 1e-4
#: Under a corner where scores vary less, relative to others, all points are equal.
NOTHING = 1e-9
#: Which number of ``Cones.numbers`` is what: cones, their living points; cones looked at; the least
#: loss known.
CONES, LIVING, SEEN, LEAST = 0, 1, 2, 3


class Sample(NamedTuple):
    """The points of all groups, and which vectors count.

    Attributes
    ----------
    points : float64[N, D]
        ``loss`` int64[N] and ``owner`` int32[N] are their losses and groups.
    aim : float64[D]
        With ``angle`` above 0 vectors count within this angle of it.
    """

    points: Floats
    loss: Ints
    owner: Ids
    aim: Floats
    angle: float


class Cones(NamedTuple):
    """Cones, one after the other.

    Attributes
    ----------
    corners : float64[n, D, D]
        One row per corner, of length 1.
    start : int64[n + 1]
        Where the living points of each begin in ``living`` int32[m]: those of groups that are
        not settled, group by group, in the order of their loss.
    settled, bound : int64[n]
        What settled groups lose, and what all groups lose at least.
    numbers : int64[4]
        See above.
    best : float64[D]
        The vector of the least loss, where a dive found it.
    """

    corners: Floats
    start: Ints
    living: Ids
    settled: Ints
    bound: Ints
    numbers: Ints
    best: Floats


def room(cones: int, living: int, size: int) -> Cones:
    """Return room for cones."""
    return Cones(
        np.empty((cones, size, size)),
        np.zeros(cones + 1, np.int64),
        np.empty(living, np.int32),
        np.empty(cones, np.int64),
        np.empty(cones, np.int64),
        np.zeros(4, np.int64),
        np.zeros(size),
    )


@kernel
def _scatter(sample: Sample, living: Ids, lo: int, hi: int, scatter: Floats) -> None:
    """Fill in how points vary within their groups: the sum of squares and products."""
    size = scatter.shape[0]
    mean = np.empty(size)
    scatter[:] = 0.0
    first = lo
    while first < hi:
        last = first
        mean[:] = 0.0
        while last < hi and sample.owner[living[last]] == sample.owner[living[first]]:
            for d in range(size):
                mean[d] += sample.points[living[last], d]
            last += 1
        for d in range(size):
            mean[d] /= last - first
        for k in range(first, last):
            row = sample.points[living[k]]
            for d in range(size):
                apart = row[d] - mean[d]
                for e in range(d + 1):
                    scatter[d, e] += apart * (row[e] - mean[e])
        first = last
    for d in range(size):
        for e in range(d):
            scatter[e, d] = scatter[d, e]


@kernel
def _widest_edge(corners: Floats, scatter: Floats, middle: Floats) -> tuple[int, int, float]:
    """Return the corners under which the living points score most differently, and how much so.

    ``middle`` becomes a vector between them. Scores are compared without their size: near to a
    vector under which all points are equal, as are those of as many words, what counts is the
    direction in which one leaves it. The edges to it are not bisected, which would never end.
    """
    size = corners.shape[0]
    lengths = np.zeros(size)
    turned = np.zeros((size, size))
    for i in range(size):
        for d in range(size):
            for e in range(size):
                turned[i, d] += scatter[d, e] * corners[i, e]
            lengths[i] += turned[i, d] * corners[i, d]
        lengths[i] = np.sqrt(max(lengths[i], 0.0))
    least = NOTHING * lengths.max()
    first, second, widest = 0, 0, -1.0
    for i in range(size):
        for j in range(i):
            if lengths[i] <= least or lengths[j] <= least:
                continue
            product = 0.0
            for d in range(size):
                product += turned[i, d] * corners[j, d]
            apart = 2.0 - 2.0 * product / (lengths[i] * lengths[j])
            if apart > widest:
                first, second, widest = i, j, apart
    if widest > 0.0:
        length = 0.0
        for d in range(size):
            middle[d] = corners[first, d] / lengths[first] + corners[second, d] / lengths[second]
            length += middle[d] * middle[d]
        for d in range(size):
            middle[d] /= np.sqrt(length)
    return first, second, np.sqrt(max(widest, 0.0))


@kernel
def _is_outside(corners: Floats, aim: Floats, angle: float) -> bool:
    """Tell whether a cone holds no vector within an angle of the aim."""
    size = corners.shape[0]
    middle = np.zeros(size)
    length = 0.0
    for d in range(size):
        for i in range(size):
            middle[d] += corners[i, d]
        length += middle[d] * middle[d]
    length = np.sqrt(length)
    to_aim, narrowest = 0.0, 1.0
    for d in range(size):
        to_aim += middle[d] * aim[d] / length
    for i in range(size):
        to_corner = 0.0
        for d in range(size):
            to_corner += middle[d] * corners[i, d] / length
        narrowest = min(narrowest, to_corner)
    radius = np.arccos(min(max(narrowest, -1.0), 1.0))
    return bool(np.arccos(min(max(to_aim, -1.0), 1.0)) > angle + radius + 1e-9)


@kernel
def _survivors(
    sample: Sample,
    corners: Floats,
    living: Ids,
    lo: int,
    hi: int,
    scores: Floats,
    order: Ints,
    kept: Bytes,
    to: Ids,
    at: int,
) -> tuple[int, int, int]:
    """Write the points that are not beaten at every corner, without settled groups.

    Returns
    -------
    Where they end; what the groups that are settled here lose; what the others lose at least.
    """
    size = corners.shape[0]
    owner, loss = sample.owner, sample.loss
    settled, least = 0, 0
    first = lo
    while first < hi:
        group = owner[living[first]]
        last = first
        while last < hi and owner[living[last]] == group:
            row = sample.points[living[last]]
            total = 0.0
            for c in range(size):
                value = 0.0
                for d in range(size):
                    value += corners[c, d] * row[d]
                scores[last - first, c] = value
                total += value
            scores[last - first, size] = total
            last += 1
        many, begin = last - first, at
        _skyline(scores, many, size, order, kept)
        for own in range(many):
            if kept[own]:
                to[at] = living[first + own]
                at += 1
        if loss[to[at - 1]] == loss[to[begin]]:
            settled += loss[to[begin]]
            at = begin
        else:
            least += loss[to[begin]]
        first = last
    return at, settled, least


@kernel
def _skyline(scores: Floats, many: int, size: int, order: Ints, kept: Bytes) -> None:
    """Mark the rows that no other equals or beats in all columns; the last is their sum.

    A row can be beaten only by one of a greater sum, and then by one that is kept.
    """
    for i in range(many):
        place = i
        while place > 0 and scores[order[place - 1], size] < scores[i, size]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    count = 0
    for place in range(many):
        own = order[place]
        kept[own] = 1
        for k in range(count):
            if _beats(scores, order[k], own, size):
                kept[own] = 0
                break
        if kept[own]:
            # Those before this place are no longer needed in their order.
            order[count] = own
            count += 1


@kernel
def _beats(scores: Floats, one: int, other: int, size: int) -> bool:
    c = 0
    while c < size and scores[one, c] >= scores[other, c]:
        c += 1
    return c == size


@kernel
def _copy_cone(source: Cones, k: int, target: Cones) -> None:
    """Write a cone after those that are there."""
    here = target.numbers[CONES]
    at = target.numbers[LIVING]
    target.corners[here] = source.corners[k]
    for i in range(source.start[k], source.start[k + 1]):
        target.living[at] = source.living[i]
        at += 1
    target.settled[here] = source.settled[k]
    target.bound[here] = source.bound[k]
    target.start[here + 1] = at
    target.numbers[CONES] = here + 1
    target.numbers[LIVING] = at


@kernel
def _take_over(source: Cones, k: int, target: Cones) -> None:
    target.numbers[CONES], target.numbers[LIVING] = 0, 0
    _copy_cone(source, k, target)


@kernel
def _child(
    sample: Sample,
    corners: Floats,
    source: Cones,
    lo: int,
    hi: int,
    settled: int,
    to: Cones,
    scores: Floats,
    order: Ints,
    kept: Bytes,
) -> bool:
    """Write the cone of some corners after those that are there, if it may hold the best."""
    if sample.angle > 0.0 and _is_outside(corners, sample.aim, sample.angle):
        return False
    here, at = to.numbers[CONES], to.numbers[LIVING]
    end, more, least = _survivors(
        sample, corners, source.living, lo, hi, scores, order, kept, to.living, at
    )
    bound = settled + more + least
    if bound >= to.numbers[LEAST]:
        return False
    if end == at and sample.angle <= 0.0:
        # One loss everywhere inside: it is the least so far.
        to.numbers[LEAST] = bound
        for d in range(corners.shape[0]):
            to.best[d] = 0.0
            for i in range(corners.shape[0]):
                to.best[d] += corners[i, d]
        return False
    to.corners[here] = corners
    to.settled[here] = settled + more
    to.bound[here] = bound
    to.start[here + 1] = end
    to.numbers[CONES] = here + 1
    to.numbers[LIVING] = end
    return True


@kernel
def dive(
    sample: Sample, given: Cones, stack: Cones, found: Cones, spare: Cones, target: int, most: int
) -> int:
    """Bisect cones until what each loses at least reaches a target.

    ``numbers`` of ``given`` has how many there are; ``found`` has room for what is left of them.
    With little room left, or after so many cones as ``most``, what waits is written as it is.

    Returns
    -------
    How many of the given cones were taken.
    """
    size = sample.aim.shape[0]
    longest, count = 0, 0
    previous = -1
    for i in range(sample.owner.shape[0]):
        count = count + 1 if sample.owner[i] == previous else 1
        previous = sample.owner[i]
        longest = max(longest, count)
    scores = np.empty((longest, size + 1))
    order, kept = np.empty(longest, np.int64), np.empty(longest, np.uint8)
    corners = np.empty((size, size))
    middle, scatter = np.empty(size), np.empty((size, size))
    for k in range(given.numbers[CONES]):
        need = 4 * (given.start[k + 1] - given.start[k]) + stack.living.shape[0] // 8
        if (
            found.living.shape[0] - found.numbers[LIVING] < need
            or found.corners.shape[0] - found.numbers[CONES] < 2 * DEPTH
        ):
            return k
        stack.numbers[LEAST] = found.numbers[LEAST]
        _take_over(given, k, stack)
        looked = 0
        while stack.numbers[CONES] > 0:
            _take_over(stack, stack.numbers[CONES] - 1, spare)
            stack.numbers[CONES] -= 1
            stack.numbers[LIVING] = stack.start[stack.numbers[CONES]]
            if spare.bound[0] >= stack.numbers[LEAST]:
                continue
            many = spare.start[1]
            _scatter(sample, spare.living, 0, many, scatter)
            one, two, apart = _widest_edge(spare.corners[0], scatter, middle)
            is_full = (
                found.living.shape[0] - found.numbers[LIVING] < stack.numbers[LIVING] + 3 * many
                or found.corners.shape[0] - found.numbers[CONES] < stack.numbers[CONES] + 3
                or stack.corners.shape[0] - stack.numbers[CONES] < 3
                or stack.living.shape[0] - stack.numbers[LIVING] < 3 * many
            )
            if (
                spare.bound[0] >= target
                or found.numbers[SEEN] + looked >= most
                or is_full
                or apart < SHORTEST
            ):
                _copy_cone(spare, 0, found)
                continue
            looked += 1
            for side in range(2):
                copy_rows(corners, 0, spare.corners[0])
                for d in range(size):
                    corners[one if side == 0 else two, d] = middle[d]
                _child(
                    sample, corners, spare, 0, many, spare.settled[0], stack, scores, order, kept
                )
            if stack.numbers[LEAST] < found.numbers[LEAST]:
                found.numbers[LEAST] = stack.numbers[LEAST]
                for d in range(size):
                    found.best[d] = stack.best[d]
        found.numbers[SEEN] += looked
        if found.numbers[SEEN] >= most:
            return k + 1
    return int(given.numbers[CONES])
