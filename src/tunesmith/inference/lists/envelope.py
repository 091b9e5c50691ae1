"""The upper envelope of a group's lines: which candidate wins where along a direction.

Candidate i of a group is the line scores[i] + γ·slopes[i]. The lines of the upper envelope
are the upper hull of the points (slope, score), so the search is a hull search, without a
sort: the winner at γ = 0 is known and is the highest point; chords from it to the points of
least and greatest slope leave a few per cent of the candidates above them, and quickhull
takes those. The sweeps over all candidates only count comparisons, which the compiler turns
into vector instructions (a maximum of floats it would not).
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats, Words
from tunesmith.kernels import kernel

#: Candidates that one vectorised count looks at.
BLOCK = 64


@kernel
def winners_of(scores: Floats, start: Ints) -> Ints:
    """Return the candidate with the highest score of each group, the first among equals."""
    winners = np.empty(start.shape[0] - 1, np.int64)
    for g in range(winners.shape[0]):
        winners[g] = better_in(scores, start[g] + 1, start[g + 1], start[g])
    return winners


@kernel
def better_in(scores: Floats, lo: int, hi: int, at: int) -> int:
    """Return the first of the highest of a range that are higher than ``at``, or ``at``."""
    best = scores[at]
    for c in range(lo, hi, BLOCK):
        block = scores[c : min(c + BLOCK, hi)]
        higher = 0
        for i in range(block.shape[0]):
            higher += block[i] > best
        if higher > 0:
            for i in range(block.shape[0]):
                if block[i] > best:
                    best, at = block[i], c + i
    return at


@kernel
def extremes_of(slopes: Floats, start: Ints, groups: Ints) -> Ints:
    """Return, for some groups, the first and last candidate of least and of greatest slope.

    Row 0 and 1: least slope; 2 and 3: greatest. They depend on the data alone and are
    computed once per feature.
    """
    ends = np.empty((4, start.shape[0] - 1), np.int64)
    for g in groups:
        lo = start[g]
        low, high = slopes[lo], slopes[lo]
        ends[:, g] = lo
        for i in range(lo + 1, start[g + 1]):
            slope = slopes[i]
            if slope <= low:
                if slope < low:
                    low = slope
                    ends[0, g] = i
                ends[1, g] = i
            if slope >= high:
                if slope > high:
                    high = slope
                    ends[2, g] = i
                ends[3, g] = i
    return ends


@kernel
def _highest(slopes: Floats, scores: Floats, slope: float, first: int, last: int) -> int:
    """Return the best candidate of one slope; all of them lie between first and last."""
    best, at = scores[first], first
    for c in range(first + 1, last + 1, BLOCK):
        s = slopes[c : min(c + BLOCK, last + 1)]
        b = scores[c : min(c + BLOCK, last + 1)]
        higher = 0
        for i in range(s.shape[0]):
            higher += (s[i] == slope) & (b[i] > best)
        if higher > 0:
            for i in range(s.shape[0]):
                if s[i] == slope and b[i] > best:
                    best, at = b[i], c + i
    return at


@kernel
def envelope(
    slopes: Floats,
    scores: Floats,
    winners: Ints,
    start: Ints,
    groups: Ints,
    ends: Ints,
    stats: Stats,
    total: Stats,
    at: Floats,
    left: Ints,
    right: Ints,
) -> int:
    """Find all breakpoints of some groups along a direction.

    Parameters
    ----------
    slopes, scores : [N]
        The lines. ``winners`` are the best candidates at γ = 0.
    groups, ends
        The groups whose slopes differ, and :func:`extremes_of` the slopes.
    stats, total
        ``total`` comes as the sum of the winners' statistics and leaves as the sum of
        those that win at γ = −∞.
    at, left, right
        Filled with γ and the candidates that win before and after it; not sorted.

    Returns
    -------
    The number of breakpoints. Lines that win at a single point are left out.
    """
    longest = 0
    for g in groups:
        longest = max(longest, start[g + 1] - start[g])
    above = np.empty(longest + 8, np.int64)
    # One byte a candidate, looked at eight at a time; what a larger group has left in the
    # last eight only costs a look.
    marks = np.zeros(longest // 8 + 1, np.uint64)
    stack = np.empty((longest + 2, 3), np.int64)
    hull = np.empty(longest + 2, np.int64)
    count = 0
    for g in groups:
        lo, hi = start[g], start[g + 1]
        top = winners[g]
        least = ends[0, g]
        if ends[1, g] > least:
            least = _highest(slopes, scores, slopes[least], least, ends[1, g])
        greatest = ends[2, g]
        if ends[3, g] > greatest:
            greatest = _highest(slopes, scores, slopes[greatest], greatest, ends[3, g])
        if slopes[top] == slopes[least]:
            top = least
        elif slopes[top] == slopes[greatest]:
            top = greatest
        corners = hull_between(
            slopes, scores, lo, hi, least, top, greatest, marks, above, stack, hull
        )
        for k in range(total.shape[0]):
            total[k] += stats[hull[0], k] - stats[winners[g], k]
        for c in range(1, corners):
            p, q = hull[c - 1], hull[c]
            at[count] = (scores[p] - scores[q]) / (slopes[q] - slopes[p])
            left[count], right[count] = p, q
            count += 1
    return count


@kernel
def hull_between(
    slopes: Floats,
    scores: Floats,
    lo: int,
    hi: int,
    least: int,
    top: int,
    greatest: int,
    marks: Words,
    above: Ints,
    stack: Ints,
    hull: Ints,
) -> int:
    """Find the corners of the upper hull of one group.

    Parameters
    ----------
    lo, hi
        Where the group is. ``least`` and ``greatest`` are the best candidates of least and
        of greatest slope, ``top`` is the best of all; they may be the same.
    marks, above, stack
        Room for as many candidates: see :func:`envelope`.
    hull
        Filled with the corners, from the least slope to the greatest.
    """
    middle, below = _above_chords(slopes, scores, lo, hi, least, top, greatest, marks, above)

    # Quickhull from left to right; a stack entry is a range of ``above`` and its right end.
    hull[0] = least
    corners = 1
    depth = 0
    if greatest != top:
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = middle, below, greatest
        depth += 1
    if top != least:
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = 0, middle, top
        depth += 1
    while depth > 0:
        depth -= 1
        first, last, end = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        begin = hull[corners - 1]
        peak = _farthest(slopes, scores, above, first, last, begin, end)
        if peak < 0:
            corners = _append(slopes, scores, hull, corners, end)
            continue
        middle = _keep_above(slopes, scores, above, first, last, begin, peak)
        last = _keep_above(slopes, scores, above, middle, last, peak, end)
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = middle, last, end
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = first, middle, peak
        depth += 2
    return corners


@kernel
def _above_chords(
    slopes: Floats,
    scores: Floats,
    lo: int,
    hi: int,
    least: int,
    top: int,
    greatest: int,
    marks: Words,
    above: Ints,
) -> tuple[int, int]:
    """Collect the candidates above the chords least-top and top-greatest, left ones first."""
    x, y = slopes[top], scores[top]
    rise = (y - scores[least]) / (x - slopes[least]) if top != least else 0.0
    fall = (scores[greatest] - y) / (slopes[greatest] - x) if top != greatest else 0.0
    s, b = slopes[lo:hi], scores[lo:hi]
    mark = marks.view(np.uint8)[: hi - lo]
    for i in range(mark.shape[0]):
        d = s[i] - x
        mark[i] = b[i] - y > (rise if d < 0.0 else fall) * d
    count = 0
    for c in range((hi - lo + 7) // 8):
        if marks[c] != 0:
            for i in range(8 * c, min(8 * c + 8, hi - lo)):
                above[count] = lo + i
                count += mark[i]
    middle = 0
    for k in range(count):
        i = above[k]
        if slopes[i] < x:
            above[k] = above[middle]
            above[middle] = i
            middle += 1
    return middle, count


@kernel
def _farthest(
    slopes: Floats, scores: Floats, above: Ints, first: int, last: int, begin: int, end: int
) -> int:
    """Return the candidate farthest above the chord begin-end, -1 if none is."""
    x, y = slopes[begin], scores[begin]
    dx, dy = slopes[end] - x, scores[end] - y
    best, peak = 0.0, -1
    for k in range(first, last):
        i = above[k]
        height = (scores[i] - y) * dx - dy * (slopes[i] - x)
        if height > best or (height == best and peak >= 0 and _wins_tie(slopes, i, peak)):
            best, peak = height, i
    return peak


@kernel
def _wins_tie(slopes: Floats, i: int, j: int) -> bool:
    """Order candidates of equal height by slope and, where that is equal too, as read."""
    return slopes[i] < slopes[j] or (slopes[i] == slopes[j] and i < j)


@kernel
def _keep_above(
    slopes: Floats, scores: Floats, above: Ints, first: int, last: int, begin: int, end: int
) -> int:
    """Move the candidates above the chord begin-end to the front; return where they stop."""
    x, y = slopes[begin], scores[begin]
    dx, dy = slopes[end] - x, scores[end] - y
    above_count = first
    for k in range(first, last):
        i = above[k]
        d = slopes[i] - x
        if 0.0 < d < dx and (scores[i] - y) * dx > dy * d:
            above[k] = above[above_count]
            above[above_count] = i
            above_count += 1
    return above_count


@kernel
def _append(slopes: Floats, scores: Floats, hull: Ints, corners: int, new: int) -> int:
    """Add a corner; drop those before it that rounding alone had kept."""
    while corners >= 2:
        p, q = hull[corners - 1], hull[corners - 2]
        if (scores[q] - scores[new]) * (slopes[p] - slopes[q]) > (scores[q] - scores[p]) * (
            slopes[new] - slopes[q]
        ):
            break
        corners -= 1
    hull[corners] = new
    return corners + 1
