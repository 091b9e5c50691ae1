"""One map over workers: pieces are assigned in order, and again when a worker is lost."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tunesmith.errors import TunesmithError
from tunesmith.parallel.remote.slots import STRIKES, Request
from tunesmith.parallel.remote.worker import MapTask, PieceOutcome, PieceRequest

if TYPE_CHECKING:
    from tunesmith.parallel.remote.engine import RemoteEngine

#: Messages per worker at least, if there are enough pieces: some take longer.
LEAST = 4


@dataclass(frozen=True)
class _Run:
    """Pieces that were assigned together, to which slot and when."""

    slot: int
    pieces: list[int]
    started: float


class RemoteMap:
    """The state of one map.

    An error ends it as it would end a loop: pieces before the failed one are still done, and the
    error of the first that fails is raised, whichever worker is faster.
    """

    def __init__(
        self,
        engine: RemoteEngine,
        work: Callable[..., Any],
        data: Any,
        pieces: Sequence[Any],
        common: tuple[Any, ...],
        results: MutableMapping[int, Any] | None = None,
    ) -> None:
        self.warned: set[tuple[type[Warning], str]] = set()
        self._engine = engine
        self._pieces = pieces
        references, numbers = engine._broadcast.referenced(data)
        self._task = engine._broadcast.put(MapTask(work, references, common))
        self._numbers = (*numbers, self._task)
        self._to_do = deque(range(len(pieces)))
        self._open = set(range(len(pieces)))  # without an answer, and wanted
        self._results: list[Any] = [None] * len(pieces)
        self._partial = {} if results is None else results
        self._strikes: Counter[int] = Counter()
        self._failed: tuple[int, BaseException] | None = None
        self._runs: dict[Request, _Run] = {}
        self._longest = max(1, len(pieces) // (LEAST * engine.workers))
        self._size = 1

    def results(self) -> list[Any]:
        """Return the results of all pieces, in their order."""
        try:
            while self._open:
                self._assign_pieces()
                if self._open:
                    self._engine._pump()
        finally:
            self._finish()
        if self._failed is not None:
            raise self._failed[1]
        return self._results

    def _assign_pieces(self) -> None:
        """Assign pieces to workers that have none of this map."""
        engine = self._engine
        busy = {run.slot for run in self._runs.values()}
        for number in range(min(engine.workers, len(self._pieces))):
            slot = engine._occupied_slot(number)
            if slot.is_ready and number not in busy and self._to_do:
                run = _Run(number, self._next(), time.monotonic())
                pieces = tuple(self._pieces[k] for k in run.pieces)
                request = Request(
                    PieceRequest(self._task, pieces), self._numbers, self, run.pieces[0]
                )
                self._runs[request] = run
                engine._assign(slot, request)

    def _next(self) -> list[int]:
        """Return the next pieces; one that may have killed a worker is the only one."""
        pieces = [self._to_do.popleft()]
        while self._to_do and len(pieces) < self._size:
            if self._strikes[pieces[-1]] or self._strikes[self._to_do[0]]:
                break
            pieces.append(self._to_do.popleft())
        return pieces

    def on_answer(self, request: Request, outcome: PieceOutcome) -> None:
        """Store results."""
        run = self._runs.pop(request)
        results = outcome.value if isinstance(outcome.value, list) else []
        seconds = (time.monotonic() - run.started) / max(1, len(results))
        count = int(self._engine.worthwhile / max(seconds, 1e-9))
        self._size = min(self._longest, max(1, count))
        for piece, result in zip(run.pieces, results, strict=False):
            if piece in self._open:
                self._results[piece] = self._partial[piece] = result
                self._open.discard(piece)
        if outcome.error is None:
            self._requeue(run.pieces)
            return
        failed = run.pieces[min(len(results), len(run.pieces) - 1)]
        if failed in self._open:
            self._fail(failed, outcome.error.restored())

    def on_lost(self, request: Request, why: str, was_running: bool) -> None:
        """Assign pieces again, unless one kills workers."""
        run = self._runs.pop(request)
        for piece in run.pieces:
            self._strikes[piece] += was_running
        first = run.pieces[0]
        if len(run.pieces) == 1 and self._strikes[first] >= STRIKES and first in self._open:
            text = (
                f"piece {first + 1} of {len(self._pieces)} ended {STRIKES} workers ({why}); give "
                "each more memory or time (fewer workers, a longer timeout), or work in threads"
            )
            self._fail(first, TunesmithError(text))
        else:
            self._requeue(run.pieces)

    def _requeue(self, pieces: list[int]) -> None:
        """Assign those pieces again that are not done."""
        left = self._open.intersection(pieces)
        if left:
            self._to_do = deque(sorted([*self._to_do, *left]))

    def _fail(self, piece: int, error: BaseException) -> None:
        self._failed = (piece, error)
        self._open = {k for k in self._open if k < piece}
        self._to_do = deque(k for k in self._to_do if k < piece)

    def _finish(self) -> None:
        """Clean up; answers that are still to come are ignored."""
        ignoring = _IgnoringClient()
        for request, run in self._runs.items():
            slot = self._engine._slots[run.slot]
            request.client = ignoring
            if request in slot.waiting:
                slot.waiting.remove(request)
            elif slot.link is not None:
                slot.link.skip(self._task)
        self._engine._drop(self._task)


class _Everything(set[Any]):
    """A set that contains everything."""

    def __contains__(self, _: object) -> bool:
        return True


class _IgnoringClient:
    """A client that ignores its answers."""

    def __init__(self) -> None:
        self.warned: set[tuple[type[Warning], str]] = _Everything()  # no warnings either

    def on_answer(self, request: Request, outcome: PieceOutcome) -> None:
        """Ignore it."""

    def on_lost(self, request: Request, why: str, was_running: bool) -> None:
        """Ignore it."""
