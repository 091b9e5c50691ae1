"""Hypotheses on n-best lists whose points and lines are a GPU's work.

What line searches and gradients ask is answered there; spreads and axes are those of the processor,
which gets the scores of a point when they are asked.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, MutableMapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction, Envelope, Expectation, Line, Point
from tunesmith.inference.lists.device.batches import Batches, BestInterval, Move
from tunesmith.inference.lists.device.compiling import AS_IT_IS
from tunesmith.inference.lists.device.formulas import formula_of
from tunesmith.inference.lists.expectation import FEW, LIKELY
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.inference.meeting import Meetings
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.parallel.device import say_that_a_gpu_searches

P = ParamSpec("P")
R = TypeVar("R")

#: The last set that was sent to the device; it leaves when another is, or nobody has it any more.
_uploaded: WeakKeyDictionary[ScoredCandidates, Batches] = WeakKeyDictionary()
#: Sets have arrays that all their hypotheses share, so one question is answered at a time.
_alone = threading.RLock()


def one_at_a_time(answer: Callable[P, R]) -> Callable[P, R]:
    """Let no two threads be in the functions that this decorates."""

    @functools.wraps(answer)
    def locked(*arguments: P.args, **options: P.kwargs) -> R:
        with _alone:
            return answer(*arguments, **options)

    return locked


class Place:
    """Where the device has the scores and winners of a point, while somebody has the point."""

    @one_at_a_time
    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self.number = batches.take_place()

    @cached_property
    @one_at_a_time
    def scores(self) -> Floats:
        """The scores, on the processor."""
        return self._batches.scores_at(self.number)

    @cached_property
    @one_at_a_time
    def winners(self) -> Ints:
        """The winners, on the processor."""
        return self._batches.winners_at(self.number)

    def __del__(self) -> None:
        number = getattr(self, "number", None)
        if number is not None:
            self._batches.give_back(number)


#: A line, a step on it that changes the weights by about their size, limits, and where to put the
#: point in the middle of the best interval.
Question = tuple[Line, float, tuple[float, float], Place | None]


class _Ahead(NamedTuple):
    """A step that was taken on the device before anybody asked for it."""

    before: Place
    direction: Direction
    step: float
    after: Place
    total: Stats


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
        self._here = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        raise UsageError("a GPU is used by one process; drop --engine, or use --device cpu")

    @cached_property
    @one_at_a_time
    def _batches(self) -> Batches:
        batches = _uploaded.get(self.tuning)
        if batches is None:
            say_that_a_gpu_searches()
            _uploaded.clear()
            batches = _uploaded[self.tuning] = Batches(self.tuning)
        return batches

    # Points.

    def point(self, weights: Floats) -> Point:
        """Evaluate weights from scratch."""
        ((place, total),) = self._meetings.ask(self._evaluate, [weights])
        return self._made(weights, place, total)

    def move(self, point: Point, direction: Direction, step: float) -> Point:
        """Evaluate weights on a line, adding to the scores that are there."""
        weights = point.weights.copy()
        weights[direction.features] += step * direction.values
        ahead: _Ahead | None = getattr(self._here, "ahead", None)
        if (
            ahead is not None
            and ahead.before is point.cache
            and ahead.direction is direction
            and ahead.step == step
        ):
            self._here.ahead = None
            return self._made(weights, ahead.after, ahead.total)
        ((place, total),) = self._meetings.ask(self._move, [(point.cache, direction, step)])
        return self._made(weights, place, total)

    def scaled(self, point: Point, factor: float) -> Point:
        """Evaluate weights times a power of two: all scores keep their digits."""
        (place,) = self._meetings.ask(self._rescale, [(point.cache, factor)])
        return Point(factor * point.weights, point.total, point.gain, place)

    def _made(self, weights: Floats, place: Place, total: Stats) -> Point:
        return Point(weights, total, float(self.metric.gain(total)), place)

    @one_at_a_time
    def _evaluate(self, many: Sequence[Floats]) -> Sequence[tuple[Place, Stats]]:
        places = [Place(self._batches) for _ in many]
        totals = self._batches.evaluate(np.array(many), [place.number for place in places])
        return list(zip(places, totals, strict=True))

    @one_at_a_time
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
        if len(direction.features) == 1 and direction.features[0] < len(self.features.dense):
            # As on the processor: of a single feature the step is multiplied, not the values.
            feature = int(direction.features[0])
            return feature, float(direction.values[0])
        if len(direction.features) == 1:
            unit = Direction(direction.features, np.ones(1), direction.label)
            return self._batches.row_of(unit, busy), float(direction.values[0])
        return self._batches.row_of(direction, busy), 1.0

    @one_at_a_time
    def _rescale(self, many: Sequence[tuple[Place, float]]) -> Sequence[Place]:
        places = [Place(self._batches) for _ in many]
        self._batches.rescale(
            [
                Move(before.number, int(AS_IT_IS), factor, after.number)
                for (before, factor), after in zip(many, places, strict=True)
            ]
        )
        return places

    # Lines.

    def best_intervals(
        self, lines: Sequence[Line], reaches: Sequence[float], limits: Sequence[tuple[float, float]]
    ) -> Sequence[BestInterval] | None:
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
        self._here.ahead = None
        # A search of one line is mostly followed by the step to where it leads: so that is taken
        # at once.
        after = Place(self._batches) if len(lines) == 1 else None
        questions = [
            (line, reach, limit, after)
            for line, reach, limit in zip(lines, reaches, limits, strict=True)
        ]
        answers: Sequence[BestInterval] = self._meetings.ask(self._best, questions)
        if after is not None and answers[0].number >= 0:
            (point, direction), best = lines[0], answers[0]
            step = 0.5 * (best.low + best.high)
            self._here.ahead = _Ahead(point.cache, direction, step, after, best.moved)
        return answers

    @one_at_a_time
    def _best(self, many: Sequence[Question]) -> Sequence[BestInterval]:
        formula = self._formula
        assert formula is not None
        return self._in_parts(lambda ask: self._batches.best(ask, formula), many)

    def map_envelopes(
        self, work: Callable[[Point, Direction, Envelope], R], lines: Sequence[Line]
    ) -> list[R]:
        """Follow the winners along many lines on the device; ``work`` is the processor's."""
        everywhere = 1.0, (-np.inf, np.inf)
        followed = self._meetings.ask(self._follow, [(line, *everywhere, None) for line in lines])
        return [
            work(point, direction, Envelope(total, at, change))
            for (point, direction), (total, at, change) in zip(lines, followed, strict=True)
        ]

    @one_at_a_time
    def _follow(self, many: Sequence[Question]) -> Sequence[tuple[Stats, Floats, Stats]]:
        return self._in_parts(self._batches.follow, many)

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners along a line through the point."""
        return self.map_envelopes(_as_it_is, [(point, direction)])[0]

    def _in_parts(
        self,
        answer: Callable[[Floats], list[R]],
        many: Sequence[Question],
    ) -> list[R]:
        """Answer as many lines at once as there is room for."""
        answers: list[R] = []
        batches, asks, rows = self._batches, [], []  # type: Batches, list[Any], list[int]
        for (point, direction), reach, limits, after in many:
            row = batches.row_of(direction, rows)
            rows.append(row)
            row_of_step, factor = -1, 1.0
            if after is not None:
                row_of_step, factor = self._row(direction, rows)
                rows.append(row_of_step)
            place = -1 if after is None else after.number
            asks.append((point.cache.number, row, reach, *limits, place, row_of_step, factor))
            if len(asks) == batches.most_lines or batches.is_full(rows):
                answers += answer(np.array(asks, np.float64))
                asks, rows = [], []
        return answers + answer(np.array(asks, np.float64)) if asks else answers

    # Distributions.

    def deviation(self, point: Point) -> float:
        """Return the pooled standard deviation of the scores within groups."""
        (result,) = self._meetings.ask(self._deviation, [point.cache])
        return float(result)

    @one_at_a_time
    def _deviation(self, many: Sequence[Place]) -> Sequence[float]:
        return [self._batches.deviation(place.number) for place in many]

    def expected(self, points: Sequence[Point], sharpness: Sequence[float]) -> list[Expectation]:
        """Return expected gains and their gradients: see :meth:`ListHypotheses.expected`."""
        places = [point.cache for point in points]
        return list(self._meetings.ask(self._expect, list(zip(places, sharpness, strict=True))))

    @one_at_a_time
    def _expect(self, many: Sequence[tuple[Place, float]]) -> Sequence[Expectation]:
        batches, expectations = self._batches, []
        values = Place(batches)
        for scores, sharp in many:
            chances = Place(batches)
            total, count, empty = batches.distribute(scores.number, chances.number, sharp, LIKELY)
            gradient, variance = batches.moments(
                chances.number, values.number, self.metric.slope(total), sharp
            )
            # Where the likely candidates are few, covariances are those of these few.
            is_few = count <= FEW * self.features.candidates and not empty
            expectations.append(
                Expectation(
                    sharp,
                    float(self.metric.gain(total)),
                    gradient,
                    (variance / self.groups) ** 0.5,
                    (chances, LIKELY if is_few else -1.0),
                )
            )
        return expectations

    def covariance(self, expectations: Sequence[Expectation], vectors: Floats) -> Floats:
        """Return covariances times vectors [B, D]: see :meth:`ListHypotheses.covariance`."""
        caches = [expectation.cache for expectation in expectations]
        return np.array(
            self._meetings.ask(self._covariance, list(zip(caches, vectors, strict=True)))
        )

    @one_at_a_time
    def _covariance(self, many: Sequence[tuple[tuple[Place, float], Floats]]) -> Sequence[Floats]:
        values = Place(self._batches)
        return [
            self._batches.covariance(chances.number, values.number, vector, least)
            for (chances, least), vector in many
        ]

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
