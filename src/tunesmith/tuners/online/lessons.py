"""What a tuner makes of a sentence, and those who learn from it wherever they live."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.forests import Forests
from tunesmith.inference.examples import Derivation, Example, Examples
from tunesmith.metrics.base import Metric
from tunesmith.metrics.candidate_scorer import Worth
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.progress import unseen
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.base import Task
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.online.learned import Change, Learned, Seed, Step, Student, copied

#: For so many seconds a learner works before it says what it has done.
PATIENCE = 0.2


class Found(NamedTuple):
    """What a sentence teaches; see :class:`Step`."""

    change: Change | None
    told: float = 0.0
    sent: SharedSet | None = None


#: Finds what a sentence teaches: of its example, its 1-best, what has been learnt, the number of
#: the epoch, and the working sets that other learners have sent.
Lesson: TypeAlias = Callable[[Example, Derivation, Learned, int, Sequence[SharedSet]], Found]


class Lessons(ABC):
    """How a tuner learns from a sentence; it can be sent to other processes.

    Attributes
    ----------
    average
        Whether the average of the weights after each sentence is returned, not the last ones.
    errors
        What becomes of numbers that overflow: see :func:`numpy.errstate`.
    """

    average: bool
    errors: Literal["ignore"] | None = None

    @abstractmethod
    def begin(self, width: int) -> Lesson:
        """Return what one learner asks, for each sentence of a run over so many features."""

    def note(self, change: Change, learned: Learned) -> None:  # noqa: B027
        """Take note of a change that has been made."""

    @abstractmethod
    def entry(self, epoch: int, students: Sequence[Student]) -> dict[str, Any]:
        """Return what the history says of an epoch."""

    def check(  # noqa: B027
        self, weights: Floats, last: Floats, names: tuple[str, ...], epoch: int
    ) -> None:
        """Raise an error if an epoch has come to weights that nobody can use."""


class Course:
    """What learners learn from, and how: it does not change, and reaches each worker once.

    Attributes
    ----------
    lessons, tuning
        How, and from what.
    worth
        What derivations are worth, as it is before the first epoch.
    """

    def __init__(self, lessons: Lessons, tuning: Task, worth: Worth) -> None:
        self.lessons = lessons
        self.tuning = tuning
        self.worth = worth

    @property
    def data(self) -> tuple[Course, Any]:
        """What workers are given: what is large by itself, which others ask for as well."""
        return self, self._parted[1]

    @property
    def _parted(self) -> tuple[Callable[[Any], Task] | None, Any]:
        """Return what makes the tuning set, and of what: forests, or a decoder's model."""
        tuning = self.tuning
        return tuning.split_for_workers()

    def __getstate__(self) -> dict[str, Any]:
        found = {key: value for key, value in vars(self).items() if key != "_of_lists"}
        make, _ = self._parted
        return found if make is None else {**found, "tuning": make}

    def with_large(self, large: Any) -> Course:
        """Put it together again where it has been sent to."""
        if isinstance(self.tuning, partial):
            self.tuning = self.tuning(large)
        return self

    @cached_property
    def _of_lists(self) -> Examples:
        return self.tuning.examples()

    def examples(self) -> Examples:
        """Return the sentences for one learner; those of lists serve all of a process."""
        if isinstance(self.tuning, TuningSet):
            return self._of_lists
        return self.tuning.examples()

    def student(self, seed: Seed) -> Student:
        """Return a learner's state."""
        learned = Learned(seed.weights, seed.rates)
        return Student(learned, copied(self.worth, seed.worth), self.lessons.note)


def _of_forests(metric: Metric, options: ForestOptions, forests: Forests) -> ForestTuning:
    return ForestTuning(forests, metric, options)


class Reader:
    """Finds the steps of one learner.

    Parameters
    ----------
    course
        What it learns from.
    """

    def __init__(self, course: Course) -> None:
        self._examples = course.examples()
        self._lesson = course.lessons.begin(len(course.tuning.names))

    def step(
        self, group: int, epoch: int, student: Student, received: Sequence[SharedSet] = ()
    ) -> Step:
        """Find what a sentence teaches a learner (Algorithm 1); the learner stays as it is."""
        example = self._examples.example(group, student.worth)
        best = example.best(student.learned.weights)
        found = self._lesson(example, best, student.learned, epoch, received)
        return Step(group, found.change, best.stats, found.told, found.sent)


class Pupil:
    """A learner that lives with a worker.

    Parameters
    ----------
    data
        What it learns from, as :attr:`Course.data` gives it.
    seed
        Where it begins; its arrays are changed.
    """

    def __init__(self, data: tuple[Course, Any], seed: Seed) -> None:
        course = data[0].with_large(data[1])
        self._errors = course.lessons.errors
        self._reader = Reader(course)
        self._student = course.student(seed)

    def learn(
        self, groups: Iterable[int], epoch: int, received: Sequence[SharedSet] = ()
    ) -> list[Step]:
        """Learn from sentences in turn; return the steps of as many as there is time for."""
        steps: list[Step] = []
        end = time.monotonic() + PATIENCE
        with np.errstate(all=self._errors), unseen():  # the crew counts the sentences of all
            for group in groups:
                step = self._reader.step(group, epoch, self._student, received)
                self._student.take(step)
                steps.append(step)
                if time.monotonic() > end:
                    break
        return steps
