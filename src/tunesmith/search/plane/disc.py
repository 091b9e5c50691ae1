"""The largest disc in a region of the sphere: weights that are well inside, and how well."""

from __future__ import annotations

import itertools

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.search.plane.arcs import frame

#: The linear programme is solved again around its own solution, at most so often: its unknowns
#: are in a plane that touches the sphere, and only near the point where it does do both agree.
TURNS = 20
#: A radius that grows by less than this share is the largest.
FINER = 1e-9
#: A row is violated if it is by more than this.
FEASIBLE = 1e-13
#: Exchanges of rows; of a few unknowns there are seldom more than twenty.
MOST = 300


def disc(points: Floats, start: Ints, half: Floats, inside: Floats) -> tuple[Floats, float]:
    """Return the centre of the largest disc in the region of some weights, and its radius.

    Parameters
    ----------
    points : float64[3, n], start : int64[S + 1]
        The corners of all groups.
    half : float64[3]
        The disc is where half·u > 0 unless it is 0.
    inside : float64[3]
        Weights in the region, or so near to it that rounding alone puts them elsewhere.

    Returns
    -------
    A unit vector, and the sine of the angle from it to the nearest tie: not above 0 if the
    region has no inside. Of a region that is most of the sphere it need not be the largest.
    """
    walls = _walls(points, start, half, inside)
    best = inside / np.linalg.norm(inside)
    radius = _least(walls, best)
    first, second = np.empty(3), np.empty(3)
    for _ in range(TURNS):
        frame(best, first, second)
        rows = np.column_stack([walls @ best, walls @ first, walls @ second])
        step, touched = _inscribed_centre(np.ascontiguousarray(rows))
        way = step[0] * first + step[1] * second
        # Farther from the point of touch lengths grow. So if the disc touches two walls, or
        # one, the step is too long, and the centre is in the middle between these.
        near = [walls[k] for k in touched if k >= 0]
        tried = [best + share * way for share in (1.0, 0.5, 0.25)]
        tried += near + [a + b for a, b in itertools.combinations(near, 2)]
        before = radius
        for vector in tried:
            size = float(np.linalg.norm(vector))
            if size > 0.0 and (distance := _least(walls, vector / size)) > radius:
                best, radius = vector / size, distance
        if radius <= before + FINER * abs(before):
            break
    return best, radius


def _least(walls: Floats, u: Floats) -> float:
    return float((walls @ u).min(initial=1.0))


@kernel
def _walls(points: Floats, start: Ints, half: Floats, inside: Floats) -> Floats:
    """Return the unit normals of the ties of all winners with all others, inwards."""
    groups = start.shape[0] - 1
    walls = np.empty((points.shape[1] - groups + 1, 3))
    count = 0
    x, y, z = inside[0], inside[1], inside[2]
    for g in range(groups):
        top, best = -1, -np.inf
        for i in range(start[g], start[g + 1]):
            score = x * points[0, i] + y * points[1, i] + z * points[2, i]
            if score > best:
                top, best = i, score
        for i in range(start[g], start[g + 1]):
            if i != top:
                length = 0.0
                for d in range(3):
                    walls[count, d] = points[d, top] - points[d, i]
                    length += walls[count, d] ** 2
                walls[count] /= np.sqrt(length)
                count += 1
    if half[0] ** 2 + half[1] ** 2 + half[2] ** 2 > 0.0:
        copy_to(walls[count], 0, half)
        count += 1
    return walls[:count]


def _inscribed_centre(rows: Floats) -> tuple[Floats, Ints]:
    """Return x, y in [-1, 1] with the greatest least a + b x + c y, and the rows that hold."""
    from scipy.optimize import linprog  # slow to import, and not always needed

    exchanged, rows_held, solved = _exchange(rows)
    if solved:
        return exchanged[1:], rows_held
    solution = linprog(
        [-1.0, 0.0, 0.0],
        A_ub=np.column_stack([np.ones(len(rows)), -rows[:, 1], -rows[:, 2]]),
        b_ub=rows[:, 0],
        bounds=[(None, 2.0), (-1.0, 1.0), (-1.0, 1.0)],
        method="highs",
    )
    if solution.x is None:  # r = -2, x = y = 0 is a solution: rounding alone leads here
        return np.zeros(2), rows_held
    return np.asarray(solution.x[1:]), rows_held


@kernel
def _exchange(rows: Floats) -> tuple[Floats, Ints, bool]:
    """Solve it by the dual simplex method: max r with r - b x - c y ≤ a for all rows.

    Three rows hold at a time; the one that is violated most takes the place of another.
    """
    basis = np.zeros((3, 3))
    bounds = np.empty(3)
    # r ≤ 2, x ≤ 1, y ≤ 1.
    for d in range(3):
        basis[d, d], bounds[d] = 1.0, 2.0 if d == 0 else 1.0
    prices = np.array([1.0, 0.0, 0.0])
    solution = np.zeros(3)
    rows_held = np.full(3, -1)
    new, shares, inverse = np.empty(3), np.empty(3), np.empty((3, 3))
    for _ in range(MOST):
        _invert(basis, inverse)
        for d in range(3):
            solution[d] = (inverse[d] * bounds).sum()
        violated, bound, worst = _most_violated(rows, solution, new)
        if worst <= FEASIBLE:
            return solution, rows_held, True
        for d in range(3):
            shares[d] = (new * inverse[:, d]).sum()
        leaves, least = -1, np.inf
        for d in range(3):
            if shares[d] > 1e-12 and prices[d] < least * shares[d]:
                leaves, least = d, prices[d] / shares[d]
        if leaves < 0:
            return solution, rows_held, False
        for d in range(3):
            prices[d] = max(0.0, prices[d] - least * shares[d])
        prices[leaves] = least
        basis[leaves] = new
        bounds[leaves] = bound
        rows_held[leaves] = violated
    return solution, rows_held, False


@kernel
def _invert(basis: Floats, inverse: Floats) -> None:
    for d in range(3):
        for e in range(3):
            a, b = (d + 1) % 3, (d + 2) % 3
            f, g = (e + 1) % 3, (e + 2) % 3
            inverse[e, d] = basis[a, f] * basis[b, g] - basis[a, g] * basis[b, f]
    determinant = (basis[0] * inverse[:, 0]).sum()
    inverse /= determinant


@kernel
def _most_violated(rows: Floats, solution: Floats, new: Floats) -> tuple[int, float, float]:
    """Fill the row that is violated most; return which it is, its bound and by how much.

    It is -1 for the limits of x and y.
    """
    r, x, y = solution[0], solution[1], solution[2]
    worst, at = 0.0, -1
    for k in range(rows.shape[0]):
        by = r - rows[k, 1] * x - rows[k, 2] * y - rows[k, 0]
        if by > worst:
            worst, at = by, k
    if at >= 0:
        new[0], new[1], new[2] = 1.0, -rows[at, 1], -rows[at, 2]
    bound = rows[at, 0] if at >= 0 else 0.0
    new_x, new_y = abs(x) - 1.0, abs(y) - 1.0
    if new_x > worst:
        at, worst, bound = -1, new_x, 1.0
        new[0], new[1], new[2] = 0.0, np.sign(x), 0.0
    if new_y > worst:
        at, worst, bound = -1, new_y, 1.0
        new[0], new[1], new[2] = 0.0, 0.0, np.sign(y)
    return at, bound, worst
