"""The line search of the textbooks: sort all slopes at every call, then scan them."""

from __future__ import annotations

import numpy as np

from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses, _changes
from tunesmith.inference.sharing import share_out_lines
from tunesmith.kernels import kernel


class TextbookHypotheses(ListHypotheses):
    """Lists whose envelopes are found by sorting, one line at a time."""

    def map_envelopes(self, work, lines):
        """Follow the winners along many lines."""
        return share_out_lines(self, work, lines)

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners along a feature."""
        slopes = self.features.dense[int(direction.features[0])]
        n = len(slopes)
        at, left, right = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        total = point.total.copy()
        stats = self.tuning.stats
        count = _sort_and_scan(
            slopes,
            point.cache.scores,
            point.cache.winners,
            self.start,
            stats,
            total,
            at,
            left,
            right,
        )
        change = np.empty((count, stats.shape[1]), total.dtype)
        _changes(stats, left[:count], right[:count], change)
        return Envelope(total, at[:count].copy(), change)


@kernel
def _sort_and_scan(slopes, scores, winners, start, stats, total, at, left, right):
    longest = 0
    for g in range(start.shape[0] - 1):
        longest = max(longest, start[g + 1] - start[g])
    hull = np.empty(longest, np.int64)
    count = 0
    for g in range(start.shape[0] - 1):
        lo = start[g]
        order = np.argsort(slopes[lo : start[g + 1]])
        corners = 0
        for k in range(order.shape[0]):
            i = lo + order[k]
            if corners > 0 and slopes[hull[corners - 1]] == slopes[i]:
                last = hull[corners - 1]
                if scores[i] < scores[last] or (scores[i] == scores[last] and i > last):
                    continue
                corners -= 1
            while corners >= 2:
                p, q = hull[corners - 1], hull[corners - 2]
                if (scores[q] - scores[i]) * (slopes[p] - slopes[q]) > (scores[q] - scores[p]) * (
                    slopes[i] - slopes[q]
                ):
                    break
                corners -= 1
            hull[corners] = i
            corners += 1
        for k in range(total.shape[0]):
            total[k] += stats[hull[0], k] - stats[winners[g], k]
        for c in range(1, corners):
            p, q = hull[c - 1], hull[c]
            at[count] = (scores[p] - scores[q]) / (slopes[q] - slopes[p])
            left[count], right[count] = p, q
            count += 1
    return count
