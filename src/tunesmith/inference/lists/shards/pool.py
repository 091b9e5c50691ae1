"""Shards in workers: asking all of them, and having a lost one read again."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.errors import TunesmithError
from tunesmith.inference.lists.shards.envelopes import PackedEnvelope
from tunesmith.inference.lists.shards.questions import FeatureNames, Points
from tunesmith.inference.lists.shards.shard import PartFacts, PartFile, ShardLayout, make_shard
from tunesmith.inference.lists.shards.whole import Whole
from tunesmith.parallel.engine import Actors, Engine, Lost

#: Workers that a shard may lose over one question.
LOSSES = 5


@dataclass
class Traffic:
    """What line searches have sent, so that a model of their cost can be compared with it.

    Attributes
    ----------
    lines
        Lines that were followed.
    breakpoints
        Where winners change along them, in all shards.
    bytes
        Of the arrays of their envelopes.
    """

    lines: int = 0
    breakpoints: int = 0
    bytes: int = 0

    def count(self, envelopes: Sequence[Sequence[PackedEnvelope]]) -> None:
        """Count the envelopes of some lines, those of each shard together."""
        self.lines += len(envelopes[0])
        for of_shard in envelopes:
            self.breakpoints += sum(len(envelope.at) for envelope in of_shard)
            self.bytes += sum(envelope.nbytes for envelope in of_shard)


class Shards:
    """The shards of a set, in the order of their groups.

    A shard is lost with its worker. It is read again by another one then, and what it knew is
    restored: all of that follows from what was asked, so the bits are the same.

    Parameters
    ----------
    engine
        Whose workers hold them; the caller closes it.
    parts
        What they read.
    """

    def __init__(self, engine: Engine, parts: Sequence[PartFile]) -> None:
        self._lock = threading.RLock()
        self._parts = list(parts)
        self._layouts: list[ShardLayout | None] = [None] * len(parts)
        self._losses: Counter[int] = Counter()
        self._is_restoring = False
        self._points: dict[FeatureNames, Points] = {}
        self.traffic = Traffic()
        seeds = [(part, None) for part in parts]
        self._actors: Actors = engine.actors(make_shard, None, seeds)
        try:
            facts: list[PartFacts] = self._ask_all("facts")
            self.whole = Whole.of(facts, parts)
            #: The numbers of the parts, in the order of their groups.
            self.order = self.whole.order
            self.nonzero = self._arrange()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._parts)

    def close(self) -> None:
        """Let go of all shards."""
        self._actors.close()

    def _arrange(self) -> Ints:
        """Have all shards store features as the whole set would.

        Returns on how many candidates each sparse feature fires.
        """
        whole = self.whole
        names = whole.dense_names, whole.sparse_names
        nonzero: Ints = np.sum(self._ask_all("nonzero", *names), axis=0)
        first = 0
        for number in self.order:
            self._layouts[number] = ShardLayout(*names, nonzero, whole.candidates, first)
            self.ask_one(number, "arrange", self._layouts[number])
            first += whole.facts[number].groups
        return nonzero

    def points(self, selection: FeatureNames) -> Points:
        """Return the points that shards know, with some of the features."""
        return self._points.setdefault(selection, Points(self.ask, selection))

    # Asking.

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Return what all shards answer, in the order of their groups."""
        answers = self._ask_all(method, *arguments)
        return [answers[number] for number in self.order]

    def _ask_all(self, method: str, *arguments: Any) -> list[Any]:
        answers = self._ask_each(dict.fromkeys(range(len(self)), arguments), method)
        return [answers[number] for number in range(len(self))]

    def ask_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what all shards answer to arguments of their own, in the order of their groups."""
        answers = self._ask_each(dict(zip(self.order, arguments, strict=True)), method)
        return [answers[number] for number in self.order]

    def ask_one(self, number: int, method: str, *arguments: Any) -> Any:
        """Return what one shard answers, by the number of its part."""
        return self._ask_each({number: arguments}, method)[number]

    def _ask_each(self, arguments: dict[int, tuple[Any, ...]], method: str) -> dict[int, Any]:
        """Ask some shards at once; those that are lost are read again, and asked again."""
        with self._lock:
            answers: dict[int, Any] = {}
            todo = dict(arguments)
            while todo:
                lost = self._call(todo, method, answers)
                for number, why in lost.items():
                    self._losses[number] += 1
                    if self._losses[number] > LOSSES:
                        raise TunesmithError(
                            f"{self._parts[number].path}: its worker was lost again and again "
                            f"({why}); give each more memory or time, or make smaller parts"
                        )
                    self._restore(number)
                todo = {number: todo[number] for number in lost}
            # That a shard was restored says nothing of the question that it was lost over.
            if not self._is_restoring:
                self._losses.clear()
            return answers

    def _call(
        self, arguments: dict[int, tuple[Any, ...]], method: str, answers: dict[int, Any]
    ) -> dict[int, str]:
        """Call a method of some shards; return those that are lost, and why."""
        lost: dict[int, str] = {}
        self._actors.ignore_answers()  # an error or an interrupt may have left some
        for number, values in arguments.items():
            self._actors.call(number, method, *values)
        for _ in arguments:
            answer = self._actors.wait()
            if isinstance(answer, Lost):
                lost[answer.actor] = answer.why
            else:
                answers[answer.actor] = answer.value
        return lost

    def _restore(self, number: int) -> None:
        """Have a lost shard read again, and make the points again that it knew."""
        was_restoring, self._is_restoring = self._is_restoring, True
        try:
            self._actors.replace(number, (self._parts[number], self._layouts[number]))
            if self._layouts[number] is not None:
                self._check_files(number)
            for points in self._points.values():
                points.restore(functools.partial(self.ask_one, number))
        finally:
            self._is_restoring = was_restoring

    def _check_files(self, number: int) -> None:
        """Raise an error if a part is not what it was when it was first read."""
        facts: PartFacts = self.ask_one(number, "facts")
        if facts.files != self.whole.facts[number].files:
            raise TunesmithError(
                f"{self._parts[number].path}: it or its references have changed since they were "
                "first read; run the command again"
            )
