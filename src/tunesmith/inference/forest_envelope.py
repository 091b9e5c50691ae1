"""The upper envelope of a forest's derivations along a line w + γ d (Macherey et al. 2008).

A derivation is the line w·h + γ d·h. Which of them win, and where, is found without ever laying
out their envelope at each node (Kumar et al. 2009, by merge and Minkowski sum): the derivations
that win at −∞ and at +∞ are two lines; where they cross, Viterbi tells whether another is higher.
If there is one, it wins somewhere between, and both gaps are asked in turn (Eisner and Severance
1976); if not, they are neighbours. That takes 2n − 1 passes for n lines, each over less than the
one before: what a node is worth is convex in γ, so where one and the same line is best at both
ends of a gap, it is best all through it, and the node need not be looked at again.

Scores and slopes are added up apart, never w·h + γ d·h: derivations that are equal in both stay
equal at every γ, and the first hyperedge wins, as in Viterbi.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.inference.derivations import (
    Derivations,
    check_length,
    grown,
    grown_offsets,
    joined_derivations,
    unfold,
)
from tunesmith.kernels import inlined, kernel
from tunesmith.parallel.local import map_pieces

#: Differences below this share of the numbers that are added up are taken for rounding.
ROUNDING = 2.0**-42


class Lines(NamedTuple):
    """L derivations that win somewhere on a line, each on an interval of some length.

    Attributes
    ----------
    forest : int64[L]
        Whose derivation it is, ascending.
    at : float64[L]
        The γ from which on it wins: −inf for the first of a forest, ascending within it.
    derivations
        The derivations.
    score, slope : float64[L]
        Their w·h and d·h; slopes ascend within a forest.
    """

    forest: Ints
    at: Floats
    derivations: Derivations
    score: Floats
    slope: Floats


def forest_envelopes(forests: Forests, weights: Floats, direction: Floats) -> Lines:
    """Follow the best derivation of each forest along ``weights + γ * direction``.

    Parameters
    ----------
    weights, direction : float64[D]

    Returns
    -------
    What wins from γ = −∞ on. A line that others reach at a single point, or pass by no more than
    rounding, is left out.
    """

    def follow(piece: slice) -> tuple[Ints, Floats, Ints, Ids]:
        block = forests.block(piece.start, piece.stop)
        counts, table, start, edges = envelopes_of_block(*block, weights, direction)
        own = np.repeat(np.arange(piece.start, piece.stop), counts)
        check_length(start, forests, own)
        return own, table, start, edges

    parts = map_pieces(follow, forests.pieces())
    forest = np.concatenate([np.zeros(0, np.int64), *(own for own, *_ in parts)])
    at, score, slope = np.concatenate([np.zeros((0, 3)), *(part[1] for part in parts)]).T
    derivations = joined_derivations(forest, [(start, edges) for *_, start, edges in parts])
    return Lines(forest, at, derivations, score, slope)


@kernel
def envelopes_of_block(
    arrays: ForestArrays, first: int, last: int, weights: Floats, direction: Floats
) -> tuple[Ints, Floats, Ints, Ids]:
    """Return how many lines each forest has, and :func:`envelope_of` of each, joined."""
    counts = np.zeros(last - first, np.int64)
    table = np.empty((1 << 6, 3))
    start, edges = np.zeros(1 << 6, np.int64), np.empty(1 << 10, np.int32)
    lines, used = 0, 0
    for s in range(first, last):
        scores, slopes = edge_lines(arrays, s, weights, direction)
        rows, offsets, found = envelope_of(arrays, s, scores, slopes)
        count, size = rows.shape[0], found.shape[0]
        counts[s - first] = count
        if lines + count > table.shape[0]:
            larger = np.empty((2 * (lines + count), 3))
            larger[:lines] = table[:lines]
            table = larger
        start, edges = grown_offsets(start, lines + count + 1), grown(edges, used + size)
        table[lines : lines + count] = rows
        edges[used : used + size] = found
        for i in range(count):
            start[lines + i + 1] = offsets[i + 1] + used if offsets[i + 1] >= 0 else -1
        lines, used = lines + count, used + size
    return counts, table[:lines], start[: lines + 1], edges[:used]


@kernel
def edge_lines(
    arrays: ForestArrays, forest: int, weights: Floats, direction: Floats
) -> tuple[Floats, Floats]:
    """Return w·h and d·h of each hyperedge of a forest, with one pass over the features."""
    nodes = arrays.node_start[forest], arrays.node_start[forest + 1]
    first, last = arrays.edge_start[nodes[0]], arrays.edge_start[nodes[1]]
    feature_start, ids, values = arrays.feature_start, arrays.feature_ids, arrays.feature_values
    scores, slopes = np.empty(last - first), np.empty(last - first)
    for e in range(scores.shape[0]):
        score, slope = 0.0, 0.0
        for k in range(feature_start[first + e], feature_start[first + e + 1]):
            score += weights[ids[k]] * values[k]
            slope += direction[ids[k]] * values[k]
        scores[e], slopes[e] = score, slope
    return scores, slopes


@kernel
def envelope_of(
    arrays: ForestArrays, forest: int, scores: Floats, slopes: Floats
) -> tuple[Floats, Ints, Ids]:
    """Follow the best derivation of one forest.

    Parameters
    ----------
    scores, slopes : float64[E]
        w·h and d·h of its hyperedges.

    Returns
    -------
    A row for each line that wins: the γ from which on, its score, its slope; and the derivations
    as offsets and hyperedges. An offset of -1 stands for a derivation that is too long.
    """
    goal = arrays.node_start[forest + 1] - arrays.node_start[forest] - 1
    size = np.abs(scores).max(), np.abs(slopes).max()
    gaps = _room(8, goal + 1, scores.shape[0])
    pairs, wide = _first_tails(arrays, forest, goal + 1)
    now, choice = np.zeros((goal + 2, 2)), np.empty(goal + 1, np.int32)
    edges, used = np.empty(1 << 8, np.int32), 0
    for end in range(2):
        _at_end(
            arrays, forest, scores, slopes, ROUNDING * size[1], gaps, end, pairs, wide, now, choice
        )
        edges, used = _noted(gaps, end, edges, used, unfold(arrays, forest, choice))
    left, right = gaps.value[0, goal], gaps.value[1, goal]
    rows, spans = np.empty((8, 3)), np.empty((8, 2), np.int64)
    if right[1] - left[1] <= _rounding(size[1], left[1], right[1]):
        better = 1 if right[0] > left[0] else 0
        rows, spans = _added(rows, spans, 0, gaps.value[better, goal], gaps.span[better])
        return _written(rows[:1], spans[:1], edges)
    rows, spans = _added(rows, spans, 0, left, gaps.span[0])
    lines = 1
    # Places of what was found: first the last line that is known to win, then those to the
    # right of it that wait, the nearest last, then those that are free.
    place = np.arange(gaps.listed.shape[0])
    waiting = 1
    while waiting > 0:
        if waiting + 1 == place.shape[0]:
            gaps, place = _more_room(gaps, place)
        a, b, new = place[0], place[waiting], place[waiting + 1]
        left, right, middle = gaps.value[a, goal], gaps.value[b, goal], gaps.value[new, goal]
        gamma = _crossing(left[0], left[1], right[0], right[1])
        gaps.gamma[new] = gamma
        _between(arrays, forest, scores, slopes, size, gaps, a, b, new, pairs, wide, now, choice)
        height = middle[0] - left[0] + gamma * (middle[1] - left[1])
        near = _rounding(size[1], left[1], right[1])
        steeper = left[1] + near < middle[1] < right[1] - near
        if steeper and height > _rounding(size[0], left[0], right[0]) + abs(gamma) * near:
            edges, used = _noted(gaps, new, edges, used, unfold(arrays, forest, choice))
            waiting += 1
            continue
        lines = _still_above(rows, lines, right, size)
        rows, spans = _added(rows, spans, lines, right, gaps.span[b])
        lines += 1
        place[0], place[waiting] = b, a
        waiting -= 1
    return _written(rows[:lines], spans[:lines], edges)


class _Gaps(NamedTuple):
    """What is best at several γ, each at a place of its own, and what may be best to its left.

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
def _crossing(score: float, slope: float, other_score: float, other_slope: float) -> float:
    """Return the γ at which two lines are equally high."""
    return (score - other_score) / (other_slope - slope)


@inlined
def _rounding(size: float, one: float, other: float) -> float:
    """Return the difference of two sums that is taken for rounding; size is that of a part."""
    return ROUNDING * (size + abs(one) + abs(other))


@kernel
def _first_tails(arrays: ForestArrays, forest: int, none: int) -> tuple[Ids, bool]:
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
def _at_end(
    arrays: ForestArrays,
    forest: int,
    scores: Floats,
    slopes: Floats,
    small: float,
    gaps: _Gaps,
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
            one, two = pairs[e, 0], pairs[e, 1]
            score = scores[e] + now[one, 0] + now[two, 0]
            slope = slopes[e] + now[one, 1] + now[two, 1]
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
    gaps.value[place], gaps.choice[place] = now[:-1], choice
    gaps.listed[place] = choice.shape[0]
    gaps.node[place], gaps.edge[place] = np.arange(choice.shape[0]), np.arange(scores.shape[0])
    gaps.end[place] = edge_start[1:] - edge0


@kernel
def _between(
    arrays: ForestArrays,
    forest: int,
    scores: Floats,
    slopes: Floats,
    size: tuple[float, float],
    gaps: _Gaps,
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
    count, kept, first, last = 0, 0, 0, 0
    for i in range(gaps.listed[b]):
        n, first, last = nodes[i], last, ends[i]
        ls, ll, rs, rl = left[n, 0], left[n, 1], right[n, 0], right[n, 1]
        if ls == rs and ll == rl:
            now[n, 0], now[n, 1], choice[n] = ls, ll, left_choice[n]
            continue
        by_left, by_right, needed = _least(begin, end, ls, ll, rs, rl, size[0], size[1])
        top, best_score, best_slope, best = -np.inf, 0.0, 0.0, 0
        for j in range(first, last):
            e = edges[j]
            if by_left * left_height[e] + by_right * right_height[e] < needed:
                continue
            one, two = pairs[e, 0], pairs[e, 1]
            score = scores[e] + now[one, 0] + now[two, 0]
            slope = slopes[e] + now[one, 1] + now[two, 1]
            if wide:
                for k in range(tail_start[e] + 2, tail_start[e + 1]):
                    score += now[tails[k], 0]
                    slope += now[tails[k], 1]
            high = score + gamma * slope
            height[e] = high
            edges[kept] = e
            kept += 1
            # Without a branch, which could not be predicted.
            better = high > top
            top = high if better else top
            best_score = score if better else best_score
            best_slope = slope if better else best_slope
            best = e if better else best
        now[n, 0], now[n, 1], choice[n] = best_score, best_slope, best
        middle[n, 0], middle[n, 1], middle_choice[n] = best_score, best_slope, best
        nodes[count], ends[count] = n, kept
        count += 1
    gaps.listed[b] = count
    gaps.listed[new] = count
    gaps.node[new, :count], gaps.end[new, :count] = nodes[:count], ends[:count]
    gaps.edge[new, :kept] = edges[:kept]


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
        gamma = _crossing(left_score, left_slope, right_score, right_slope)
        needed = left_score + gamma * left_slope - _rounding(size, left_score, right_score)
        needed -= abs(gamma) * _rounding(steep, left_slope, right_slope)
        if begin == -np.inf:
            by_left, by_right = gamma - end, 1.0
        elif end == np.inf:
            by_left, by_right = 1.0, gamma - begin
        else:
            by_right = (gamma - begin) / (end - begin)
            by_left = 1.0 - by_right
    return by_left, by_right, needed


@kernel
def _room(places: int, nodes: int, edges: int) -> _Gaps:
    """Return room for so many places."""
    return _Gaps(
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
def _more_room(gaps: _Gaps, place: Ints) -> tuple[_Gaps, Ints]:
    """Return the same with twice as many places."""
    old = place.shape[0]
    more = _room(2 * old, gaps.node.shape[1], gaps.edge.shape[1])
    more.gamma[:old], more.span[:old], more.listed[:old] = gaps.gamma, gaps.span, gaps.listed
    more.node[:old], more.end[:old], more.edge[:old] = gaps.node, gaps.end, gaps.edge
    more.value[:old], more.choice[:old], more.height[:old] = gaps.value, gaps.choice, gaps.height
    places = np.arange(2 * old)
    places[:old] = place
    return more, places


@kernel
def _noted(gaps: _Gaps, place: int, edges: Ids, used: int, own: Ids) -> tuple[Ids, int]:
    """Write a derivation after those that were found."""
    after = used + own.shape[0]
    edges = grown(edges, after)
    edges[used:after] = own
    gaps.span[place, 0], gaps.span[place, 1] = used, after
    return edges, after


@kernel
def _still_above(rows: Floats, lines: int, new: Floats, size: tuple[float, float]) -> int:
    """Drop lines from the right that a new one makes needless; return how many are left.

    What was found where two lines cross may be one of many that meet there, and win nowhere else.
    """
    while lines >= 2:
        before, last = rows[lines - 2], rows[lines - 1]
        gamma = _crossing(before[1], before[2], new[0], new[1])
        height = last[1] - before[1] + gamma * (last[2] - before[2])
        small = _rounding(size[0], before[1], new[0])
        if height > small + abs(gamma) * _rounding(size[1], before[2], new[1]):
            break
        lines -= 1
    return lines


@kernel
def _added(rows: Floats, spans: Ints, lines: int, line: Floats, span: Ints) -> tuple[Floats, Ints]:
    """Add a line on the right, and where its derivation stands."""
    if lines == rows.shape[0]:
        more_rows, more_spans = np.empty((2 * lines, 3)), np.empty((2 * lines, 2), np.int64)
        more_rows[:lines], more_spans[:lines] = rows, spans
        rows, spans = more_rows, more_spans
    rows[lines, 0] = -np.inf
    if lines > 0:
        last = rows[lines - 1]
        rows[lines, 0] = _crossing(last[1], last[2], line[0], line[1])
    rows[lines, 1], rows[lines, 2] = line[0], line[1]
    spans[lines] = span
    return rows, spans


@kernel
def _written(rows: Floats, spans: Ints, edges: Ids) -> tuple[Floats, Ints, Ids]:
    """Return lines with their derivations in the same order."""
    start = np.zeros(spans.shape[0] + 1, np.int64)
    found = np.empty((spans[:, 1] - spans[:, 0]).sum(), np.int32)
    for i in range(spans.shape[0]):
        begin, end = spans[i]
        start[i + 1] = start[i] + end - begin
        if end == begin:
            start[i + 1] = -1
            return rows[: i + 1], start[: i + 2], found[: start[i]]
        found[start[i] : start[i + 1]] = edges[begin:end]
    return rows, start, found
