"""Learners that live with workers, and what they have learnt, which is known here as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.errors import TunesmithError
from tunesmith.parallel.engine import Engine, Lost, current_engine
from tunesmith.parallel.threads import ThreadActors
from tunesmith.progress import progress
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.live import LiveTuning
from tunesmith.tuners.online.learned import Step, Student
from tunesmith.tuners.online.lessons import Course, Pupil

#: After so many losses over a sentence it is given out while nobody else works; if learners are
#: lost then as well, so many, not again.
LOSSES, ALONE = 3, 2
#: How many sentences a learner is given at once, and how many one by one after it was lost.
SENTENCES, CAREFUL = 1024, 64


class Crew:
    """The learners of one epoch.

    Each step that a learner has taken is taken here as well, by a copy of its state. What a
    learner knew that is lost is therefore known: another one goes on from there, with the
    sentence that was not done. No step is taken twice, and none is left out.

    Parameters
    ----------
    course
        What they learn from.
    students
        Their states, which go on with every answer.
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
        self, course: Course, students: Sequence[Student], order: Ints, epoch: int
    ) -> None:
        self.students = students
        self.replaced = 0
        self._course = course
        self._epoch = epoch
        self._taken = np.zeros(len(order), np.int64)
        self._done = 0
        self._asked: list[tuple[list[int], Sequence[SharedSet]]] = [([], ())] * len(students)
        self._careful = [0] * len(students)
        self._losses: Counter[int] = Counter()
        self._at_work: set[int] = set()
        self._ready: list[int] = []
        self._suspects: list[int] = []
        seeds = [student.seed() for student in students]
        self._actors = _actors(current_engine(), course, seeds)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._actors.close()

    def ask(self, k: int, groups: Sequence[int], received: Sequence[SharedSet] = ()) -> None:
        """Give a learner the next of its sentences: some of those that are given."""
        most = 1 if self._careful[k] > 0 else SENTENCES
        self._asked[k] = list(groups[:most]), received
        self._ready.append(k)

    def next(self) -> tuple[int, list[Step]]:
        """Wait for the next learner; return the steps that it has taken, at least one."""
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
        self._take(k, steps)
        return k, steps

    def _call(self) -> None:
        """Let those begin who are ready; a suspect when nobody else is at work."""
        now = self._ready
        if self._suspects:
            now = [] if self._at_work else self._suspects[:1]
        for k in now:
            groups, received = self._asked[k]
            self._actors.call(k, "learn", groups, self._epoch, received)
        self._at_work.update(now)
        if now is self._ready:
            self._ready = []

    def _take(self, k: int, steps: Sequence[Step]) -> None:
        """Do here what a learner has done."""
        wanted = self._asked[k][0][: max(1, len(steps))]
        if [step.group for step in steps] != wanted:
            raise AssertionError(f"learner {k} has not learnt from what it was given")
        self._careful[k] = max(0, self._careful[k] - len(steps))
        for step in steps:
            self.students[k].take(step)
            self._taken[step.group] += 1
        self._done += len(steps)
        if isinstance(self._course.tuning, LiveTuning):
            progress("sentences", self._done, len(self._taken))

    def _replace(self, lost: Lost) -> None:
        """Have the learner made anew that was lost, to be asked again.

        All learners of a worker are lost with it. Whoever is lost again and again is asked alone,
        so that it is known which sentence it was.
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
        self._actors.replace(k, self.students[k].seed())
        if k not in self._suspects:
            is_suspect = self._losses[groups[0]] >= LOSSES
            (self._suspects if is_suspect else self._ready).append(k)

    def check(self) -> None:
        """Raise an error if not every sentence was learnt from once."""
        wrong = np.flatnonzero(self._taken != 1)
        if len(wrong):
            times = self._taken[wrong[0]]
            raise AssertionError(f"sentence {wrong[0] + 1} was learnt from {times} times")


def _actors(engine: Engine, course: Course, seeds: Sequence[Any]) -> Any:
    """Return a learner for each seed.

    A decoder that cannot be sent elsewhere, or that threads cannot share, has learners here, one
    of which works at a time.
    """
    if isinstance(course.tuning, LiveTuning):
        is_portable = getattr(course.tuning.source, "is_portable", False)
        if engine.name == "threads" or not is_portable:
            return ThreadActors(Pupil, course.data, seeds, 1)
    return engine.actors(Pupil, course.data, seeds)
