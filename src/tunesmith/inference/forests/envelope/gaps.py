"""The best derivations of a forest at several γ of a line, each with less work than the last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.forests import ForestArrays
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.copying import copy_rows, copy_to

#: Differences below this share of the numbers that are added up are taken for rounding.
ROUNDING = 2.0**-47


class Gaps(NamedTuple):
    """The best derivations at several γ, and for each the hyperedges that may be best to its left.

    Attributes
    ----------
    gamma : float64[P]
        The γ: −∞ at place 0 and ∞ at place 1 at first.
    span : int64[P, 2]
        Where the derivation stands among those that were found.
    listed : int64[P], node : int32[P, n], end : int32[P, n], edge : int32[P, E]
        The nodes, ``listed`` of them, where something else may be best between this place and the
        one to its left; where the list of their hyperedges ends; these hyperedges.
    value : float64[P, n, 2], choice : int32[P, n]
        Score and slope of the best derivation of these nodes, and its hyperedge.
    height : float64[P, E]
        How high these hyperedges are with the best of their tails; at −∞ and ∞ their slope.
    """

    gamma: Floats
    span: Ints
    listed: Ints
    node: Ids
    end: Ids
    edge: Ids
    value: Floats
    choice: Ids
    height: Floats


@inlined
def crossing(score: float, slope: float, other_score: float, other_slope: float) -> float:
    """Return the γ at which two lines are equally high."""
    return (score - other_score) / (other_slope - slope)


@inlined
def rounding(size: float, left: float, right: float) -> float:
    """Return up to which difference two sums count as equal; ``size`` is that of a part."""
    return ROUNDING * (size + abs(left) + abs(right))


@kernel
def first_tails(arrays: ForestArrays, forest: int, none: int) -> tuple[Ids, bool]:
    """Return two tails of each hyperedge, or ``none``, and whether some have more.

    Loops over one or two tails could not be predicted.
    """
    nodes = arrays.node_start[forest], arrays.node_start[forest + 1]
    first, last = arrays.edge_start[nodes[0]], arrays.edge_start[nodes[1]]
    tail_start, tails = arrays.tail_start, arrays.tails
    pairs = np.empty((last - first, 2), np.int32)
    wide = False
    for e in range(last - first):
        begin, end = tail_start[first + e], tail_start[first + e + 1]
        pairs[e, 0] = tails[begin] if end > begin else none
        pairs[e, 1] = tails[begin + 1] if end > begin + 1 else none
        wide |= end > begin + 2
    return pairs, wide


@kernel
def at_end(
    arrays: ForestArrays,
    forest: int,
    scores: Floats,
    slopes: Floats,
    small: float,
    gaps: Gaps,
    place: int,
    pairs: Ids,
    wide: bool,
    now: Floats,
    choice: Ids,
) -> None:
    """Find the best of least slope, that is at −∞, or at place 1 of greatest slope.

    Slopes that differ by rounding alone must be taken as equal: otherwise the scores would not
    count, and what is best up to γ = 1e15 would lose.
    """
    node0 = arrays.node_start[forest]
    edge_start = arrays.edge_start[node0 : node0 + choice.shape[0] + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start[edge0:], arrays.tails
    height = gaps.height[place]
    sign = 2.0 * place - 1.0
    for n in range(choice.shape[0]):
        steepest, best_score, best_slope, best = -np.inf, -np.inf, 0.0, 0
        for e in range(edge_start[n] - edge0, edge_start[n + 1] - edge0):
            left, right = pairs[e, 0], pairs[e, 1]
            score = scores[e] + now[left, 0] + now[right, 0]
            slope = slopes[e] + now[left, 1] + now[right, 1]
            if wide:
                for k in range(tail_start[e] + 2, tail_start[e + 1]):
                    score += now[tails[k], 0]
                    slope += now[tails[k], 1]
            height[e] = slope
            steep = sign * slope
            near = small + ROUNDING * abs(slope)
            if steep > steepest + near or (steep >= steepest - near and score > best_score):
                best_score, best_slope, best = score, slope, e
            steepest = max(steep, steepest)
        now[n, 0], now[n, 1], choice[n] = best_score, best_slope, best
    gaps.gamma[place] = sign * np.inf
    gaps.listed[place] = choice.shape[0]
    copy_rows(gaps.value[place], 0, now[:-1])
    for n in range(choice.shape[0]):
        gaps.choice[place, n], gaps.node[place, n] = choice[n], n
        gaps.end[place, n] = edge_start[n + 1] - edge0
    for e in range(scores.shape[0]):
        gaps.edge[place, e] = e


@kernel
def between(
    arrays: ForestArrays,
    forest: int,
    scores: Floats,
    slopes: Floats,
    size: tuple[float, float],
    gaps: Gaps,
    a: int,
    b: int,
    new: int,
    pairs: Ids,
    wide: bool,
    now: Floats,
    choice: Ids,
) -> None:
    """Find what is best at the γ of place ``new``, between a and b, of what may be best there.

    A node whose best line is the same at a and b keeps it. A hyperedge of another node is convex
    in γ: if what that allows it is too low where the node's lines of a and b cross, it is nowhere
    best between them. ``now`` and ``choice`` are what is best of all nodes: those that are on the
    list of b no more have kept theirs since they left it.
    """
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    tail_start, tails = arrays.tail_start[edge0:], arrays.tails
    left, right, middle = gaps.value[a], gaps.value[b], gaps.value[new]
    left_height, right_height, height = gaps.height[a], gaps.height[b], gaps.height[new]
    nodes, ends, edges = gaps.node[b], gaps.end[b], gaps.edge[b]
    left_choice, middle_choice = gaps.choice[a], gaps.choice[new]
    gamma, begin, end = gaps.gamma[new], gaps.gamma[a], gaps.gamma[b]
    count, candidates, first, last = 0, 0, 0, 0
    for i in range(gaps.listed[b]):
        n, first, last = nodes[i], last, ends[i]
        ls, ll, rs, rl = left[n, 0], left[n, 1], right[n, 0], right[n, 1]
        if ls == rs and ll == rl:
            now[n, 0], now[n, 1], choice[n] = ls, ll, left_choice[n]
            continue
        by_left, by_right, needed = _least(begin, end, ls, ll, rs, rl, size[0], size[1])
        top, best_score, best_slope, best = -np.inf, ls, ll, left_choice[n]
        for j in range(first, last):
            e = edges[j]
            if by_left * left_height[e] + by_right * right_height[e] < needed:
                continue
            first_pair, second_pair = pairs[e, 0], pairs[e, 1]
            score = scores[e] + now[first_pair, 0] + now[second_pair, 0]
            slope = slopes[e] + now[first_pair, 1] + now[second_pair, 1]
            if wide:
                for k in range(tail_start[e] + 2, tail_start[e + 1]):
                    score += now[tails[k], 0]
                    slope += now[tails[k], 1]
            high = score + gamma * slope
            height[e] = high
            edges[candidates] = e
            candidates += 1
            # Without a branch, which could not be predicted.
            better = high > top
            top = high if better else top
            best_score = score if better else best_score
            best_slope = slope if better else best_slope
            best = e if better else best
        now[n, 0], now[n, 1], choice[n] = best_score, best_slope, best
        middle[n, 0], middle[n, 1], middle_choice[n] = best_score, best_slope, best
        nodes[count], ends[count] = n, candidates
        count += 1
    gaps.listed[b] = count
    gaps.listed[new] = count
    copy_to(gaps.node[new], 0, nodes[:count])
    copy_to(gaps.end[new], 0, ends[:count])
    copy_to(gaps.edge[new], 0, edges[:candidates])


@inlined
def _least(
    begin: float,
    end: float,
    left_score: float,
    left_slope: float,
    right_score: float,
    right_slope: float,
    size: float,
    steep: float,
) -> tuple[float, float, float]:
    """Return factors of a hyperedge's heights at both ends of a gap, and what their sum must reach.

    The sum is the most that it can be at the γ where a node's best lines of both ends cross: on
    the chord between its heights, or, where one end is infinite, on the line that has its height
    at the other and its slope at the infinite one.
    """
    by_left, by_right, needed = 0.0, 0.0, -np.inf
    if right_slope > left_slope and (begin > -np.inf or end < np.inf):
        gamma = crossing(left_score, left_slope, right_score, right_slope)
        # Lines that differ by rounding alone may cross anywhere. Outside the gap nothing is known.
        if begin <= gamma <= end:
            far_left, far_right = left_slope, right_slope
            if begin == -np.inf:
                by_left, by_right = gamma - end, 1.0
                far_right = right_score + end * right_slope
            elif end == np.inf:
                by_left, by_right = 1.0, gamma - begin
                far_left = left_score + begin * left_slope
            else:
                # Not 1 less the other: what is lost there is multiplied by the height far away.
                by_left, by_right = (end - gamma) / (end - begin), (gamma - begin) / (end - begin)
                far_left = left_score + begin * left_slope
                far_right = right_score + end * right_slope
            needed = left_score + gamma * left_slope - rounding(size, left_score, right_score)
            needed -= abs(gamma) * rounding(steep, left_slope, right_slope)
            needed -= rounding(0.0, by_left * far_left, by_right * far_right)
    return by_left, by_right, needed


@kernel
def room_for_places(places: int, nodes: int, edges: int) -> Gaps:
    """Return room for ``places`` places."""
    return Gaps(
        np.empty(places),
        np.zeros((places, 2), np.int64),
        np.zeros(places, np.int64),
        np.empty((places, nodes), np.int32),
        np.empty((places, nodes), np.int32),
        np.empty((places, edges), np.int32),
        np.empty((places, nodes, 2)),
        np.empty((places, nodes), np.int32),
        np.empty((places, edges)),
    )


@kernel
def with_more_places(gaps: Gaps, place: Ints) -> tuple[Gaps, Ints]:
    """Return the same with twice as many places."""
    old = place.shape[0]
    more = room_for_places(2 * old, gaps.node.shape[1], gaps.edge.shape[1])
    copy_to(more.gamma, 0, gaps.gamma)
    copy_rows(more.span, 0, gaps.span)
    copy_to(more.listed, 0, gaps.listed)
    copy_rows(more.node, 0, gaps.node)
    copy_rows(more.end, 0, gaps.end)
    copy_rows(more.edge, 0, gaps.edge)
    for i in range(old):
        copy_rows(more.value[i], 0, gaps.value[i])
    copy_rows(more.choice, 0, gaps.choice)
    copy_rows(more.height, 0, gaps.height)
    places = np.arange(2 * old)
    copy_to(places, 0, place)
    return more, places
