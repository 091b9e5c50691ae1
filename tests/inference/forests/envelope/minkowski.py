"""Envelopes by merge and Minkowski sum (Kumar et al. 2009), in exact arithmetic.

Rounding would make breakpoints that are one several, a hair apart.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tunesmith.data.forests import ForestArrays
from tunesmith.inference.forests.derivations import edge_scores

#: A line: where it begins to win, its score, its slope.
Line = tuple[float | Fraction, Fraction, Fraction]


def minkowski(
    arrays: ForestArrays, weights: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the lines of the one forest begin, their scores and their slopes.

    Scores and slopes of hyperedges must have so few digits that they are exact.
    """
    scores, slopes = (
        [Fraction(x) for x in edge_scores(arrays, 0, v).tolist()] for v in (weights, direction)
    )
    hulls: list[list[Line]] = []
    for n in range(len(arrays.edge_start) - 1):
        lines: list[Line] = []
        for e in range(arrays.edge_start[n], arrays.edge_start[n + 1]):
            own: list[Line] = [(-np.inf, scores[e], slopes[e])]
            for tail in arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]]:
                own = added(own, hulls[tail])
            lines += own
        hulls.append(upper(lines))
    at, score, slope = zip(*hulls[-1], strict=True)
    return np.array(at, float), np.array(score, float), np.array(slope, float)


def added(one: list[Line], other: list[Line]) -> list[Line]:
    """Add two hulls: where either changes, the sum changes."""
    found = []
    for begin in sorted({line[0] for line in one} | {line[0] for line in other}):
        a = max(line for line in one if line[0] <= begin)
        b = max(line for line in other if line[0] <= begin)
        found.append((begin, a[1] + b[1], a[2] + b[2]))
    return found


def upper(lines: list[Line]) -> list[Line]:
    """Return the upper hull of lines."""
    found: list[Line] = []
    for _, score, slope in sorted(lines, key=lambda line: (line[2], line[1])):
        begin: float | Fraction = -np.inf
        while found:
            last = found[-1]
            begin = (last[1] - score) / (slope - last[2]) if slope > last[2] else -np.inf
            if begin > last[0]:
                break
            found.pop()
            begin = -np.inf
        found.append((begin, score, slope))
    return found
