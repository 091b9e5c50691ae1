"""What tests of exact searches share: what a vector loses, and optima of larger flat problems."""

from __future__ import annotations

import itertools

import numpy as np

from tests.helpers.builders import tuning_set
from tunesmith.search.exact.extreme import BAND
from tunesmith.search.exact.incumbent import Incumbent
from tunesmith.search.exact.problem import Problem
from tunesmith.tasks.lists import TuningSet


def plain_loss(problem: Problem, vector: np.ndarray, tolerance: float) -> int | None:
    """Return what a vector of length 1 loses, None if it does not win clearly everywhere."""
    lost = 0
    for group in range(problem.size):
        winner, lead = winner_of(problem, group, vector)
        if lead < tolerance * (1 - BAND):
            return None
        lost += int(problem.loss[problem.start[group] + winner])
    return lost


def winner_of(problem: Problem, group: int, vector: np.ndarray) -> tuple[int, float]:
    """Return which point of a group wins, and its least lead, in proportion below a distance of 1.

    Kin are no exception here: a vector at their tie is one that nobody asks about.
    """
    points = problem.block(group).T
    scores = points @ vector
    winner = int(scores.argmax())
    apart = np.minimum(np.linalg.norm(points - points[winner], axis=1), 1.0)
    others = np.arange(len(points)) != winner
    leads = (scores[winner] - scores[others]) / apart[others]
    return winner, float(leads.min(initial=np.inf))


def some_known(
    problem: Problem,
    rng: np.random.Generator,
    tolerance: float,
    towards: np.ndarray | None = None,
    cosine: float = -1.0,
) -> list[Incumbent]:
    """Return a vector that counts, drawn at random; none if there is none among a few."""
    for _ in range(20):
        vector = rng.standard_normal(problem.dimensions)
        if towards is not None:
            vector = towards / np.linalg.norm(towards) + 0.3 * vector
        vector /= np.linalg.norm(vector)
        near = towards is None or vector @ towards >= 1.001 * cosine * np.linalg.norm(towards)
        if near and (lost := plain_loss(problem, vector, tolerance * 1.01)) is not None:
            return [Incumbent(vector, lost)]
    return []


def flat_tuning(rng: np.random.Generator, groups: int, most: int = 8) -> TuningSet:
    """Make a set with two features, small whole numbers, and losses that are whole."""
    blocks, values = [], []
    for _ in range(groups):
        many = int(rng.integers(2, most + 1))
        blocks.append(rng.integers(-4, 5, (many, 2)).astype(float).tolist())
        values.append(rng.integers(0, 6, many).astype(float).tolist())
    return tuning_set(blocks, values)


def circle_optimum(problem: Problem) -> int:
    """Return the least loss of a vector in the plane: between any two of the angles of ties.

    With small whole numbers no arc is so narrow that a usual tolerance would exclude it.
    """
    assert problem.dimensions == 2
    angles = [0.0]
    for group in range(problem.size):
        for a, b in itertools.combinations(problem.block(group).T, 2):
            tie = np.arctan2(a[0] - b[0], b[1] - a[1])
            angles += [tie % (2 * np.pi), (tie + np.pi) % (2 * np.pi)]
    angles.sort()
    angles.append(angles[0] + 2 * np.pi)
    losses = []
    for low, high in itertools.pairwise(angles):
        if high - low > 1e-9:
            middle = 0.5 * (low + high)
            vector = np.array([np.cos(middle), np.sin(middle)])
            losses.append(plain_loss(problem, vector, 1e-6))
    assert None not in losses
    return min(losses)


def many_points(seed=1, groups=8, size=40, width=8):
    rng = np.random.default_rng(seed)
    blocks = [rng.standard_normal((size, width)).tolist() for _ in range(groups)]
    return Problem.of(tuning_set(blocks, [rng.random(size).tolist() for _ in range(groups)]))
