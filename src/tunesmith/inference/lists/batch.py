"""Many lines through one point in one pass.

The scores and statistics of a group are read from memory once for all lines, and Python is left
once for them. What does not depend on the point, the slopes and their extremes, is computed once
for lines that are searched again and again: those of the features and of the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.inference.hypotheses import Envelope, Line
from tunesmith.inference.lists.envelope import extremes_of, highest_of, hull_between
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces

#: Lines that are followed together at most: their changes are in memory at the same time. Of a set
#: that is in the processor's cache few are, so that their changes stay there too.
TOGETHER, FEW_TOGETHER = 8, 2
#: Candidates of such a set.
CACHED = 200_000
#: Breakpoints per group for which there is room at first.
USUAL = 12


@dataclass(frozen=True)
class Slopes:
    """Slopes along some directions, and where they are extreme.

    Attributes
    ----------
    rows : float64[L, N]
        The slopes of all candidates, a row for each direction.
    ends : int64[L, S, 4]
        Of each group, see :func:`tunesmith.inference.lists.envelope.extremes_of`.
    """

    rows: Floats
    ends: Ints

    @classmethod
    def of(cls, rows: Floats, start: Ints) -> Slopes:
        """Find the extremes."""
        ends = np.empty((len(rows), len(start) - 1, 4), np.int64)
        groups = np.arange(len(start) - 1)

        def find(row: int) -> None:
            ends[row] = extremes_of(rows[row], start, groups).T

        map_pieces(find, list(range(len(rows))))
        return cls(rows, ends)


@dataclass(frozen=True)
class LineBatch:
    """The lines of all candidates along one direction: a row of slopes."""

    slopes: Slopes
    row: int

    @property
    def values(self) -> Floats:
        """The slopes of all candidates."""
        values: Floats = self.slopes.rows[self.row]
        return values


@dataclass(frozen=True)
class Breakpoints:
    """Where winners change along some directions.

    Attributes
    ----------
    totals : [L, K]
        The sums of the winners' statistics at γ = −∞.
    at, changes : [L, C], [L, C, K]
        Where they change, and by how much.
    counts : int64[L]
        How often they change.
    """

    totals: Stats
    at: Floats
    changes: Stats
    counts: Ints

    def envelope(self, line: int) -> Envelope:
        """Return those of one direction."""
        count = self.counts[line]
        return Envelope(self.totals[line], self.at[line, :count], self.changes[line, :count])


def runs_of(lines: Sequence[Line], workers: int, candidates: int) -> list[Sequence[Line]]:
    """Cut lines into runs through one point each, a few for each worker."""
    most = TOGETHER if candidates > CACHED else FEW_TOGETHER
    if workers > 1:
        most = max(1, min(most, -(-len(lines) // (2 * workers))))
    runs: list[Sequence[Line]] = []
    begin = 0
    for k in range(1, len(lines) + 1):
        if k == len(lines) or k - begin == most or lines[k][0] is not lines[begin][0]:
            runs.append(lines[begin:k])
            begin = k
    return runs


def breakpoints(
    slopes: Slopes, rows: Ints, scores: Floats, winners: Ints, start: Ints, stats: Stats, now: Stats
) -> Breakpoints:
    """Follow the winners along the lines of some rows, from a point where the total is ``now``."""
    room = USUAL * len(winners) + 1
    most = len(scores) + 1
    while True:
        room = min(room, most)
        totals = np.repeat(now[None], len(rows), axis=0)
        at = np.empty((len(rows), room))
        changes = np.empty((len(rows), room, len(now)), stats.dtype)
        counts = np.zeros(len(rows), np.int64)
        arguments = slopes.rows, slopes.ends, rows, scores, winners, start, stats
        if _envelopes(*arguments, totals, at, changes, counts):
            return Breakpoints(totals, at, changes, counts)
        room *= 2


@kernel
def _envelopes(
    slopes: Floats,
    ends: Ints,
    rows: Ints,
    scores: Floats,
    winners: Ints,
    start: Ints,
    stats: Stats,
    totals: Stats,
    at: Floats,
    changes: Stats,
    counts: Ints,
) -> bool:
    """Find all breakpoints along some lines; False where there is not enough room for them."""
    longest = 0
    for g in range(winners.shape[0]):
        longest = max(longest, start[g + 1] - start[g])
    above = np.empty(longest + 8, np.int64)
    marks = np.zeros(longest // 8 + 1, np.uint64)
    stack = np.empty((longest + 2, 3), np.int64)
    hull = np.empty(longest + 2, np.int64)
    for g in range(winners.shape[0]):
        lo, hi, winner = start[g], start[g + 1], winners[g]
        for j in range(rows.shape[0]):
            row = slopes[rows[j]]
            end = ends[rows[j], g]
            least, greatest, top = end[0], end[2], winner
            if not row[least] < row[greatest]:
                continue
            if end[1] > least:
                least = highest_of(row, scores, row[least], least, end[1])
            if end[3] > greatest:
                greatest = highest_of(row, scores, row[greatest], greatest, end[3])
            if row[top] == row[least]:
                top = least
            elif row[top] == row[greatest]:
                top = greatest
            corners = hull_between(
                row, scores, lo, hi, least, top, greatest, marks, above, stack, hull
            )
            count = counts[j]
            if count + corners > at.shape[1]:
                return False
            p = hull[0]
            for k in range(totals.shape[1]):
                totals[j, k] += stats[p, k] - stats[winner, k]
            for c in range(1, corners):
                q = hull[c]
                at[j, count] = (scores[p] - scores[q]) / (row[q] - row[p])
                for k in range(totals.shape[1]):
                    changes[j, count, k] = stats[q, k] - stats[p, k]
                count += 1
                p = q
            counts[j] = count
    return True
