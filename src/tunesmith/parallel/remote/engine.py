"""Engines whose workers are other processes: scheduling, and recovery when one is lost.

A subclass of :class:`RemoteEngine` says how workers are reached:

- ``_start(number)`` starts a worker and returns a :class:`Link` to it at once. The worker runs
  within :func:`tunesmith.parallel.remote.worker.as_worker`, and each call of the link becomes a
  call of its server, in the same order: ``hold``, ``drop``, and ``answer`` for each ``ask``;
  ``skip`` as soon as possible.
- ``_ready(links, seconds)`` waits until a worker has answered or died.
- ``_publish(packed)`` puts a block where all workers can read it and returns the argument of
  ``Link.hold``; ``_retire(block)`` removes it.
- ``_end()`` frees the engine's own resources, when all links are closed.

Each worker has at most :data:`DEEPEST` unanswered messages, so that a pipe of 200 kB never blocks
as long as large messages take another route.
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
from tunesmith.parallel.remote.broadcast import BroadcastBlocks
from tunesmith.parallel.remote.mapping import RemoteMap
from tunesmith.parallel.remote.packing import PackedValue, pack, unpack
from tunesmith.parallel.remote.slots import Link, Request, Slot
from tunesmith.parallel.remote.worker import Hello, PieceOutcome, PortableError, is_worker, versions

R = TypeVar("R")

#: Unanswered messages that a worker may have.
DEEPEST = 8
#: Failed starts in a row after which a slot is given up; two suffice if workers do not start in
#: time.
STARTS = 10
#: Seconds that a worker may take to start, however short the timeout.
STARTING = 120.0
#: Seconds of a single wait: systems limit timeouts to some weeks.
LONGEST = 86400.0


class RemoteEngine(Engine):
    """Workers in other processes, started on demand and replaced when they die.

    Parameters
    ----------
    workers
        Their number; None is one per core.
    timeout
        Seconds after which an unresponsive worker is killed; None is never.
    """

    #: Seconds of work that a message of several small pieces should hold: many times the cost of a
    #: message, and a small part of a map.
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
        self._slots = [Slot(k) for k in range(self.workers)]
        self._broadcast = BroadcastBlocks(self._publish)
        self._broadcast.on_gone = _sweep_when_idle(self)
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._registry: dict[Any, Any] = {}
        #: Clients whose worker_lost is called.
        self._loss_listeners: weakref.WeakSet[Any] = weakref.WeakSet()

    @abstractmethod
    def _start(self, number: int) -> Link:
        """Start a worker."""

    @abstractmethod
    def _ready(self, links: Sequence[Link], seconds: float | None) -> list[tuple[Link, Any | None]]:
        """Wait until a worker has answered or died, or for ``seconds``; None is forever.

        Return at most one answer, a block, per link; None for workers that have died and have no
        answer left.
        """

    @abstractmethod
    def _publish(self, block: PackedValue) -> Any:
        """Put a block where all workers can read it."""

    @abstractmethod
    def _retire(self, block: Any) -> None:
        """Remove a published block."""

    @abstractmethod
    def _end(self) -> None:
        """Free the engine's resources besides workers and blocks."""

    def map(
        self,
        work: Callable[..., R],
        data: Any,
        pieces: Sequence[Any],
        *common: Any,
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Assign pieces to workers as they become free."""
        if not len(pieces):
            return []
        with self._locked():
            return RemoteMap(self, work, data, pieces, common, results).results()

    def actors(self, make: Callable[[Any, Any], Any], data: Any, seeds: Sequence[Any]) -> Actors:
        """Create the actors, in the workers in turn."""
        return RemoteActors(self, make, data, seeds)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock on the workers, and kill them on an interrupt."""
        if not self._is_owner:
            raise UsageError(
                "the workers of an engine belong to the process that made it, of which this is a "
                "fork; make an engine here, or work in threads"
            )
        with self._lock:
            try:
                yield
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                self._close()
                raise
            finally:
                self._sweep()

    @property
    def _is_owner(self) -> bool:
        """Whether this process made the engine; a fork has a copy, and the same sockets."""
        return os.getpid() == self._owner

    def close(self) -> None:
        """Stop all workers; they start again if there is more to do."""
        if self._is_owner:
            with self._lock:
                self._close()

    def _close(self) -> None:
        for slot in self._slots:
            if slot.link is not None:
                slot.sent = deque(r for r in slot.sent if r.client is not self)
                self._vacate(slot, "the engine was closed")
        for block in self._broadcast.clear():
            self._retire(block)
        self._end()

    def _occupied_slot(self, number: int) -> Slot:
        """Return a slot, with a worker started in it if it has none."""
        slot = self._slots[number]
        if slot.link is None:
            if is_worker():
                raise UsageError(
                    "a worker cannot have workers; put what a script does under "
                    "if __name__ == '__main__':"
                )
            slot.link = self._start(number)
            self._assign(slot, Request(Hello(), (), self, number))
        return slot

    def _assign(self, slot: Slot, request: Request) -> None:
        request.block = pack(request.message)
        slot.waiting.append(request)
        self._send(slot)

    def _send(self, slot: Slot) -> None:
        """Send waiting requests, as far as the limit allows."""
        while slot.link is not None and slot.waiting and len(slot.sent) < DEEPEST:
            request = slot.waiting.popleft()
            try:
                for number in request.numbers:
                    if number not in slot.holds:
                        slot.link.hold(number, self._broadcast.blocks[number])
                        slot.holds.add(number)
                if request.block is not None:
                    slot.link.ask(request.block)
                    request.block = None
            except TunesmithError as error:  # no memory for the block
                request.client.on_answer(request, PieceOutcome(error=PortableError(error)))
                continue
            if not slot.sent:
                slot.since = time.monotonic()
            slot.sent.append(request)

    def _pump(self) -> None:
        """Wait for answers and losses, and pass them on to the clients."""
        alive = {slot.link: slot for slot in self._slots if slot.link is not None}
        links = [link for link in alive if link is not None]
        ends = [end for slot in alive.values() if (end := self._deadline(slot)) is not None]
        seconds = min(max(0.0, min(ends) - time.monotonic()), LONGEST) if ends else None
        with _collect_errors() as attempt:
            # Every answer that was read is passed on, or the next would be taken for it.
            for link, block in self._ready(links, seconds):
                with attempt():
                    self._take(alive[link], block)
        now = time.monotonic()
        for slot in alive.values():
            end = self._deadline(slot)
            if end is not None and end <= now and slot.link is not None:
                answers = self._ready([slot.link], 0.0)  # it may have arrived in the meantime
                if answers:
                    self._take(slot, answers[0][1])
                else:
                    limit = end - slot.since
                    if not slot.is_ready:  # waiting for STARTS of them would take too long
                        slot.failed_starts = max(slot.failed_starts, STARTS - 2)
                    self._lose(slot, f"no answer for {limit:g} seconds")

    def _deadline(self, slot: Slot) -> float | None:
        if slot.link is None or not slot.sent:
            return None
        if not slot.is_ready:
            return slot.since + max(self.timeout or 0.0, STARTING)
        return None if self.timeout is None else slot.since + self.timeout

    def _take(self, slot: Slot, block: Any | None) -> None:
        """Pass on an answer, or the loss of a dead worker."""
        if slot.link is None:
            return
        if block is None:
            self._lose(slot, slot.link.why())
            return
        request = slot.sent.popleft()
        slot.since = time.monotonic()
        outcome = _outcome(block)
        request.client.on_answer(request, outcome)
        self._send(slot)
        for category, text, file, line in outcome.warned:
            if (category, text) not in request.client.warned:
                request.client.warned.add((category, text))
                warnings.warn_explicit(text, category, file, line, registry=self._registry)

    def _lose(self, slot: Slot, why: str) -> None:
        """Count a lost worker; another will take its slot."""
        self.losses[why] += 1
        self._vacate(slot, why)

    def _vacate(self, slot: Slot, why: str) -> None:
        """Kill the worker of a slot, and report its requests as lost."""
        link, sent, waiting = slot.link, list(slot.sent), list(slot.waiting)
        slot.link, slot.is_ready = None, False
        slot.sent.clear()
        slot.waiting.clear()
        slot.holds.clear()
        if link is not None:
            if link.has_given_up():
                slot.failed_starts = STARTS
            link.kill()
        for client in list(self._loss_listeners):
            client.worker_lost(slot.number, why)
        with _collect_errors() as attempt:
            for position, request in enumerate(sent + waiting):
                with attempt():
                    request.client.on_lost(request, why, was_running=bool(sent) and position == 0)

    def on_answer(self, request: Request, outcome: PieceOutcome) -> None:
        """Check the versions of a worker that is ready: others may compute other bits."""
        try:
            if outcome.error is not None:
                raise outcome.error.restored()
            _check_versions(outcome.value)
        except BaseException:
            self._close()
            raise
        slot = self._slots[request.key]
        slot.is_ready, slot.failed_starts = True, 0

    def on_lost(self, request: Request, why: str, was_running: bool) -> None:
        """Count a worker that died before it was ready."""
        slot = self._slots[request.key]
        slot.failed_starts += 1
        if slot.failed_starts >= STARTS:
            slot.failed_starts = 0
            raise TunesmithError(
                f"a worker ended as it started ({why}); see what it printed, or work in threads"
            )

    def _sweep(self) -> None:
        """Drop the blocks of garbage-collected objects."""
        while self._broadcast.gone:
            self._drop(self._broadcast.gone.popleft())

    def _drop(self, number: int) -> None:
        for slot in self._slots:
            if number in slot.holds and slot.link is not None:
                slot.holds.discard(number)
                slot.link.drop(number)
        block = self._broadcast.drop(number)
        if block is not None:
            self._retire(block)


@contextlib.contextmanager
def _collect_errors() -> Iterator[Callable[[], contextlib.AbstractContextManager[None]]]:
    """Run several blocks though one fails; the first error is raised at the end."""
    errors: list[Exception] = []

    @contextlib.contextmanager
    def attempt() -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  (it is raised below)
            errors.append(error)

    yield attempt
    if errors:
        raise errors[0]


def _check_versions(theirs: dict[str, str]) -> None:
    """Refuse workers that may compute other bits than the driver."""
    ours = versions()
    other = [name for name, version in theirs.items() if ours.get(name) != version]
    if other:
        have = ", ".join(f"{name} {theirs[name]}" for name in other)
        own_versions = ", ".join(f"{name} {ours.get(name)}" for name in other)
        raise TunesmithError(f"workers have {have}, this process {own_versions}; install the same")


def _outcome(block: Any) -> PieceOutcome:
    try:
        outcome: PieceOutcome = unpack(block)
    except Exception as error:  # noqa: BLE001  (the client raises it)
        text = f"what a worker returned cannot be read: {error}; define it in a module"
        return PieceOutcome(error=PortableError(TunesmithError(text)))
    return outcome


def _sweep_when_idle(engine: RemoteEngine) -> Callable[[], None]:
    """Return a callback that sweeps, unless the engine is busy: it sweeps when it is done."""
    reference = weakref.ref(engine)

    def sweep() -> None:
        alive = reference()
        if alive is not None and alive._is_owner and alive._lock.acquire(blocking=False):
            try:
                alive._sweep()
            finally:
                alive._lock.release()

    return sweep
