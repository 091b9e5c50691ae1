"""Hypotheses on n-best lists whose points and lines are a GPU's work.

What line searches ask is answered there; spreads, axes, expectations and gradients are those of the
processor, which gets the scores of a point when they are asked.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction, Envelope, Line, Point
from tunesmith.inference.lists.device.batches import Batches, Best, Move
from tunesmith.inference.lists.device.formulas import formula_of
from tunesmith.inference.lists.device.meeting import Meetings
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.metrics.scored import ScoredCandidates

R = TypeVar("R")


class Place:
    """Where the device has the scores and winners of a point, while somebody has the point."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self.number = batches.take_place()

    @cached_property
    def scores(self) -> Floats:
        """The scores, on the processor."""
        return self._batches.scores_at(self.number)

    @cached_property
    def winners(self) -> Ints:
        """The winners, on the processor."""
        return self._batches.winners_at(self.number)

    def __del__(self) -> None:
        number = getattr(self, "number", None)
        if number is not None:
            self._batches.give_back(number)


class DeviceHypotheses(ListHypotheses):
    """Answers about lists, many at once.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    """

    def __init__(self, tuning: ScoredCandidates) -> None:
        super().__init__(tuning)
        self._formula = formula_of(tuning.metric)
        self._meetings = Meetings()

    def __reduce__(self) -> tuple[Any, ...]:
        raise UsageError("a GPU is used by one process; drop --engine, or use --device cpu")

    @cached_property
    def _batches(self) -> Batches:
        return Batches(self.tuning)

    def _lines_of_row(self, row: int) -> Any:
        """Find nothing beforehand: the device does not need the extremes of rows."""
        del row

    # Points.

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        ((place, total),) = self._meetings.ask(self._evaluate, [weights])
        return self._made(weights, place, total)

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line, adding to the scores that are there."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        ((place, total),) = self._meetings.ask(self._move, [(point.cache, direction, step)])
        return self._made(weights, place, total)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two: all scores keep their digits."""
        (place,) = self._meetings.ask(self._rescale, [(point.cache, factor)])
        return Point(factor * point.weights, point.total, point.gain, place)

    def _made(self, weights: Floats, place: Place, total: Stats) -> Point:
        return Point(weights, total, float(self.metric.gain(total)), place)

    def _evaluate(self, many: Sequence[Floats]) -> Sequence[tuple[Place, Stats]]:
        places = [Place(self._batches) for _ in many]
        totals = self._batches.evaluate(np.array(many), [place.number for place in places])
        return list(zip(places, totals, strict=True))

    def _move(
        self, many: Sequence[tuple[Place, Direction, float]]
    ) -> Sequence[tuple[Place, Stats]]:
        batches = self._batches
        moves: list[Move] = []
        places = []
        for before, direction, step in many:
            row, factor = self._row(direction, [move.row for move in moves])
            places.append(Place(batches))
            moves.append(Move(before.number, row, step * factor, places[-1].number))
        return list(zip(places, batches.move(moves), strict=True))

    def _row(self, direction: Direction, busy: Sequence[int]) -> tuple[int, float]:
        """Return the row of a direction, and what a step along it is times."""
        if len(direction.features) == 1 and direction.features[0] < len(self._dense):
            # As on the processor: of a single feature the step is multiplied, not the values.
            feature = int(direction.features[0])
            return feature, float(direction.values[0])
        return self._batches.row_of(direction, busy), 1.0

    def _rescale(self, many: Sequence[tuple[Place, float]]) -> Sequence[Place]:
        places = [Place(self._batches) for _ in many]
        for (before, factor), after in zip(many, places, strict=True):
            self._batches.rescale(before.number, after.number, factor)
        return places

    # Lines.

    def best_intervals(
        self, lines: Sequence[Line], reaches: Sequence[float], limits: Sequence[tuple[float, float]]
    ) -> Sequence[Best] | None:
        """Return the best interval of each line, or None if the processor has to score.

        Parameters
        ----------
        reaches
            A step on each line that changes the weights by about their own size.
        limits
            Between which steps the intervals are cut.
        """
        if self._formula is None:
            return None
        return self._meetings.ask(self._best, list(zip(lines, reaches, limits, strict=True)))

    def _best(self, many: Sequence[tuple[Line, float, tuple[float, float]]]) -> Sequence[Best]:
        formula = self._formula
        assert formula is not None
        return self._in_parts(lambda ask: self._batches.best(ask, formula), many)

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow the winners along many lines on the device; ``work`` is the processor's."""
        everywhere = 1.0, (-np.inf, np.inf)
        followed = self._meetings.ask(self._follow, [(line, *everywhere) for line in lines])
        return [
            work(point, direction, Envelope(total, at, change))
            for (point, direction), (total, at, change) in zip(lines, followed, strict=True)
        ]

    def _follow(
        self, many: Sequence[tuple[Line, float, tuple[float, float]]]
    ) -> Sequence[tuple[Stats, Floats, Stats]]:
        return self._in_parts(self._batches.follow, many)

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners along a line through the point."""
        return self.map_envelopes(_as_it_is, [(point, direction)])[0]

    def _in_parts(
        self,
        answer: Callable[[Floats], list[R]],
        many: Sequence[tuple[Line, float, tuple[float, float]]],
    ) -> list[R]:
        """Answer as many lines at once as there is room for."""
        answers: list[R] = []
        size = self._batches.most_lines
        for k in range(0, len(many), size):
            rows: list[int] = []
            asks = []
            for (point, direction), reach, limits in many[k : k + size]:
                rows.append(self._batches.row_of(direction, rows))
                asks.append((point.cache.number, rows[-1], reach, *limits))
            answers += answer(np.array(asks, np.float64))
        return answers

    def side_by_side(
        self,
        work: Callable[..., R],
        pieces: Sequence[Any],
        *common: Any,
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Return ``[work(self, piece, *common)]``; what the pieces ask is answered in batches."""
        return self._meetings.hold(lambda piece: work(self, piece, *common), pieces, results)


def _as_it_is(point: Point, direction: Direction, envelope: Envelope) -> Envelope:
    del point, direction
    return envelope
