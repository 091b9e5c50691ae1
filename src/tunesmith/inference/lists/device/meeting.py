"""Climbs that run side by side and ask together.

A climb asks for a few lines at a time, which leaves a device idle. So each has a thread, and waits
when it asks until all others ask too, or have ended: what they ask is answered in one batch. An
answer does not depend on what else is in its batch, so neither does a climb.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

R = TypeVar("R")


class Ended(BaseException):
    """Raised where a climb asks after an error or an interrupt elsewhere."""


@dataclass
class Question:
    """Something asked of the device: how, and about which items; then their answers."""

    answer: Callable[[Sequence[Any]], Sequence[Any]]
    items: Sequence[Any]
    answers: Sequence[Any] | None = None
    error: BaseException | None = None

    def result(self) -> Sequence[Any]:
        """Return the answers, or raise what went wrong."""
        if self.error is not None:
            raise self.error
        assert self.answers is not None
        return self.answers


@dataclass
class Meeting:
    """Those that ask together."""

    present: int
    questions: list[Question] = field(default_factory=list)
    is_over: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def ask(
        self, answer: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any]
    ) -> Sequence[Any]:
        """Ask, and wait for the answers: one for each item."""
        question = Question(answer, items)
        with self.changed:
            if self.is_over:
                raise Ended
            self.questions.append(question)
            self._answer_if_complete()
            while question.answers is None and question.error is None:
                if self.is_over:
                    raise Ended
                self.changed.wait()
        return question.result()

    def leave(self) -> None:
        """Let the others go on alone."""
        with self.changed:
            self.present -= 1
            self._answer_if_complete()

    def end(self) -> None:
        """Let nobody ask any more."""
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def _answer_if_complete(self) -> None:
        if not self.questions or len(self.questions) < self.present:
            return
        questions, self.questions = self.questions, []
        kinds = {question.answer: [] for question in questions}  # type: dict[Any, list[Question]]
        for question in questions:
            kinds[question.answer].append(question)
        for answer, alike in kinds.items():
            try:
                answers = answer([item for question in alike for item in question.items])
            except BaseException as error:  # noqa: BLE001  (those who asked raise it)
                for question in alike:
                    question.error = error
                continue
            first = 0
            for question in alike:
                question.answers = answers[first : first + len(question.items)]
                first += len(question.items)
        self.changed.notify_all()


class Meetings:
    """Asks alone, or in the meeting that a thread takes part in."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._alone = threading.RLock()

    def ask(
        self, answer: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any]
    ) -> Sequence[Any]:
        """Return one answer for each item."""
        if not items:
            return []
        meeting: Meeting | None = getattr(self._local, "meeting", None)
        if meeting is not None:
            return meeting.ask(answer, items)
        with self._alone:
            return answer(items)

    def hold(
        self,
        work: Callable[[Any], R],
        pieces: Sequence[Any],
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Return ``[work(piece)]``, with a thread for each; what they ask is answered together."""
        meeting = Meeting(len(pieces))
        finished: dict[int, R] = {}
        errors: dict[int, BaseException] = {}

        def attend(number: int, piece: Any) -> None:
            self._local.meeting = meeting
            try:
                finished[number] = work(piece)
                if results is not None:
                    results[number] = finished[number]
            except BaseException as error:  # noqa: BLE001  (raised below)
                errors[number] = error
                meeting.end()
            finally:
                meeting.leave()

        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(attend, k, piece))
            for k, piece in enumerate(pieces)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            meeting.end()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            raise
        for _, error in sorted(errors.items()):
            if not isinstance(error, Ended):
                raise error
        return [finished[k] for k in range(len(pieces))]
