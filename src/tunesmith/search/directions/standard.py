"""Classic choices of directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.inference.hypotheses import Direction, Point
from tunesmith.search.directions.base import DIRECTIONS, Climb, Directions


@DIRECTIONS.register("coordinate")
class Coordinate(Directions):
    """Search along every feature and take the best step first (Koehn 2004)."""

    def climb(self, climb: Climb, point: Point) -> Point:
        """Repeat until no feature gains.

        After the best step the other features that promised a gain are searched again from
        where it led, best first; most still gain, and each costs one line search where a
        new round would cost one for every feature.

        The axes of the features' covariance take the place of features where every weight is free:
        features that vary together make valleys that are oblique to all of them. Under a penalty
        or restrictions, whose edges are along features, these are searched when no axis gains.

        Under a penalty, the way that was made in a round is searched too: features in turn
        follow a valley by small steps (the pattern move of Hooke and Jeeves 1961).
        """

        def make_round(first: Point) -> Point:
            point = line_round(climb, first, climb.coordinates())
            if climb.penalty is not None:
                way = Direction.of(point.weights - first.weights, "way")
                point = climb.reduce_penalty(
                    climb.along(point, way) if len(way.features) > 1 else point
                )
            return point

        axes = climb.axis_lines()
        if not axes:
            return climb.repeat(point, make_round)

        def make_axis_round(first: Point) -> Point:
            return line_round(climb, first, axes)

        if climb.axes_suffice:
            return climb.repeat(point, make_axis_round)
        return climb.repeat(point, make_axis_round, make_round)


def line_round(climb: Climb, point: Point, directions: Sequence[Direction]) -> Point:
    """Search along each direction once, and take the steps that gain, the best first."""
    steps = climb.search(point, directions)
    promising = [d for d, s in enumerate(steps) if climb.promises(s)]
    promising.sort(key=lambda d: -steps[d].value)
    for rank, d in enumerate(promising):
        step = steps[d] if rank == 0 else climb.search(point, [directions[d]])[0]
        point = climb.take(point, directions[d], step)
    return point


@DIRECTIONS.register("powell")
class Powell(Directions):
    """Search along every direction in turn, then along the line from start to end (Powell 1964)."""

    def climb(self, climb: Climb, point: Point) -> Point:
        """Repeat until a round gains nothing.

        The way made in a round replaces the direction that gained most, since that one is
        the greatest part of it.
        """
        directions = climb.coordinates()

        def make_round(first: Point) -> Point:
            point, gains = first, []
            for direction in directions:
                step = climb.search(point, [direction])[0]
                moved = climb.take(point, direction, step)
                gains.append(step.value - step.here if moved is not point else 0.0)
                point = moved
            way = Direction.of(point.weights - first.weights, "powell")
            if len(way.features) > 1:
                moved = climb.along(point, way)
                if moved is not point:
                    directions[int(np.argmax(gains))] = way
                point = moved
            return climb.reduce_penalty(point)

        return climb.repeat(point, make_round)


@DIRECTIONS.register("random")
class Random(Directions):
    """Search along random directions (Cer et al. 2008)."""

    def climb(self, climb: Climb, point: Point) -> Point:
        """Try as many directions as there are variables; repeat until a round gains nothing."""

        def make_round(point: Point) -> Point:
            directions = [climb.random_direction(point) for _ in range(climb.space.variables)]
            for direction in directions:
                point = climb.along(point, direction)
            return climb.reduce_penalty(point)

        return climb.repeat(point, make_round)
