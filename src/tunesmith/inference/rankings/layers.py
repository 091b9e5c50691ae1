"""Which documents can reach the top k somewhere on a line.

A document's score is a line over γ, a point (slope, score). What is on top somewhere is a corner
of the upper hull of these points. Without these corners others come to the top: the second layer.
Everywhere on the line each layer has a document above those of the next layers, so that what is in
none of the first k layers is never among the first k.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort


@kernel
def first_layers(slopes: Floats, scores: Floats, rows: Ints, k: int) -> Ints:
    """Return the documents in the first k layers, ascending.

    Parameters
    ----------
    slopes, scores
        The lines of all documents.
    rows
        Those to choose from, ascending: among equal lines the first is above.
    """
    left = _by_slope(slopes, scores, rows)
    hull = np.empty(left.shape[0], np.int64)
    is_kept = np.zeros(left.shape[0], np.bool_)
    count = left.shape[0]
    places = np.arange(count)
    for _ in range(k):
        corners = 0
        for p in places[:count]:
            i = left[p]
            if corners > 0 and slopes[left[hull[corners - 1]]] == slopes[i]:
                continue  # the one before it is above
            while corners > 1 and _is_below(
                slopes, scores, left[hull[corners - 2]], left[hull[corners - 1]], i
            ):
                corners -= 1
            hull[corners] = p
            corners += 1
        for c in range(corners):
            is_kept[hull[c]] = True
        rest = 0
        for at in range(count):
            if not is_kept[places[at]]:
                places[rest] = places[at]
                rest += 1
        count = rest
        if count == 0:
            break
    chosen = np.empty(left.shape[0] - count, np.int64)
    at = 0
    for p in range(left.shape[0]):
        if is_kept[p]:
            chosen[at] = left[p]
            at += 1
    return chosen[argsort(chosen)]


@kernel
def _by_slope(slopes: Floats, scores: Floats, rows: Ints) -> Ints:
    """Sort documents by their slopes; of equal ones that with the higher score comes first."""
    keys = np.empty(rows.shape[0])
    for r in range(rows.shape[0]):
        keys[r] = -scores[rows[r]]
    order = rows[argsort(keys)]
    for r in range(rows.shape[0]):
        keys[r] = slopes[order[r]]
    return order[argsort(keys)]


@kernel
def _is_below(slopes: Floats, scores: Floats, a: int, b: int, c: int) -> bool:
    """Tell whether the middle one of three points is on the chord of the others, or below it."""
    rise = (scores[b] - scores[a]) * (slopes[c] - slopes[a])
    return bool(rise <= (scores[c] - scores[a]) * (slopes[b] - slopes[a]))
