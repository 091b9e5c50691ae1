"""Points that win nowhere in a cone, against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.helpers.builders import tuning_set
from tests.helpers.tiers import examples
from tunesmith.search.exact.bisection.dominance import compare, score, work
from tunesmith.search.exact.bisection.search import Bisection
from tunesmith.search.exact.problem import Problem


def most_ahead(scores, i):
    """Return by how much a point can be ahead of all others where weights of corners sum to 1."""
    size, many = scores.shape
    others = np.arange(many) != i
    solution = linprog(
        np.r_[np.zeros(size), -1.0],
        A_ub=np.c_[(scores[:, others] - scores[:, [i]]).T, np.ones(many - 1)],
        b_ub=np.zeros(many - 1),
        A_eq=np.r_[np.ones(size), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * size + [(None, None)],
    )
    return -solution.fun


@pytest.mark.parametrize("seed", range(examples(120, interpreted=5)))
def test_what_is_beaten_wins_nowhere(seed):
    rng = np.random.default_rng([seed, 31])
    width, many = int(rng.integers(2, 7)), int(rng.integers(2, 12))
    whole = rng.random() < 0.3
    blocks = [
        (rng.integers(-2, 3, (many, width)) if whole else rng.standard_normal((many, width)))
        .astype(float)
        .tolist()
        for _ in range(4)
    ]
    problem = Problem.of(tuning_set(blocks, [rng.random(many).tolist() for _ in blocks]))
    sample = Bisection(problem, 1e-6)._sample
    corners = np.diag(rng.choice([-1.0, 1.0], width))
    if rng.random() < 0.7:
        corners = corners + 0.3 * rng.standard_normal((width, width))
        corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    start, end = rng.permutation(width)[:2]
    middle = corners[start] + corners[end]
    middle /= np.linalg.norm(middle)
    room, living = work(sample), np.arange(len(problem.loss), dtype=np.int32)
    groups = score(sample, living, len(living), corners, room)
    assert groups == problem.size
    np.testing.assert_allclose(room.scores[: len(living), :width], sample.points @ corners.T)
    compare(sample, living, groups, corners, middle, int(start), int(end), room)
    for part, replaced in ((1, start), (2, end)):
        inside = corners.copy()
        inside[replaced] = middle
        for group in range(problem.size):
            lo, hi = problem.start[group], problem.start[group + 1]
            scores = inside @ problem.block(group)
            for i in range(hi - lo):
                if room.beaten[lo + i] & part:
                    assert most_ahead(scores, i) <= 1e-9
                elif (scores[:, [i]] < np.delete(scores, i, axis=1)).all(axis=0).any():
                    raise AssertionError("another point is ahead everywhere")


def test_a_point_between_two_is_beaten_by_them_together():
    # Under both axes and between them, half of each of the outer points is above the middle one.
    blocks = [[[4.0, 0.0], [1.5, 1.5], [0.0, 4.0]]]
    problem = Problem.of(tuning_set(blocks, [[0.0, 1.0, 0.5]]))
    sample = Bisection(problem, 1e-6)._sample
    room, living = work(sample), np.arange(3, dtype=np.int32)
    corners = np.eye(2)
    groups = score(sample, living, 3, corners, room)
    middle = np.array([0.1, 1.0]) / np.hypot(0.1, 1.0)
    compare(sample, living, groups, corners, middle, 0, 1, room)
    inner = int(np.flatnonzero(problem.candidate == 1)[0])
    # In the part between the middle and the first axis it is no better than the two; in the other
    # the third candidate alone beats it.
    assert room.beaten[inner] == 3
