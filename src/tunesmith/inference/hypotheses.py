"""What a tuner asks of candidates, whatever form they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import Scored

R = TypeVar("R")


@dataclass(frozen=True)
class Direction:
    """A direction in weight space, by its components that are not 0.

    Attributes
    ----------
    features : int64[n]
        Indices of features, ascending.
    values : float64[n]
        Components.
    label
        How a history names it.
    recurs
        Whether it is searched from many points, so that what does not depend on the point is worth
        its memory.
    """

    features: Ints
    values: Floats
    label: str
    recurs: bool = False

    @classmethod
    def along(cls, feature: int, name: str) -> Direction:
        """Return the direction of one feature."""
        return cls(np.array([feature]), np.ones(1), name)

    @classmethod
    def of(cls, vector: Floats, label: str) -> Direction:
        """Return the direction of a vector."""
        features = np.flatnonzero(vector)
        return cls(features, vector[features], label)

    def vector(self, size: int) -> Floats:
        """Return all components."""
        full = np.zeros(size)
        full[self.features] = self.values
        return full


@dataclass(frozen=True)
class Axes:
    """Changes of variables along which the model scores vary independently.

    Attributes
    ----------
    vectors : float64[A, V]
        Each changes the scores within groups by a deviation of 1, in a way that is not correlated
        with the others'. There are fewer than variables where some say the same.
    duals : float64[A, V]
        Their products with variables are coordinates along the axes.
    are_all
        Whether all variables are on them.
    """

    vectors: Floats
    duals: Floats
    are_all: bool = True


@dataclass(frozen=True)
class Envelope:
    """How the sum of the winners' statistics changes along a line, from γ = −∞ on.

    Attributes
    ----------
    total : [K]
        The sum at γ = −∞.
    at : float64[T]
        Where it changes, not sorted.
    change : [T, K]
        What is added there.
    """

    total: Stats
    at: Floats
    change: Stats


@dataclass(frozen=True)
class Point:
    """Weights and the candidates that win under them.

    Attributes
    ----------
    weights : float64[D]
    total : [K]
        Sum of the winners' statistics.
    gain
        The metric's gain of it: natural units, more is better.
    cache
        What the hypotheses keep for their next answers.
    """

    weights: Floats
    total: Stats
    gain: float
    cache: Any


#: A line of weights: ``point.weights + γ · direction``.
Line: TypeAlias = tuple[Point, Direction]


@dataclass(frozen=True)
class Expectation:
    """What the distribution exp(sharpness × w·h) over each group's candidates expects.

    Attributes
    ----------
    sharpness
        The factor of the scores: μ of the paper.
    gain
        The metric's gain of the expected statistics.
    gradient : float64[D]
        Its derivative by the weights.
    gain_deviation
        How much a group's candidates differ in their linearised gains: the pooled
        standard deviation under the distribution.
    cache
        What the hypotheses keep for their next answers.
    """

    sharpness: float
    gain: float
    gradient: Floats
    gain_deviation: float
    cache: Any


class Hypotheses(Protocol):
    """Candidates with statistics, on lists or on forests."""

    #: Whether a line search takes long, so that there should be few.
    is_costly: ClassVar[bool]
    metric: Metric
    names: tuple[str, ...]
    groups: int

    def spread(self) -> Floats:
        """Return the size of each feature: how much it varies within groups."""
        ...

    def axes(self, directions: Sequence[Direction]) -> Axes | None:
        """Return axes of variables, given the direction of each; None if there are too many.

        Variables whose directions have sparse features are not on them.
        """
        ...

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        ...

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate ``weights + step * direction``, from what is known at the point."""
        ...

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two, which changes no choice."""
        ...

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Return ``[work(point, direction, envelope)]``, one for each of many lines.

        Envelopes are large and what is made of them is small, so ``work`` is called as soon as an
        envelope is there, and no more of them are held than are being worked on. ``work`` may run
        in several threads at once, and is pickled where other processes work.

        Lines do not depend on each other: what is made of one is the same in any batch. Climbs
        that run side by side call this at the same time.
        """
        ...

    def deviation(self, point: Point) -> float:
        """Return how much the model scores of a group's candidates differ: their spread."""
        ...

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Return expected gains and their gradients; many at once cost few matrix products."""
        ...

    def covariance(self, expectations: Sequence[Expectation], vectors: Floats) -> Floats:
        """Return the covariance of the features times each vector of [B, D].

        The covariance is that within groups, under the distribution of each expectation,
        added up over the groups. What hardly occurs need not count.
        """
        ...


class TuningHypotheses(Hypotheses, Protocol):
    """Hypotheses with the task that they belong to."""

    @property
    def tuning(self) -> Scored:
        """The set."""
        ...

    def sizes(self) -> Floats:
        """Return each feature's size: the spread of dense ones, of sparse ones where they are on.

        The spread of a feature that is seldom on is small. In units of it a change of the weight
        would count little, and whatever tells a few candidates from others would be learnt by
        heart.
        """
        ...

    def renewed(self, weights: Floats, before: TuningHypotheses | None = None) -> TuningHypotheses:
        """Return what expectations around some weights are over.

        It is usually all there is. Where only lists of a forest's derivations have expectations,
        it is lists of the best ones under the weights, with all that was there before: what was
        returned for other weights.
        """
        ...
