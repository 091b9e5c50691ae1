"""From line searches to an optimum: what all ways of choosing directions share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Direction, Hypotheses, Point
from tunesmith.parallel.local import map_pieces
from tunesmith.registry import Registry
from tunesmith.search.line import Step, search

#: A step that gains less (in natural units: BLEU from 0 to 1) is not worth a further round.
TOLERANCE = 1e-9


@dataclass
class Climb:
    """One way up from one starting point, with a record of it.

    Attributes
    ----------
    hypotheses
        What is climbed on.
    spread : float64[D]
        The size of each feature, for random directions; see ``Hypotheses.spread``.
    rng
        This climb's own randomness.
    searches
        Lines searched so far.
    history
        One entry per beginning and per step taken.
    """

    hypotheses: Hypotheses
    spread: Floats
    rng: np.random.Generator
    searches: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    def begin(self, weights: Floats) -> Point:
        """Evaluate where a way up begins."""
        point = self.hypotheses.point(weights)
        self.history.append(
            {"direction": None, "size": 0.0, "gain": point.gain, "line_searches": self.searches}
        )
        return point

    def coordinates(self) -> list[Direction]:
        """Return the direction of each feature."""
        return [Direction.along(d, name) for d, name in enumerate(self.hypotheses.names)]

    def random_direction(self) -> Direction:
        """Draw a direction that changes the score by as much through each feature."""
        drawn = self.rng.standard_normal(len(self.spread))
        return Direction.of(drawn / self.spread, "random")

    def search(self, point: Point, directions: Sequence[Direction]) -> list[Step]:
        """Search several lines through a point, on all cores."""
        self.searches += len(directions)
        return map_pieces(lambda d: search(self.hypotheses, point, d), directions)

    def take(self, point: Point, direction: Direction, step: Step) -> Point:
        """Move, unless the gain was rounding alone; the objective never falls."""
        if step.gain <= point.gain + TOLERANCE:
            return point
        moved = self.hypotheses.move(point, direction, step.size)
        if moved.gain <= point.gain + TOLERANCE:
            return point
        self.history.append(
            {
                "direction": direction.label,
                "size": step.size,
                "gain": moved.gain,
                "line_searches": self.searches,
            }
        )
        return moved


class Directions(ABC):
    """How a climb chooses the lines that it searches."""

    name: ClassVar[str]

    @abstractmethod
    def climb(self, climb: Climb, point: Point) -> Point:
        """Go up from a point until nothing is gained any more."""


DIRECTIONS: Registry[Directions] = Registry(
    "direction finder", "tunesmith.search", "tunesmith.directions"
)
