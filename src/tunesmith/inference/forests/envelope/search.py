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
from tunesmith.inference.forests.derivations import (
    Derivations,
    check_length,
    grown,
    grown_offsets,
    joined_derivations,
    unfold,
)
from tunesmith.inference.forests.envelope.gaps import (
    ROUNDING,
    Gaps,
    at_end,
    between,
    crossing,
    first_tails,
    room_for_places,
    rounding,
    with_more_places,
)
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows, copy_to
from tunesmith.parallel.engine import map_over


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
    parts = map_over(forests, _follow, forests.pieces(), weights, direction)
    forest = np.concatenate(
        [np.zeros(0, np.int64), *(piece_forests for piece_forests, *_ in parts)]
    )
    at, score, slope = np.concatenate([np.zeros((0, 3)), *(part[1] for part in parts)]).T
    derivations = joined_derivations(forest, [(start, edges) for *_, start, edges in parts])
    return Lines(forest, at, derivations, score, slope)


def _follow(
    forests: Forests, piece: slice, weights: Floats, direction: Floats
) -> tuple[Ints, Floats, Ints, Ids]:
    block = forests.block(piece.start, piece.stop)
    counts, table, start, edges = envelopes_of_block(*block, weights, direction)
    groups = np.repeat(np.arange(piece.start, piece.stop), counts)
    check_length(start, forests, groups)
    return groups, table, start, edges


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
        rows, offsets, line_edges = envelope_of(arrays, s, scores, slopes)
        count, size = rows.shape[0], line_edges.shape[0]
        counts[s - first] = count
        if lines + count > table.shape[0]:
            larger = np.empty((2 * (lines + count), 3))
            copy_rows(larger, 0, table[:lines])
            table = larger
        start, edges = grown_offsets(start, lines + count + 1), grown(edges, used + size)
        copy_rows(table, lines, rows)
        copy_to(edges, used, line_edges)
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
    size = _greatest(scores), _greatest(slopes)
    gaps = room_for_places(8, goal + 1, scores.shape[0])
    pairs, wide = first_tails(arrays, forest, goal + 1)
    now, choice = np.zeros((goal + 2, 2)), np.empty(goal + 1, np.int32)
    edges, used = np.empty(1 << 8, np.int32), 0
    for end in range(2):
        at_end(
            arrays, forest, scores, slopes, ROUNDING * size[1], gaps, end, pairs, wide, now, choice
        )
        edges, used = _append_derivation(gaps, end, edges, used, unfold(arrays, forest, choice))
    left, right = gaps.value[0, goal], gaps.value[1, goal]
    rows, spans = np.empty((8, 3)), np.empty((8, 2), np.int64)
    if right[1] - left[1] <= rounding(size[1], left[1], right[1]):
        better = 1 if right[0] > left[0] else 0
        rows, spans = _append_line(rows, spans, 0, gaps.value[better, goal], gaps.span[better])
        return _written(rows[:1], spans[:1], edges)
    rows, spans = _append_line(rows, spans, 0, left, gaps.span[0])
    lines = 1
    # Places of what was found: first the last line that is known to win, then those to the
    # right of it that wait, the nearest last, then those that are free.
    place = np.arange(gaps.listed.shape[0])
    waiting = 1
    while waiting > 0:
        if waiting + 1 == place.shape[0]:
            gaps, place = with_more_places(gaps, place)
        a, b, new = place[0], place[waiting], place[waiting + 1]
        left, right, middle = gaps.value[a, goal], gaps.value[b, goal], gaps.value[new, goal]
        if right[1] - left[1] > rounding(size[1], left[1], right[1]):
            gamma = crossing(left[0], left[1], right[0], right[1])
            gaps.gamma[new] = gamma
            between(arrays, forest, scores, slopes, size, gaps, a, b, new, pairs, wide, now, choice)
            if left[1] < middle[1] < right[1] and _is_above(middle, left, gamma, size):
                edges, used = _append_derivation(
                    gaps, new, edges, used, unfold(arrays, forest, choice)
                )
                waiting += 1
                continue
            is_left, is_right = True, True
        else:
            # Slopes that are equal up to rounding: each must show that it is higher somewhere.
            is_right = _is_above(right, left, gaps.gamma[b], size)
            is_left = not is_right or _is_above(left, right, gaps.gamma[a], size)
        lines -= not is_left
        if is_right:
            lines = _still_above(rows, lines, right, size)
            rows, spans = _append_line(rows, spans, lines, right, gaps.span[b])
            lines += 1
        place[0], place[waiting] = b, a
        waiting -= 1
    return _written(rows[:lines], spans[:lines], edges)


@kernel
def _greatest(values: Floats) -> float:
    """Return the greatest absolute value."""
    greatest = 0.0
    for value in values:
        greatest = max(greatest, abs(value))
    return greatest


@kernel
def _append_derivation(
    gaps: Gaps, place: int, edges: Ids, used: int, derivation: Ids
) -> tuple[Ids, int]:
    """Write a derivation after those that were found."""
    after = used + derivation.shape[0]
    edges = grown(edges, after)
    copy_to(edges, used, derivation)
    gaps.span[place, 0], gaps.span[place, 1] = used, after
    return edges, after


@kernel
def _is_above(line: Floats, other: Floats, gamma: float, size: tuple[float, float]) -> bool:
    """Whether a line is higher than another at a γ that is finite, by more than rounding."""
    if abs(gamma) == np.inf:
        return False
    height = line[0] - other[0] + gamma * (line[1] - other[1])
    small = rounding(size[0], line[0], other[0])
    return bool(height > small + abs(gamma) * rounding(size[1], line[1], other[1]))


@kernel
def _still_above(rows: Floats, lines: int, new: Floats, size: tuple[float, float]) -> int:
    """Drop lines from the right that a new one makes needless; return how many are left.

    What was found where two lines cross may be one of many that meet there, and win nowhere else.
    """
    while lines >= 2:
        before, last = rows[lines - 2], rows[lines - 1]
        gamma = crossing(before[1], before[2], new[0], new[1])
        height = last[1] - before[1] + gamma * (last[2] - before[2])
        small = rounding(size[0], before[1], new[0])
        if height > small + abs(gamma) * rounding(size[1], before[2], new[1]):
            break
        lines -= 1
    return lines


@kernel
def _append_line(
    rows: Floats, spans: Ints, lines: int, line: Floats, span: Ints
) -> tuple[Floats, Ints]:
    """Add a line on the right, and where its derivation stands."""
    if lines == rows.shape[0]:
        more_rows, more_spans = np.empty((2 * lines, 3)), np.empty((2 * lines, 2), np.int64)
        copy_rows(more_rows, 0, rows)
        copy_rows(more_spans, 0, spans)
        rows, spans = more_rows, more_spans
    rows[lines, 0] = -np.inf
    if lines > 0:
        last = rows[lines - 1]
        rows[lines, 0] = crossing(last[1], last[2], line[0], line[1])
    rows[lines, 1], rows[lines, 2] = line[0], line[1]
    spans[lines, 0], spans[lines, 1] = span[0], span[1]
    return rows, spans


@kernel
def _written(rows: Floats, spans: Ints, edges: Ids) -> tuple[Floats, Ints, Ids]:
    """Return lines with their derivations in the same order."""
    start = np.zeros(spans.shape[0] + 1, np.int64)
    size = 0
    for i in range(spans.shape[0]):
        size += spans[i, 1] - spans[i, 0]
    edges_of_rows = np.empty(size, np.int32)
    for i in range(spans.shape[0]):
        begin, end = spans[i]
        start[i + 1] = start[i] + end - begin
        if end == begin:
            start[i + 1] = -1
            return rows[: i + 1], start[: i + 2], edges_of_rows[: start[i]]
        copy_to(edges_of_rows, start[i], edges[begin:end])
    return rows, start, edges_of_rows
