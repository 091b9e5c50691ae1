"""The suite for direction finders: all of ours pass, deliberately broken ones are caught."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.helpers.conformance import caught, failing
from tunesmith.inference.hypotheses import Direction
from tunesmith.parallel.local import thread_count
from tunesmith.search.directions.base import DIRECTIONS, Climb, Directions
from tunesmith.testing import ConformanceError, check_directions, directions_checks

BUILT_IN = [check for n in DIRECTIONS.names() for check in directions_checks(DIRECTIONS.get(n))]


@pytest.mark.parametrize("check", BUILT_IN)
def test_built_in_direction_finders_conform(check):
    check()


class InTurn(Directions):
    """Search along one feature after the other."""

    name = "in-turn"

    def climb(self, climb, point):
        while True:
            first = point
            for direction in self.order(climb):
                point = climb.take(point, direction, climb.search(point, [direction])[0])
            if point is first:
                return point

    def order(self, climb):
        return climb.coordinates()


def test_the_direction_finder_that_the_broken_ones_derive_from_conforms():
    assert failing(directions_checks(InTurn)) == {}


class GoesAnywhere(InTurn):
    """Ends somewhere near the optimum, good or bad."""

    def climb(self, climb, point):
        end = super().climb(climb, point)
        return climb.hypotheses.point(-end.weights)


class ShufflesGlobally(InTurn):
    def order(self, climb):
        return random.sample(climb.coordinates(), len(climb.coordinates()))


class CountsThreads(InTurn):
    def order(self, climb):
        shift = thread_count() % 2
        return climb.coordinates()[shift:] + climb.coordinates()[:shift]


class StaysWhereItIs(InTurn):
    def climb(self, climb, point):
        return point


class IgnoresRestrictions(InTurn):
    def order(self, climb):
        return [Direction.along(d, name) for d, name in enumerate(climb.hypotheses.names)]


class ForgetsThePenalty(InTurn):
    """Keeps the point of the highest gain."""

    def climb(self, climb, point):
        plain = Climb(climb.hypotheses, climb.spread, climb.rng, climb.space)
        return super().climb(plain, point)


class ChangesTheBeginning(InTurn):
    def climb(self, climb, point):
        point.weights[:] = 1.0
        return super().climb(climb, climb.hypotheses.point(np.ones(len(point.weights))))


SOLVED = {"easy_problem_is_solved"}
BROKEN = [
    (
        GoesAnywhere,
        "climb_is_never_worse",
        {
            *SOLVED,
            "unusual_sets_are_climbed",
            "restrictions_are_kept",
            "penalties_are_counted",
        },
        "climb.take",
    ),
    (ShufflesGlobally, "same_seed_same_bits", set(), "global random numbers"),
    (CountsThreads, "threads_change_nothing", set(), "one thread and two"),
    (StaysWhereItIs, "easy_problem_is_solved", set(), "go on until no direction gains"),
    (IgnoresRestrictions, "restrictions_are_kept", set(), "climb.coordinates()"),
    (ForgetsThePenalty, "penalties_are_counted", set(), "climb.value"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "first", "others", "said"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_broken_direction_finders_are_caught(made, first, others, said):
    caught(directions_checks(made), first, others, said)


def test_the_beginning_stays_as_it_is():
    with pytest.raises(ConformanceError, match="changes the weights of the point where it begins"):
        check_directions(ChangesTheBeginning())
