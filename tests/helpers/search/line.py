"""Small tasks for line searches, and the best step by trying every part of the line."""

from __future__ import annotations

import itertools

import numpy as np

from tests.helpers.builders import Mean, tuning_set
from tunesmith.inference.lists.hypotheses import best


def random_task(seed, metric=None):
    rng = np.random.default_rng(seed)
    groups = [rng.integers(-3, 4, (rng.integers(1, 6), 2)).tolist() for _ in range(3)]
    values = [rng.integers(0, 5, len(g)).tolist() for g in groups]
    return tuning_set(groups, values, metric=metric or Mean()), rng


def brute_force(tuning, weights, direction):
    """Return the best gain in the middle of any two neighbouring crossings of any two lines."""
    features = tuning.candidates.features
    scores, slopes = features.dot(weights), features.dot(direction)
    start = tuning.candidates.start
    crossings = {
        (scores[i] - scores[j]) / (slopes[j] - slopes[i])
        for g in range(len(start) - 1)
        for i in range(start[g], start[g + 1])
        for j in range(start[g], start[g + 1])
        if slopes[i] != slopes[j]
    }
    edges = sorted(crossings)
    steps = [0.0]
    if edges:
        steps += [edges[0] - 1, edges[-1] + 1]
        steps += [(a + b) / 2 for a, b in itertools.pairwise(edges) if b - a > 1e-9]
    return max(
        float(tuning.metric.gain(tuning.total(best(tuning.candidates, weights + s * direction))))
        for s in steps
    )


def crossings(tuning, weights, direction):
    """Return where any two lines of a group cross, sorted."""
    features, start = tuning.candidates.features, tuning.candidates.start
    scores, slopes = features.dot(weights), features.dot(direction)
    return sorted(
        {
            float((scores[i] - scores[j]) / (slopes[j] - slopes[i]))
            for lo, hi in itertools.pairwise(start)
            for i, j in itertools.combinations(range(lo, hi), 2)
            if slopes[i] != slopes[j]
        }
    )


def best_within(tuning, weights, direction, low, high):
    """Return the best gain in the middle of any part of the line between low and high."""
    inner = [c for c in crossings(tuning, weights, direction) if low < c < high]
    ends = [
        low if np.isfinite(low) else min(inner, default=0.0) - 1,
        *inner,
        high if np.isfinite(high) else max(inner, default=0.0) + 1,
    ]
    steps = [0.0] + [(a + b) / 2 for a, b in itertools.pairwise(ends) if b - a > 1e-9]
    return max(
        float(tuning.metric.gain(tuning.total(best(tuning.candidates, weights + s * direction))))
        for s in steps
    )


def drawn_task(seed, width):
    """Return a set in which nothing ties."""
    rng = np.random.default_rng(seed)
    groups = [rng.normal(size=(rng.integers(1, 6), width)) for _ in range(4)]
    values = [rng.integers(0, 5, len(g)).tolist() for g in groups]
    return groups, values, rng
