"""Forests with fewer hyperedges: those that likely or good derivations use.

What the score of a derivation lacks of the best one's is the sum of what its hyperedges lose at
their nodes. The least that is lost with a hyperedge is its deficit: what its best derivation
lacks (its max-marginal is the best score less the deficit). It is 0 for the best derivation, to
the last bit, and never more above or below a hyperedge than at it; so the hyperedges within a
bound always hang together.

The order of nodes and hyperedges stays as it is. What no derivation uses any more goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids
from tunesmith.data.forests import Block, ForestArrays, Forests
from tunesmith.data.rows import gather_rows, offsets
from tunesmith.errors import UsageError
from tunesmith.inference.forests.derivations import edge_scores, viterbi
from tunesmith.inference.forests.inside import check_sum, expected_uses, shares, sharpened
from tunesmith.io.forests.arrow.temporary import made_like
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import kth_smallest
from tunesmith.parallel.engine import current_engine, map_over

#: Rounding of a deficit is below this share of the scores; as much more stays within a beam.
ROUNDING = 1e-12


def prune_posterior(
    forests: Forests, weights: Floats, threshold: float, sharpness: float = 1.0
) -> Forests:
    """Keep hyperedges whose expected use reaches a threshold, and the best derivation.

    Parameters
    ----------
    forests, weights
        What is pruned, and by which weights.
    threshold
        How often a derivation must be expected to use a hyperedge under P ∝ exp(sharpness w·h):
        its posterior. One whose tails or uses all go, goes too.
    sharpness
        That of the distribution.
    """
    if not 0.0 <= threshold <= 1.0:
        raise UsageError(f"threshold is {threshold}; give a probability, from 0 to 1")
    sharp = sharpened(weights, sharpness)
    return _prune_all(forests, _keep_likely, weights, sharp, threshold)


def prune_beam(forests: Forests, weights: Floats, beam: float) -> Forests:
    """Keep hyperedges that have a derivation at most ``beam`` worse than the best one.

    Every derivation within the beam stays: each of its hyperedges has it. The best one stays the
    best, by the rule among equals too.
    """
    if not beam >= 0.0:
        raise UsageError(f"beam is {beam}; give 0 or more")
    return _prune_all(forests, _keep_within, weights, beam)


def prune_density(forests: Forests, weights: Floats, density: float) -> Forests:
    """Keep the best hyperedges, at most ``density`` per word of the best derivation's text.

    They are the best by their best derivations; of equals that are too many all go. The best
    derivation stays, even where it has more.
    """
    if not density > 0.0:
        raise UsageError(f"density is {density}; give more than 0")
    return _prune_all(forests, _keep_densest, weights, density)


def _prune_all(
    forests: Forests, choose: Callable[..., tuple[int, Flags]], *arguments: Any
) -> Forests:
    """Keep what ``choose(block, *about)`` chooses, which also says which forest is wrong."""
    pieces = forests.pieces()
    together = current_engine().workers if forests.bytes_per_edge > 0.0 else len(pieces)
    parts = (
        part
        for i in range(0, len(pieces), together)
        for part in map_over(forests, _prune, pieces[i : i + together], choose, *arguments)
    )
    return made_like(forests, parts)


def _prune(
    forests: Forests, piece: slice, choose: Callable[..., tuple[int, Flags]], *arguments: Any
) -> ForestArrays:
    block = forests.block(piece.start, piece.stop)
    wrong, keep = choose(block, *arguments)
    check_sum(forests, wrong if wrong < 0 else piece.start + wrong)
    return with_edges(block, keep)


# Functions that other processes find by their names; kernels would be sent with their code.


def _keep_likely(
    block: Block, weights: Floats, sharp: Floats, threshold: float
) -> tuple[int, Flags]:
    return _likely(*block, weights, sharp, threshold)


def _keep_within(block: Block, weights: Floats, beam: float) -> tuple[int, Flags]:
    return _within(*block, weights, beam)


def _keep_densest(block: Block, weights: Floats, density: float) -> tuple[int, Flags]:
    return _densest(*block, weights, density)


def with_edges(block: Block, keep: Flags) -> ForestArrays:
    """Return the forests of a block with some of their hyperedges, which must hang together.

    Parameters
    ----------
    block
        Some forests.
    keep : bool[E]
        Which of their hyperedges stay. Each node that one of them uses, and the goal, must have
        one; and each but the goal must be used.
    """
    a = block.arrays
    node_start = a.node_start[block.first : block.last + 1]
    edge_start = a.edge_start[node_start[0] : node_start[-1] + 1]
    edges = edge_start[0] + np.flatnonzero(keep)
    heads = np.repeat(np.arange(len(edge_start) - 1), np.diff(edge_start))[keep]
    nodes = np.unique(heads)
    number = np.full(len(edge_start) - 1, -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    new_start = np.searchsorted(nodes, node_start - node_start[0])
    tail_start, tails = gather_rows(a.tail_start, edges)
    feature_start, features = gather_rows(a.feature_start, edges)
    word_start, words = gather_rows(a.word_start, edges)
    forest = np.searchsorted(node_start - node_start[0], heads, side="right") - 1
    forest = np.repeat(forest, np.diff(tail_start))
    old = a.tails[tails] + (node_start - node_start[0])[forest]
    return ForestArrays(
        new_start,
        offsets(np.bincount(number[heads], minlength=len(nodes))),
        tail_start,
        (number[old] - new_start[forest]).astype(np.int32),
        feature_start,
        a.feature_ids[features],
        a.feature_values[features],
        word_start,
        a.words[words],
        a.covered[node_start[0] + nodes],
        a.counts[edges],
    )


@kernel
def deficits(arrays: ForestArrays, forest: int, scores: Floats, value: Floats) -> Floats:
    """Return how much worse than the best the best derivation with each hyperedge is.

    ``value`` is the best score of each node, by ``viterbi``.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    of_node = np.full(nodes, np.inf)
    of_node[nodes - 1] = 0.0
    result = np.empty(scores.shape[0])
    for n in range(nodes - 1, -1, -1):
        for e in range(edge_start[n], edge_start[n + 1]):
            total = scores[e - edge0]
            for k in range(tail_start[e], tail_start[e + 1]):
                total += value[tails[k]]
            lost = of_node[n] + (value[n] - total)
            result[e - edge0] = lost
            for k in range(tail_start[e], tail_start[e + 1]):
                of_node[tails[k]] = min(of_node[tails[k]], lost)
    return result


@kernel
def _keep_best(arrays: ForestArrays, forest: int, choice: Ids, keep: Flags) -> float:
    """Add the best derivation's hyperedges to those kept, and return its number of words."""
    node0 = arrays.node_start[forest]
    edge0 = arrays.edge_start[node0]
    # How often it uses a node: a number that may be large.
    uses = np.zeros(choice.shape[0])
    uses[-1] = 1.0
    length = 0.0
    for n in range(choice.shape[0] - 1, -1, -1):
        if uses[n] == 0.0:
            continue
        keep[choice[n]] = True
        e = edge0 + choice[n]
        for k in range(arrays.tail_start[e], arrays.tail_start[e + 1]):
            uses[arrays.tails[k]] += uses[n]
        for k in range(arrays.word_start[e], arrays.word_start[e + 1]):
            if arrays.words[k] >= 0:
                length += uses[n]
    return length


@kernel
def _hang_together(arrays: ForestArrays, forest: int, keep: Flags) -> None:
    """Drop hyperedges that are in no derivation made of those kept alone."""
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    reachable = np.zeros(nodes, np.bool_)
    for n in range(nodes):
        for e in range(edge_start[n], edge_start[n + 1]):
            for k in range(tail_start[e], tail_start[e + 1]):
                if not reachable[tails[k]]:
                    keep[e - edge0] = False
            if keep[e - edge0]:
                reachable[n] = True
    used = np.zeros(nodes, np.bool_)
    used[nodes - 1] = True
    for n in range(nodes - 1, -1, -1):
        for e in range(edge_start[n], edge_start[n + 1]):
            if not used[n]:
                keep[e - edge0] = False
            elif keep[e - edge0]:
                for k in range(tail_start[e], tail_start[e + 1]):
                    used[tails[k]] = True


@kernel
def _likely(
    arrays: ForestArrays, first: int, last: int, weights: Floats, sharp: Floats, threshold: float
) -> tuple[int, Flags]:
    edge0 = arrays.edge_start[arrays.node_start[first]]
    keep = np.zeros(arrays.edge_start[arrays.node_start[last]] - edge0, np.bool_)
    for s in range(first, last):
        scores = edge_scores(arrays, s, weights)
        value, choice = viterbi(arrays, s, scores)
        sums, share = shares(arrays, s, edge_scores(arrays, s, sharp))
        if not (np.isfinite(value[-1]) and np.isfinite(sums[-1])):
            return s - first, keep
        uses = expected_uses(arrays, s, share)
        begin = arrays.edge_start[arrays.node_start[s]] - edge0
        keep_edges = keep[begin : begin + scores.shape[0]]
        for e in range(keep_edges.shape[0]):
            keep_edges[e] = uses[e] >= threshold
        _keep_best(arrays, s, choice, keep_edges)
        _hang_together(arrays, s, keep_edges)
    return -1, keep


@kernel
def _within(
    arrays: ForestArrays, first: int, last: int, weights: Floats, beam: float
) -> tuple[int, Flags]:
    edge0 = arrays.edge_start[arrays.node_start[first]]
    keep = np.zeros(arrays.edge_start[arrays.node_start[last]] - edge0, np.bool_)
    for s in range(first, last):
        scores = edge_scores(arrays, s, weights)
        value, _ = viterbi(arrays, s, scores)
        if not np.isfinite(value[-1]):
            return s - first, keep
        lost = deficits(arrays, s, scores, value)
        bound = beam + ROUNDING * (np.abs(value).max() + np.abs(scores).max())
        begin = arrays.edge_start[arrays.node_start[s]] - edge0
        keep_edges = keep[begin : begin + scores.shape[0]]
        for e in range(keep_edges.shape[0]):
            keep_edges[e] = lost[e] <= bound
    return -1, keep


@kernel
def _densest(
    arrays: ForestArrays, first: int, last: int, weights: Floats, density: float
) -> tuple[int, Flags]:
    edge0 = arrays.edge_start[arrays.node_start[first]]
    keep = np.zeros(arrays.edge_start[arrays.node_start[last]] - edge0, np.bool_)
    for s in range(first, last):
        scores = edge_scores(arrays, s, weights)
        value, choice = viterbi(arrays, s, scores)
        if not np.isfinite(value[-1]):
            return s - first, keep
        begin = arrays.edge_start[arrays.node_start[s]] - edge0
        keep_edges = keep[begin : begin + scores.shape[0]]
        most = density * _keep_best(arrays, s, choice, keep_edges)
        lost = deficits(arrays, s, scores, value)
        bound = np.inf if most >= keep_edges.shape[0] else kth_smallest(lost, int(most))
        for e in range(keep_edges.shape[0]):
            keep_edges[e] = keep_edges[e] or lost[e] < bound or bound == np.inf
    return -1, keep
