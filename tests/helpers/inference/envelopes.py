"""Upper envelopes of lines: by the kernels on lists, and by trying every crossing."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from tunesmith.inference.lists.envelope import envelope, extremes_of, winners_of


def winner_at(lines, gamma) -> int:
    """Return the first of the highest lines at gamma."""
    values = [b + gamma * s for s, b in lines]
    return values.index(max(values))


def envelope_by_hand(lines):
    """Return the winner at minus infinity, and (where, before, after) for each change."""
    crossings = sorted(
        {Fraction(b1 - b2, s2 - s1) for s1, b1 in lines for s2, b2 in lines if s1 != s2}
    )
    if not crossings:
        return winner_at(lines, Fraction(0)), []
    middles = [
        crossings[0] - 1,
        *((a + b) / 2 for a, b in itertools.pairwise(crossings)),
        crossings[-1] + 1,
    ]
    winners = [winner_at(lines, m) for m in middles]
    changes = [
        (crossings[k], winners[k], winners[k + 1])
        for k in range(len(crossings))
        if winners[k] != winners[k + 1]
    ]
    return winners[0], changes


def list_envelope(groups):
    slopes = np.array([s for g in groups for s, _ in g], float)
    scores = np.array([b for g in groups for _, b in g], float)
    start = np.concatenate([[0], np.cumsum([len(g) for g in groups])])
    ends = extremes_of(slopes, start, np.arange(len(groups)))
    chosen = np.flatnonzero(slopes[ends[0]] < slopes[ends[2]])
    stats = np.eye(len(slopes), dtype=np.int64)
    winners = winners_of(scores, start)
    total = stats[winners].sum(axis=0)
    n = len(slopes)
    at, left, right = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    count = envelope(slopes, scores, winners, start, chosen, ends, stats, total, at, left, right)
    found = sorted(zip(at[:count], left[:count].tolist(), right[:count].tolist(), strict=True))
    return start, total, found
