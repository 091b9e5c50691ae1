"""Where the winner of one group changes: the arcs that divide the sphere of its weights.

With up to three weights a candidate is a point in space, and it wins under the weights u if
no other point reaches farther in the direction u. Only the direction of u counts, so the
weights are a sphere, and each group divides it into cells, one for each corner of the convex
hull of its points. Two cells meet in an arc of the great circle on which their candidates
tie. An arc too many, or one that is too long, does no harm to what is built on them; one too
few would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints
from tunesmith.data.rows import offsets
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.parallel.local import map_pieces

#: Rounding of points, relative to the sizes of the numbers that they were made from.
ROUNDING = 1e-13
#: Points that are nearer to each other than this many times the rounding are the same.
SAME = 10.0
#: Three points that lie on a line but for rounding count as such if they are so far apart.
APART = 1e6
#: Arcs shorter than this share of the tolerance are single points at which candidates tie.
SHORT = 1e-3
#: Of more points those that are no corners are left out first.
FEW = 24
#: Directions in which the first corners are looked for.
FIRST = np.array([d for d in np.ndindex(3, 3, 3) if d != (1, 1, 1)], np.float64) - 1.0
#: A walk follows at most an eighth of a circle on either side of its middle.
HALF = np.pi / 4


@dataclass(frozen=True)
class Arcs:
    """Pieces of great circles, each as a straight line: middle + t along, -reach ≤ t ≤ reach.

    Attributes
    ----------
    middle, along, normal : float64[n, 3]
        Unit vectors at right angles.
    reach : float64[n]
        At most about 1.
    """

    middle: Floats
    along: Floats
    normal: Floats
    reach: Floats

    def __len__(self) -> int:
        return len(self.reach)


@dataclass(frozen=True)
class Division:
    """How all groups divide the sphere.

    Attributes
    ----------
    arcs
        Those of all groups, one group after the other.
    corners : int64[n]
        The candidates that win somewhere, in the order read.
    start : int64[S + 1]
        Where the corners of each group are.
    """

    arcs: Arcs
    corners: Ints
    start: Ints


def divide(points: Floats, start: Ints, sizes: Floats, half: Floats, tolerance: float) -> Division:
    """Find the arcs of all groups.

    Parameters
    ----------
    points : float64[N, 3]
        The candidates.
    start : int64[S + 1]
        Where the groups are.
    sizes : float64[S]
        How large the numbers were that the points of each group came from.
    half : float64[3]
        Only u with half·u > 0 matter; all of them, if it is 0.
    tolerance
        Radius of the smallest cell that matters.
    """

    def divide_one(g: int) -> tuple[Floats, Ints]:
        lo, hi = int(start[g]), int(start[g + 1])
        rounding = ROUNDING * float(sizes[g])
        arcs, corners = _divide_group(points[lo:hi], half, rounding, SHORT * tolerance)
        return arcs, lo + corners

    groups = map_pieces(divide_one, list(range(len(start) - 1)))
    rows = np.concatenate([np.empty((0, 10)), *(arcs for arcs, _ in groups)])
    corners = np.concatenate(
        [np.empty(0, np.int64), *(corners_of_group for _, corners_of_group in groups)]
    )
    counts = np.array([len(corners_of_group) for _, corners_of_group in groups], np.int64)
    # Walks begin a little before an arc and end a little after it.
    reach = np.tan(rows[:, 9]) + 4.0 * tolerance
    middle, along, normal = (np.ascontiguousarray(rows[:, k : k + 3]) for k in (0, 3, 6))
    return Division(Arcs(middle, along, normal, reach), corners, offsets(counts))


def _divide_group(
    points: Floats, half: Floats, rounding: float, short: float
) -> tuple[Floats, Ints]:
    """Return the arcs of one group, a row each, and its corners."""
    indices = distinct(points, SAME * rounding)
    if len(indices) == 1:
        return np.empty((0, 10)), indices
    distinct_points = np.ascontiguousarray(points[indices])
    if len(indices) > FEW:
        outside = _corners(distinct_points, rounding)
        indices, distinct_points = indices[outside], np.ascontiguousarray(distinct_points[outside])
    arcs, used = _all_arcs(distinct_points, half, rounding, short)
    if len(arcs) == 0:
        # Within the half nothing changes.
        return arcs, indices[[int(np.argmax(distinct_points @ half))]]
    return arcs, indices[used]


def _all_arcs(points: Floats, half: Floats, rounding: float, short: float) -> tuple[Floats, Flags]:
    """Return the arcs of some points, and which points have any."""
    room = 16 * len(points)
    while True:
        arcs = np.empty((room, 10))
        used = np.zeros(len(points), np.bool_)
        count = _arcs(points, half, rounding, short, arcs, used)
        if count <= room:
            return arcs[:count], used
        room = count


def _corners(points: Floats, rounding: float) -> Ints:
    """Return the corners of the hull, and perhaps a few points that only touch it.

    From some corners on: a point outside of their hull is farthest in a direction in which
    arcs of theirs meet, or, of a flat hull, in one along an arc or across it. Those that are
    farthest in such directions are corners too.
    """
    chosen = np.zeros(len(points), np.bool_)
    chosen[_farthest(points, chosen, FIRST)] = True
    while True:
        corners = np.flatnonzero(chosen)
        arcs, _ = _all_arcs(points[corners], np.zeros(3), rounding, 0.0)
        middle, along, normal = arcs[:, 0:3], arcs[:, 3:6], arcs[:, 6:9]
        c, s = np.cos(arcs[:, 9:]), np.sin(arcs[:, 9:])
        ends = [c * middle + s * along, c * middle - s * along]
        more = _farthest(points, chosen, np.concatenate([*ends, middle, normal, -normal]))
        if len(more) == 0:
            return corners
        chosen[more] = True


@kernel
def _farthest(points: Floats, chosen: Flags, directions: Floats) -> Ints:
    """Return the points that are farther in some direction than all that are chosen."""
    is_farthest = np.zeros(points.shape[0], np.bool_)
    for r in range(directions.shape[0]):
        x, y, z = directions[r, 0], directions[r, 1], directions[r, 2]
        inner, best, top = -np.inf, -np.inf, -1
        for i in range(points.shape[0]):
            score = x * points[i, 0] + y * points[i, 1] + z * points[i, 2]
            if chosen[i]:
                inner = max(inner, score)
            elif score > best:
                best, top = score, i
        if best > inner:
            is_farthest[top] = True
    return np.flatnonzero(is_farthest)


@kernel
def distinct(points: Floats, same: float) -> Ints:
    """Return the points that are not the same as one before them."""
    count = points.shape[0]
    order = argsort(points[:, 0].copy())
    first = np.ones(count, np.bool_)
    for r in range(count):
        i = order[r]
        for q in range(r - 1, -1, -1):
            j = order[q]
            if points[i, 0] - points[j, 0] > same:
                break
            if (
                abs(points[i, 1] - points[j, 1]) <= same
                and abs(points[i, 2] - points[j, 2]) <= same
            ):
                first[max(i, j)] = False
    return np.flatnonzero(first)


@kernel
def _arcs(
    points: Floats, half: Floats, rounding: float, short: float, arcs: Floats, used: Flags
) -> int:
    """Fill the arcs of one group; return how many there are, were there room or not.

    The tie of two points is a great circle; each other point, and the half, leaves a half
    circle of it. Most pairs lose all of it to one of a few far points, which are asked first.
    """
    count = points.shape[0]
    likely = argsort(-(points[:, 0] ** 2 + points[:, 1] ** 2 + points[:, 2] ** 2))
    filled = 0
    normal, first, second = np.empty(3), np.empty(3), np.empty(3)
    for i in range(count):
        for j in range(i + 1, count):
            length = 0.0
            for d in range(3):
                normal[d] = points[i, d] - points[j, d]
                length += normal[d] ** 2
            length = np.sqrt(length)
            for d in range(3):
                normal[d] /= length
            frame(normal, first, second)
            low, high = _clip(points, i, j, length, normal, first, second, half, rounding, likely)
            if high - low <= short:
                continue
            used[i] = used[j] = True
            pieces = max(1, int(np.ceil((high - low) / (2.0 * HALF) - 1e-9)))
            extent = 0.5 * (high - low) / pieces
            for piece in range(pieces):
                if filled < arcs.shape[0]:
                    angle = low + (2 * piece + 1) * extent
                    c, s = np.cos(angle), np.sin(angle)
                    row = arcs[filled]
                    for d in range(3):
                        row[d] = c * first[d] + s * second[d]
                        row[3 + d] = c * second[d] - s * first[d]
                        row[6 + d] = normal[d]
                    row[9] = extent
                filled += 1
    return filled


@kernel
def frame(normal: Floats, first: Floats, second: Floats) -> None:
    """Fill two unit vectors at right angles to a third one, and to each other."""
    least = 0
    for d in range(1, 3):
        if abs(normal[d]) < abs(normal[least]):
            least = d
    length = np.sqrt(1.0 - normal[least] ** 2)
    for d in range(3):
        first[d] = ((1.0 if d == least else 0.0) - normal[least] * normal[d]) / length
    for d in range(3):
        e, f = (d + 1) % 3, (d + 2) % 3
        second[d] = normal[e] * first[f] - normal[f] * first[e]


@kernel
def _clip(
    points: Floats,
    i: int,
    j: int,
    length: float,
    normal: Floats,
    first: Floats,
    second: Floats,
    half: Floats,
    rounding: float,
    likely: Ints,
) -> tuple[float, float]:
    """Return the angles between which i and j tie and no other point is ahead.

    The point that leaves nothing goes to the front of ``likely``.
    """
    low, high = -np.pi, np.pi
    whole = True
    for q in range(-1, likely.shape[0]):
        k = likely[q] if q >= 0 else -1
        if k in (i, j):
            continue
        a, b, c = 0.0, 0.0, 0.0
        for d in range(3):
            ahead = points[i, d] - points[k, d] if k >= 0 else half[d]
            a += ahead * first[d]
            b += ahead * second[d]
            c += ahead * normal[d]
        size = np.sqrt(a * a + b * b)
        if size <= rounding:
            # On a line with i and j: beyond them its own tie covers theirs. And a tie along
            # the edge of the half is in no part of it.
            beyond = length > APART * rounding and not -rounding <= c <= length + rounding
            if beyond if k >= 0 else c != 0.0:
                low, high = 0.0, 0.0
        else:
            angle = np.arctan2(b, a)
            reach = 0.5 * np.pi + np.arcsin(rounding / size)
            if whole:
                low, high, whole = angle - reach, angle + reach, False
            else:
                turns = np.rint((0.5 * (low + high) - angle) / (2.0 * np.pi))
                angle += 2.0 * np.pi * turns
                low, high = max(low, angle - reach), min(high, angle + reach)
        if high <= low:
            for r in range(q, 0, -1):
                likely[r] = likely[r - 1]
            if q >= 0:
                likely[0] = k
            return 0.0, 0.0
    return low, high
