"""What the vectors of a cone lose at least: linear bounds of each group's loss, added up.

The least loss of every group, added up, is a weak bound: no vector of the cone has all of them.
A vector is its corners times weights that sum to 1, and what a group loses jumps where another
point wins. Let q be a point, and let others, p, lose less. Where p wins, its score is not below
that of q; so for each factor f of 0 or more the group loses at least

    loss(q) - (loss(q) - loss(p)) * max(0, 1 - f * (score(q) - score(p))),

and so it does with the greatest of the last terms over all p, wherever one of them wins; where
another point wins that loses as much as q or more, too. The term is convex. Replaced by what is
linear and has its values at the corners it becomes no less, and the sum over groups of what is
linear is least at a corner.

Which q and f are best depends on where in the cone: q wins there, and f is found on the line. Where
to look is where the sum so far is least (mirror descent); the bounds of two places are combined.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to

#: Places in a cone that are looked at, and factors that are tried for each group there.
PLACES, FACTORS = 3, 2
#: How much of what is summed up is kept off for rounding.
ROUNDING = 1e-11


@kernel
def linear_bound(
    scores: Floats,
    losses: Floats,
    begin: Ints,
    count: int,
    errors: Floats,
    where: Floats,
    enough: float,
) -> float:
    """Return what all groups lose at least, beyond the least loss of each.

    Parameters
    ----------
    scores : float64[D, n]
        Under each corner; points are group after group, in the order of their loss.
    losses : float64[n]
        More than the least of their group.
    begin : int64[count + 1]
        Where groups begin.
    errors : float64[count]
        How far differences of scores may be off.
    where : float64[D]
        Weights of the corners, where to begin; becomes the place of the least loss, about.
    enough
        It ends when this is reached.
    """
    size = where.shape[0]
    total, combined = np.empty(size), np.empty(size)
    terms, best_terms = np.empty(size), np.empty(size)
    bound, off = 0.0, 0.0
    for place in range(PLACES):
        total[:] = 0.0
        magnitude, error = 0.0, 0.0
        for group in range(count):
            factor, top = _steepest(
                scores, losses, begin[group], begin[group + 1], where, terms, best_terms
            )
            if factor <= 0.0:
                continue
            error += factor * top * errors[group]
            magnitude += top
            for c in range(size):
                total[c] += best_terms[c]
                magnitude += abs(best_terms[c])
        off = max(off, error + ROUNDING * magnitude)
        here = 0.0
        for c in range(size):
            here += where[c] * total[c]
        if place == 0:
            copy_to(combined, 0, total)
        else:
            _combine(combined, total)
        bound = max(bound, combined.min() - off)
        _move(where, total, here)
        if bound >= enough:
            break
    return bound


@kernel
def _steepest(
    scores: Floats,
    losses: Floats,
    lo: int,
    hi: int,
    where: Floats,
    terms: Floats,
    best_terms: Floats,
) -> tuple[float, float]:
    """Fill in the linear bound of a group that is greatest at a place, by corners.

    Returns
    -------
    The factor, 0 if the bound is 0 everywhere; and what the point that wins there loses.
    """
    size = where.shape[0]
    most, winner = -np.inf, lo
    for i in range(lo, hi):
        score = 0.0
        for c in range(size):
            score += where[c] * scores[c, i]
        if score > most:
            most, winner = score, i
    top = losses[winner]
    end = lo
    while losses[end] < top:
        end += 1
    if end == lo:
        return 0.0, 0.0
    # In the factor the value is concave, of pieces that are linear: the first and the last one.
    low_value, low_slope, high_value, high_slope = 0.0, 0.0, 0.0, 0.0
    for c in range(size):
        ahead = scores[c, winner]
        least, first, level = 0.0, np.inf, top
        for i in range(lo, end):
            lead = (top - losses[i]) * (ahead - scores[c, i])
            if losses[i] == 0.0:
                first = min(first, lead)
            if lead < least:
                least, level = lead, losses[i]
        low_slope += where[c] * first
        high_slope += where[c] * least
        high_value += where[c] * level
    value, used = 0.0, 0.0
    for _ in range(FACTORS):
        if low_slope <= 0.0 or not low_slope - high_slope > 0.0:
            break
        factor = (high_value - low_value) / (low_slope - high_slope)
        here, slope = 0.0, 0.0
        for c in range(size):
            ahead = scores[c, winner]
            greatest, turn = 0.0, 0.0
            for i in range(lo, end):
                lead = (top - losses[i]) * (ahead - scores[c, i])
                short = top - losses[i] - factor * lead
                if short > greatest:
                    greatest, turn = short, lead
            terms[c] = top - greatest
            here += where[c] * terms[c]
            slope += where[c] * turn
        if here > value:
            value, used = here, factor
            copy_to(best_terms, 0, terms)
        if slope > 0.0:
            low_value, low_slope = here - slope * factor, slope
        else:
            high_value, high_slope = here - slope * factor, slope
    return used, top


@kernel
def _combine(combined: Floats, total: Floats) -> None:
    """Replace values by those between them and others whose least is greatest."""
    size = combined.shape[0]
    share, least = 0.0, combined.min()
    if total.min() > least:
        share, least = 1.0, total.min()
    for c in range(size):
        for e in range(c):
            change = (total[c] - combined[c]) - (total[e] - combined[e])
            if change == 0.0:
                continue
            here = (combined[e] - combined[c]) / change
            if not 0.0 < here < 1.0:
                continue
            lowest = np.inf
            for d in range(size):
                lowest = min(lowest, combined[d] + here * (total[d] - combined[d]))
            if lowest > least:
                share, least = here, lowest
    for d in range(size):
        combined[d] += share * (total[d] - combined[d])


@kernel
def _move(where: Floats, total: Floats, here: float) -> None:
    """Go to where a sum is less: weights of corners change by a factor, as mirror descent does."""
    size = where.shape[0]
    scale = 0.0
    for c in range(size):
        scale = max(scale, abs(total[c] - here))
    if scale == 0.0:
        return
    whole = 0.0
    for c in range(size):
        where[c] *= np.exp(-(total[c] - here) / scale)
        whole += where[c]
    for c in range(size):
        where[c] /= whole
