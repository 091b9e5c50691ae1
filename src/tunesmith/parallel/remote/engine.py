"""Engines whose workers are elsewhere: who does what, and what happens when one is lost.

A subclass of :class:`RemoteEngine` says how workers are reached:

- ``_start(number)`` starts a worker and returns a :class:`Link` to it at once. The worker is within
  :func:`tunesmith.parallel.remote.worker.as_worker`, and its desk is told what the link is told, in
  the same order: ``hold``, ``drop``, and ``answer`` for each ``ask``; ``skip`` as soon as it can
  be.
- ``_ready(links, seconds)`` waits until a worker has answered or has died.
- ``_publish(packed)`` puts a block where all workers can have it and returns what ``Link.hold`` is
  given; ``_retire(block)`` takes it away.
- ``_end()`` lets go of what the engine itself has, when all links are closed.

Each worker has at most :data:`DEEPEST` messages that it has not answered, so that a pipe of 200 kB
never blocks if large messages go another way.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
import weakref
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, ClassVar, TypeVar

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.parallel.engine import Actors, Engine
from tunesmith.parallel.local import available_threads
from tunesmith.parallel.remote.actors import RemoteActors
from tunesmith.parallel.remote.broadcast import Shelf
from tunesmith.parallel.remote.mapping import RemoteMap
from tunesmith.parallel.remote.packing import Packed, packed, unpacked
from tunesmith.parallel.remote.slots import Link, Request, Seat
from tunesmith.parallel.remote.worker import Hello, Outcome, Raised, is_worker, versions

R = TypeVar("R")

#: Messages that a worker may have before it answers the first.
DEEPEST = 8
#: A seat whose workers are killed as they start, so many in a row, is given up; sooner, at the
#: second, if they do not start in time.
STARTS = 10
#: Seconds that a worker may take to start, however short the timeout.
STARTING = 120.0
#: Seconds that are waited at once: a system counts no longer than some weeks.
LONGEST = 86400.0


class RemoteEngine(Engine):
    """Workers elsewhere, that are started when they are needed and replaced when they die.

    Parameters
    ----------
    workers
        How many; None is one for each core.
    timeout
        Seconds after which a worker that has not answered is ended; None is never.
    """

    #: Seconds that a message of several small pieces should take, which is much to the time that a
    #: message costs and little to the time that a map takes.
    worthwhile: ClassVar[float] = 0.01

    def __init__(self, workers: int | None = None, timeout: float | None = 600.0) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"workers is {workers}; give 1 or more")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"timeout is {timeout:g}; give more than 0 seconds")
        self.workers = workers or available_threads()
        self.timeout = timeout
        self.warned: set[tuple[type[Warning], str]] = set()
        self.losses: Counter[str] = Counter()
        self._seats = [Seat(k) for k in range(self.workers)]
        self._shelf = Shelf(self._publish)
        self._shelf.on_gone = _swept_when_idle(self)
        self._turn = threading.Lock()
        self._owner = os.getpid()
        self._registry: dict[Any, Any] = {}
        #: Told of workers that are lost.
        self._watching: weakref.WeakSet[Any] = weakref.WeakSet()

    @abstractmethod
    def _start(self, number: int) -> Link:
        """Start a worker."""

    @abstractmethod
    def _ready(self, links: Sequence[Link], seconds: float | None) -> list[tuple[Link, Any | None]]:
        """Wait until a worker has answered or is dead, at most so long; None is for ever.

        Return at most one answer, a block, of every link that has one; None for those that have
        died and have no answer left.
        """

    @abstractmethod
    def _publish(self, block: Packed) -> Any:
        """Put a block where all workers can have it."""

    @abstractmethod
    def _retire(self, block: Any) -> None:
        """Take away a block that was published."""

    @abstractmethod
    def _end(self) -> None:
        """Let go of what the engine has besides workers and blocks."""

    def map(
        self,
        work: Callable[..., R],
        data: Any,
        pieces: Sequence[Any],
        *common: Any,
        made: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Give pieces to workers as they become free."""
        if not len(pieces):
            return []
        with self._in_turn():
            return RemoteMap(self, work, data, pieces, common, made).results()

    def actors(self, make: Callable[[Any, Any], Any], data: Any, seeds: Sequence[Any]) -> Actors:
        """Make each actor where it lives: one worker after the other."""
        return RemoteActors(self, make, data, seeds)

    @contextlib.contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Be the only one who speaks to workers; whoever is interrupted ends them."""
        if not self._is_ours:
            raise UsageError(
                "the workers of an engine belong to the process that made it, of which this is a "
                "fork; make an engine here, or work in threads"
            )
        with self._turn:
            try:
                yield
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                self._close()
                raise
            finally:
                self._sweep()

    @property
    def _is_ours(self) -> bool:
        """Whether this process made the engine; a fork has a copy, and the same sockets."""
        return os.getpid() == self._owner

    def close(self) -> None:
        """End all workers; they are started anew if there is more to do."""
        if self._is_ours:
            with self._turn:
                self._close()

    def _close(self) -> None:
        for seat in self._seats:
            if seat.link is not None:
                seat.sent = deque(r for r in seat.sent if r.client is not self)
                self._empty(seat, "the engine was closed")
        for block in self._shelf.clear():
            self._retire(block)
        self._end()

    def _seat(self, number: int) -> Seat:
        """Return a seat with somebody in it."""
        seat = self._seats[number]
        if seat.link is None:
            if is_worker():
                raise UsageError(
                    "a worker cannot have workers; put what a script does under "
                    "if __name__ == '__main__':"
                )
            seat.link = self._start(number)
            self._assign(seat, Request(Hello(), (), self, number))
        return seat

    def _assign(self, seat: Seat, request: Request) -> None:
        request.block = packed(request.message)
        seat.waiting.append(request)
        self._send(seat)

    def _send(self, seat: Seat) -> None:
        """Send what waits, as far as there is room."""
        while seat.link is not None and seat.waiting and len(seat.sent) < DEEPEST:
            request = seat.waiting.popleft()
            try:
                for number in request.numbers:
                    if number not in seat.holds:
                        seat.link.hold(number, self._shelf.blocks[number])
                        seat.holds.add(number)
                if request.block is not None:
                    seat.link.ask(request.block)
                    request.block = None
            except TunesmithError as error:  # there is no room for it
                request.client.answered(request, Outcome(error=Raised(error)))
                continue
            if not seat.sent:
                seat.since = time.monotonic()
            seat.sent.append(request)

    def _pump(self) -> None:
        """Wait for something to happen, and tell those who want to know."""
        alive = {seat.link: seat for seat in self._seats if seat.link is not None}
        links = [link for link in alive if link is not None]
        ends = [end for seat in alive.values() if (end := self._deadline(seat)) is not None]
        seconds = min(max(0.0, min(ends) - time.monotonic()), LONGEST) if ends else None
        with _all_of_them() as each:
            # Every answer that was read is handed over, or the next would be taken for it.
            for link, block in self._ready(links, seconds):
                with each():
                    self._take(alive[link], block)
        now = time.monotonic()
        for seat in alive.values():
            end = self._deadline(seat)
            if end is not None and end <= now and seat.link is not None:
                late = self._ready([seat.link], 0.0)  # it may have come while we did not look
                if late:
                    self._take(seat, late[0][1])
                else:
                    limit = end - seat.since
                    if not seat.is_ready:  # waiting for so many more would take too long
                        seat.failed_starts = max(seat.failed_starts, STARTS - 2)
                    self._lose(seat, f"no answer for {limit:g} seconds")

    def _deadline(self, seat: Seat) -> float | None:
        if seat.link is None or not seat.sent:
            return None
        if not seat.is_ready:
            return seat.since + max(self.timeout or 0.0, STARTING)
        return None if self.timeout is None else seat.since + self.timeout

    def _take(self, seat: Seat, block: Any | None) -> None:
        """Hand over an answer, or the news that the worker is dead."""
        if seat.link is None:
            return
        if block is None:
            self._lose(seat, seat.link.why())
            return
        request = seat.sent.popleft()
        seat.since = time.monotonic()
        outcome = _outcome(block)
        request.client.answered(request, outcome)
        self._send(seat)
        for category, text, file, line in outcome.warned:
            if (category, text) not in request.client.warned:
                request.client.warned.add((category, text))
                warnings.warn_explicit(text, category, file, line, registry=self._registry)

    def _lose(self, seat: Seat, why: str) -> None:
        """Count a worker that is lost; another will take its seat."""
        self.losses[why] += 1
        self._empty(seat, why)

    def _empty(self, seat: Seat, why: str) -> None:
        """Let a worker go, and give back what it had to do."""
        link, sent, waiting = seat.link, list(seat.sent), list(seat.waiting)
        seat.link, seat.is_ready = None, False
        seat.sent.clear()
        seat.waiting.clear()
        seat.holds.clear()
        if link is not None:
            if link.has_given_up():
                seat.failed_starts = STARTS
            link.kill()
        for client in list(self._watching):
            client.seat_lost(seat.number, why)
        with _all_of_them() as each:
            for place, request in enumerate(sent + waiting):
                with each():
                    request.client.lost(request, why, is_begun=bool(sent) and place == 0)

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Hear that a worker is there; one that has other versions may compute other bits."""
        try:
            if outcome.error is not None:
                raise outcome.error.again()
            _check_versions(outcome.value)
        except BaseException:
            self._close()
            raise
        seat = self._seats[request.key]
        seat.is_ready, seat.failed_starts = True, 0

    def lost(self, request: Request, why: str, is_begun: bool) -> None:
        """Hear that a worker ended before it was there."""
        seat = self._seats[request.key]
        seat.failed_starts += 1
        if seat.failed_starts >= STARTS:
            seat.failed_starts = 0
            raise TunesmithError(
                f"a worker ended as it started ({why}); see what it printed, or work in threads"
            )

    def _sweep(self) -> None:
        """Drop what belonged to objects that are gone."""
        while self._shelf.gone:
            self._drop(self._shelf.gone.popleft())

    def _drop(self, number: int) -> None:
        for seat in self._seats:
            if number in seat.holds and seat.link is not None:
                seat.holds.discard(number)
                seat.link.drop(number)
        block = self._shelf.drop(number)
        if block is not None:
            self._retire(block)


@contextlib.contextmanager
def _all_of_them() -> Iterator[Callable[[], contextlib.AbstractContextManager[None]]]:
    """Do each of several things though another fails; the first error is raised at the end."""
    errors: list[Exception] = []

    @contextlib.contextmanager
    def each() -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  (it is raised below)
            errors.append(error)

    yield each
    if errors:
        raise errors[0]


def _check_versions(theirs: dict[str, str]) -> None:
    """Refuse workers that may compute other bits than we."""
    ours = versions()
    other = [name for name, version in theirs.items() if ours.get(name) != version]
    if other:
        have = ", ".join(f"{name} {theirs[name]}" for name in other)
        here = ", ".join(f"{name} {ours.get(name)}" for name in other)
        raise TunesmithError(f"workers have {have}, this process {here}; install the same")


def _outcome(block: Any) -> Outcome:
    try:
        outcome: Outcome = unpacked(block)
    except Exception as error:  # noqa: BLE001  (whoever waits is told)
        text = f"what a worker returned cannot be read: {error}; define it in a module"
        return Outcome(error=Raised(TunesmithError(text)))
    return outcome


def _swept_when_idle(engine: RemoteEngine) -> Callable[[], None]:
    """Return what sweeps, unless the engine is busy: then it does so when it is done."""
    reference = weakref.ref(engine)

    def sweep() -> None:
        here = reference()
        if here is not None and here._is_ours and here._turn.acquire(blocking=False):
            try:
                here._sweep()
            finally:
                here._turn.release()

    return sweep
