"""Learners that live with workers; those whose worker is lost are replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.errors import TunesmithError
from tunesmith.parallel.engine import Actors, Lost, current_engine
from tunesmith.parallel.local import thread_count
from tunesmith.parallel.threads import ThreadActors
from tunesmith.progress import progress
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tuners.online.learner import LearnerStep, OnlineLearner, Snapshot, TrainingSetup

#: A sentence over which this many learners were lost is given out while nobody else works; after
#: this many more losses the run fails.
LOSSES, ALONE = 3, 2
#: How many sentences a learner is given at once, and how many one by one after it was lost.
SENTENCES, CAREFUL = 1024, 64


class LearnerPool:
    """The learners of one epoch, as a context.

    Each step that a learner takes with its worker is applied to its copy here. When a worker is
    lost, another learner continues from that copy, with the sentence that was not done: no step
    is applied twice, and none is left out.

    Parameters
    ----------
    setup
        What the learners share.
    learners
        The copies here.
    order : int64[S]
        The sentences of the epoch.
    epoch
        Its number.

    Attributes
    ----------
    replaced
        How many learners were lost.
    """

    def __init__(
        self, setup: TrainingSetup, learners: Sequence[OnlineLearner], order: Ints, epoch: int
    ) -> None:
        self.replaced = 0
        self._learners = learners
        self._epoch = epoch
        self._is_live = setup.tuning.is_live
        self._times = np.zeros(len(order), np.int64)
        self._done = 0
        self._asked: list[tuple[list[int], Sequence[SharedSet]]] = [([], ())] * len(learners)
        self._careful = [0] * len(learners)
        self._losses: Counter[int] = Counter()
        self._at_work: set[int] = set()
        self._ready: list[int] = []
        self._suspects: list[int] = []
        self._actors = _actors(setup, [learner.snapshot() for learner in learners])

    def __enter__(self) -> LearnerPool:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._actors.close()
        wrong = np.flatnonzero(self._times != 1)
        if error is None and len(wrong):
            times = self._times[wrong[0]]
            raise AssertionError(f"sentence {wrong[0] + 1} was learnt from {times} times")

    def ask(self, k: int, groups: Sequence[int], received: Sequence[SharedSet] = ()) -> None:
        """Give learner k the first few of these sentences."""
        most = 1 if self._careful[k] > 0 else SENTENCES
        self._asked[k] = list(groups[:most]), received
        self._ready.append(k)

    def next(self) -> tuple[int, list[LearnerStep]]:
        """Wait for the next learner; return its number and its steps, at least one."""
        while True:
            self._call()
            answer = self._actors.wait()
            self._at_work.discard(answer.actor)
            if not isinstance(answer, Lost):
                break
            self._replace(answer)
        k, steps = answer.actor, answer.value
        if k in self._suspects:
            self._suspects.remove(k)
        self._apply(k, steps)
        return k, steps

    def _call(self) -> None:
        """Call those that are ready; a suspect when nobody else is at work."""
        now = self._ready
        if self._suspects:
            now = [] if self._at_work else self._suspects[:1]
        for k in now:
            groups, received = self._asked[k]
            self._actors.call(k, "learn", groups, self._epoch, received)
        self._at_work.update(now)
        if now is self._ready:
            self._ready = []

    def _apply(self, k: int, steps: Sequence[LearnerStep]) -> None:
        """Apply a learner's steps to its copy."""
        expected = self._asked[k][0][: max(1, len(steps))]
        if [step.group for step in steps] != expected:
            raise AssertionError(f"learner {k} has not learnt from what it was given")
        self._careful[k] = max(0, self._careful[k] - len(steps))
        for step in steps:
            self._learners[k].apply(step)
            self._times[step.group] += 1
        self._done += len(steps)
        if self._is_live:
            progress("sentences", self._done, len(self._times))

    def _replace(self, lost: Lost) -> None:
        """Replace a learner that was lost, to be asked again.

        All learners of a worker are lost with it. One that is lost again and again is asked
        alone, so that it is known which sentence is to blame.
        """
        k = lost.actor
        groups, received = self._asked[k]
        self.replaced += 1
        self._losses[groups[0]] += 1
        if self._losses[groups[0]] >= LOSSES + ALONE:
            raise TunesmithError(
                f"sentence {groups[0] + 1}: {LOSSES + ALONE} learners were lost over it, the last "
                f"because {lost.why}; look at that sentence, give workers more memory, or raise "
                "--worker-timeout"
            )
        self._careful[k] = CAREFUL
        self._asked[k] = groups[:1], received
        self._actors.replace(k, self._learners[k].snapshot())
        if k not in self._suspects:
            is_suspect = self._losses[groups[0]] >= LOSSES
            (self._suspects if is_suspect else self._ready).append(k)


def _actors(setup: TrainingSetup, snapshots: Sequence[Snapshot]) -> Actors:
    """Return a learner for each snapshot.

    If a decoder cannot be sent to the workers of an engine, learners live in threads here. They
    take turns where threads cannot share it.
    """
    engine = current_engine()
    tuning = setup.tuning
    if engine.name != "threads" and tuning.is_portable:
        return engine.actors(_restore, setup.data(), snapshots)
    count = thread_count() if tuning.is_thread_safe else 1
    return ThreadActors(_restore, setup.data(), snapshots, count)


def _restore(data: tuple[TrainingSetup, Any], snapshot: Snapshot) -> OnlineLearner:
    """Make a learner, with its worker."""
    setup, large = data
    return OnlineLearner.restore(setup.with_large(large), snapshot)
