"""Small random problems, and their optimum by trying every choice.

Nothing here uses the package's own tests and searches: margins come from non-negative least
squares (Lawson and Hanson 1974, chapter 23, least distance programming) by SciPy.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import hypothesis
import numpy as np
from scipy.optimize import nnls

from tests.helpers.builders import candidate_set
from tunesmith.search.exact.extreme import BAND
from tunesmith.search.exact.problem import Problem
from tunesmith.tasks.lists import TuningSet

WORDS = ("a", "b", "c", "d")


class UnclearError(Exception):
    """A margin is so near to the tolerance that either answer is right."""


def random_tuning(rng: np.random.Generator) -> TuningSet:
    """Make a set of at most 4 groups, 8 candidates each and 4 features, with all kinds of ties."""
    width, groups = rng.integers(1, 5), rng.integers(1, 5)
    whole = rng.random() < 0.6
    blocks = []
    for _ in range(groups):
        shape = (rng.integers(1, 9), width)
        block = rng.integers(-2, 3, shape) if whole else rng.standard_normal(shape)
        if rng.random() < 0.1:
            block[:] = block[0]
        for _ in range(rng.integers(0, 3)):
            block[rng.integers(len(block))] = block[rng.integers(len(block))]
        if rng.random() < 0.1:
            block[:, rng.integers(width)] = 1
        blocks.append(block.astype(float).tolist())
    number = sum(map(len, blocks))
    sparse = [[], list(range(width // 2))][rng.integers(2)]
    kind = rng.integers(5)
    if kind == 0:
        texts = [" ".join(rng.choice(WORDS, rng.integers(1, 7))) for _ in range(number)]
        references = [[" ".join(rng.choice(WORDS, rng.integers(3, 7)))] for _ in blocks]
        return TuningSet(candidate_set(blocks, sparse, texts, references), "sentence-bleu")
    if kind == 1:
        values = rng.random(number)
    else:
        values = rng.integers(0, rng.integers(2, 9), number).astype(float)
    candidates = replace(candidate_set(blocks, sparse), columns={"value": values})
    return TuningSet(candidates, ("column:value", "cost:value")[rng.integers(2)])


def random_problem(rng: np.random.Generator) -> Problem:
    """Make the problem of such a set."""
    return Problem.of(random_tuning(rng))


def choices(problem: Problem):
    """Yield every choice of a point per group, in the order of their loss."""
    ranges = [range(a, b) for a, b in itertools.pairwise(problem.start)]
    every = [np.array(one, np.int64) for one in itertools.product(*ranges)]
    return sorted(every, key=lambda one: int(problem.loss[one].sum()))


def rows_of(problem: Problem, chosen, groups=None) -> np.ndarray:
    """Return the chosen points minus all others of their groups [n, D], of length 1 at least."""
    found = [np.zeros((0, problem.dimensions))]
    for group in range(problem.size) if groups is None else groups:
        points = problem.block(group).T
        own = chosen[group] - problem.start[group]
        kin = problem.kin[problem.start[group] : problem.start[group + 1]]
        others = (np.arange(len(points)) != own) & ((kin[own] < 0) | (kin != kin[own]))
        found.append(points[own] - points[others])
    rows = np.concatenate(found)
    return rows / np.minimum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)


def hull_distance(rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the greatest margin of a vector of length 1, at least 0, and that vector.

    It is the distance of the rows' convex hull from the origin. With d that distance, the
    least of ‖Rᵀu‖² + (1 − Σu)² over u ≥ 0 is d²/(1 + d²).
    """
    system = np.vstack([rows.T, np.ones(len(rows))])
    right = np.zeros(len(system))
    right[-1] = 1.0
    shares, rest = nnls(system, right)
    if rest**2 >= 1.0:
        return np.inf, np.zeros(rows.shape[1])
    # Both sides of the duality: what the vector attains, and that no vector attains more.
    vector = rows.T @ shares
    length = float(np.linalg.norm(vector))
    above = length / shares.sum()
    if above < 1e-9 * max(1.0, np.abs(rows).max()):
        return 0.0, vector
    below = float((rows @ vector).min()) / length
    assert abs(above - below) < 1e-4 * above + 1e-10 * np.abs(rows).max(), (above, below)
    return below, vector / length


def euclidean_margin(problem: Problem, chosen, groups=None) -> float:
    """Return by how much one vector of length 1 can put all chosen points ahead, at least 0.

    Infinite where there is no other point.
    """
    rows = rows_of(problem, chosen, groups)
    return hull_distance(rows)[0] if len(rows) else np.inf


def is_attainable(problem: Problem, chosen, tolerance, towards=None, cosine=-1.0, groups=None):
    """Tell whether a vector puts the chosen points ahead by the tolerance.

    With a cosine t above 0: whether one of those with R w/τ ≥ ‖w‖ has g·w/t ≥ ‖w‖ as well, which
    is one more row.
    """
    rows, band = rows_of(problem, chosen, groups), 2.0 * BAND
    if towards is not None and cosine > 0.0:
        rows = np.vstack([rows / tolerance, towards / np.linalg.norm(towards) / cosine])
        tolerance, band = 1.0, 0.2 * BAND
    margin = hull_distance(rows)[0] if len(rows) else np.inf
    if abs(margin - tolerance) <= band * tolerance:
        unclear()
    return bool(margin >= tolerance)


def unclear() -> None:
    """Give up this problem: outside of a property by an error of its own."""
    if hypothesis.currently_in_test_context():
        hypothesis.reject()
    raise UnclearError


def brute_optimum(problem: Problem, tolerance, towards=None, cosine=-1.0) -> int | None:
    """Return the least loss of an attainable choice; None if a cosine allows none."""
    for chosen in choices(problem):
        if is_attainable(problem, chosen, tolerance, towards, cosine):
            return int(problem.loss[chosen].sum())
    return None
