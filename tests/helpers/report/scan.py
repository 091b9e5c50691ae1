"""A scan of a line by brute force, in exact fractions, to compare surfaces with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

Vectors = Sequence[Sequence[Sequence[float]]]


def winners_at(groups: Vectors, weights: Sequence[Fraction]) -> list[int]:
    """Return the position of each group's winner: the highest score, the first among equals."""
    found = []
    for group in groups:
        scores = [
            sum((w * Fraction(h) for w, h in zip(weights, v, strict=True)), Fraction(0))
            for v in group
        ]
        found.append(scores.index(max(scores)))
    return found


def moved(weights: Sequence[float], direction: Sequence[float], step: Fraction) -> list[Fraction]:
    return [Fraction(w) + step * Fraction(d) for w, d in zip(weights, direction, strict=True)]


def crossings(
    groups: Vectors, weights: Sequence[float], direction: Sequence[float]
) -> list[Fraction]:
    """Return every step at which any two candidates of a group have the same score, sorted."""
    found = set()
    for group in groups:
        lines = [
            (
                sum(Fraction(d) * Fraction(h) for d, h in zip(direction, v, strict=True)),
                sum(Fraction(w) * Fraction(h) for w, h in zip(weights, v, strict=True)),
            )
            for v in group
        ]
        for (a, b), (c, d) in itertools.combinations(lines, 2):
            if a != c:
                found.add((d - b) / (a - c))
    return sorted(found)


def scan(
    groups: Vectors,
    weights: Sequence[float],
    direction: Sequence[float],
    score: Callable[[list[int]], float],
) -> tuple[list[Fraction], list[float]]:
    """Return the steps at which the score changes, and the scores between them."""
    points = crossings(groups, weights, direction)
    if points:
        middles = [(a + b) / 2 for a, b in itertools.pairwise(points)]
        steps = [points[0] - 1, *middles, points[-1] + 1]
    else:
        steps = [Fraction(0)]
    values = [score(winners_at(groups, moved(weights, direction, step))) for step in steps]
    edges, scores = [], values[:1]
    for at, value in zip(points, values[1:], strict=True):
        if abs(value - scores[-1]) > 1e-12:
            edges.append(at)
            scores.append(value)
    return edges, scores
