"""The nearest vector of a cone: a dual active-set method on rows that are found as needed.

Goldfarb and Idnani (1983), for the Hessian 1: minimise ½‖w − g‖² where n·w ≥ 1 for rows
n = (h_chosen − h_other) / min(1, ‖h_chosen − h_other‖). With g = 0 the margin of w/‖w‖ is the
greatest there is, and the rows that are active when ‖w‖ exceeds 1/τ prove that no vector has a
margin of τ: their convex hull comes nearer to the origin than τ.

Of points nearer than 1 the lead counts in proportion to their distance. However near two of them
are, only vectors within an angle of about τ of their tie are left out: never all those under which
one of them wins.

A state is the arrays ``basis`` [D, D] (orthogonal; its first columns span the active rows),
``factor`` [D, D] (upper triangular: active rows = basis · factor), ``forces`` [D + 1]
(multipliers), ``rows`` [D + 1, 2] (chosen and other point of each active row) and ``count`` [1]
(how many are active). It is copied to go on from it elsewhere, which is what makes a search fast.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel

#: What became of a row, or of a whole test.
UNDECIDED, INFEASIBLE, FEASIBLE = -1, 0, 1
#: A row is in the span of others if so much of its square, or less, is not.
DEPENDENT = 1e-21
#: Multipliers and their changes below this are rounding.
NO_FORCE = 1e-12
#: What a row must come to, near to a goal; it is 1 but for the rounding of long vectors.
HOLDS = 1.0 - 1e-6
#: Rows added and dropped in one test before it is given up, for each dimension and at least.
MOST_CHANGES, LEAST_CHANGES = 40, 400


@kernel
def reset(vector: Floats, goal: Floats, basis: Floats, count: Ints) -> None:
    """Begin without rows: the nearest vector is the goal itself."""
    size = vector.shape[0]
    for i in range(size):
        vector[i] = goal[i]
        for j in range(size):
            basis[i, j] = 1.0 if i == j else 0.0
    count[0] = 0


@kernel
def scores_in(points: Floats, start: Ints, group: int, vector: Floats, scores: Floats) -> None:
    """Fill the first scores with those of a group's points."""
    lo, hi = start[group], start[group + 1]
    size, many = vector.shape[0], hi - lo
    out = scores[:many]
    first = points[lo * size : lo * size + many]
    weight = vector[0]
    for i in range(many):
        out[i] = weight * first[i]
    for d in range(1, size):
        row = points[lo * size + d * many : lo * size + (d + 1) * many]
        weight = vector[d]
        for i in range(many):
            out[i] += weight * row[i]


@kernel
def rival(scores: Floats, kin: Ints, lo: int, many: int, point: int) -> int:
    """Return the highest scored point of a group beside one point and its kin; -1 for none.

    ``kin`` numbers points of the same loss that nearly coincide: whichever of them wins, no more
    is lost, so they need not be ahead of each other.
    """
    other = best_other(scores, many, point)
    family = kin[lo + point]
    if family < 0 or kin[lo + other] != family:
        return other
    other = -1
    for i in range(many):
        if kin[lo + i] != family and (other < 0 or scores[i] > scores[other]):
            other = i
    return other


@kernel
def closest_rival(
    points: Floats,
    start: Ints,
    kin: Ints,
    group: int,
    point: int,
    size: int,
    need: float,
    scores: Floats,
) -> tuple[float, int]:
    """Return the least lead of a group's point over others but its kin, and over which one.

    Leads over points nearer than 1 are divided by the distance. Where the highest scored other
    point is ahead, or behind by ``need`` or more, it is that one: nothing more is asked then. The
    lead is infinite, and the other point -1, if there is none.
    """
    lo, many = start[group], start[group + 1] - start[group]
    other = rival(scores, kin, lo, many, point)
    if other < 0:
        return np.inf, -1
    least = scores[point] - scores[other]
    if least < 0.0 or least >= need:
        return least, other
    family = kin[lo + point]
    base = points[lo * size : (lo + many) * size]
    least = np.inf
    for i in range(many):
        lead = scores[point] - scores[i]
        if i == point or lead >= need or (family >= 0 and kin[lo + i] == family):
            continue
        square = 0.0
        for d in range(size):
            apart = base[d * many + point] - base[d * many + i]
            square += apart * apart
        if 0.0 < square < 1.0:
            lead /= np.sqrt(square)
        if lead < least:
            least, other = lead, i
    return least, other


@kernel
def difference(
    points: Floats, start: Ints, group: int, point: int, other: int, row: Floats
) -> None:
    """Fill in the row of two points of a group: their difference, of length 1 at least."""
    size = row.shape[0]
    lo, many = start[group], start[group + 1] - start[group]
    base = points[lo * size : (lo + many) * size]
    square = 0.0
    for d in range(size):
        row[d] = base[d * many + point] - base[d * many + other]
        square += row[d] * row[d]
    if 0.0 < square < 1.0:
        length = np.sqrt(square)
        for d in range(size):
            row[d] /= length


@kernel
def best_other(scores: Floats, many: int, point: int) -> int:
    """Return the highest of the first scores but one."""
    at = 1 if point == 0 else 0
    best = scores[at]
    for i in range(many):
        if scores[i] > best and i != point:
            best, at = scores[i], i
    return at


@kernel
def _project(basis: Floats, row: Floats, projected: Floats) -> None:
    size = row.shape[0]
    for i in range(size):
        projected[i] = 0.0
    for d in range(size):
        value = row[d]
        line = basis[d]
        for i in range(size):
            projected[i] += value * line[i]


@kernel
def _solve(factor: Floats, count: int, right: Floats, solution: Floats) -> None:
    """Solve factor · solution = right for the first ``count``."""
    for i in range(count - 1, -1, -1):
        value = right[i]
        for j in range(i + 1, count):
            value -= factor[i, j] * solution[j]
        solution[i] = value / factor[i, i]


@kernel
def _refresh(
    vector: Floats, goal: Floats, basis: Floats, factor: Floats, forces: Floats, count: int
) -> None:
    """Compute vector and multipliers from the active rows alone, so that no error adds up.

    The active rows N = QR hold with equality, Rᵀ(Qᵀw) = 1; w − g = N u has R u = Qᵀw − Qᵀg.
    """
    size = vector.shape[0]
    inside = np.empty(size)
    aimed = np.empty(size)
    _project(basis, goal, aimed)
    for i in range(count):
        value = 1.0
        for j in range(i):
            value -= factor[j, i] * inside[j]
        inside[i] = value / factor[i, i]
    for i in range(count, size):
        inside[i] = aimed[i]
    for d in range(size):
        value = 0.0
        line = basis[d]
        for i in range(size):
            value += line[i] * inside[i]
        vector[d] = value
    for i in range(count):
        inside[i] -= aimed[i]
    _solve(factor, count, inside, forces)
    for i in range(count):
        forces[i] = max(forces[i], 0.0)


@kernel
def _rotate(basis: Floats, i: int, j: int, cosine: float, sine: float) -> None:
    for d in range(basis.shape[0]):
        a, b = basis[d, i], basis[d, j]
        basis[d, i] = cosine * a + sine * b
        basis[d, j] = cosine * b - sine * a


@kernel
def _drop(
    dropped: int, basis: Floats, factor: Floats, forces: Floats, rows: Ints, count: Ints
) -> None:
    """Take a row out; Givens rotations make the factor triangular again."""
    last = count[0] - 1
    for j in range(dropped, last):
        for i in range(j + 2):
            factor[i, j] = factor[i, j + 1]
        forces[j] = forces[j + 1]
        rows[j, 0], rows[j, 1] = rows[j + 1, 0], rows[j + 1, 1]
    count[0] = last
    for j in range(dropped, last):
        a, b = factor[j, j], factor[j + 1, j]
        length = np.sqrt(a * a + b * b)
        if length == 0.0:
            continue
        cosine, sine = a / length, b / length
        factor[j, j], factor[j + 1, j] = length, 0.0
        for k in range(j + 1, last):
            a, b = factor[j, k], factor[j + 1, k]
            factor[j, k] = cosine * a + sine * b
            factor[j + 1, k] = cosine * b - sine * a
        _rotate(basis, j, j + 1, cosine, sine)


@kernel
def _append(along: Floats, basis: Floats, factor: Floats, count: Ints) -> None:
    """Put a row in; what of it is outside of the span becomes one new column."""
    size, here = along.shape[0], count[0]
    for i in range(size - 1, here, -1):
        a, b = along[i - 1], along[i]
        length = np.sqrt(a * a + b * b)
        if b == 0.0 or length == 0.0:
            continue
        along[i - 1], along[i] = length, 0.0
        _rotate(basis, i - 1, i, a / length, b / length)
    for i in range(here + 1):
        factor[i, here] = along[i]
    count[0] = here + 1


@kernel
def add_row(
    row: Floats,
    point: int,
    other: int,
    vector: Floats,
    goal: Floats,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    most: int,
) -> int:
    """Move to the nearest vector that satisfies one more row, or show that there is none.

    Returns how many rows were added and dropped; minus that if no vector satisfies the row and
    the active ones, whose multipliers then are those of the proof: the sum of ``rows`` times
    ``forces``, the new row with the last force, is 0. Beyond ``most`` the row is left undecided,
    with what is more than ``most``.
    """
    size = row.shape[0]
    along, change = np.empty(size), np.empty(size)
    length = 0.0
    for d in range(size):
        length += row[d] * row[d]
    force = 0.0
    changes = 0
    while True:
        changes += 1
        if changes > most:
            return changes
        here = count[0]
        _project(basis, row, along)
        outside = 0.0
        for i in range(here, size):
            outside += along[i] * along[i]
        _solve(factor, here, along, change)
        step, blocking = np.inf, -1
        for i in range(here):
            if change[i] > NO_FORCE and forces[i] < step * change[i]:
                step, blocking = forces[i] / change[i], i
        full = np.inf
        if outside > DEPENDENT * length:
            missing = 1.0
            for d in range(size):
                missing -= row[d] * vector[d]
            full = max(missing, 0.0) / outside
        if blocking < 0 and full == np.inf:
            for i in range(here):
                forces[i] = max(-change[i], 0.0)
            forces[here] = 1.0
            rows[here, 0], rows[here, 1] = point, other
            return -changes
        if full <= step:
            forces[here] = force + full
            rows[here, 0], rows[here, 1] = point, other
            _append(along, basis, factor, count)
            _refresh(vector, goal, basis, factor, forces, count[0])
            return changes
        for i in range(here):
            forces[i] -= step * change[i]
        force += step
        if full < np.inf:
            for d in range(size):
                value = 0.0
                for i in range(here, size):
                    value += basis[d, i] * along[i]
                vector[d] += step * value
        _drop(blocking, basis, factor, forces, rows, count)


@kernel
def attain(
    points: Floats,
    start: Ints,
    kin: Ints,
    order: Ints,
    chosen: Ints,
    tolerance: float,
    vector: Floats,
    goal: Floats,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    scores: Floats,
) -> int:
    """Find a vector under which the chosen point wins in each of some groups, or none.

    Parameters
    ----------
    kin : int64[N]
        Points that need not be ahead of each other: see :func:`rival`.
    order : int64[n]
        The groups; the last is looked at first.
    chosen : int64[S]
        The point that is to win, for each of these groups.
    tolerance
        τ: others are behind by at least τ‖w‖, or in proportion where they are nearer than 1.
    goal : float64[D]
        0 for the test. Otherwise the vector is as near to it as the rows allow; it is given up
        only if no vector satisfies the rows.
    vector, basis, factor, forces, rows, count
        The state to go on from; afterwards that of the answer. Where the answer is no, rows
        with forces above 0 are the proof, ``count`` of them, or one more.

    Returns
    -------
    FEASIBLE, INFEASIBLE or, where rounding prevents an answer, UNDECIDED.
    """
    size = vector.shape[0]
    row = np.empty(size)
    aims = False
    for d in range(size):
        aims = aims or goal[d] != 0.0
    left = max(MOST_CHANGES * size, LEAST_CHANGES)
    longest = 1.0 / (tolerance * tolerance)
    satisfied, at = 0, order.shape[0] - 1
    while satisfied < order.shape[0]:
        group = order[at]
        lo, many = start[group], start[group + 1] - start[group]
        point = chosen[group] - lo
        if many > 1:
            scores_in(points, start, group, vector, scores)
            square = 0.0
            for d in range(size):
                square += vector[d] * vector[d]
            # Near to a goal the rows themselves hold; otherwise any vector inside will do.
            need = HOLDS if aims else tolerance * np.sqrt(square) * (1.0 + 1e-9)
            lead, other = closest_rival(points, start, kin, group, point, size, need, scores)
            if other >= 0 and (lead < need or square == 0.0):
                difference(points, start, group, point, other, row)
                changes = add_row(
                    row,
                    lo + point,
                    lo + other,
                    vector,
                    goal,
                    basis,
                    factor,
                    forces,
                    rows,
                    count,
                    left,
                )
                if changes < 0:
                    return INFEASIBLE
                left -= changes
                if left < 0:
                    return UNDECIDED
                square = 0.0
                for d in range(size):
                    square += vector[d] * vector[d]
                if not aims and square > longest:
                    forces[count[0]] = 0.0
                    return INFEASIBLE
                satisfied = 0
                continue
        satisfied += 1
        at = order.shape[0] - 1 if at == 0 else at - 1
    return FEASIBLE
