"""Whether there is a weight vector under which a choice of candidates wins everywhere.

Galley and Quirk, "Optimal search for minimum error rate training" (EMNLP 2011), section 3.
The paper asks a linear program (equations 2 and 3) whether the sum of the chosen points is a
vertex of the sum of the hulls; S(N − 1) rows suffice (section 3.1.1). Here the rows are found
as needed, by :mod:`tunesmith.search.exact.active_set`.

A choice is attainable if some vector of length 1 puts every chosen point ahead of all others
of its group, but for its kin, by at least the tolerance τ, or τ times their distance where that
is less than 1, with the features scaled as in a ``Problem``. Up to rounding the answer is exact:
margins within a share ``BAND`` of τ may go either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.search.exact.active_set import (
    FEASIBLE,
    INFEASIBLE,
    LEAST_CHANGES,
    MOST_CHANGES,
    UNDECIDED,
    add_row,
    attain,
    closest_rival,
    reset,
    scores_in,
)
from tunesmith.search.exact.problem import Problem

#: The margin that counts, unless the user says otherwise. Input has about six digits.
TOLERANCE = 1e-6
#: A margin this near to the tolerance, relative to it, may be judged either way.
BAND = 1e-3
#: How many times as long as it may be the vector is that others are to be near to.
FAR = 10.0
#: What a cosine or a length must come to: 1 but for rounding.
NEAR = 1.0 - 1e-9


@dataclass(frozen=True)
class Attainability:
    """The answer of a test.

    Attributes
    ----------
    attainable
        Whether some vector puts every chosen point ahead by the tolerance.
    vector : float64[D]
        Such a vector of length 1, of the scaled features; None if there is none.
    margin
        By how much it puts the chosen points ahead; 0 if there is none.
    blame : int64[n]
        If there is none: groups whose choices alone exclude each other.
    """

    attainable: bool
    vector: Floats | None
    margin: float
    blame: Ints


class Tester:
    """Tests choices of one problem; not for several threads at once.

    Parameters
    ----------
    problem
        Points and losses.
    tolerance
        τ.
    towards : float64[D]
        A vector; with it, those that count have at least the given cosine to it.
    cosine
        A threshold above 0; at or below it the region is not convex, and all vectors count.
    """

    def __init__(
        self,
        problem: Problem,
        tolerance: float = TOLERANCE,
        towards: Floats | None = None,
        cosine: float = -1.0,
    ) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.aim, self.cosine = aimed(problem, towards, cosine)
        size = problem.dimensions
        self._owner = owners(problem)
        self._state = new_state(size)
        self._scores = np.empty(int(np.diff(problem.start).max(initial=0)))
        self._witness = np.empty(size)
        self._blame = np.zeros(problem.size, np.uint8)
        #: Choices tested so far.
        self.tested = 0

    def test(self, chosen: Ints, order: Ints | None = None) -> Attainability:
        """Test a choice.

        Parameters
        ----------
        chosen : int64[S]
            The point of each group, as an index into all points.
        order : int64[n]
            The groups that count; all by default.
        """
        problem = self.problem
        order = np.arange(problem.size) if order is None else order
        vector, basis, *_, count = self._state
        reset(vector, np.zeros(len(vector)), basis, count)
        self.tested += 1
        verdict = examine(
            problem.points,
            problem.start,
            problem.kin,
            self._owner,
            order,
            chosen,
            self.tolerance,
            self.aim,
            self.cosine,
            *self._state,
            self._scores,
            self._witness,
            self._blame,
        )
        if verdict == UNDECIDED:
            raise undecided()
        if verdict == INFEASIBLE:
            return Attainability(False, None, 0.0, np.flatnonzero(self._blame))
        length = float(np.sqrt((self._witness**2).sum()))
        witness = self._witness / length if length > 0 else self._witness.copy()
        arrays = problem.points, problem.start, problem.kin
        margin = margin_of(*arrays, order, chosen, witness, self._scores)
        return Attainability(True, witness, float(margin), np.zeros(0, np.int64))


class PointLists(NamedTuple):
    """The arrays of a problem, and what counts as a win: see :func:`examine`."""

    points: Floats
    start: Ints
    kin: Ints
    loss: Ints
    owner: Ints
    tolerance: float
    aim: Floats
    cosine: float


def lists_of(
    problem: Problem, tolerance: float, towards: Floats | None = None, cosine: float = -1.0
) -> PointLists:
    """Return what kernels need to know of a problem."""
    aim, threshold = aimed(problem, towards, cosine)
    return PointLists(
        problem.points,
        problem.start,
        problem.kin,
        problem.loss,
        owners(problem),
        tolerance,
        aim,
        threshold,
    )


def undecided() -> TunesmithError:
    """Return the error of a search in which a test has no answer."""
    return TunesmithError(
        "rounding prevents an answer whether a choice is attainable; raise the tolerance"
    )


def check_tolerance(tolerance: float) -> None:
    """Raise an error if rounding would decide what counts, or hardly anything would."""
    if not 1e-9 <= tolerance <= 0.1:
        raise UsageError(f"tolerance is {tolerance:g}; give 1e-9 to 0.1")


def owners(problem: Problem) -> Ints:
    """Return the group of each point."""
    return np.repeat(np.arange(problem.size), np.diff(problem.start))


def new_state(size: int) -> tuple[Floats, Floats, Floats, Floats, Ints, Ints]:
    """Return room for a state of the active-set method: vector, basis, ..., count."""
    return (
        np.zeros(size),
        np.eye(size),
        np.zeros((size, size)),
        np.zeros(size + 1),
        np.zeros((size + 1, 2), np.int64),
        np.zeros(1, np.int64),
    )


def aimed(problem: Problem, towards: Floats | None, cosine: float) -> tuple[Floats, float]:
    """Return a vector of length 1 and a cosine that restrict; -1 restricts nothing."""
    if towards is None or cosine <= 0.0:
        return np.zeros(problem.dimensions), -1.0
    length = float(np.sqrt((towards**2).sum()))
    if length == 0.0:
        raise TunesmithError("a cosine needs weights to compare with, and all are 0; give others")
    return towards / length, cosine


@kernel
def examine(
    points: Floats,
    start: Ints,
    kin: Ints,
    owner: Ints,
    order: Ints,
    chosen: Ints,
    tolerance: float,
    aim: Floats,
    cosine: float,
    vector: Floats,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    scores: Floats,
    witness: Floats,
    blame: Bytes,
) -> int:
    """Test a choice from a state on: see :func:`attain`, whose answers these are.

    ``witness`` becomes a vector of the cone, within the cosine if there is one; the state
    remains that of the cone alone. ``blame`` marks the groups of a proof that there is none.
    """
    size = vector.shape[0]
    nowhere = np.zeros(size)
    verdict = attain(
        points, start, kin, order, chosen, tolerance,
        vector, nowhere, basis, factor, forces, rows, count, scores,
    )  # fmt: skip
    if verdict == UNDECIDED:
        # Once more without what rounding has left in the state.
        reset(vector, nowhere, basis, count)
        verdict = attain(
            points, start, kin, order, chosen, tolerance,
            vector, nowhere, basis, factor, forces, rows, count, scores,
        )  # fmt: skip
    if verdict == INFEASIBLE:
        accuse(owner, forces, rows, count, blame)
    if verdict != FEASIBLE:
        return verdict
    copy_to(witness, 0, vector)
    if cosine <= 0.0 or _product(vector, aim) >= cosine * _length(vector):
        return FEASIBLE
    return _within_cosine(
        points, start, kin, owner, order, chosen, tolerance, aim, cosine,
        basis, factor, forces, rows, count, scores, witness, blame,
    )  # fmt: skip


@kernel
def accuse(owner: Ints, forces: Floats, rows: Ints, count: Ints, blame: Bytes) -> None:
    """Mark the groups of the rows that a proof consists of; that of an aim has no group."""
    blame[:] = 0
    for i in range(min(count[0] + 1, rows.shape[0])):
        if forces[i] > 0.0 and rows[i, 0] >= 0:
            blame[owner[rows[i, 0]]] = 1


@kernel
def _product(a: Floats, b: Floats) -> float:
    product = 0.0
    for d in range(a.shape[0]):
        product += a[d] * b[d]
    return float(product)


@kernel
def _length(a: Floats) -> float:
    square = 0.0
    for d in range(a.shape[0]):
        square += a[d] * a[d]
    return float(np.sqrt(square))


@kernel
def _within_cosine_by_length(
    points: Floats,
    start: Ints,
    kin: Ints,
    owner: Ints,
    order: Ints,
    chosen: Ints,
    tolerance: float,
    aim: Floats,
    cosine: float,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    scores: Floats,
    witness: Floats,
    blame: Bytes,
) -> int:
    """Look for a vector of a cone, known not to be empty, that is near enough to the aim g.

    Those that count have n·w ≥ τ‖w‖ for all rows, and g·w ≥ t‖w‖. As (τ/t) g·w ≥ τ‖w‖ that is
    one more row: the nearest point to the origin with all rows at 1 is again at most 1/τ long,
    or there is none. It goes on from a copy of the cone's state.
    """
    if margin_of(points, start, kin, order, chosen, aim, scores) >= tolerance:
        copy_to(witness, 0, aim)
        return FEASIBLE
    size = aim.shape[0]
    nowhere = np.zeros(size)
    basis, factor, forces = basis.copy(), factor.copy(), forces.copy()
    rows, count = rows.copy(), count.copy()
    row = aim * (tolerance / cosine)
    longest = 1.0 / tolerance
    for _ in range(LEAST_CHANGES):
        # The row itself comes to 1 where the vector is as long as it may be.
        if _product(witness, aim) >= cosine * min(_length(witness), longest) * NEAR:
            return FEASIBLE
        changes = add_row(
            row, -1, -1, witness, nowhere, basis, factor, forces, rows, count,
            max(MOST_CHANGES * size, LEAST_CHANGES),
        )  # fmt: skip
        if changes > max(MOST_CHANGES * size, LEAST_CHANGES):
            return UNDECIDED
        verdict = INFEASIBLE
        if changes > 0 and _length(witness) > longest * (2.0 - NEAR):
            forces[count[0]] = 0.0
        elif changes > 0:
            verdict = attain(
                points, start, kin, order, chosen, tolerance,
                witness, nowhere, basis, factor, forces, rows, count, scores,
            )  # fmt: skip
        if verdict == INFEASIBLE:
            accuse(owner, forces, rows, count, blame)
        if verdict != FEASIBLE:
            return verdict
    return UNDECIDED


@kernel
def _within_cosine(
    points: Floats,
    start: Ints,
    kin: Ints,
    owner: Ints,
    order: Ints,
    chosen: Ints,
    tolerance: float,
    aim: Floats,
    cosine: float,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    scores: Floats,
    witness: Floats,
    blame: Bytes,
) -> int:
    """Look for a vector of a cone within a cosine; in another way where rounding is in the way."""
    verdict = _within_cosine_by_length(
        points, start, kin, owner, order, chosen, tolerance, aim, cosine,
        basis, factor, forces, rows, count, scores, witness, blame,
    )  # fmt: skip
    if verdict != UNDECIDED:
        return verdict
    return _within_cosine_by_distance(
        points, start, kin, owner, order, chosen, tolerance, aim, cosine,
        basis, factor, forces, rows, count, scores, witness, blame,
    )  # fmt: skip


@kernel
def _within_cosine_by_distance(
    points: Floats,
    start: Ints,
    kin: Ints,
    owner: Ints,
    order: Ints,
    chosen: Ints,
    tolerance: float,
    aim: Floats,
    cosine: float,
    basis: Floats,
    factor: Floats,
    forces: Floats,
    rows: Ints,
    count: Ints,
    scores: Floats,
    witness: Floats,
    blame: Bytes,
) -> int:
    """Find the vector of a cone that is nearest to a multiple of the aim.

    If any vector with all rows at τ or more is within the angle θ of the aim g, its multiple
    that is nearest to L g is sin θ L away, and has its rows at L τ cos θ or more: 1, as L is
    ``FAR`` times 1/(τ cos θ). So where the nearest vector is farther away, there is none. Vectors
    may be found whose rows are between τ/FAR and τ.
    """
    basis, factor, forces = basis.copy(), factor.copy(), forces.copy()
    rows, count = rows.copy(), count.copy()
    far = FAR / (tolerance * cosine)
    goal = aim * far
    reset(witness, goal, basis, count)
    verdict = attain(
        points, start, kin, order, chosen, tolerance,
        witness, goal, basis, factor, forces, rows, count, scores,
    )  # fmt: skip
    if verdict == UNDECIDED:
        return UNDECIDED
    if verdict == FEASIBLE:
        forces[count[0]] = 0.0
        square = 0.0
        for d in range(aim.shape[0]):
            square += (witness[d] - goal[d]) ** 2
        if np.sqrt(square) <= np.sqrt(1.0 - cosine * cosine) * far * (2.0 - NEAR):
            return FEASIBLE
    accuse(owner, forces, rows, count, blame)
    return INFEASIBLE


@kernel
def margin_of(
    points: Floats,
    start: Ints,
    kin: Ints,
    order: Ints,
    chosen: Ints,
    vector: Floats,
    scores: Floats,
) -> float:
    """Return by how much the chosen points are ahead, in the group where it is least.

    Leads over points nearer than 1 are divided by the distance.
    """
    least, size = np.inf, vector.shape[0]
    for group in order:
        if start[group + 1] - start[group] > 1:
            point = chosen[group] - start[group]
            scores_in(points, start, group, vector, scores)
            lead, _ = closest_rival(points, start, kin, group, point, size, np.inf, scores)
            least = min(least, lead)
    return least
