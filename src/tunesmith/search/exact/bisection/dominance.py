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
#: Times that another point is sought which beats one together with a second.
TRIES = 2
#: Bits of what is beaten in both parts, or below twice.
BOTH = 3


class Work(NamedTuple):
    """Room for the points of a cone and of a part of it.

    Attributes
    ----------
    scores : float64[N, 8]
        Of the living points under the corners and under the middle of the edge.
    columns : float64[D, N]
        The points themselves, feature by feature.
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
    tops, shares, signs
        For each column: which point of a group scores most; the share of a second point with which
        two equal a third; which of the two are below it, as bits.
    """

    scores: Floats
    columns: Floats
    begin: Ints
    beaten: Bytes
    own: Floats
    own_begin: Ints
    losses: Floats
    errors: Floats
    order: Ints
    tops: Ints
    shares: Floats
    signs: Ints


def work(sample: Sample) -> Work:
    """Return room for the cones of a problem."""
    many, size = sample.points.shape
    groups = len(sample.error)
    return Work(
        np.zeros((many, WIDTH)),
        np.empty((size, many)),
        np.empty(groups + 1, np.int64),
        np.empty(many, np.uint8),
        np.empty((size, many)),
        np.empty(groups + 1, np.int64),
        np.empty(many),
        np.empty(groups),
        np.empty(int(np.bincount(sample.owner).max(initial=0)), np.int64),
        np.empty(WIDTH, np.int64),
        np.empty(WIDTH),
        np.empty(WIDTH, np.int64),
    )


@kernel
def score(sample: Sample, living: Ids, many: int, corners: Floats, room: Work) -> int:
    """Fill in the scores of points under all corners, and where groups begin; count these."""
    size, groups, previous = corners.shape[0], 0, -1
    columns, values = room.columns, room.own
    for d in range(size):
        for i in range(many):
            columns[d, i] = sample.points[living[i], d]
    for c in range(size):
        for d in range(size):
            along = corners[c, d]
            if d == 0:
                for i in range(many):
                    values[c, i] = along * columns[d, i]
            else:
                for i in range(many):
                    values[c, i] += along * columns[d, i]
    for i in range(many):
        for c in range(size):
            room.scores[i, c] = values[c, i]
        owner = sample.owner[living[i]]
        if owner != previous:
            room.begin[groups] = i
            groups += 1
            previous = owner
    room.begin[groups] = many
    return groups


@kernel
def score_middle(middle: Floats, many: int, room: Work) -> None:
    """Fill in the scores under the middle of an edge of the points that were scored last."""
    columns, values = room.columns, room.own
    size = middle.shape[0]
    for i in range(many):
        values[0, i] = middle[0] * columns[0, i]
    for d in range(1, size):
        for i in range(many):
            values[0, i] += middle[d] * columns[d, i]
    for i in range(many):
        room.scores[i, MIDDLE] = values[0, i]


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
    """Mark the points that win nowhere in a part: others are as good at every corner.

    They may be one point, or two with shares that are the same at all corners. In the parts the
    middle of an edge replaces the corner ``edge_start``, or ``edge_end``.
    """
    score_middle(middle, room.begin[groups], room)
    order = room.order
    for group in range(groups):
        lo, many = room.begin[group], room.begin[group + 1] - room.begin[group]
        error = sample.error[sample.owner[living[lo]]]
        for i in range(lo, lo + many):
            place = i - lo
            while place > 0 and room.scores[order[place - 1], MIDDLE] < room.scores[i, MIDDLE]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
        _beat_by_one(sample, living, many, corners, middle, edge_start, edge_end, error, room)
        _beat_by_two(
            sample, living, lo, lo + many, corners, middle, edge_start, edge_end, error, room
        )


@kernel
def _beat_by_one(
    sample: Sample,
    living: Ids,
    many: int,
    corners: Floats,
    middle: Floats,
    edge_start: int,
    edge_end: int,
    error: float,
    room: Work,
) -> None:
    """Mark points of a group, in their order, if one that is before them beats them."""
    scores, order, beaten = room.scores, room.order, room.beaten
    without_start, without_end = 255 - (1 << edge_start), 255 - (1 << edge_end)
    for place in range(many):
        i, state = order[place], 0
        for before in range(place):
            k = order[before]
            if beaten[k] == BOTH:
                continue
            # All at once: comparing one after the other, until it is clear, takes longer.
            below = 0
            for c in range(WIDTH):
                below |= int(scores[k, c] < scores[i, c]) << c
            if (
                below & without_start == 0
                and state & 1 == 0
                and _is_sure(
                    sample, living, k, k, 0.0, i, corners, middle, edge_start, error, scores
                )
            ):
                state |= 1
            if (
                below & without_end == 0
                and state & 2 == 0
                and _is_sure(sample, living, k, k, 0.0, i, corners, middle, edge_end, error, scores)
            ):
                state |= 2
            if state == BOTH:
                break
        beaten[i] = state


@kernel
def _beat_by_two(
    sample: Sample,
    living: Ids,
    lo: int,
    hi: int,
    corners: Floats,
    middle: Floats,
    edge_start: int,
    edge_end: int,
    error: float,
    room: Work,
) -> None:
    """Mark points of a group that two others beat together, with the same shares everywhere.

    Only those are looked at that lose less than what wins under the middle: bounds depend on them.
    The first of the two is what scores most under the middle, the second what does where the first
    is farthest below. If they do not beat it, another is sought where both are below: what scores
    most there takes the place of one of them.
    """
    scores, tops, beaten = room.scores, room.tops, room.beaten
    shares, signs = room.shares, room.signs
    for c in range(WIDTH):
        tops[c] = lo
    for i in range(lo + 1, hi):
        for c in range(WIDTH):
            if scores[i, c] > scores[tops[c], c]:
                tops[c] = i
    for i in range(lo, tops[MIDDLE]):
        for part in range(2):
            if beaten[i] & (1 << part):
                continue
            replaced = edge_start if part == 0 else edge_end
            first, column, least = tops[MIDDLE], -1, 0.0
            for c in range(WIDTH):
                apart = scores[first, c] - scores[i, c]
                if apart < least and c != replaced:
                    column, least = c, apart
            second = tops[column] if column >= 0 else i
            for _ in range(TRIES):
                if second == i:
                    break
                low, high, at_low, at_high, both = 0.0, 1.0, 0, 0, -1
                for c in range(WIDTH):
                    ahead, other = scores[first, c] - scores[i, c], scores[second, c] - scores[i, c]
                    shares[c] = ahead / (ahead - other) if ahead != other else 0.0
                    signs[c] = int(ahead < 0.0) + 2 * int(other < 0.0)
                for c in range(WIDTH):
                    if c == replaced or signs[c] == 0:
                        continue
                    if signs[c] == BOTH:
                        both = c
                        break
                    if signs[c] == 1 and shares[c] > low:
                        low, at_low = shares[c], c
                    elif signs[c] == 2 and shares[c] < high:
                        high, at_high = shares[c], c
                if both >= 0:
                    low, at_low = 2.0, both
                if low <= high:
                    if _is_sure(
                        sample, living, first, second, 0.5 * (low + high), i, corners, middle,
                        replaced, error, scores,
                    ):  # fmt: skip
                        beaten[i] |= 1 << part
                    break
                third = tops[at_low]
                if low <= 1.0:
                    to_low = scores[first, at_high] - scores[second, at_high]
                    to_high = scores[second, at_low] - scores[first, at_low]
                    most = -np.inf
                    for k in range(lo, hi):
                        value = to_low * scores[k, at_low] + to_high * scores[k, at_high]
                        if value > most:
                            third, most = k, value
                if third == i:
                    break  # it wins there
                if scores[third, at_low] > scores[i, at_low]:
                    second = third
                else:
                    first = third


@kernel
def _is_sure(
    sample: Sample,
    living: Ids,
    k: int,
    other: int,
    share: float,
    i: int,
    corners: Floats,
    middle: Floats,
    replaced: int,
    error: float,
    scores: Floats,
) -> bool:
    """Tell whether a point, with a share of another, beats a third in spite of rounding.

    Where scores differ by no more than rounding the differences of the points are multiplied out:
    how far these are off is in proportion to them, as the tolerance is. Both must be ahead then.
    """
    size = middle.shape[0]
    for c in range(size + 1):
        column = MIDDLE if c == size else c
        if c == replaced:
            continue
        mixed = scores[k, column] + share * (scores[other, column] - scores[k, column])
        if mixed - scores[i, column] > error:
            continue
        first, second = 0.0, 0.0
        for d in range(size):
            along = middle[d] if c == size else corners[c, d]
            first += along * (sample.points[living[k], d] - sample.points[living[i], d])
            second += along * (sample.points[living[other], d] - sample.points[living[i], d])
        if first < 0.0 or second < 0.0:
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
