"""Cones and the points that live in them, as arrays for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.kernels import kernel

#: Which number of ``Cones.numbers`` is what: cones, their living points; cones looked at; the least
#: loss known; living points of the cones looked at.
CONES, LIVING, SEEN, LEAST, POINTS = 0, 1, 2, 3, 4


class Sample(NamedTuple):
    """The points of all groups, and which vectors count.

    Attributes
    ----------
    points : float64[N, D]
        ``loss`` int64[N] and ``owner`` int32[N] are their losses and groups.
    aim : float64[D]
        With ``angle`` above 0 vectors count within this angle of it.
    error : float64[S]
        How far a difference of two scores of a group may be off, under a vector of length 1.
    """

    points: Floats
    loss: Ints
    owner: Ids
    aim: Floats
    angle: float
    error: Floats


class Cones(NamedTuple):
    """Cones, one after the other.

    Attributes
    ----------
    corners : float64[n, D, D]
        One row per corner, of length 1.
    start : int64[n + 1]
        Where the living points of each begin in ``living`` int32[m]: those of groups that are
        not settled, group by group, in the order of their loss.
    settled, bound : int64[n]
        What settled groups lose, and what all groups lose at least.
    where : float64[n, D]
        Weights of the corners of each: where in it the least is lost, about.
    numbers : int64[5]
        See above.
    best : float64[D]
        The vector of the least loss, where a dive found it.
    """

    corners: Floats
    start: Ints
    living: Ids
    settled: Ints
    bound: Ints
    where: Floats
    numbers: Ints
    best: Floats


def room(cones: int, living: int, size: int) -> Cones:
    """Return room for cones."""
    return Cones(
        np.empty((cones, size, size)),
        np.zeros(cones + 1, np.int64),
        np.empty(living, np.int32),
        np.empty(cones, np.int64),
        np.empty(cones, np.int64),
        np.empty((cones, size)),
        np.zeros(5, np.int64),
        np.zeros(size),
    )


@kernel
def copy_cone(source: Cones, k: int, target: Cones) -> None:
    """Write a cone after those that are there."""
    here = target.numbers[CONES]
    at = target.numbers[LIVING]
    target.corners[here] = source.corners[k]
    for i in range(source.start[k], source.start[k + 1]):
        target.living[at] = source.living[i]
        at += 1
    target.settled[here] = source.settled[k]
    target.bound[here] = source.bound[k]
    target.where[here] = source.where[k]
    target.start[here + 1] = at
    target.numbers[CONES] = here + 1
    target.numbers[LIVING] = at


@kernel
def take_over(source: Cones, k: int, target: Cones) -> None:
    """Write a cone in place of those that are there."""
    target.numbers[CONES], target.numbers[LIVING] = 0, 0
    copy_cone(source, k, target)
