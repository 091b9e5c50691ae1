"""Learning from one sentence after the other, which can be written down between two epochs."""

from __future__ import annotations

import contextlib
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar, Literal

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.candidate_scorer import Objective, Worth
from tunesmith.parallel.engine import working_on
from tunesmith.registry import option
from tunesmith.tasks.base import Task
from tunesmith.tasks.live import LiveTuning
from tunesmith.tuners.fitting.rounds import Round, Rounds
from tunesmith.tuners.online.asynchronous import Exchange
from tunesmith.tuners.online.learned import Change, Learned, Student, average_of, mean_of
from tunesmith.tuners.online.lessons import Course, Lessons, Reader
from tunesmith.tuners.online.mixing import mixing_epoch

__all__ = ["Change", "Learned", "Learner", "Learning"]

WAYS = ("mixing", "async")
CLOCKS = ("lockstep", "free")
#: How learners go together where nothing is said.
USUAL = {"learners": 1, "parallel": "mixing", "clock": "lockstep", "inbox": 64}


class Learning:
    """One run over the sentences of a set, by one learner or by several.

    Parameters
    ----------
    tuner
        Says how many learn, and how they learn together.
    lessons
        What is made of a sentence.
    tuning
        The sentences.
    worth, learned
        What derivations are worth, and the weights to begin with.
    rng
        For the order of the sentences.

    Attributes
    ----------
    students
        The learners' states; no more than there are sentences.
    total : [K]
        The statistics, as the worth counts them, of the 1-best of all sentences on the way
        through the last epoch.
    """

    total: Stats

    def __init__(
        self,
        tuner: Learner,
        lessons: Lessons,
        tuning: Task,
        worth: Worth,
        learned: Learned,
        rng: np.random.Generator,
    ) -> None:
        self._tuner = tuner
        self._course = Course(lessons, tuning, worth)
        self.rng = rng
        count = min(tuner.learners, max(1, tuning.groups))
        self.students = [Student(learned, worth, lessons.note)]
        if count > 1:
            seed = self.students[0].seed
            self.students = [self._course.student(seed()) for _ in range(count)]
        self._exchange = Exchange(count, tuner.clock, tuner.inbox)

    @property
    def worth(self) -> Worth:
        """What derivations are worth to the first learner."""
        return self.students[0].worth

    @property
    def learned(self) -> Learned:
        """What the first learner has learnt."""
        return self.students[0].learned

    def epoch(self, number: int) -> Round:
        """Go over the sentences in random order (Algorithm 1)."""
        if number == 0 and len(self.students) > 1 and self._tuner.is_free:
            warnings.warn(
                "with --clock free the weights depend on who is faster: another run gives others",
                stacklevel=2,
            )
        course, students = self._course, self.students
        for student in students:
            student.begin_epoch()
        order = self.rng.permutation(course.tuning.groups)
        with np.errstate(all=course.lessons.errors):
            more = self._learn(order, number)
            last = mean_of(students)[0]
            weights = average_of(students) if course.lessons.average else last
            course.lessons.check(weights, last, course.tuning.names, number)
        self.total = reduce(np.add, [student.total for student in students])
        for student in students:
            student.worth.end_round(self.total)
        return Round(weights, {**course.lessons.entry(number, students), **more})

    def _learn(self, order: Ints, epoch: int) -> dict[str, Any]:
        """Have all sentences learnt from."""
        if len(self.students) == 1:
            (student,) = self.students
            # A sentence that is decoded now is not worth sending to others.
            is_live = isinstance(self._course.tuning, LiveTuning)
            with working_on(None) if is_live else contextlib.nullcontext():
                for group in order.tolist():
                    student.take(self._reader.step(group, epoch, student))
            return {}
        if self._tuner.parallel == "mixing":
            return mixing_epoch(self._course, self.students, order, epoch)
        return self._exchange.epoch(self._course, self.students, order, epoch)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._course)

    def memory(self) -> dict[str, Any]:
        """Return as JSON all that the next epochs depend on, beside what it was made of."""
        random = {"random": self.rng.bit_generator.state}
        if len(self.students) == 1:
            return {**self.students[0].memory(), **random}
        held = [student.memory() for student in self.students]
        # After mixing all have the same weights and rates.
        for student, own in zip(self.students[1:], held[1:], strict=True):
            for name in ("weights", "rates"):
                if student.has_same(name, self.students[0]):
                    del own["learned"][name]
        return {"students": held, "exchange": self._exchange.memory(), **random}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what :meth:`memory` returned, in another process."""
        held = memory.get("students", [memory])
        if len(held) != len(self.students):
            raise TunesmithError(
                f"the run has {len(held)} learners, and not {len(self.students)}; give --learners "
                f"{len(held)}, or begin in another work directory"
            )
        for student, own in zip(self.students, held, strict=True):
            student.recall({**own, "learned": {**held[0]["learned"], **own["learned"]}})
        self._exchange.recall(memory.get("exchange", {}))
        self.rng.bit_generator.state = memory["random"]


@dataclass(frozen=True, kw_only=True)
class Learner(Rounds):
    """What a tuner inherits that can learn while sentences are decoded.

    Several learners may go over the sentences side by side (section 6 of "Hope and fear"). Their
    number decides what is learnt; how many workers they live with does not.
    """

    learners: int = option(1, "how many learn side by side, each from a part of the sentences")
    parallel: Literal["mixing", "async"] = option(
        "mixing",
        "how learners go together: their weights are averaged after each epoch, or they send each "
        "other what they have found in a sentence (mira, arow)",
    )
    clock: Literal["lockstep", "free"] = option(
        "lockstep",
        "async: learners wait for each other after every sentence, and results can be reproduced; "
        "or nobody waits, and they cannot",
    )
    inbox: int = option(64, "async: how many working sets of others wait for a learner at most")

    #: Whether learners can send each other working sets.
    can_exchange: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parallel not in WAYS:
            raise UnknownNameError("parallel", self.parallel, WAYS)
        if self.clock not in CLOCKS:
            raise UnknownNameError("clock", self.clock, CLOCKS)
        for name in ("learners", "inbox"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; give 1 or more")
        if self.parallel == "async" and not self.can_exchange:
            raise UsageError(
                f"{self.name} has no working sets to send; use mira or arow, or --parallel mixing"
            )
        for name in ("clock", "inbox"):
            if self.parallel != "async" and getattr(self, name) != USUAL[name]:
                raise UsageError(f"{name} goes with parallel async; drop it, or change that")

    @property
    def is_free(self) -> bool:
        """Whether what is learnt depends on who is faster."""
        return self.parallel == "async" and self.clock == "free" and self.learners > 1

    def shown_option(self, field: str) -> object:
        """Return how a signature shows an option: one learner alone is not told of."""
        value = super().shown_option(field)
        return None if USUAL.get(field) == value else value

    @abstractmethod
    def learning(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Learning:
        """Begin to learn from ``start`` on, which is changed."""

    def begun_learning(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Learning:
        """Begin as :meth:`stages` does, with the same random numbers; there is one setting."""
        begin = self.own_start(tuning) if start is None else start
        (objective,) = self._objectives(tuning.metric)
        return self.learning(tuning, objective, begin.copy(), rng.spawn(1)[0])
