"""The upper envelope along a feature that fires on few candidates.

All candidates of a group on which it does not fire have slope 0. The best of them, the first
among equals, is the only one that can be on the envelope, and unless the winner at γ = 0
fires it is the winner. So a search costs as much as there are candidates on which the feature
fires, and one quick sweep over each group whose winner is among them; groups in which it
fires nowhere are not looked at. The same holds of a step along it (footnote 6 of Galley et
al. 2013: intercepts change only where the feature fires).
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Stats
from tunesmith.inference.lists.envelope import better_in, hull_between
from tunesmith.kernels import kernel


@kernel
def sparse_envelope(
    rows: Ids,
    values: Floats,
    factor: float,
    scores: Floats,
    winners: Ints,
    start: Ints,
    group: Ints,
    longest: int,
    stats: Stats,
    total: Stats,
    at: Floats,
    left: Ints,
    right: Ints,
) -> int:
    """Find all breakpoints along a direction that fires on some candidates.

    Parameters
    ----------
    rows, values, factor
        Ascending candidates, whose slopes are ``factor * values``; others have slope 0.
    group : [N]
        The group of each candidate; ``longest`` is the size of the greatest group.
    scores, winners, start, stats, total, at, left, right
        As of :func:`tunesmith.inference.lists.envelope.envelope`; ``at``, ``left`` and ``right``
        have room for as many as there are rows.

    Returns
    -------
    The number of breakpoints.
    """
    most = min(longest, rows.shape[0] + 1)
    member = np.empty(most, np.int64)
    slope, score = np.empty(most), np.empty(most)
    above, hull = np.empty(most + 8, np.int64), np.empty(most + 2, np.int64)
    marks = np.zeros(most // 8 + 1, np.uint64)
    stack = np.empty((most + 2, 3), np.int64)
    count = 0
    end = 0
    while end < rows.shape[0]:
        first = end
        g = group[rows[first]]
        end = _end_of(rows, first, start[g + 1])
        fired, factors = rows[first:end], values[first:end]
        other = _best_other(scores, fired, start[g], start[g + 1], winners[g])
        size = _gather(fired, factors, factor, scores, other, member, slope, score)
        least, top, greatest = _ends_of(slope, score, size)
        if slope[least] == slope[greatest]:
            continue
        if _only(slope, size, slope[least], slope[greatest]):
            # One value wherever it fires: no line between the two.
            hull[0], hull[1] = least, greatest
            corners = 2
        else:
            corners = hull_between(
                slope, score, 0, size, least, top, greatest, marks, above, stack, hull
            )
        before = member[hull[0]]
        if before != winners[g]:
            for k in range(total.shape[0]):
                total[k] += stats[before, k] - stats[winners[g], k]
        for c in range(1, corners):
            p, q = hull[c - 1], hull[c]
            at[count] = (score[p] - score[q]) / (slope[q] - slope[p])
            left[count], right[count] = member[p], member[q]
            count += 1
    return count


@kernel
def shift_winners(
    rows: Ids,
    values: Floats,
    step: float,
    scores: Floats,
    winners: Ints,
    start: Ints,
    group: Ints,
) -> None:
    """Add ``step * values`` to the scores of some candidates, and find who wins now.

    ``scores`` and ``winners`` are changed in place; the winners must be those of the scores.
    """
    end = 0
    while end < rows.shape[0]:
        first = end
        g = group[rows[first]]
        end = _end_of(rows, first, start[g + 1])
        winner = winners[g]
        fires = False
        for k in range(first, end):
            scores[rows[k]] += step * values[k]
            fires = fires or rows[k] == winner
        if fires:
            winners[g] = better_in(scores, start[g] + 1, start[g + 1], start[g])
            continue
        for k in range(first, end):
            i = rows[k]
            if scores[i] > scores[winner] or (scores[i] == scores[winner] and i < winner):
                winner = i
        winners[g] = winner


@kernel
def _end_of(rows: Ids, first: int, stop: int) -> int:
    """Return where the rows from ``first`` on reach the next group."""
    end = first + 1
    while end < rows.shape[0] and rows[end] < stop:
        end += 1
    return end


@kernel
def _best_other(scores: Floats, fired: Ids, lo: int, hi: int, winner: int) -> int:
    """Return the first of the highest candidates of a group on which nothing fires, or -1."""
    count = fired.shape[0]
    fires = False
    for k in range(count):
        fires = fires or fired[k] == winner
    if not fires:
        return winner
    other = -1
    for k in range(count + 1):
        stop = fired[k] if k < count else hi
        if lo < stop:
            if other < 0:
                other = lo
            other = better_in(scores, lo, stop, other)
        if k < count:
            lo = fired[k] + 1
    return other


@kernel
def _gather(
    fired: Ids,
    factors: Floats,
    factor: float,
    scores: Floats,
    other: int,
    member: Ints,
    slope: Floats,
    score: Floats,
) -> int:
    """Copy the lines that count, in the order in which they were read; return how many."""
    size = 0
    for k in range(fired.shape[0]):
        i = fired[k]
        if 0 <= other < i:
            member[size], slope[size], score[size] = other, 0.0, scores[other]
            size += 1
            other = -1
        member[size], slope[size], score[size] = i, factor * factors[k], scores[i]
        size += 1
    if other >= 0:
        member[size], slope[size], score[size] = other, 0.0, scores[other]
        size += 1
    return size


@kernel
def _ends_of(slope: Floats, score: Floats, size: int) -> tuple[int, int, int]:
    """Return the best of the least slope, the best of all and the best of the greatest."""
    least = top = greatest = 0
    for i in range(1, size):
        s, b = slope[i], score[i]
        if s < slope[least] or (s == slope[least] and b > score[least]):
            least = i
        if s > slope[greatest] or (s == slope[greatest] and b > score[greatest]):
            greatest = i
        if b > score[top]:
            top = i
    return least, top, greatest


@kernel
def _only(slope: Floats, size: int, low: float, high: float) -> bool:
    """Tell whether there are only two slopes."""
    others = 0
    for i in range(size):
        others += (slope[i] != low) & (slope[i] != high)
    return others == 0
