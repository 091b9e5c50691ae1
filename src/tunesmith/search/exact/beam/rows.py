"""Beam search: the kernels that choose rows and test them."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import argsort, sorted_copy
from tunesmith.search.exact.active_set import (
    FEASIBLE,
    HOLDS,
    INFEASIBLE,
    LEAST_CHANGES,
    MOST_CHANGES,
    UNDECIDED,
    add_row,
    reset,
)
from tunesmith.search.exact.problem import NEAR


@kernel
def leads(scores: Floats, owner: Ints, chosen: Ints, others: Ints) -> Floats:
    """Return by how much others are ahead of the chosen points of their groups."""
    ahead = np.empty(others.shape[0])
    for i in range(others.shape[0]):
        ahead[i] = scores[others[i]] - scores[chosen[owner[others[i]]]]
    return ahead


@kernel
def within_beam(ahead: Floats, room: int) -> Ints:
    """Return which of the points are within the beam: so many, those that are most ahead."""
    if ahead.shape[0] <= room:
        return np.arange(ahead.shape[0])
    within: Ints = sorted_copy(argsort(-ahead)[:room])
    return within


@kernel
def _difference(
    points: Floats, start: Ints, owner: Ints, point: int, other: int, row: Floats
) -> None:
    size, group = row.shape[0], owner[point]
    lo, many = start[group], start[group + 1] - start[group]
    base = points[lo * size : (lo + many) * size]
    for d in range(size):
        row[d] = base[d * many + point - lo] - base[d * many + other - lo]


@kernel
def examine_rows(
    points: Floats,
    start: Ints,
    owner: Ints,
    chosen: Ints,
    others: Ints,
    goal: Floats,
    longest: float,
    vector: Floats,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
) -> int:
    """Find the vector nearest to a goal under which chosen points are ahead of others by 1.

    As :func:`tunesmith.search.exact.active_set.attain`, on rows that are listed. Others that are
    all but equal to the chosen point do not count: no vector can be sure of either. A vector that
    is longer than ``longest`` is none.
    """
    size, many = vector.shape[0], others.shape[0]
    row, gaps, block = np.empty(size), np.empty(many), np.empty((size, many))
    listed_points = np.empty(many, np.int64)
    listed = 0
    for i in range(many):
        _difference(points, start, owner, chosen[owner[others[i]]], others[i], row)
        square = 0.0
        for d in range(size):
            square += row[d] * row[d]
        if square >= NEAR * NEAR:
            copy_to(block[:, listed], 0, row)
            listed_points[listed] = others[i]
            listed += 1
    reset(vector, goal, basis, count)
    left = max(MOST_CHANGES * size, LEAST_CHANGES)
    while listed > 0 and left >= 0:
        gaps[:] = 0.0
        for d in range(size):
            line, value = block[d], vector[d]
            for i in range(listed):
                gaps[i] += value * line[i]
        least = np.argmin(gaps[:listed])
        if gaps[least] >= HOLDS:
            return FEASIBLE
        copy_to(row, 0, block[:, least])
        other = listed_points[least]
        changes = add_row(
            row, chosen[owner[other]], other, vector, goal, basis, factor, forces, rows, count, left
        )
        square = 0.0
        for d in range(size):
            square += vector[d] * vector[d]
        if changes < 0 or square > longest * longest:
            return INFEASIBLE
        left -= changes
    return FEASIBLE if listed == 0 else UNDECIDED
