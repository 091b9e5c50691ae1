"""In which order lazy search halves the groups: those that exclude much of each other together.

What is excluded within a small range never reaches the large ones, where there is most to test.
"""

from __future__ import annotations

import math

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact.active_set import INFEASIBLE, reset
from tunesmith.search.exact.extreme import PointLists, examine, lists_of, new_state
from tunesmith.search.exact.problem import Problem

#: Points of least loss that are tried against those of another group, at most.
TRIED = 6
#: Tests in all, about; beyond them fewer points are tried, and at last none.
MOST_TESTS = 40_000


@kernel
def _conflicts(
    lists: PointLists,
    group: int,
    tried: int,
    vector: Floats,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    shares: Floats,
) -> None:
    """Fill in, for each group before one, which share of the pairs exclude each other."""
    start = lists.start
    nowhere, witness = np.zeros(vector.shape[0]), np.empty(vector.shape[0])
    groups = start.shape[0] - 1
    widest = 0
    for g in range(groups):
        widest = max(widest, start[g + 1] - start[g])
    scores, blame = np.empty(widest), np.zeros(groups, np.uint8)
    chosen, order = start[:-1].copy(), np.array([0, group])
    for other in range(group):
        order[0] = other
        many = 0
        for i in range(start[group], min(start[group] + tried, start[group + 1])):
            for j in range(start[other], min(start[other] + tried, start[other + 1])):
                chosen[group], chosen[other] = i, j
                reset(vector, nowhere, basis, count)
                verdict = examine(
                    lists.points, start, lists.kin, lists.owner, order, chosen,
                    lists.tolerance, lists.aim, lists.cosine, vector, basis, factor, forces,
                    rows, count, scores, witness, blame,
                )  # fmt: skip
                many += 1
                if verdict == INFEASIBLE:
                    shares[other] += 1.0
        shares[other] /= many


def conflict_shares(
    problem: Problem, tolerance: float, towards: Floats | None = None, cosine: float = -1.0
) -> Floats:
    """Return which share of pairs of good points exclude each other, for pairs of groups [S, S].

    All 0 where there are too many groups for that, or so few that it does not matter.
    """
    size = problem.size
    shares = np.zeros((size, size))
    tried = min(TRIED, math.isqrt(2 * MOST_TESTS // max(size * (size - 1), 1)))
    if tried == 0 or size < 3:
        return shares
    lists = lists_of(problem, tolerance, towards, cosine)

    def run(group: int) -> None:
        _conflicts(lists, group, tried, *new_state(problem.dimensions), shares[group])

    map_pieces(run, list(range(1, size)))
    return shares + shares.T


def conflict_order(shares: Floats) -> Ints:
    """Return an order in which neighbours, and halves of halves, exclude much of each other.

    Again and again the two clusters of groups with the greatest mean share are joined, each once
    in a round. Where nothing is known of conflicts, they stay as they are.
    """
    if not shares.any():
        return np.arange(len(shares))
    clusters = [[group] for group in range(len(shares))]
    while len(clusters) > 1:
        pairs = [(i, j) for j in range(len(clusters)) for i in range(j)]
        mean = [-shares[np.ix_(clusters[i], clusters[j])].mean() for i, j in pairs]
        joined, left = [], set(range(len(clusters)))
        for k in np.argsort(mean, kind="stable"):
            i, j = pairs[k]
            if i in left and j in left:
                left -= {i, j}
                joined.append(clusters[i] + clusters[j])
        clusters = joined + [clusters[i] for i in sorted(left)]
    return np.array(clusters[0] if clusters else [], np.int64)
