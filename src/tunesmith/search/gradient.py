"""Directions from the gradient of the expected metric.

Section 4 of Galley, Quirk, Cherry and Toutanova, "Regularized minimum error rate training"
(EMNLP 2013). The metric itself is flat almost everywhere; the metric of the statistics that
the distribution P ∝ exp(μ w·h) expects is smooth, and its gradient says where to search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction, Expectation, Point
from tunesmith.metrics.base import Metric
from tunesmith.registry import option
from tunesmith.search.climb import DIRECTIONS, TOLERANCE, Climb, Directions
from tunesmith.search.directions import coordinate_round

#: A line search that gains less (in natural units: BLEU from 0 to 1) makes the distribution
#: sharper.
WORTH_A_SEARCH = 1e-4
#: A step, a pass and a round that gain less are not worth it: with many features there is
#: always some direction in which a few candidates change to a hair's advantage, and weights
#: that follow all of them wander off.
WORTH_A_STEP = 1e-5
#: The system of equations is solved when this share of the gradient is left over.
SOLVED = 0.02
#: Gradients whose cosine is higher lead along the same line.
SAME = 0.9999


@DIRECTIONS.register("gradient")
@dataclass(frozen=True)
class Gradient(Directions):
    """Search along the gradient of the expected metric (Galley et al. 2013).

    The distribution begins flat and becomes sharper whenever a line search gains little; after
    a whole pass that gains little one round of coordinate ascent is made, and the gradient has
    another turn if that improved anything (footnote 8). μ is in units of the spread of the
    model scores: P ∝ exp(μ w·h / σ), since what a fixed μ means depends on the weights' scale.

    Where features are correlated, or of unlike sizes, the gradient leads far off the way to the
    optimum. So the direction is that of a Newton step: the gradient is divided by the features'
    covariance under the same distribution, with a few steps of the method of conjugate
    gradients, two passes over the features each.
    """

    steps: int = option(8, "conjugate gradient steps at most; 0 takes the gradient as it is")
    first: float = option(0.01, "μ of the flattest distribution")
    last: float = option(1000.0, "μ of the sharpest distribution")

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise UsageError(f"steps of gradient is {self.steps}; give 0 or more")
        if not 0.0 < self.first <= self.last < np.inf:
            raise UsageError(
                f"first and last of gradient are {self.first:g} and {self.last:g}; give numbers "
                "above 0, the smaller one first"
            )

    def check(self, metric: Metric) -> None:
        """Raise an error if the metric has no gradient."""
        metric.check_slope()

    def climb(self, climb: Climb, point: Point) -> Point:
        """Repeat passes and rounds of coordinate ascent until both gain little."""
        unit = climb.tolerance / TOLERANCE
        while not climb.at_top(point):
            moved = self._pass(climb, point, unit)
            if moved is point:
                moved = coordinate_round(climb, point)
                if not climb.value(moved) - climb.value(point) > unit * WORTH_A_STEP:
                    break
            point = moved
        return point

    def _pass(self, climb: Climb, point: Point, unit: float) -> Point:
        """Go from the flattest to the sharpest distribution."""
        mu = self.first
        size = float(np.abs(point.weights).max(initial=0.0))
        tried: Floats | None = None  # the last gradient, from this point, that led nowhere
        while mu <= self.last and not climb.at_top(point):
            spread = climb.hypotheses.deviation(point)
            if spread == 0.0:  # all scores are equal: any scale will do
                spread = 1.0
            (expected,) = climb.hypotheses.expected([point], [mu / spread])
            gradient = self._scaled_gradient(climb, point, expected)
            if not gradient.any() or (tried is not None and _cosine(gradient, tried) > SAME):
                mu *= 2.0
                continue
            direction = self._direction(climb, point, expected, gradient)
            (step,) = climb.search(point, [direction])
            before = climb.value(point)
            if step.value - step.here > unit * WORTH_A_STEP:
                moved = climb.take(point, direction, step)
            else:
                moved = point
            if not climb.value(moved) - before > unit * WORTH_A_SEARCH:
                mu *= 2.0
            tried = gradient if moved is point else None
            # The best step along a gradient often dwarfs the weights.
            point = moved if moved is point else climb.rescaled(moved, size)
        return point

    def _scaled_gradient(self, climb: Climb, point: Point, expected: Expectation) -> Floats:
        """Return the gradient of the objective by the variables, each in units of its size."""
        gradient = expected.gradient
        if climb.penalty is not None:
            gradient = gradient - climb.penalty.gradient(point.weights)
        variables = climb.space.gathered(gradient) / climb.space.sizes(climb.spread)
        return climb.space.feasible(variables, point.weights)

    def _direction(
        self, climb: Climb, point: Point, expected: Expectation, gradient: Floats
    ) -> Direction:
        sizes = climb.space.sizes(climb.spread)
        moves = gradient != 0.0  # variables on a limit stay
        solution = np.zeros(len(gradient))
        # The curvature of the expected gain is μ² times third moments of features and worth.
        scale = expected.sharpness**2 * expected.worth
        bend = np.zeros(len(point.weights))
        if climb.penalty is not None:
            bend = climb.penalty.curvature(point.weights)

        def curved(vector: Floats) -> Floats:
            weights = climb.space.spread_out(vector / sizes)
            found = scale * climb.hypotheses.covariance([expected], weights[None])[0]
            image: Floats = moves * climb.space.gathered(found + bend * weights) / sizes
            return image

        left, toward = gradient, gradient
        square = float(left @ left)
        enough = SOLVED**2 * square
        for _ in range(self.steps):
            image = curved(toward)
            along = float(toward @ image)
            if not along > 0.0:
                break
            solution = solution + square / along * toward
            left = left - square / along * image
            before, square = square, float(left @ left)
            if square <= enough:
                break
            toward = left + square / before * toward
        if not solution.any() or not np.isfinite(solution).all():
            solution = gradient
        # Of the weights' size, so that steps are numbers one can read.
        length = float(np.abs(solution / sizes).max())
        return climb.space.direction(solution / sizes / length, "gradient")


def _cosine(a: Floats, b: Floats) -> float:
    return float(a @ b) / float(np.sqrt((a @ a) * (b @ b)))
