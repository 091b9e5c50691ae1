"""Walks close along the arcs: they pass through every region of the sphere.

A region is where no winner of any group changes. Unless there is but one, an arc of some
group is part of its boundary, and a walk beside that arc, nearer than half of the region's
radius, comes through it. On the arc itself winners tie, and where arcs of several groups lie
upon each other (repeated sentences, whole numbers as features) so do those of several.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import argsort
from tunesmith.metrics.base import Metric
from tunesmith.search.plane.arcs import Arcs

#: Intervals for whose statistics there is room at once.
ROOM = 1 << 15


@dataclass(frozen=True)
class Ground:
    """The corners of all groups whose winner changes somewhere.

    Attributes
    ----------
    points : float64[3, n]
        The corners.
    start : int64[S' + 1]
        Where those of each group are.
    stats : [n, K]
        Their statistics.
    always : [K]
        The sum of the statistics of those that win everywhere.
    """

    points: Floats
    start: Ints
    stats: Stats
    always: Stats


@dataclass(frozen=True)
class Stretches:
    """Parts of walks on which no winner changes, the best first.

    Attributes
    ----------
    gains : float64[n]
    widths : float64[n]
        How long each is.
    middles : float64[n, 3]
        Weights in the middle of each.
    seen
        How many there are in all.
    rest
        The gain of the best that is not listed.
    """

    gains: Floats
    widths: Floats
    middles: Floats
    seen: int
    rest: float


def walk(
    ground: Ground, arcs: Arcs, chosen: Ints, metric: Metric, radius: float, most: int
) -> Stretches:
    """Walk on both sides of some arcs; return the ``most`` best stretches.

    ``radius`` is that of the smallest region that matters. What is shorter than that is no
    part of such a region, or a part of it that another walk comes through.
    """
    best_so_far: list[tuple[Floats, Floats, Floats]] = []
    seen, rest, done = 0, -np.inf, 0
    room = max(ROOM, 4 * (ground.points.shape[1] + 1))
    totals = np.empty((room, len(ground.always)), ground.always.dtype)
    widths, middles = np.empty(room), np.empty((room, 3))
    while done < len(chosen):
        ahead, count = _walk(
            ground.points, ground.start, ground.stats, ground.always,
            arcs.middle, arcs.along, arcs.normal, arcs.reach,
            chosen[done:], radius, totals, widths, middles,
        )  # fmt: skip
        done += ahead
        seen += count
        gains = np.asarray(metric.gain(totals[:count]), np.float64)
        best_so_far.append((gains, widths[:count], middles[:count]))
        best, left = _best(best_so_far, most)
        rest = max(rest, left)
        best_so_far = [best]
    gains, best_widths, where = (
        best_so_far[0] if best_so_far else (np.empty(0), np.empty(0), np.empty((0, 3)))
    )
    return Stretches(gains, best_widths, where, seen, rest)


def _best(
    lists: list[tuple[Floats, Floats, Floats]], most: int
) -> tuple[tuple[Floats, Floats, Floats], float]:
    """Return the best of several lists, the widest first among equals, and the others."""
    gains, widths = (np.concatenate([stretches[k] for stretches in lists]) for k in (0, 1))
    middles = np.concatenate([stretches[2] for stretches in lists])
    if len(gains) > most:
        # Equals of the last that is kept are sorted too, so that the widest of them stay.
        least = np.partition(gains, len(gains) - most)[len(gains) - most]
        near = np.flatnonzero(gains >= least)
    else:
        near = np.arange(len(gains))
    near = near[np.lexsort((near, -widths[near], -gains[near]))]
    rest = -np.inf
    if len(gains) > most:
        left = np.ones(len(gains), np.bool_)
        left[near[:most]] = False
        rest = float(gains[left].max())
        near = near[:most]
    return (gains[near], widths[near], middles[near]), rest


@kernel
def _walk(
    points: Floats,
    start: Ints,
    stats: Stats,
    always: Stats,
    middle: Floats,
    along: Floats,
    normal: Floats,
    reach: Floats,
    chosen: Ints,
    radius: float,
    totals: Stats,
    widths: Floats,
    middles: Floats,
) -> tuple[int, int]:
    """Fill the stretches of walks as long as there is room; return how many arcs, and how many.

    A walk is a straight line beside the arc, so a candidate's score is a line over it, and
    the winners are their upper envelope, as on any line.
    """
    corners = points.shape[1]
    scores, slopes = np.empty(corners), np.empty(corners)
    at = np.empty(corners)
    left, right = np.empty(corners, np.int64), np.empty(corners, np.int64)
    stack = np.empty((corners + 2, 2), np.int64)
    total = np.empty_like(always)
    begin = np.empty(3)
    count = 0
    for done in range(chosen.shape[0]):
        if count + 2 * (corners + 1) > widths.shape[0]:
            return done, count
        arc = chosen[done]
        end = reach[arc]
        for side in range(2):
            for d in range(3):
                begin[d] = middle[arc, d] + (side - 0.5) * radius * normal[arc, d]
            _project(points, begin, along[arc], scores, slopes)
            copy_to(total, 0, always)
            events = _envelopes(scores, slopes, start, end, stats, total, at, left, right, stack)
            order = argsort(at[:events])
            angle = -end
            for e in range(events + 1):
                next_angle = at[order[e]] if e < events else end
                if next_angle - angle > radius:
                    step = 0.5 * (angle + next_angle)
                    copy_to(totals[count], 0, total)
                    widths[count] = next_angle - angle
                    for d in range(3):
                        middles[count, d] = begin[d] + step * along[arc, d]
                    count += 1
                if e < events:
                    before, after = stats[left[order[e]]], stats[right[order[e]]]
                    for k in range(total.shape[0]):
                        total[k] += after[k] - before[k]
                    angle = next_angle
    return chosen.shape[0], count


@kernel
def _project(points: Floats, begin: Floats, along: Floats, scores: Floats, slopes: Floats) -> None:
    x, y, z = points[0], points[1], points[2]
    bx, by, bz = begin[0], begin[1], begin[2]
    ax, ay, az = along[0], along[1], along[2]
    for i in range(x.shape[0]):
        scores[i] = bx * x[i] + by * y[i] + bz * z[i]
        slopes[i] = ax * x[i] + ay * y[i] + az * z[i]


@kernel
def _envelopes(
    scores: Floats,
    slopes: Floats,
    start: Ints,
    end: float,
    stats: Stats,
    total: Stats,
    at: Floats,
    left: Ints,
    right: Ints,
    stack: Ints,
) -> int:
    """Find where the winners change between -end and end; add those at -end to the total.

    Where the winners at both ends differ, ask who is highest where these two cross: nobody
    else, or one whose slope is between theirs, and then again on both sides of that one.
    """
    events = 0
    for g in range(start.shape[0] - 1):
        lo, hi = start[g], start[g + 1]
        first = _highest(scores, slopes, lo, hi, -end)
        last = _highest(scores, slopes, lo, hi, end)
        for k in range(total.shape[0]):
            total[k] += stats[first, k]
        if slopes[last] <= slopes[first]:
            continue
        depth = 1
        stack[0, 0], stack[0, 1] = first, last
        while depth > 0:
            depth -= 1
            p, q = stack[depth, 0], stack[depth, 1]
            where = (scores[p] - scores[q]) / (slopes[q] - slopes[p])
            top = _highest(scores, slopes, lo, hi, where)
            higher = scores[top] + where * slopes[top] > scores[p] + where * slopes[p]
            if higher and slopes[p] < slopes[top] < slopes[q]:
                stack[depth, 0], stack[depth, 1] = top, q
                stack[depth + 1, 0], stack[depth + 1, 1] = p, top
                depth += 2
            else:
                at[events], left[events], right[events] = where, p, q
                events += 1
    return events


@kernel
def _highest(scores: Floats, slopes: Floats, lo: int, hi: int, where: float) -> int:
    top, best = lo, scores[lo] + where * slopes[lo]
    for i in range(lo + 1, hi):
        score = scores[i] + where * slopes[i]
        if score > best:
            top, best = i, score
    return top
