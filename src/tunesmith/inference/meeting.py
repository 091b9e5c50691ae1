"""Climbs that run side by side and ask together.

A climb asks for a few lines at a time, which leaves a device, or workers that are far away, idle.
So each has a thread, and waits when it asks until all others ask too, or have ended: what they ask
is answered in one batch. An
answer does not depend on what else is in its batch, so neither does a climb.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

R = TypeVar("R")


class Ended(BaseException):
    """Raised where a climb asks after an error or an interrupt elsewhere."""


@dataclass
class Question:
    """Something asked: how, and about which items; then their answers."""

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


class Meeting:
    """Those that ask together; one of them works at a time.

    Threads of Python share one interpreter, and several that want it wait for each other longer
    than they work. So one that asks hands over to the next one that has something to do, and
    waits for its turn; the last one to ask answers all.
    """

    def __init__(self, present: int) -> None:
        self.present = present
        self.is_over = False
        self._has_begun = False
        self._questions: dict[int, Question] = {}
        self._turns = [threading.Lock() for _ in range(present)]
        self._ready = deque(range(present))
        for turn in self._turns:
            turn.acquire()

    def begin(self) -> None:
        """Let the first one work; once."""
        if not self._has_begun:
            self._has_begun = True
            self._turns[self._ready.popleft()].release()

    def await_turn(self, number: int) -> None:
        """Wait until the others have asked, or ended."""
        self._turns[number].acquire()

    def ask(
        self,
        number: int,
        answer: Callable[[Sequence[Any]], Sequence[Any]],
        items: Sequence[Any],
    ) -> Sequence[Any]:
        """Ask, and wait for the answers: one for each item."""
        if self.is_over:
            raise Ended
        question = self._questions[number] = Question(answer, items)
        following = self._next()
        if following != number:
            self._turns[following].release()
            self.await_turn(number)
        if question.answers is None and question.error is None:
            raise Ended  # nothing is answered any more
        return question.result()

    def leave(self) -> None:
        """Let the others go on alone."""
        self.present -= 1
        if self.present:
            self._turns[self._next()].release()

    def end(self) -> None:
        """Let nobody ask any more."""
        self.is_over = True

    def _next(self) -> int:
        """Return whose turn is next; when all have asked all are answered first."""
        if not self._ready:
            questions, self._questions = self._questions, {}
            if not self.is_over:
                _answer([*questions.values()])
            self._ready.extend(questions)
        return self._ready.popleft()


def _answer(questions: Sequence[Question]) -> None:
    kinds: dict[Any, list[Question]] = {}
    for question in questions:
        kinds.setdefault(question.answer, []).append(question)
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
        membership: tuple[Meeting, int] | None = getattr(self._local, "membership", None)
        if membership is not None:
            meeting, number = membership
            return meeting.ask(number, answer, items)
        with self._alone:
            return answer(items)

    def hold(
        self,
        work: Callable[[Any], R],
        pieces: Sequence[Any],
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Return ``[work(piece)]``, with a thread for each; what they ask is answered together."""
        if not pieces:
            return []
        meeting = Meeting(len(pieces))
        finished: dict[int, R] = {}
        errors: dict[int, BaseException] = {}

        def attend(number: int, piece: Any) -> None:
            self._local.membership = meeting, number
            meeting.await_turn(number)
            try:
                if meeting.is_over:
                    raise Ended
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
        # Signals come to the main thread alone: another one starts those of the pieces, so that
        # none is half started. However often it is called, that happens once, and ends both waits.
        first, done = threading.Lock(), queue.SimpleQueue[None]()

        def run() -> None:
            if not first.acquire(blocking=False):
                return
            try:
                for thread in threads:
                    thread.start()
                meeting.begin()
                for thread in threads:
                    thread.join()
            except BaseException as error:  # noqa: BLE001  (raised below)
                errors[-1] = error
            finally:
                done.put(None)
                done.put(None)

        try:
            threading.Thread(target=run).start()
            done.get()
        except BaseException:
            meeting.end()
            threading.Thread(target=run).start()
            done.get()
            raise
        for _, error in sorted(errors.items()):
            if not isinstance(error, Ended):
                raise error
        return [finished[k] for k in range(len(pieces))]
