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
to look next is between the place where the least was found and the one where the greatest of the
sums so far is least (cutting planes). The shares of all these sums whose mixture is greatest at its
least corner are a matrix game.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.search.exact.bisection.game import solve_game

#: Places in a cone that are looked at, and factors that are tried for each group there.
PLACES, FACTORS = 6, 2
#: How far the next place is from the best one towards that of the game, and how much of it is
#: spread over all corners; what more can be won, as a share of the bound, where it ends.
STEP, SPREAD, CLOSE = 0.25, 0.05, 0.03
#: How much of what is summed up is kept off for rounding.
ROUNDING = 1e-11
EPSILON = float(np.finfo(np.float64).eps)


@kernel
def linear_bound(
    scores: Floats,
    losses: Floats,
    begin: Ints,
    count: int,
    errors: Floats,
    where: Floats,
    enough: float,
    at: Floats,
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
    at : float64[n]
        Room for scores at a place.
    """
    size = where.shape[0]
    totals, offs = np.empty((PLACES, size)), np.empty(PLACES)
    shares, place, best = np.empty(PLACES), np.empty(size), np.empty(size)
    bound, least = 0.0, np.inf
    for k in range(PLACES):
        offs[k] = _add_up(scores, losses, begin, count, errors, where, totals[k], at)
        here = 0.0
        for c in range(size):
            here += where[c] * totals[k, c]
        if here < least:
            least = here
            copy_to(best, 0, where)
        solve_game(totals, k + 1, shares, place)
        lowest = np.inf
        for c in range(size):
            value = 0.0
            for i in range(k + 1):
                value += shares[i] * (totals[i, c] - offs[i])
            lowest = min(lowest, value)
        bound = max(bound, lowest)
        if bound >= enough or least - bound <= CLOSE * least:
            break
        for c in range(size):
            near = STEP * place[c] + (1.0 - STEP) * best[c]
            where[c] = (1.0 - SPREAD) * near + SPREAD / size
    copy_to(where, 0, best)
    return bound


@kernel
def _add_up(
    scores: Floats,
    losses: Floats,
    begin: Ints,
    count: int,
    errors: Floats,
    where: Floats,
    total: Floats,
    at: Floats,
) -> float:
    """Fill in the sum of the bounds that are greatest at a place; return how far it may be off."""
    terms, best_terms = np.empty(where.shape[0]), np.empty(where.shape[0])
    total[:] = 0.0
    magnitude, error = 0.0, 0.0
    for i in range(begin[count]):
        at[i] = where[0] * scores[0, i]
    for c in range(1, where.shape[0]):
        share = where[c]
        for i in range(begin[count]):
            at[i] += share * scores[c, i]
    for group in range(count):
        winner = begin[group]
        for i in range(winner + 1, begin[group + 1]):
            if at[i] > at[winner]:
                winner = i
        if losses[winner] == 0.0:
            continue
        factor, top = _steepest(scores, losses, begin[group], winner, where, terms, best_terms)
        if factor <= 0.0:
            continue
        error += factor * top * errors[group]
        magnitude += top
        for c in range(where.shape[0]):
            total[c] += best_terms[c]
            magnitude += abs(best_terms[c])
    # A sum of n numbers is off by n units in the last place at most.
    return error + max(ROUNDING, 4.0 * EPSILON * count) * magnitude


@kernel
def _steepest(
    scores: Floats,
    losses: Floats,
    lo: int,
    winner: int,
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
    top, end = losses[winner], lo
    while losses[end] < top:
        end += 1
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
