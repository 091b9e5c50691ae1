"""From line searches to an optimum: what all ways of choosing directions share."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Axes, Direction, Hypotheses, Point
from tunesmith.metrics.base import Metric
from tunesmith.parallel.local import end_if_unwanted
from tunesmith.registry import Registry
from tunesmith.search.directions.stopping import MOST_STEPS, TOLERANCE, StoppingRule
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.line.penalised import Penalty
from tunesmith.search.line.search import LineStep
from tunesmith.search.line.smooth import Smoothing
from tunesmith.search.space.space import Space


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
    smoothing
        How the objective along a line is smoothed; not at all by default.
    tolerance
        What a step must gain at least, in natural units.
    penalty
        What is taken off the gain; nothing without it. It does not go with smoothing.
    ceiling
        A gain that nothing exceeds: there is no need to go on where it is reached.
    axes
        Lines beside those of the variables, on which features that vary together are no valley,
        and what random directions are drawn in; None for the variables alone.
    searches
        Lines searched so far.
    history
        One entry per beginning and per step taken.
    steps
        Steps taken since the last beginning.
    space
        What the weights may be: what was given as ``within``, anything without it.
    stopping
        When a step is taken, and when the climb ends.
    """

    hypotheses: Hypotheses
    spread: Floats
    rng: np.random.Generator
    within: InitVar[Space | None] = None
    smoothing: Smoothing = field(default_factory=Smoothing)
    tolerance: float = TOLERANCE
    penalty: Penalty | None = None
    ceiling: float = np.inf
    axes: Axes | None = None
    searches: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    space: Space = field(init=False)
    stopping: StoppingRule = field(init=False)
    _valued: tuple[Point, float] | None = field(init=False, default=None)
    # A point that is kept would keep the scores of all candidates.
    _searched: tuple[weakref.ref[Point], dict[int, tuple[Direction, LineStep]]] | None = field(
        init=False, default=None
    )

    def __post_init__(self, within: Space | None) -> None:
        self.space = Space.free(self.hypotheses.names) if within is None else within
        self.stopping = StoppingRule(
            self.tolerance,
            self.ceiling,
            bool(self.smoothing),
            self.penalty is not None,
            MOST_STEPS * self.space.variables,
        )

    def begin(self, weights: Floats) -> Point:
        """Evaluate where a way up begins."""
        point = self.hypotheses.point(weights)
        self.steps = 0
        self._note(point, None, 0.0)
        return point

    def _note(self, point: Point, label: str | None, size: float, **more: float) -> None:
        entry: dict[str, Any] = {"direction": label, "size": size, "gain": point.gain, **more}
        if self.penalty is not None:
            entry["penalty"] = self.penalty.value(point.weights)
        self.history.append(entry | {"line_searches": self.searches})

    def coordinates(self) -> list[Direction]:
        """Return the direction of each variable: of each feature, if nothing is restricted."""
        return self.space.coordinates()

    def axis_lines(self) -> list[Direction]:
        """Return the directions of the axes; none where a line search takes long."""
        if self.axes is None or self.hypotheses.is_costly:
            return []
        return [
            replace(self.space.direction(axis, f"axis {k}"), recurs=True)
            for k, axis in enumerate(self.axes.vectors, 1)
        ]

    @property
    def axes_suffice(self) -> bool:
        """Whether lines along the axes are all that a climb needs."""
        return (
            self.axes is not None
            and self.axes.are_all
            and self.space.is_free
            and self.penalty is None
        )

    def change(self) -> Floats:
        """Draw a change of the weights [D]; each axis, or variable, changes the scores by 1."""
        return self.space.spread_out(self._draw())

    def _draw(self) -> Floats:
        if self.axes is not None and self.axes.are_all:
            drawn = self.rng.standard_normal(len(self.axes.vectors))
            change: Floats = (drawn[:, None] * self.axes.vectors).sum(axis=0)
            return change
        drawn = self.rng.standard_normal(self.space.variables)
        return drawn / self.space.sizes(self.spread)

    def size_of(self, weights: Floats) -> float:
        """Return how much weights change the scores, by axis, or feature, and on average."""
        if self.axes is not None and self.axes.are_all:
            coordinates = (self.axes.duals * self.space.variables_of(weights)).sum(axis=1)
        else:
            coordinates = weights * self.spread
        return float(np.sqrt(np.mean(np.square(coordinates)))) or 1.0

    def random_direction(self, point: Point | None = None) -> Direction:
        """Draw a direction that changes the score by as much through each variable.

        From a point on a limit of the space it leads away from that limit.
        """
        drawn = self._draw()
        if point is not None:
            drawn = self.space.inward(drawn, point.weights)
        return self.space.direction(drawn, "random")

    def search(self, point: Point, directions: Sequence[Direction]) -> list[LineStep]:
        """Search several lines through a point at once."""
        end_if_unwanted()
        self.searches += len(directions)
        if self._searched is None or self._searched[0]() is not point:
            self._searched = weakref.ref(point), {}
        # Lines that gain nothing at the end of a round are asked for again by the next one.
        known = self._searched[1]
        new = [direction for direction in directions if id(direction) not in known]
        search = LineSearch(self.space, self.smoothing, self.penalty)
        steps = search.steps(self.hypotheses, [(point, direction) for direction in new])
        known.update({id(way): (way, step) for way, step in zip(new, steps, strict=True)})
        return [known[id(direction)][1] for direction in directions]

    def take(self, point: Point, direction: Direction, step: LineStep) -> Point:
        """Move, unless the gain was rounding alone; the objective never falls.

        A smoothed objective does not fall along the line of the step; the metric itself may.
        """
        if not self.promises(step) or not self.stopping.has_steps_left(self.steps):
            return point
        moved = self.hypotheses.move(point, direction, step.size)
        weights = moved.weights
        if step.zeros is not None:
            weights[step.zeros] = 0.0
        moved = replace(moved, weights=self.space.exact(weights))
        # A smoothed objective is another one on every line.
        if not self.smoothing and not self.stopping.takes_step(
            self.value(point), self.value(moved)
        ):
            return point
        self.steps += 1
        more = {"smoothed": step.value} if self.smoothing else {}
        self._note(moved, direction.label, step.size, **more)
        return moved

    def rescaled(self, point: Point, size: float) -> Point:
        """Bring the largest weight to about a size, where the scale of all does not matter."""
        now = float(np.abs(point.weights).max(initial=0.0))
        pinned = self.space.pins_scale or not (self.penalty is None or self.penalty.scale_free)
        if pinned or now == 0.0 or size == 0.0:
            return point
        doublings = int(np.rint(np.log2(size / now)))
        return self.hypotheses.scaled(point, 2.0**doublings) if doublings else point

    def reduce_penalty(self, point: Point) -> Point:
        """Search where the penalty falls most, and the size of all weights.

        A penalty leads to the edges of the region in which no winner changes. They are oblique:
        lines that do not know the penalty follow them by tiny steps, or end there.
        """
        if self.penalty is None:
            return point
        sizes = self.space.sizes(self.spread)
        downhill = self.space.gathered(-self.penalty.gradient(point.weights))
        downhill = self.space.feasible(downhill, point.weights, sizes)
        point = self.along(point, self.space.direction(downhill, "penalty"))
        if self.penalty.scale_free or self.space.pins_scale:
            return point
        return self.along(point, Direction.of(point.weights, "size"))

    def along(self, point: Point, direction: Direction) -> Point:
        """Search one line, and move if that gains."""
        if len(direction.features) == 0:
            return point
        return self.take(point, direction, self.search(point, [direction])[0])

    def promises(self, step: LineStep) -> bool:
        """Tell whether a step gains on its line, by more than rounding."""
        return self.stopping.takes_step(step.here, step.value)

    def at_top(self, point: Point, least: float = 0.0) -> bool:
        """Tell whether no point can be better, by more than what is worth it."""
        return self.stopping.at_top(point.gain, least)

    def gained(self, first: Point, point: Point) -> bool:
        """Tell whether a round that led from one point to another was worth it."""
        return self.stopping.is_worth_a_round(first, point, self.value)

    def repeat(
        self, point: Point, *rounds: Callable[[Point], Point], least: float | None = None
    ) -> Point:
        """Make rounds until one gains too little: see :meth:`StoppingRule.repeat`."""
        return self.stopping.repeat(point, self.value, *rounds, least=least)

    def value(self, point: Point) -> float:
        """Return what climbs are compared by: the gain, one minus a penalty, or a smoothed one.

        Smoothed, a point has another value on every line through it. The mean over the
        lines of the variables is one number for all of them.
        """
        if self.penalty is not None:
            return point.gain - self.penalty.value(point.weights)
        if not self.smoothing:
            return point.gain
        if self._valued is None or self._valued[0] is not point:
            here = [step.here for step in self.search(point, self.coordinates())]
            self._valued = point, float(np.mean(here))
        return self._valued[1]


class Directions(ABC):
    """How a climb chooses the lines that it searches."""

    name: ClassVar[str]
    #: Whether a climb costs so much that one start must do, unless the user asks for more.
    is_costly: ClassVar[bool] = False

    #: Whether they are found by gradients, for which more than lines and points is asked.
    needs_gradients: ClassVar[bool] = False

    def check(self, metric: Metric) -> None:  # noqa: B027  (most need nothing)
        """Raise an error if a metric lacks what the directions are found by."""

    @abstractmethod
    def climb(self, climb: Climb, point: Point) -> Point:
        """Go up from a point until nothing is gained any more."""


DIRECTIONS: Registry[Directions] = Registry(
    "direction finder", "tunesmith.search.directions", "tunesmith.directions"
)
