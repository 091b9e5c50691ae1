"""Exact search for few features: cones of vectors, bisected until they are small enough.

A cone is spanned by as many corners as there are features. A point that another point of its group,
or a mixture of two, equals or beats at every corner wins nowhere inside, and nowhere in a part of
the cone. What every vector of a cone loses at least is the least loss of the living points, added
up, and what linear bounds add to it (``minorants``). The widest edge is bisected: the cost is
exponential in the features, and grows little with the groups, since in a small cone most groups
have one loss left and are settled.

Corners may lie on ties, as those on the axes of whole-numbered features do.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows
from tunesmith.search.exact.bisection.cones import (
    CONES,
    LEAST,
    LIVING,
    POINTS,
    SEEN,
    Cones,
    Sample,
    copy_cone,
    take_over,
)
from tunesmith.search.exact.bisection.dominance import Work, compare, score, survivors
from tunesmith.search.exact.bisection.edges import GROUPS, variation, widest_edge
from tunesmith.search.exact.bisection.minorants import linear_bound

#: Cones that wait within a dive, at most; cones whose widest edge is shorter stay as they are.
DEPTH, SHORTEST = 512, 1e-4
#: In larger groups comparing each point with many others takes longer than anything else.
LARGE = 64
#: How much of the place of least loss of a cone is spread over its parts, so that none is at 0.
SPREAD = 0.05


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
def _child(
    sample: Sample,
    corners: Floats,
    spare: Cones,
    groups: int,
    replaced: int,
    part: int,
    where: Floats,
    to: Cones,
    room: Work,
) -> None:
    """Write a part of a cone after what is there, if it may hold the best."""
    if sample.angle > 0.0 and _is_outside(corners, sample.aim, sample.angle):
        return
    size = corners.shape[0]
    here, at = to.numbers[CONES], to.numbers[LIVING]
    end, count, more, least = survivors(
        sample, spare.living, groups, replaced, part, room, to.living, at
    )
    settled = spare.settled[0] + more
    bound = settled + least
    if bound >= to.numbers[LEAST]:
        return
    if end == at and sample.angle <= 0.0:
        # One loss everywhere inside: it is the least so far.
        to.numbers[LEAST] = bound
        for d in range(size):
            to.best[d] = 0.0
            for i in range(size):
                to.best[d] += corners[i, d]
        return
    enough = float(to.numbers[LEAST] - bound)
    bound += int(
        np.ceil(
            linear_bound(
                room.own,
                room.losses,
                room.own_begin,
                count,
                room.errors,
                where,
                enough,
                room.columns[0],
            )
        )
    )
    bound = max(bound, spare.bound[0])
    if bound >= to.numbers[LEAST]:
        return
    to.corners[here] = corners
    to.settled[here] = settled
    to.bound[here] = bound
    to.where[here] = where
    to.start[here + 1] = end
    to.numbers[CONES] = here + 1
    to.numbers[LIVING] = end


@kernel
def _place(where: Floats, replaced: int, other: int, shares: Floats, place: Floats) -> None:
    """Fill in the place of least loss by the corners of a part, or the place nearest to it.

    In place of the corner ``replaced`` there is the sum of it and of ``other``, times ``shares``.
    """
    size = where.shape[0]
    for c in range(size):
        place[c] = where[c]
    place[replaced] = where[replaced] / shares[0]
    place[other] = max(where[other] - where[replaced] * shares[1] / shares[0], 0.0)
    whole = 0.0
    for c in range(size):
        whole += place[c]
    for c in range(size):
        place[c] = (1.0 - SPREAD) * place[c] / whole + SPREAD / size


@kernel
def _work_of(begin: Ints, groups: int) -> int:
    """Return how long points take to compare: those of a large group, each with many others."""
    work = 0
    for group in range(groups):
        many = begin[group + 1] - begin[group]
        work += many * max(1, many // LARGE)
    return int(work)


@kernel
def dive(
    sample: Sample,
    given: Cones,
    stack: Cones,
    left: Cones,
    spare: Cones,
    room: Work,
    target: int,
    most: int,
    tests: int,
) -> int:
    """Bisect cones until what each loses at least reaches a target.

    ``numbers`` of ``given`` has how many there are; ``left`` has room for what is left of them.
    With little room left, after work on ``most`` points, or after that many ``tests``, what waits
    is written as it is.

    Returns
    -------
    How many of the given cones were taken.
    """
    size = sample.aim.shape[0]
    corners, middle = np.empty((size, size)), np.empty(size)
    products, shares, where = np.empty((size, size)), np.empty(2), np.empty(size)
    turned = np.empty(2)
    for k in range(given.numbers[CONES]):
        need = 4 * (given.start[k + 1] - given.start[k]) + stack.living.shape[0] // 8
        if (
            left.living.shape[0] - left.numbers[LIVING] < need
            or left.corners.shape[0] - left.numbers[CONES] < 2 * DEPTH
        ):
            return k
        stack.numbers[LEAST] = left.numbers[LEAST]
        take_over(given, k, stack)
        while stack.numbers[CONES] > 0:
            take_over(stack, stack.numbers[CONES] - 1, spare)
            stack.numbers[CONES] -= 1
            stack.numbers[LIVING] = stack.start[stack.numbers[CONES]]
            if spare.bound[0] >= stack.numbers[LEAST]:
                continue
            many = spare.start[1]
            is_full = (
                left.living.shape[0] - left.numbers[LIVING] < stack.numbers[LIVING] + 3 * many
                or left.corners.shape[0] - left.numbers[CONES] < stack.numbers[CONES] + 3
                or stack.corners.shape[0] - stack.numbers[CONES] < 3
                or stack.living.shape[0] - stack.numbers[LIVING] < 3 * many
            )
            is_over = left.numbers[POINTS] >= most or left.numbers[SEEN] >= tests
            if spare.bound[0] >= target or is_over or is_full:
                copy_cone(spare, 0, left)
                continue
            groups = score(sample, spare.living, many, spare.corners[0], room)
            variation(room.scores, room.begin, groups, GROUPS, products)
            edge_start, edge_end, apart = widest_edge(spare.corners[0], products, middle, shares)
            if apart < SHORTEST and groups >= 2 * GROUPS:
                # Those that differ may be few, and none of them among those looked at.
                variation(room.scores, room.begin, groups, groups, products)
                edge_start, edge_end, apart = widest_edge(
                    spare.corners[0], products, middle, shares
                )
            if apart < SHORTEST:
                copy_cone(spare, 0, left)
                continue
            left.numbers[SEEN] += 1
            left.numbers[POINTS] += _work_of(room.begin, groups)
            compare(
                sample, spare.living, groups, spare.corners[0], middle, edge_start, edge_end, room
            )
            for side in range(2):
                copy_rows(corners, 0, spare.corners[0])
                replaced = edge_start if side == 0 else edge_end
                other = edge_end if side == 0 else edge_start
                for d in range(size):
                    corners[replaced, d] = middle[d]
                turned[0], turned[1] = shares[side], shares[1 - side]
                _place(spare.where[0], replaced, other, turned, where)
                _child(sample, corners, spare, groups, replaced, side + 1, where, stack, room)
            if stack.numbers[LEAST] < left.numbers[LEAST]:
                left.numbers[LEAST] = stack.numbers[LEAST]
                for d in range(size):
                    left.best[d] = stack.best[d]
        if left.numbers[POINTS] >= most or left.numbers[SEEN] >= tests:
            return k + 1
    return int(given.numbers[CONES])
