"""Actors that live with workers elsewhere."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.parallel.engine import Actors, Answer, Lost
from tunesmith.parallel.remote.slots import STRIKES, Request
from tunesmith.parallel.remote.worker import Call, Forget, Make, Outcome

if TYPE_CHECKING:
    from tunesmith.parallel.remote.engine import RemoteEngine

_numbers = itertools.count()


class RemoteActors(Actors):
    """Actors, the k-th of which lives with worker k modulo their number.

    When a worker is lost, so are all actors that live with it: one that owes an answer at once,
    any other when it is next called.
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
        self._names = [-1] * len(seeds)  # what the worker knows each by
        self._gone: dict[int, str] = dict.fromkeys(range(len(seeds)), "it was never made")
        self._owing: set[int] = set()
        self._done: deque[tuple[int, Outcome | Lost]] = deque()
        self._making: dict[int, Any] = {}  # seeds of those that are being made
        self._strikes: dict[int, int] = {}
        self._errors: dict[int, BaseException] = {}
        engine._watching.add(self)
        try:
            self._all_made(dict(enumerate(seeds)))
        except Exception:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._names)

    def _all_made(self, seeds: dict[int, Any]) -> None:
        """Make actors at the same time, and wait for all; the first that fails is told of."""
        with self._engine._in_turn():
            self._making = dict(seeds)
            self._strikes = {}
            self._errors = {}
            while self._making:
                for actor in list(self._making):
                    if self._names[actor] == -1:
                        self._order(actor)
                if self._making:
                    self._engine._pump()
            if self._errors:
                raise self._errors[min(self._errors)]

    def _order(self, actor: int) -> None:
        engine = self._engine
        form, numbers = engine._shelf.form(self._data)
        name = next(_numbers)
        seat = engine._seat(actor % engine.workers)
        message = Make(name, self._make, form, self._making[actor])
        self._names[actor] = name
        engine._assign(seat, Request(message, numbers, self, actor))

    def call(self, actor: int, method: str, *arguments: Any) -> None:
        """Send a call; an actor that is lost is found to be so by :meth:`wait`."""
        if actor in self._owing:
            raise UsageError(f"actor {actor} owes an answer; wait for it before the next call")
        with self._engine._in_turn():
            self._owing.add(actor)
            if actor in self._gone:
                self._done.append((actor, Lost(actor, self._gone[actor])))
                return
            seat = self._engine._seats[actor % self._engine.workers]
            message = Call(self._names[actor], method, arguments)
            try:
                self._engine._assign(seat, Request(message, (), self, actor))
            except TunesmithError:
                self._owing.discard(actor)
                raise

    def wait(self) -> Answer | Lost:
        """Return the next answer, or the next actor that is lost with what it owed."""
        with self._engine._in_turn():
            if not self._owing:
                raise UsageError("no actor owes an answer; call one before waiting")
            while not self._done:
                self._engine._pump()
            actor, outcome = self._done.popleft()
            self._owing.discard(actor)
        if isinstance(outcome, Lost):
            return outcome
        if outcome.error is not None:
            raise outcome.error.again()
        return Answer(actor, outcome.value)

    def replace(self, actor: int, seed: Any) -> None:
        """Make an actor anew with whoever has its worker's seat now."""
        if actor in self._owing:
            raise UsageError(f"actor {actor} owes an answer; wait for it before it is replaced")
        with self._engine._in_turn():
            self._forget(actor)
        self._all_made({actor: seed})

    def _forget(self, actor: int) -> None:
        seat = self._engine._seats[actor % self._engine.workers]
        name, self._names[actor] = self._names[actor], -1
        if name != -1 and seat.link is not None:
            self._engine._assign(seat, Request(Forget(name), (), self, -1))
        self._gone[actor] = "it was let go"

    def close(self) -> None:
        """Let all go."""
        with self._engine._in_turn():
            for actor in range(len(self)):
                self._forget(actor)
            self._owing.clear()
            self._done.clear()
            self._engine._watching.discard(self)

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Take the answer to a call, or the news that an actor is made."""
        if isinstance(request.message, Make):
            self._making.pop(request.key, None)
            if outcome.error is None:
                self._gone.pop(request.key, None)
            else:
                self._errors[request.key] = outcome.error.again()
        elif isinstance(request.message, Call) and request.key in self._owing:
            self._done.append((request.key, outcome))

    def lost(self, request: Request, why: str, is_begun: bool) -> None:
        """Tell of a call whose answer will not come; make again what was being made."""
        actor = request.key
        if isinstance(request.message, Call) and actor in self._owing:
            self._done.append((actor, Lost(actor, why)))
        elif isinstance(request.message, Make) and actor in self._making:
            self._names[actor] = -1
            self._strikes[actor] = self._strikes.get(actor, 0) + is_begun
            if self._strikes[actor] >= STRIKES:
                self._errors[actor] = TunesmithError(
                    f"actor {actor} ended {STRIKES} workers as it was made ({why}); give each "
                    "more memory or time (fewer workers, a longer timeout), or work in threads"
                )
                del self._making[actor]

    def seat_lost(self, number: int, why: str) -> None:
        """Know which actors are gone."""
        for actor in range(number, len(self), self._engine.workers):
            if actor not in self._making:
                self._gone.setdefault(actor, why)
                self._names[actor] = -1
