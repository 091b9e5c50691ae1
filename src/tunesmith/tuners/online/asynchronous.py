"""Asynchronous MIRA, AROW and SGD: section 6.2 and Algorithm 4 of "Hope and fear".

Each learner takes the next sentence, and solves its problem together with the working sets that
others have broadcast since its last one. It has weights, rates and a document of its own. What
learners of SGD broadcast are updates, as working sets with one member and no loss.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tuners.online.learner import OnlineLearner, TrainingSetup
from tunesmith.tuners.online.pool import LearnerPool

#: The arrays of a working set, and their types.
ARRAYS = {"losses": np.float64, "start": np.int64, "features": np.int32, "values": np.float64}


class Exchange:
    """Epochs of asynchronous learners, and the working sets that they have not read yet.

    Working sets wait in a queue for each learner. When it is full the oldest is dropped, so that
    memory is bounded and nobody waits for a slow learner; updates are never dropped.

    Parameters
    ----------
    learners
        How many there are.
    clock
        ``lockstep``: all learners take a sentence, and read what the others have sent with the
        next one, so that results can be reproduced. ``free``: whoever is ready takes the next
        sentence.
    inbox
        The size of each queue; None for any.
    """

    def __init__(self, learners: int, clock: str, inbox: int | None) -> None:
        self._clock = clock
        self._queues: list[deque[SharedSet]] = [deque(maxlen=inbox) for _ in range(learners)]
        self._counts: dict[str, int] = {}

    def epoch(
        self, setup: TrainingSetup, learners: Sequence[OnlineLearner], order: Ints, epoch: int
    ) -> dict[str, Any]:
        """Learn from the sentences in this order [S]; return what the history says of it."""
        keys = ("sets_sent", "sets_dropped", "bytes_sent", "bytes_received")
        self._counts = dict.fromkeys(keys, 0)
        with LearnerPool(setup, learners, order, epoch) as pool:
            run = self._run_lockstep if self._clock == "lockstep" else self._run_free
            run(pool, order.tolist())
        return {**self._counts, "learners_replaced": pool.replaced}

    def _run_lockstep(self, pool: LearnerPool, groups: list[int]) -> None:
        """Let all learners take a sentence each, again and again."""
        count = len(self._queues)
        for first in range(0, len(groups), count):
            batch = groups[first : first + count]
            for k, group in enumerate(batch):
                self._ask(pool, k, group)
            sets: list[SharedSet | None] = [None] * count
            for _ in batch:
                k, sets[k] = self._next(pool)
            # Each learner receives those of its successors first: otherwise the same learners'
            # sets would always be the first to be dropped.
            for k in range(count):
                for shared in [*sets[k + 1 :], *sets[:k]]:
                    self._put(k, shared)

    def _run_free(self, pool: LearnerPool, groups: list[int]) -> None:
        """Let whoever is ready take the next sentence."""
        count = len(self._queues)
        for k, group in enumerate(groups[:count]):
            self._ask(pool, k, group)
        for place in range(count, count + len(groups)):
            k, shared = self._next(pool)
            for other in range(count):
                if other != k:
                    self._put(other, shared)
            if place < len(groups):
                self._ask(pool, k, groups[place])

    def _ask(self, pool: LearnerPool, k: int, group: int) -> None:
        """Give a learner a sentence, with all sets that wait for it."""
        received = tuple(self._queues[k])
        self._queues[k].clear()
        self._counts["bytes_received"] += sum(shared.bytes for shared in received)
        pool.ask(k, [group], received)

    def _next(self, pool: LearnerPool) -> tuple[int, SharedSet | None]:
        """Wait for the next learner; return its number and what it broadcasts."""
        k, (step,) = pool.next()
        shared = step.update.working_set
        if shared is not None:
            self._counts["sets_sent"] += 1
            self._counts["bytes_sent"] += shared.bytes
        return k, shared

    def _put(self, k: int, shared: SharedSet | None) -> None:
        """Put a set into the queue of a learner."""
        if shared is not None:
            queue = self._queues[k]
            self._counts["sets_dropped"] += len(queue) == queue.maxlen
            queue.append(shared)

    def memory(self) -> dict[str, Any]:
        """Return as JSON what has not been read yet; a set that several wait for is there once."""
        sets = {id(shared): shared for queue in self._queues for shared in queue}
        places = {key: place for place, key in enumerate(sets)}
        return {
            "sets": [
                {name: getattr(shared, name).tolist() for name in ARRAYS}
                for shared in sets.values()
            ],
            "queues": [[places[id(shared)] for shared in queue] for queue in self._queues],
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what :meth:`memory` returned."""
        sets = [
            SharedSet(**{name: np.array(arrays[name], kind) for name, kind in ARRAYS.items()})
            for arrays in memory.get("sets", ())
        ]
        for queue, places in zip(self._queues, memory.get("queues", ()), strict=False):
            queue.clear()
            queue.extend(sets[place] for place in places)
