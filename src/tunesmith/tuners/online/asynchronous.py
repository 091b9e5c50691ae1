"""Learners that send each other working sets: Algorithm 4 of "Hope and fear".

Each learner takes the next sentence, and solves its problem together with the working sets that
others have sent since its last one. It has weights, rates and a document of its own.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tuners.online.crew import Crew
from tunesmith.tuners.online.learned import Student
from tunesmith.tuners.online.lessons import Course

#: The arrays of a working set, and what they are made of.
ARRAYS = {"losses": np.float64, "start": np.int64, "features": np.int32, "values": np.float64}


class Exchange:
    """What learners have sent each other and have not read yet.

    Working sets wait in a queue for each learner. Of a full queue the oldest is dropped, so that a
    slow learner has neither everything to read nor all memory, and nobody waits for it.

    Parameters
    ----------
    learners
        How many there are.
    clock
        ``lockstep``: all take a sentence, and what they send is read with the next ones. What is
        learnt depends on no clock then. ``free``: whoever is ready takes the next sentence.
    inbox
        How many sets wait for a learner at most.
    """

    def __init__(self, learners: int, clock: str, inbox: int) -> None:
        self._clock = clock
        self._inbox = inbox
        self._queues: list[deque[SharedSet]] = [deque() for _ in range(learners)]
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._counts = {"sets_sent": 0, "sets_dropped": 0, "bytes_sent": 0, "bytes_received": 0}

    def epoch(
        self, course: Course, students: Sequence[Student], order: Ints, epoch: int
    ) -> dict[str, Any]:
        """Have all sentences learnt from; return what the history says of it.

        Parameters
        ----------
        course
            What is learnt from.
        students
            The learners' states.
        order : int64[S]
            The sentences.
        epoch
            Its number.
        """
        self._begin_epoch()
        with Crew(course, students, order, epoch) as crew:
            learn = self._in_step if self._clock == "lockstep" else self._at_will
            learn(crew, order.tolist())
            crew.check()
        return {**self._counts, "learners_replaced": crew.replaced}

    def _in_step(self, crew: Crew, groups: list[int]) -> None:
        """Let all learners take a sentence, again and again."""
        count = len(self._queues)
        for first in range(0, len(groups), count):
            now = groups[first : first + count]
            for k, group in enumerate(now):
                self._ask(crew, k, group)
            sets: list[SharedSet | None] = [None] * count
            for _ in now:
                k, (step,) = crew.next()
                sets[k] = step.sent
            self._count(sets)
            # Those after a learner come before those before it: no one's sets are always the first
            # to be dropped.
            for k in range(count):
                self._put(k, [*sets[k + 1 :], *sets[:k]])

    def _at_will(self, crew: Crew, groups: list[int]) -> None:
        """Let whoever is ready take the next sentence."""
        rest = iter(groups)
        at_work = 0
        for k, group in zip(range(len(self._queues)), rest, strict=False):
            self._ask(crew, k, group)
            at_work += 1
        while at_work:
            k, (step,) = crew.next()
            self._count([step.sent])
            for other in range(len(self._queues)):
                if other != k:
                    self._put(other, [step.sent])
            at_work -= 1
            for group in itertools.islice(rest, 1):
                self._ask(crew, k, group)
                at_work += 1

    def _ask(self, crew: Crew, k: int, group: int) -> None:
        """Give a learner a sentence, with all that waits for it."""
        received = tuple(self._queues[k])
        self._queues[k].clear()
        self._counts["bytes_received"] += sum(one.bytes for one in received)
        crew.ask(k, [group], received)

    def _put(self, k: int, sets: Sequence[SharedSet | None]) -> None:
        """Let sets wait for a learner."""
        queue = self._queues[k]
        queue.extend(one for one in sets if one is not None)
        while len(queue) > self._inbox:
            queue.popleft()
            self._counts["sets_dropped"] += 1

    def _count(self, sets: Sequence[SharedSet | None]) -> None:
        """Count what is sent."""
        there = [one for one in sets if one is not None]
        self._counts["sets_sent"] += len(there)
        self._counts["bytes_sent"] += sum(one.bytes for one in there)

    def memory(self) -> dict[str, Any]:
        """Return as JSON what has not been read yet; a set that several wait for is there once."""
        sets = {id(one): one for queue in self._queues for one in queue}
        places = {key: place for place, key in enumerate(sets)}
        return {
            "sets": [
                {name: getattr(one, name).tolist() for name in ARRAYS} for one in sets.values()
            ],
            "queues": [[places[id(one)] for one in queue] for queue in self._queues],
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what :meth:`memory` returned."""
        sets = [
            SharedSet(**{name: np.array(one[name], kind) for name, kind in ARRAYS.items()})
            for one in memory.get("sets", ())
        ]
        for queue, places in zip(self._queues, memory.get("queues", ()), strict=False):
            queue.clear()
            queue.extend(sets[place] for place in places)
