"""Actors that live in workers."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.parallel.engine import Actors, Answer, Lost
from tunesmith.parallel.remote.slots import STRIKES, Request
from tunesmith.parallel.remote.worker import Call, Forget, Make, PieceOutcome

if TYPE_CHECKING:
    from tunesmith.parallel.remote.engine import RemoteEngine

_numbers = itertools.count()


class RemoteActors(Actors):
    """Actors, the k-th of which lives in worker k modulo the number of workers.

    When a worker is lost, so are all of its actors: one that owes an answer at once, any other when
    it is next called.
    """

    def __init__(
        self,
        engine: RemoteEngine,
        make: Callable[[Any, Any], Any],
        data: Any,
        seeds: Sequence[Any],
    ) -> None:
        self.warned: set[tuple[type[Warning], str]] = set()
        self._engine = engine
        self._make, self._data = make, data
        self._names = [-1] * len(seeds)  # by which the worker knows them
        self._gone: dict[int, str] = dict.fromkeys(range(len(seeds)), "it was never made")
        self._pending: set[int] = set()
        self._outcomes: deque[tuple[int, PieceOutcome | Lost]] = deque()
        self._creating: dict[int, Any] = {}  # seeds of those that are being created
        self._strikes: dict[int, int] = {}
        self._errors: dict[int, BaseException] = {}
        engine._loss_listeners.add(self)
        try:
            self._create(dict(enumerate(seeds)))
        except Exception:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._names)

    def _create(self, seeds: dict[int, Any]) -> None:
        """Create actors concurrently, and wait for all; the error of the first is raised."""
        with self._engine._locked():
            self._creating = dict(seeds)
            self._strikes = {}
            self._errors = {}
            while self._creating:
                for actor in list(self._creating):
                    if self._names[actor] == -1:
                        self._send_make(actor)
                if self._creating:
                    self._engine._pump()
            if self._errors:
                raise self._errors[min(self._errors)]

    def _send_make(self, actor: int) -> None:
        engine = self._engine
        references, numbers = engine._broadcast.referenced(self._data)
        name = next(_numbers)
        slot = engine._occupied_slot(actor % engine.workers)
        message = Make(name, self._make, references, self._creating[actor])
        self._names[actor] = name
        engine._assign(slot, Request(message, numbers, self, actor))

    def call(self, actor: int, method: str, *arguments: Any) -> None:
        """Send a call; :meth:`wait` reports a lost actor."""
        if actor in self._pending:
            raise UsageError(f"actor {actor} owes an answer; wait for it before the next call")
        with self._engine._locked():
            self._pending.add(actor)
            if actor in self._gone:
                self._outcomes.append((actor, Lost(actor, self._gone[actor])))
                return
            slot = self._engine._slots[actor % self._engine.workers]
            message = Call(self._names[actor], method, arguments)
            try:
                self._engine._assign(slot, Request(message, (), self, actor))
            except TunesmithError:
                self._pending.discard(actor)
                raise

    def wait(self) -> Answer | Lost:
        """Return the next answer, or the next actor that was lost before it answered."""
        with self._engine._locked():
            if not self._pending:
                raise UsageError("no actor owes an answer; call one before waiting")
            while not self._outcomes:
                self._engine._pump()
            actor, outcome = self._outcomes.popleft()
            self._pending.discard(actor)
        if isinstance(outcome, Lost):
            return outcome
        if outcome.error is not None:
            raise outcome.error.restored()
        return Answer(actor, outcome.value)

    def ignore_answers(self) -> None:
        """Wait for all answers that are owed."""
        with self._engine._locked():
            while self._pending:
                while not self._outcomes:
                    self._engine._pump()
                self._pending.discard(self._outcomes.popleft()[0])

    def replace(self, actor: int, seed: Any) -> None:
        """Create an actor again, in the worker that has its slot now."""
        if actor in self._pending:
            raise UsageError(f"actor {actor} owes an answer; wait for it before it is replaced")
        with self._engine._locked():
            self._forget(actor)
        self._create({actor: seed})

    def _forget(self, actor: int) -> None:
        slot = self._engine._slots[actor % self._engine.workers]
        name, self._names[actor] = self._names[actor], -1
        if name != -1 and slot.link is not None:
            self._engine._assign(slot, Request(Forget(name), (), self, -1))
        self._gone[actor] = "it was let go"

    def close(self) -> None:
        """Delete all actors."""
        with self._engine._locked():
            for actor in range(len(self)):
                self._forget(actor)
            self._pending.clear()
            self._outcomes.clear()
            self._engine._loss_listeners.discard(self)

    def on_answer(self, request: Request, outcome: PieceOutcome) -> None:
        """Take the answer to a call, or note that an actor is created."""
        if isinstance(request.message, Make):
            self._creating.pop(request.key, None)
            if outcome.error is None:
                self._gone.pop(request.key, None)
            else:
                self._errors[request.key] = outcome.error.restored()
        elif isinstance(request.message, Call) and request.key in self._pending:
            self._outcomes.append((request.key, outcome))

    def on_lost(self, request: Request, why: str, was_running: bool) -> None:
        """Report a call that will have no answer; create again what was being created."""
        actor = request.key
        if isinstance(request.message, Call) and actor in self._pending:
            self._outcomes.append((actor, Lost(actor, why)))
        elif isinstance(request.message, Make) and actor in self._creating:
            self._names[actor] = -1
            self._strikes[actor] = self._strikes.get(actor, 0) + was_running
            if self._strikes[actor] >= STRIKES:
                self._errors[actor] = TunesmithError(
                    f"actor {actor} ended {STRIKES} workers as it was made ({why}); give each "
                    "more memory or time (fewer workers, a longer timeout), or work in threads"
                )
                del self._creating[actor]

    def worker_lost(self, number: int, why: str) -> None:
        """Note which actors are gone."""
        for actor in range(number, len(self), self._engine.workers):
            if actor not in self._creating:
                self._gone.setdefault(actor, why)
                self._names[actor] = -1
