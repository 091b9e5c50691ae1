"""What shards are asked about points: how each is made, and which are needed no more."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.inference.hypotheses import Direction


@dataclass(frozen=True)
class FeatureNames:
    """Which features take part, by their names; None is all of them."""

    names: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Evaluate weights from scratch."""

    weights: Floats


@dataclass(frozen=True, eq=False)
class StepRequest:
    """Take a step along a line from a point."""

    before: Any
    direction: Direction
    step: float


@dataclass(frozen=True, eq=False)
class Scale:
    """Multiply the weights of a point by a power of two."""

    before: Any
    factor: float


#: How a point is made.
Making: TypeAlias = Evaluate | StepRequest | Scale


@dataclass(frozen=True, eq=False)
class Record:
    """How a point was made: with the records of those before it, that is all there is to know.

    Attributes
    ----------
    number
        What shards call it.
    making
        How it was made; ``before`` is a record.
    """

    number: int
    making: Making

    @property
    def before(self) -> Record | None:
        """The point that it was made of, if there is one."""
        before: Record | None = getattr(self.making, "before", None)
        return before

    def message(self) -> tuple[int, Making]:
        """Return its number, and how it is made, for a shard; ``before`` is a number there."""
        match self.making:
            case StepRequest(before, direction, step):
                return self.number, StepRequest(before.number, direction, step)
            case Scale(before, factor):
                return self.number, Scale(before.number, factor)
        return self.number, self.making


class ShardPoint:
    """Where shards have the scores and winners of a point, while somebody has the point."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @property
    def number(self) -> int:
        """What shards call it."""
        return self.record.number


class Points:
    """The points that shards know, with some of the features.

    Parameters
    ----------
    ask
        Asks all shards: with the name of a method and its arguments.
    selection
        The features.
    """

    def __init__(self, ask: Callable[..., list[Any]], selection: FeatureNames) -> None:
        self._ask, self._selection = ask, selection
        self._numbers: Iterator[int] = itertools.count()
        self._places: weakref.WeakValueDictionary[int, ShardPoint] = weakref.WeakValueDictionary()
        self._known: set[int] = set()

    def make(self, many: Sequence[Making]) -> Sequence[tuple[ShardPoint, Stats]]:
        """Make points; return them with the sums of the winners' statistics."""
        # Points no longer in use are dropped with the next message.
        dropped = sorted(self._known.difference(self._places.keys()))
        places = [ShardPoint(Record(next(self._numbers), making)) for making in many]
        self._known.difference_update(dropped)
        self._known.update(place.number for place in places)
        messages = [place.record.message() for place in places]
        answers = self._ask("make", self._selection, messages, dropped)
        self._places.update({place.number: place for place in places})
        totals = [np.sum(of_shards, axis=0) for of_shards in zip(*answers, strict=True)]
        return list(zip(places, totals, strict=True))

    def restore(self, ask: Callable[..., Any]) -> None:
        """Have a shard make all points in use again, as they were made."""
        used = [place.record for place in list(self._places.values())]
        needed: dict[int, Record] = {}
        for last in used:
            record: Record | None = last
            while record is not None and record.number not in needed:
                needed[record.number] = record
                record = record.before
        if needed:
            in_use = {record.number for record in used}
            # What a point is made of comes before it, and goes as soon as no other needs it.
            last_use = {
                record.before.number: number
                for number, record in sorted(needed.items())
                if record.before is not None and record.before.number not in in_use
            }
            steps = [
                (needed[number].message(), [n for n, user in last_use.items() if user == number])
                for number in sorted(needed)
            ]
            ask("remake", self._selection, steps)
