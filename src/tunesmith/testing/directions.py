"""Conformance of direction finders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Point
from tunesmith.registry import Registry
from tunesmith.search.directions.base import DIRECTIONS, Climb, Directions
from tunesmith.search.line.penalised import Penalty
from tunesmith.search.line.penalties import NonZero, NormalisedSquare, SquaredDistance
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.checks import (
    CLOSE,
    Check,
    checks_of,
    demand,
    demand_no_global_randomness,
    demand_same_for_threads,
    instance_of,
    name_of,
    run_all,
    same_bits,
)
from tunesmith.testing.options import has_a_name
from tunesmith.testing.samples import (
    demand_unchanged,
    fingerprint,
    line_problem,
    odd_problems,
    rough_problems,
)

#: The least share of the possible gain that a climb reaches where one feature is enough.
SHARE = 0.75


def check_directions(directions: Directions | type[Directions]) -> None:
    """Raise a ConformanceError if a direction finder breaks a rule.

    Parameters
    ----------
    directions
        A direction finder, or its class.
    """
    run_all(directions_checks(directions))


def directions_checks(directions: Directions | type[Directions]) -> list[Check[Any]]:
    """Return the checks of a direction finder, for ``pytest.mark.parametrize``.

    ``directions`` is as for :func:`check_directions`.
    """
    instance = instance_of(directions)
    return checks_of(RULES, name_of(instance), _DirectionsProbe(instance))


@dataclass
class _DirectionsProbe:
    """A direction finder under test."""

    registry: ClassVar[Registry[Any]] = DIRECTIONS

    directions: Directions

    @property
    def plugin(self) -> Directions:
        """What is checked."""
        return self.directions

    def climb(
        self,
        tuning: TuningSet,
        begin: Floats,
        seed: int = 1,
        within: Space | None = None,
        penalty: Penalty | None = None,
    ) -> tuple[Climb, Point, Point]:
        """Return the climb, where it began and where it ended."""
        hypotheses = tuning.hypotheses()
        rng = np.random.default_rng(seed)
        climb = Climb(hypotheses, hypotheses.spread(), rng, within, penalty=penalty)
        first = climb.begin(begin.copy())
        end = self.directions.climb(climb, first)
        demand(
            isinstance(end, Point),
            f"climb returns {type(end).__name__}",
            "return the point where it ends",
        )
        demand(
            same_bits(first.weights, begin),
            "it changes the weights of the point where it begins",
            "move with climb.take",
        )
        return climb, first, end

    def end(self, tuning: TuningSet, seed: int = 1) -> Floats:
        width = len(tuning.candidates.features.names)
        return self.climb(tuning, np.linspace(-1.0, 1.0, width), seed)[2].weights


def climb_is_never_worse(probe: _DirectionsProbe) -> None:
    """End a climb no worse than it began, at a point with the gain that it says."""
    for tuning in rough_problems():
        before = fingerprint(tuning)
        for begin in np.random.default_rng(2).normal(size=(4, 3)):
            climb, first, end = probe.climb(tuning, begin)
            demand(
                end.gain >= first.gain,
                f"a climb goes from the gain {first.gain:.6g} down to {end.gain:.6g}",
                "move with climb.take, which takes no step that loses",
            )
            fresh = climb.hypotheses.point(end.weights).gain
            demand(
                abs(fresh - end.gain) <= CLOSE,
                f"a climb ends at the gain {end.gain:.6g}, and its weights have {fresh:.6g}",
                "return a point of climb.take or of climb.hypotheses.point",
            )
        demand_unchanged(tuning, before, "set")


def easy_problem_is_solved(probe: _DirectionsProbe) -> None:
    """Find the one feature that is enough, for metrics and for error rates."""
    for lower in (False, True):
        tuning = line_problem(("Other", "good", "bad"), lower)
        _, first, end = probe.climb(tuning, np.array([0.1, -1.0, 0.5]))
        best = float(tuning.metric.gain(tuning.total(tuning.oracle().chosen)))
        demand(
            end.gain - first.gain >= SHARE * (best - first.gain),
            f"on an easy problem a climb goes from the gain {first.gain:.3g} to {end.gain:.3g}; "
            f"{best:.3g} is possible",
            "go on until no direction gains any more",
        )


def unusual_sets_are_climbed(probe: _DirectionsProbe) -> None:
    """Climb on single candidates, equal vectors, constant and sparse features, and from 0."""
    for description, tuning in odd_problems().items():
        for begin in (1.0, 0.0):
            weights = np.full(len(tuning.candidates.features.names), begin)
            _, first, end = probe.climb(tuning, weights)
            demand(
                np.isfinite(end.weights).all() and end.gain >= first.gain,
                f"on a set with {description} a climb from weights of {begin:g} ends at "
                f"{end.weights.tolist()}",
                "keep weights finite, and move with climb.take",
            )


def restrictions_are_kept(probe: _DirectionsProbe) -> None:
    """Keep fixed, tied and bounded weights what they may be."""
    for tuning in rough_problems():
        names = tuning.candidates.features.names
        bounded = Constraints.parse(fix=["f0=0.5"], bound=["f1=0.1:0.4"])
        tied = Constraints.parse(tie=["f0=f2"])
        for restrictions in (bounded, tied):
            space = Space.of(names, np.ones(3), restrictions)
            begin = space.inside(np.array([0.5, 0.2, 0.5]))
            climb, _, end = probe.climb(tuning, begin, within=space)
            f0, f1, f2 = end.weights.tolist()
            holds = f0 == f2 if restrictions is tied else f0 == 0.5 and 0.1 <= f1 <= 0.4
            # Steps out of the space are corrected in the weights, not in the gain.
            fresh = climb.hypotheses.point(end.weights).gain
            demand(
                holds and abs(fresh - end.gain) <= CLOSE,
                f"under {restrictions} a climb ends at {[f0, f1, f2]} with the gain "
                f"{end.gain:.6g}, and these weights have {fresh:.6g}",
                "take directions from climb.coordinates() or climb.random_direction(point)",
            )


def penalties_are_counted(probe: _DirectionsProbe) -> None:
    """End no worse than it began where large or many weights cost something."""
    penalties = (
        SquaredDistance(0.3, np.array([0.5, -0.5, 0.0]), np.ones(3)),
        NormalisedSquare(3.0),
        NonZero(0.3),
    )
    for tuning in rough_problems():
        for penalty in penalties:
            climb, first, end = probe.climb(tuning, np.array([0.4, 0.5, -0.6]), penalty=penalty)
            before, after = climb.value(first), climb.value(end)
            demand(
                after >= before and np.isfinite(end.weights).all(),
                f"with the penalty {penalty.name} a climb goes from {before:.6g} down to "
                f"{after:.6g}",
                "judge points by climb.value and steps by their value, not by their gain",
            )


def same_seed_same_bits(probe: _DirectionsProbe) -> None:
    """End at the same weights for the same seed, whatever the global random numbers."""
    tuning = rough_problems()[0]
    demand_no_global_randomness(lambda: probe.end(tuning), same_bits)


def threads_change_nothing(probe: _DirectionsProbe) -> None:
    """End at the same bits for one thread and for two."""
    tuning = rough_problems()[1]
    remedy = "let the order of the work not depend on the threads"
    demand_same_for_threads(lambda: probe.end(tuning), "ends", remedy)


#: From the simple to the involved: the first that fails is the one to fix first.
RULES = (
    has_a_name,
    climb_is_never_worse,
    same_seed_same_bits,
    threads_change_nothing,
    easy_problem_is_solved,
    unusual_sets_are_climbed,
    restrictions_are_kept,
    penalties_are_counted,
)
