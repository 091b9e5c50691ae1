"""Sums over all derivations of a forest, and how often a hyperedge is used.

Under P(d) ∝ exp(score of d), appendix A.4 of Chiang (2012). All kernels work on one forest, with
one score for each of its hyperedges; what they return is numbered within the forest.

The sums are logarithms, so that no score is too large. The shares that hyperedges have in the sum
of their node are plain numbers between 0 and 1. Products of them down from the goal are the
posteriors, with no further exponential, and where a distribution is sharp they are 0 and 1 to the
last bit.

A derivation may use a node twice. Then posteriors, here, are expected numbers of uses, which is
what expectations need; they may be above 1.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.errors import TunesmithError
from tunesmith.kernels import kernel


def sharpened(weights: Floats, sharpness: float) -> Floats:
    """Return weights times a sharpness; overflow shows up as an infinite sum of a forest."""
    with np.errstate(over="ignore", invalid="ignore"):
        return sharpness * weights


def check_sum(forests: Forests, forest: int) -> None:
    """Raise an error about a forest whose sum over derivations is no number; -1 is none."""
    if forest >= 0:
        raise TunesmithError(
            f"forest {forests.ids[forest]}: the scores of its derivations are too large to be "
            "added up; scale the weights down, or prune the forest"
        )


@kernel
def inside(arrays: ForestArrays, forest: int, scores: Floats) -> Floats:
    """Return the logarithm of the sum of exp(score) over the derivations of each node."""
    return shares(arrays, forest, scores)[0]


@kernel
def shares(arrays: ForestArrays, forest: int, scores: Floats) -> tuple[Floats, Floats]:
    """Return the inside sums, and the share of each hyperedge in the sum of its node.

    A share is the probability of a hyperedge where its node is used: inside(v → **v**) /
    inside(v) in equation 12. The sum of the goal is not a finite number if one inside is not.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    sums = np.empty(nodes)
    share = np.empty(edge_start[nodes] - edge0)
    for n in range(nodes):
        first, last = edge_start[n], edge_start[n + 1]
        top = -np.inf
        for e in range(first, last):
            total = scores[e - edge0]
            for k in range(tail_start[e], tail_start[e + 1]):
                total += sums[tails[k]]
            share[e - edge0] = total
            top = max(top, total)
        if last - first == 1:
            sums[n] = share[first - edge0]
            share[first - edge0] = 1.0
            continue
        shares_of_node = share[first - edge0 : last - edge0]
        whole = 0.0
        for i in range(shares_of_node.shape[0]):
            shares_of_node[i] = np.exp(shares_of_node[i] - top)
            whole += shares_of_node[i]
        for i in range(shares_of_node.shape[0]):
            shares_of_node[i] /= whole
        sums[n] = top + np.log(whole)
    return sums, share


@kernel
def expected_uses(arrays: ForestArrays, forest: int, share: Floats) -> Floats:
    """Return how often a derivation is expected to use each hyperedge, from their shares."""
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    of_node = np.zeros(nodes)
    of_node[nodes - 1] = 1.0
    result = np.empty(share.shape[0])
    for n in range(nodes - 1, -1, -1):
        for e in range(edge_start[n], edge_start[n + 1]):
            uses = of_node[n] * share[e - edge0]
            result[e - edge0] = uses
            for k in range(tail_start[e], tail_start[e + 1]):
                of_node[tails[k]] += uses
    return result
