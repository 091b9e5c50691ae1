"""Directions from the gradient of the expected metric.

Section 4 of Galley, Quirk, Cherry and Toutanova, "Regularized minimum error rate training"
(EMNLP 2013). The metric itself is flat almost everywhere; the metric of the statistics that
the distribution P ∝ exp(μ w·h) expects is smooth, and its gradient says where to search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, inner
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction, Expectation, Point
from tunesmith.metrics.base import Metric
from tunesmith.registry import option
from tunesmith.search.directions.base import DIRECTIONS, Climb, Directions
from tunesmith.search.directions.standard import line_round

#: A line search that gains less makes the distribution sharper. The unit is the standard
#: deviation of what a group's candidates are worth, which about 0.1 BLEU is: so it does not
#: matter what unit the metric has.
WORTH_A_SEARCH = 6e-4
#: A step, a pass and a round that gain less are not worth it: with many features there is
#: always some direction in which a few candidates change to a hair's advantage, and weights
#: that follow all of them wander off.
WORTH_A_STEP = 6e-5
#: The system of equations is solved when this share of the gradient is left over.
SOLVED = 0.02
#: Gradients whose cosine is higher lead along the same line.
SAME = 0.9999
#: Conjugate gradient steps where no others are asked for.
STEPS = 8


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
    gradients, two passes over the features each. Without steps it is the gradient by weights in
    units of the features' spread: that by the weights themselves, over the square of the spread.

    With ``paper`` the direction is the formula of section 4.1 and nothing else: the gradient by
    the weights themselves, of P ∝ exp(μ w·h) with μ as it is. Only the factor μ of P's derivative,
    which the printed formula drops, is kept: it tells how much a penalty weighs beside the metric.
    """

    is_costly = needs_gradients = True

    steps: int | None = option(
        None, f"conjugate gradient steps at most, {STEPS} by default; 0 takes a gradient as it is"
    )
    first: float = option(0.01, "μ of the flattest distribution")
    last: float = option(1000.0, "μ of the sharpest distribution")
    paper: bool = option(False, "the paper's formula: features and μ unscaled, and no steps")

    def __post_init__(self) -> None:
        if self.steps is not None and self.paper:
            raise UsageError("steps of gradient are none of the paper's; leave out steps or paper")
        if self.steps is not None and self.steps < 0:
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
        (flat,) = climb.hypotheses.expected([point], [0.0])
        unit = flat.gain_deviation * climb.hypotheses.groups
        least = unit * WORTH_A_STEP
        fruitless: set[float] = set()

        def make_pass(point: Point) -> Point:
            return self._pass(climb, point, unit, fruitless)

        def make_coordinate_round(point: Point) -> Point:
            fruitless.clear()
            return line_round(climb, point, climb.coordinates())

        return climb.repeat(point, make_pass, make_coordinate_round, least=least)

    def _pass(self, climb: Climb, point: Point, unit: float, fruitless: set[float]) -> Point:
        """Go from the flattest to the sharpest distribution.

        Those that led nowhere from where the way is now need not be tried again.
        """
        mu = self.first
        size = float(np.abs(point.weights).max(initial=0.0)) or 1.0
        tried: Floats | None = None  # the last gradient, from this point, that led nowhere
        while mu <= self.last and not climb.at_top(point, unit * WORTH_A_STEP):
            if mu in fruitless:
                mu *= 2.0
                continue
            fruitless.add(mu)
            # Where all scores are equal any scale will do.
            spread = 1.0 if self.paper else climb.hypotheses.deviation(point) or 1.0
            (expected,) = climb.hypotheses.expected([point], [mu / spread])
            gradient = self._scaled_gradient(climb, point, expected)
            if gradient is None or (tried is not None and inner(gradient, tried) > SAME):
                mu *= 2.0
                continue
            direction = self._direction(climb, point, expected, gradient)
            (step,) = climb.search(point, [direction])
            promised = step.value - step.here
            worth_it = promised > unit * WORTH_A_STEP
            moved = climb.take(point, direction, step) if worth_it else point
            tried = gradient
            if moved is not point:
                # The best step along a gradient often dwarfs the weights.
                point, tried = climb.rescaled(moved, size), None
                fruitless.clear()
            if tried is gradient or not promised > unit * WORTH_A_SEARCH:
                mu *= 2.0
        return point

    def _scaled_gradient(self, climb: Climb, point: Point, expected: Expectation) -> Floats | None:
        """Return the gradient of the objective by the variables, each in units of its size.

        It has the length 1, or there is none. Far out a distribution is so sharp that its
        gradient is too small, or one of weights so small that it is too large, for a number.
        """
        gradient = expected.gradient
        if climb.penalty is not None:
            gradient = gradient - climb.penalty.gradient(point.weights)
            if climb.penalty.counts_weights and point.weights.any() and not self.paper:
                # All zeros would be lost at once; coordinate ascent takes up new features.
                gradient = np.where(point.weights != 0.0, gradient, 0.0)
        sizes = self._sizes(climb)
        variables = climb.space.gathered(gradient) / sizes
        return _unit(climb.space.feasible(variables, point.weights, sizes))

    def _sizes(self, climb: Climb) -> Floats:
        """Return what variables are measured in."""
        if self.paper:
            return np.ones(climb.space.variables)
        return climb.space.sizes(climb.spread)

    def _direction(
        self, climb: Climb, point: Point, expected: Expectation, gradient: Floats
    ) -> Direction:
        sizes = self._sizes(climb)
        moves = gradient != 0.0  # variables on a limit, or near to it, stay
        # The curvature of the expected gain is μ² times third moments of features and worth.
        scale = expected.sharpness**2 * expected.gain_deviation
        bend = np.zeros(len(point.weights))
        if climb.penalty is not None:
            bend = climb.penalty.curvature(point.weights)

        def curved(vector: Floats) -> Floats:
            weights = climb.space.spread_out(vector / sizes)
            product = scale * climb.hypotheses.covariance([expected], weights[None])[0]
            image: Floats = moves * climb.space.gathered(product + bend * weights) / sizes
            return image

        steps = STEPS if self.steps is None else self.steps
        solution = _solved(curved, gradient, 0 if self.paper else steps)
        newton = _unit(climb.space.feasible(solution, point.weights, sizes))
        # Of the weights' size, so that steps are numbers one can read.
        variables = (gradient if newton is None else newton) / sizes
        return climb.space.direction(variables / np.abs(variables).max(), "gradient")


def _solved(curved: Callable[[Floats], Floats], target: Floats, steps: int) -> Floats:
    """Return about the vector that a symmetric matrix maps to a wanted one.

    The method of conjugate gradients (Hestenes and Stiefel 1952); without steps, 0.
    """
    solution = np.zeros(len(target))
    left, toward = target, target
    square = inner(left, left)
    enough = SOLVED**2 * square
    for _ in range(steps):
        image = curved(toward)
        along = inner(toward, image)
        if not along > 0.0:
            break
        solution = solution + square / along * toward
        left = left - square / along * image
        before, square = square, inner(left, left)
        if square <= enough:
            break
        toward = left + square / before * toward
    return solution


def _unit(vector: Floats) -> Floats | None:
    """Return a vector of length 1, None if there is no such direction."""
    largest = float(np.abs(vector).max())
    if not 0.0 < largest < np.inf:
        return None
    scaled: Floats = vector / largest
    unit: Floats = scaled / np.sqrt(inner(scaled, scaled))
    return unit
