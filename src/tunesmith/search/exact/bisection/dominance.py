"""Which points can win somewhere in a part of a cone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints
from tunesmith.kernels import kernel
from tunesmith.search.exact.bisection.cones import Sample

#: Length of a row of a point's scores, whose comparison is compiled into few instructions: scores
#: under the corners, zeros, and last the score under the middle of an edge.
WIDTH, MIDDLE = 8, 7


class Work(NamedTuple):
    """Room for the points of a cone and of a part of it.

    Attributes
    ----------
    scores : float64[N, 8]
        Of the living points under the corners and under the middle of the edge.
    begin : int64[S + 1]
        Where the groups of the cone begin.
    beaten : uint8[N]
        Of the living points: 1 and 2 for those that are beaten in the one part and in the other.
    own : float64[D, N]
        The scores of the points of a part under its corners.
    own_begin, losses, errors
        The same points' groups and how much more than the least of them they lose; how far
        differences of scores may be off in each group.
    order
        For the points of a group.
    """

    scores: Floats
    begin: Ints
    beaten: Bytes
    own: Floats
    own_begin: Ints
    losses: Floats
    errors: Floats
    order: Ints


def work(sample: Sample) -> Work:
    """Return room for the cones of a problem."""
    many, size = sample.points.shape
    groups = len(sample.error)
    return Work(
        np.zeros((many, WIDTH)),
        np.empty(groups + 1, np.int64),
        np.empty(many, np.uint8),
        np.empty((size, many)),
        np.empty(groups + 1, np.int64),
        np.empty(many),
        np.empty(groups),
        np.empty(int(np.bincount(sample.owner).max(initial=0)), np.int64),
    )


@kernel
def score(sample: Sample, living: Ids, many: int, corners: Floats, room: Work) -> int:
    """Fill in the scores of points under all corners, and where groups begin; count these."""
    size, groups, previous = corners.shape[0], 0, -1
    for i in range(many):
        point = living[i]
        for c in range(size):
            value = 0.0
            for d in range(size):
                value += corners[c, d] * sample.points[point, d]
            room.scores[i, c] = value
        if sample.owner[point] != previous:
            room.begin[groups] = i
            groups += 1
            previous = sample.owner[point]
    room.begin[groups] = many
    return groups


@kernel
def compare(
    sample: Sample,
    living: Ids,
    groups: int,
    corners: Floats,
    middle: Floats,
    edge_start: int,
    edge_end: int,
    room: Work,
) -> None:
    """Mark the points that another of their group equals or beats at every corner of a part.

    In the parts the middle of an edge replaces the corner ``edge_start``, or ``edge_end``.
    """
    size = middle.shape[0]
    for i in range(room.begin[groups]):
        value = 0.0
        for d in range(size):
            value += middle[d] * sample.points[living[i], d]
        room.scores[i, MIDDLE] = value
    scores, order, beaten = room.scores, room.order, room.beaten
    without_start, without_end = 255 - (1 << edge_start), 255 - (1 << edge_end)
    for group in range(groups):
        lo, many = room.begin[group], room.begin[group + 1] - room.begin[group]
        error = sample.error[sample.owner[living[lo]]]
        for i in range(lo, lo + many):
            place = i - lo
            while place > 0 and scores[order[place - 1], MIDDLE] < scores[i, MIDDLE]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
        for place in range(many):
            i, state = order[place], 0
            for before in range(place):
                k = order[before]
                if beaten[k] == 3:
                    continue
                # All at once: comparing one after the other, until it is clear, takes longer.
                below = 0
                for c in range(WIDTH):
                    below |= int(scores[k, c] < scores[i, c]) << c
                if (
                    below & without_start == 0
                    and state & 1 == 0
                    and _is_sure(sample, living, k, i, corners, middle, edge_start, error, scores)
                ):
                    state |= 1
                if (
                    below & without_end == 0
                    and state & 2 == 0
                    and _is_sure(sample, living, k, i, corners, middle, edge_end, error, scores)
                ):
                    state |= 2
                if state == 3:
                    break
            beaten[i] = state


@kernel
def _is_sure(
    sample: Sample,
    living: Ids,
    k: int,
    i: int,
    corners: Floats,
    middle: Floats,
    replaced: int,
    error: float,
    scores: Floats,
) -> bool:
    """Tell whether a point beats another in spite of rounding.

    Where scores differ by no more than rounding the difference of the points is multiplied out:
    how far it is off is in proportion to it, as the tolerance is.
    """
    size = middle.shape[0]
    for c in range(size + 1):
        column = MIDDLE if c == size else c
        if c == replaced or scores[k, column] - scores[i, column] > error:
            continue
        apart = 0.0
        for d in range(size):
            along = middle[d] if c == size else corners[c, d]
            apart += along * (sample.points[living[k], d] - sample.points[living[i], d])
        if apart < 0.0:
            return False
    return True


@kernel
def survivors(
    sample: Sample, living: Ids, groups: int, replaced: int, part: int, room: Work, to: Ids, at: int
) -> tuple[int, int, int, int]:
    """Write the points that are not beaten in a part, without settled groups.

    Returns
    -------
    Where they end; how many groups are not settled; what those lose that are settled here; what
    the others lose at least.
    """
    size, loss = room.own.shape[0], sample.loss
    settled, least, count, here = 0, 0, 0, 0
    for group in range(groups):
        end = here
        for i in range(room.begin[group], room.begin[group + 1]):
            if room.beaten[i] & part == 0:
                to[at + end] = living[i]
                for c in range(size):
                    room.own[c, end] = room.scores[i, MIDDLE if c == replaced else c]
                end += 1
        first = loss[to[at + here]]
        if loss[to[at + end - 1]] == first:
            settled += first
            continue
        least += first
        for i in range(here, end):
            room.losses[i] = loss[to[at + i]] - first
        room.own_begin[count] = here
        room.errors[count] = sample.error[sample.owner[to[at + here]]]
        count += 1
        here = end
    room.own_begin[count] = here
    return at + here, count, settled, least
