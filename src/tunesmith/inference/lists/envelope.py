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
#: Up to this size of a group every mark is looked at, beyond it eight at a time.
SMALL = 160


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
def highest_of(slopes: Floats, scores: Floats, slope: float, first: int, last: int) -> int:
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
            least = highest_of(slopes, scores, slopes[least], least, ends[1, g])
        greatest = ends[2, g]
        if ends[3, g] > greatest:
            greatest = highest_of(slopes, scores, slopes[greatest], greatest, ends[3, g])
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
    hull[0] = least
    depth = 0
    if greatest != top:
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = middle, below, greatest
        depth += 1
    if top != least:
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = 0, middle, top
        depth += 1
    return _quickhull(slopes, scores, above, stack, depth, hull)


@kernel
def _quickhull(
    slopes: Floats, scores: Floats, above: Ints, stack: Ints, depth: int, hull: Ints
) -> int:
    """Add the corners to the right of ``hull[0]``, from left to right; return how many there are.

    A stack entry is a chord from the last corner: a range of ``above`` with the candidates above
    it, and its right end. The ranges are short: a call, or a branch that is taken as often as not,
    would cost more than what it does.
    """
    corners = 1
    while depth > 0:
        depth -= 1
        first, last, end = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        begin = hull[corners - 1]
        x, y = slopes[begin], scores[begin]
        dx, dy = slopes[end] - x, scores[end] - y
        best, slope, peak = 0.0, np.inf, -1
        for k in range(first, last):
            i = above[k]
            s = slopes[i]
            height = (scores[i] - y) * dx - dy * (s - x)
            # Candidates of equal height are ordered by slope and, where that is equal, as read.
            wins_tie = (s < slope) | ((s == slope) & (i < peak))
            if (height > best) | ((height == best) & (peak >= 0) & wins_tie):
                best, slope, peak = height, s, i
        if peak < 0:
            # Drop the corners that rounding alone had kept.
            while corners >= 2:
                p, q = hull[corners - 1], hull[corners - 2]
                if (scores[q] - scores[end]) * (slopes[p] - slopes[q]) > (scores[q] - scores[p]) * (
                    slopes[end] - slopes[q]
                ):
                    break
                corners -= 1
            hull[corners] = end
            corners += 1
            continue
        # Those above the chord to the peak come first, then those above the chord from it.
        chord_end, stop = peak, first
        for side in range(2):
            dx, dy = slopes[chord_end] - x, scores[chord_end] - y
            begin_of_range = stop
            for k in range(stop, last):
                i = above[k]
                d = slopes[i] - x
                above[k] = above[stop]
                above[stop] = i
                stop += (d > 0.0) & (d < dx) & ((scores[i] - y) * dx > dy * d)
            stack[depth + 1 - side, 0] = begin_of_range
            stack[depth + 1 - side, 1] = stop
            stack[depth + 1 - side, 2] = chord_end
            x, y, chord_end = slopes[peak], scores[peak], end
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
    if hi - lo <= SMALL:
        for i in range(mark.shape[0]):
            above[count] = lo + i
            count += mark[i]
    else:
        for c in range((hi - lo + 7) // 8):
            if marks[c] != 0:
                for i in range(8 * c, min(8 * c + 8, hi - lo)):
                    above[count] = lo + i
                    count += mark[i]
    middle = 0
    for k in range(count):
        i = above[k]
        above[k] = above[middle]
        above[middle] = i
        middle += slopes[i] < x
    return middle, count
