"""Derivations drawn from a forest.

A hyperedge is drawn for the goal by its share in the sum of that node, then one for each of its
tails, and so on: that is a derivation d with probability ∝ exp(μ w·h(d)).

The random numbers of a sample are a function of the seed, the number of its forest in the set
and its own number, not of what was drawn before: neither threads nor pieces change them.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.data.forests import Block, ForestArrays, Forests
from tunesmith.errors import UsageError
from tunesmith.inference.forests.derivations import (
    LONGEST,
    Derivations,
    check_length,
    edge_scores,
    grown,
    joined_derivations,
)
from tunesmith.inference.forests.inside import check_sum, shares, sharpened
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import STEP, spread_bits
from tunesmith.kernels.copying import copy_to
from tunesmith.parallel.engine import map_over
from tunesmith.randomness import checked_seed

#: The bits of a word of 64 that a fraction has not.
BEYOND = np.uint64(11)


def sampled_derivations(
    forests: Forests, weights: Floats, sharpness: float, size: int, seed: int
) -> Derivations:
    """Draw ``size`` derivations of each forest, with replacement, from P ∝ exp(sharpness w·h).

    Those of the first forest come first. With a sharpness of 0 all derivations are equal.
    """
    if size < 1:
        raise UsageError(f"size is {size}; give 1 or more")
    arguments = sharpened(weights, sharpness), size, _state_of(seed)
    parts = map_over(forests, _draw, forests.pieces(), *arguments)
    return joined_derivations(np.repeat(np.arange(forests.groups), size), parts)


def _state_of(seed: int) -> np.uint64:
    """Return 64 bits for a seed of any length."""
    state: np.uint64 = np.random.SeedSequence(checked_seed(seed)).generate_state(1, np.uint64)[0]
    return state


def _draw(
    forests: Forests, piece: slice, weights: Floats, size: int, state: np.uint64
) -> tuple[Ints, Ids]:
    block = forests.block(piece.start, piece.stop)
    return _drawn(forests, block, piece.start, weights, size, state)


def _drawn(
    forests: Forests, block: Block, number: int, weights: Floats, size: int, state: np.uint64
) -> tuple[Ints, Ids]:
    """Draw derivations of a block, whose first forest has that number in the set."""
    wrong, start, edges = _draw_block(*block, weights, size, state, number)
    check_sum(forests, wrong if wrong < 0 else number + wrong)
    rows = np.repeat(np.arange(number, number + block.last - block.first), size)
    check_length(start, forests, rows)
    return start, edges


@inlined
def _uniform(state: Number, count: int) -> Number:
    """Return random number ``count`` (from 0) of a state, in [0, 1)."""
    return (spread_bits(state + STEP * np.uint64(count + 1)) >> BEYOND) * 2.0**-53


@kernel
def _draw_block(
    arrays: ForestArrays,
    first: int,
    last: int,
    weights: Floats,
    size: int,
    seed: Number,
    number: int,
) -> tuple[int, Ints, Ids]:
    """Draw derivations of forests, of which the first has that number in the set.

    Returns which forest cannot be added up, -1 if none, and the derivations; an offset of -1
    stands for one that is too long.
    """
    start = np.zeros((last - first) * size + 1, np.int64)
    drawn = np.empty(1 << 10, np.int32)
    count, row = 0, 0
    for s in range(first, last):
        sums, cumulative = shares(arrays, s, edge_scores(arrays, s, weights))
        if not np.isfinite(sums[-1]):
            return s - first, start, drawn[:0]
        _accumulate(arrays, s, cumulative)
        of_forest = spread_bits(seed + STEP * np.uint64(number + s - first + 1))
        for i in range(size):
            state = spread_bits(of_forest + STEP * np.uint64(i + 1))
            edges = draw(arrays, s, cumulative, state)
            row += 1
            if edges.shape[0] == 0:
                start[row] = -1
                return -1, start, drawn[:0]
            drawn = grown(drawn, count + edges.shape[0])
            copy_to(drawn, count, edges)
            count += edges.shape[0]
            start[row] = count
    return -1, start, drawn[:count]


@kernel
def _accumulate(arrays: ForestArrays, forest: int, share: Floats) -> None:
    """Replace shares by their sums up to each hyperedge of a node."""
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    for n in range(arrays.node_start[forest], arrays.node_start[forest + 1]):
        for i in range(arrays.edge_start[n] - edge0 + 1, arrays.edge_start[n + 1] - edge0):
            share[i] += share[i - 1]


@kernel
def draw(arrays: ForestArrays, forest: int, cumulative: Floats, state: Number) -> Ids:
    """Draw a derivation with the random numbers of a state; it is empty if it is too long."""
    node0 = arrays.node_start[forest]
    edge_start = arrays.edge_start[node0 : arrays.node_start[forest + 1] + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    word_start, words = arrays.word_start, arrays.words
    drawn = np.empty(64, np.int32)
    stack = np.empty(64, np.int32)
    stack[0] = edge_start.shape[0] - 2
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        if count == LONGEST:
            return drawn[:0]
        node = stack[depth]
        low, high = edge_start[node] - edge0, edge_start[node + 1] - edge0
        # The sum of all shares is 1 but for rounding.
        drawn_share = _uniform(state, count) * cumulative[high - 1]
        e = low + _above(cumulative[low:high], drawn_share)
        drawn = grown(drawn, count + 1)
        drawn[count] = e
        count += 1
        first_tail = tail_start[edge0 + e]
        stack = grown(stack, depth + tail_start[edge0 + e + 1] - first_tail)
        # The last slot first, so that the first is on top.
        for k in range(word_start[edge0 + e + 1] - 1, word_start[edge0 + e] - 1, -1):
            if words[k] < 0:
                stack[depth] = tails[first_tail - words[k] - 1]
                depth += 1
    return drawn[:count]


@kernel
def _above(cumulative: Floats, bound: float) -> Number:
    """Return the first place whose sum is above a number; never one that adds nothing."""
    low, high = 0, cumulative.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > bound:
            high = middle
        else:
            low = middle + 1
    # Where rounding made the number as large as the sum of all.
    while low > 0 and cumulative[low] == cumulative[low - 1]:
        low -= 1
    return low
