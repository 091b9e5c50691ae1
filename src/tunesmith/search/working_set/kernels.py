"""Kernels of the quadratic programmes of MIRA and AROW, for ``solver``.

Members of working sets stand one after the other. Features are counted as they come up: what a
difference names are *places*, and vectors have one number a place, not one a feature.
"""

from __future__ import annotations

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.inference.examples import write_difference
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to


@kernel
def find_places(
    first: int,
    last: int,
    weights: Floats,
    rates: Floats,
    touched: int,
    places: Ids,
    place_of: Ids,
    known: Ids,
    before: Floats,
    known_rates: Floats,
) -> int:
    """Write places over features, new ones for those not met before; return how many are known."""
    for k in range(first, last):
        feature = places[k]
        place = place_of[feature]
        if place >= touched or known[place] != feature:
            # The first difference in this feature: nothing has moved its weight yet.
            place = touched
            place_of[feature] = place
            known[place], before[place] = feature, weights[feature]
            known_rates[place] = rates[feature]
            touched += 1
        places[k] = place
    return touched


@kernel
def write_member(
    target_features: Ids,
    target_values: Floats,
    features: Ids,
    values: Floats,
    loss: float,
    weights: Floats,
    rates: Floats,
    count: int,
    touched: int,
    starts: Ints,
    places: Ids,
    entries: Floats,
    place_of: Ids,
    known: Ids,
    before: Floats,
    known_rates: Floats,
    losses: Floats,
    alpha: Floats,
) -> int:
    """Write a derivation behind ``count`` members, with a multiplier of 0.

    Return the number of features that differ so far.
    """
    first = starts[count]
    size = write_difference(
        target_features, target_values, features, values, places[first:], entries[first:]
    )
    starts[count + 1] = first + size
    losses[count], alpha[count] = loss, 0.0
    difference_length: int = find_places(
        first,
        first + size,
        weights,
        rates,
        touched,
        places,
        place_of,
        known,
        before,
        known_rates,
    )
    return difference_length


@kernel
def multiply_member(
    count: int,
    touched: int,
    losses: Floats,
    starts: Ints,
    places: Ids,
    entries: Floats,
    before: Floats,
    rates: Floats,
    scratch: Floats,
    base: Floats,
    alpha: Floats,
    violation: Floats,
    gram: Floats,
) -> float:
    """Multiply the difference behind ``count`` members by theirs.

    Return by how much v of it, at the weights of the multipliers, is more than that of any
    member.
    """
    first, last = starts[count], starts[count + 1]
    margin = 0.0
    scratch[:touched] = 0.0
    for k in range(first, last):
        margin += before[places[k]] * entries[k]
        scratch[places[k]] = rates[places[k]] * entries[k]
    moved = 0.0
    for other in range(count + 1):
        product = 0.0
        for k in range(starts[other], starts[other + 1]):
            product += entries[k] * scratch[places[k]]
        gram[other, count] = gram[count, other] = product
        if other < count:
            moved += alpha[other] * product
    base[count] = losses[count] - margin
    violation[count] = base[count] - moved
    worst = violation[0]
    for other in range(1, count):
        worst = max(worst, violation[other])
    return violation[count] - worst  # type: ignore[no-any-return]


@kernel
def optimise_pairs(
    base: Floats, gram: Floats, alpha: Floats, violation: Floats, epsilon: float, iterations: int
) -> None:
    """Move multipliers from one member to another until that gains nothing (OPTIMIZESET).

    Of the pairs that SELECTPAIR may choose it is the one that violates the conditions most:
    the greatest v, and the least v that has a multiplier.
    """
    count = base.shape[0]
    for d in range(count):
        total = base[d]
        for e in range(count):
            total -= alpha[e] * gram[d, e]
        violation[d] = total
    for _ in range(iterations):
        up = down = -1
        for d in range(count):
            if up < 0 or violation[d] > violation[up]:
                up = d
            if alpha[d] > 0.0 and (down < 0 or violation[d] < violation[down]):
                down = d
        gap = violation[up] - violation[down]
        if not gap > epsilon:
            return
        # OPTIMIZEPAIR; where both have the same features only the bound stops the step.
        curvature = gram[up, up] + gram[down, down] - 2.0 * gram[up, down]
        step = alpha[down]
        if gap < curvature * step:
            step = gap / curvature
            alpha[down] -= step
        else:
            alpha[down] = 0.0
        alpha[up] += step
        ups, downs = gram[up], gram[down]
        for d in range(count):
            violation[d] -= step * (ups[d] - downs[d])


@kernel
def sum_differences(
    starts: Ints, places: Ids, entries: Floats, alpha: Floats, count: int, total: Floats
) -> None:
    """Add up the members' differences, each times its multiplier: x."""
    total[:] = 0.0
    for d in range(count):
        if alpha[d] > 0.0:
            for k in range(starts[d], starts[d + 1]):
                total[places[k]] += alpha[d] * entries[k]


@kernel
def write_received(
    counts: Ints,
    losses: Floats,
    starts: Ints,
    features: Ids,
    values: Floats,
    weights: Floats,
    rates: Floats,
    set_starts: Ints,
    own_losses: Floats,
    own_starts: Ints,
    places: Ids,
    entries: Floats,
    place_of: Ids,
    known: Ids,
    before: Floats,
    known_rates: Floats,
    alpha: Floats,
) -> int:
    """Write sets of others as the first ones, each with its reference derivation before it.

    The reference derivation differs in nothing, and begins with the whole multiplier. Return
    the number of features that differ, or what feature is unknown as a number below 0.

    Parameters
    ----------
    counts : int64[J]
        Members of each set, without the reference derivation.
    losses, starts, features, values
        Those of all sets, one after the other, each with starts that begin with 0.
    """
    width = place_of.shape[0]
    for k in range(features.shape[0]):
        if features[k] < 0 or features[k] >= width:
            return -1 - abs(features[k])  # type: ignore[no-any-return]
    count = source = first = 0
    for number in range(counts.shape[0]):
        set_starts[number] = count
        own_losses[count], alpha[count] = 0.0, 1.0
        own_starts[count] = own_starts[count + 1] = first
        count += 1
        for _ in range(counts[number]):
            first += starts[source + number + 1] - starts[source + number]
            own_losses[count], alpha[count] = losses[source], 0.0
            own_starts[count + 1] = first
            source += 1
            count += 1
    set_starts[counts.shape[0]] = count
    copy_to(places, 0, features)
    copy_to(entries, 0, values)
    difference_length: int = find_places(
        0, first, weights, rates, 0, places, place_of, known, before, known_rates
    )
    return difference_length


@kernel
def measure_set(
    first: int,
    last: int,
    losses: Floats,
    starts: Ints,
    places: Ids,
    entries: Floats,
    now: Floats,
    violation: Floats,
) -> None:
    """Write v of the members from ``first`` to ``last``, at the weights ``now``."""
    for d in range(first, last):
        total = losses[d]
        for k in range(starts[d], starts[d + 1]):
            total -= now[places[k]] * entries[k]
        violation[d] = total


@kernel
def optimise_sets(
    set_starts: Ints,
    losses: Floats,
    starts: Ints,
    places: Ids,
    entries: Floats,
    rates: Floats,
    now: Floats,
    alpha: Floats,
    violation: Floats,
    scratch: Floats,
    epsilon: float,
    iterations: int,
) -> None:
    """Move multipliers within each set in turn until that gains nothing (OPTIMIZESETS).

    The last set is the own one, with which each sweep begins. ``now`` are the weights, which
    move along. There is no table of products: what one set moves changes v of all others, and
    at the weights that is known in one pass over a set's differences.
    """
    scratch[: now.shape[0]] = 0.0
    for _ in range(iterations):
        again = False
        for number in range(set_starts.shape[0] - 2, -1, -1):
            first, last = set_starts[number], set_starts[number + 1]
            measure_set(first, last, losses, starts, places, entries, now, violation)
            up = down = -1
            for d in range(first, last):
                if up < 0 or violation[d] > violation[up]:
                    up = d
                if alpha[d] > 0.0 and (down < 0 or violation[d] < violation[down]):
                    down = d
            gap = violation[up] - violation[down]
            if gap > epsilon:
                again = True
                move_pair(up, down, gap, starts, places, entries, rates, now, alpha, scratch)
        if not again:
            return


@kernel
def move_pair(
    up: int,
    down: int,
    gap: float,
    starts: Ints,
    places: Ids,
    entries: Floats,
    rates: Floats,
    now: Floats,
    alpha: Floats,
    scratch: Floats,
) -> None:
    """Give one member of the multiplier of another, and move the weights (OPTIMIZEPAIR).

    ``scratch`` is 0 everywhere, and again in the end.
    """
    for k in range(starts[up], starts[up + 1]):
        scratch[places[k]] += entries[k]
    for k in range(starts[down], starts[down + 1]):
        scratch[places[k]] -= entries[k]
    curvature = 0.0
    for k in range(starts[up], starts[up + 1]):
        curvature += rates[places[k]] * scratch[places[k]] * entries[k]
    for k in range(starts[down], starts[down + 1]):
        curvature -= rates[places[k]] * scratch[places[k]] * entries[k]
    # Where both have the same features only the bound stops the step.
    step = alpha[down]
    if gap < curvature * step:
        step = gap / curvature
        alpha[down] -= step
    else:
        alpha[down] = 0.0
    alpha[up] += step
    for k in range(starts[up], starts[up + 1]):
        now[places[k]] += step * rates[places[k]] * entries[k]
        scratch[places[k]] = 0.0
    for k in range(starts[down], starts[down + 1]):
        now[places[k]] -= step * rates[places[k]] * entries[k]
        scratch[places[k]] = 0.0
