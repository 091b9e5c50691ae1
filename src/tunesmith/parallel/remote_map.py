"""One map over workers elsewhere: pieces given out in order, done again where one is lost."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.errors import TunesmithError
from tunesmith.parallel.local import RUNS
from tunesmith.parallel.remote import DEEPEST, STRIKES, Request
from tunesmith.parallel.worker import Outcome, Task, Work

if TYPE_CHECKING:
    from tunesmith.parallel.remote import RemoteEngine


class RemoteMap:
    """The state of one map.

    An error ends it as it would end a loop: pieces before the one that failed are still done, and
    the error of the first that fails is raised, whoever is faster.
    """

    def __init__(
        self,
        engine: RemoteEngine,
        work: Callable[..., Any],
        data: Any,
        pieces: Sequence[Any],
        common: tuple[Any, ...],
    ) -> None:
        self.warned: set[tuple[type[Warning], str]] = set()
        self._engine = engine
        self._pieces = pieces
        form, numbers = engine._shelf.form(data)
        self._task = engine._shelf.put(Task(work, form, common))
        self._numbers = (*numbers, self._task)
        self._to_do = deque(range(len(pieces)))
        self._open = set(range(len(pieces)))  # not yet answered, and wanted
        self._results: list[Any] = [None] * len(pieces)
        self._strikes: Counter[int] = Counter()
        self._failed: tuple[int, BaseException] | None = None
        self._given: Counter[int] = Counter()  # to each seat
        self._where: dict[Request, int] = {}
        # Small pieces are sent ahead: an answer should not have to be read before the next begins.
        self._depth = min(DEEPEST, max(1, len(pieces) // (RUNS * engine.workers)))

    def results(self) -> list[Any]:
        """Return what comes of all pieces, in their order."""
        try:
            while self._open:
                self._give()
                if self._open:
                    self._engine._pump()
        finally:
            self._finish()
        if self._failed is not None:
            raise self._failed[1]
        return self._results

    def _give(self) -> None:
        """Give pieces to those workers that have fewest, as far as there is room."""
        engine = self._engine
        seats = [engine._seat(k) for k in range(min(engine.workers, len(self._pieces)))]
        ready = [seat for seat in seats if seat.is_ready]
        while ready and self._to_do:
            seat = min(ready, key=lambda seat: self._given[seat.number])
            if self._given[seat.number] >= self._depth:
                break
            piece = self._to_do.popleft()
            request = Request(Work(self._task, self._pieces[piece]), self._numbers, self, piece)
            self._given[seat.number] += 1
            self._where[request] = seat.number
            engine._assign(seat, request)

    def _taken_back(self, request: Request) -> None:
        self._given[self._where.pop(request)] -= 1

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Keep a result."""
        self._taken_back(request)
        if request.key not in self._open:
            return
        if outcome.error is not None:
            self._fail(request.key, outcome.error.again())
        else:
            self._results[request.key] = outcome.value
            self._open.discard(request.key)

    def lost(self, request: Request, why: str, is_begun: bool) -> None:
        """Have a piece done again, unless it is what ends workers."""
        self._taken_back(request)
        piece = request.key
        if piece not in self._open:
            return
        self._strikes[piece] += is_begun
        if self._strikes[piece] < STRIKES:
            self._to_do = deque(sorted([*self._to_do, piece]))
            return
        text = (
            f"piece {piece + 1} of {len(self._pieces)} ended {STRIKES} workers ({why}); "
            "give each more memory or time (fewer workers, a longer timeout), or work in threads"
        )
        self._fail(piece, TunesmithError(text))

    def _fail(self, piece: int, error: BaseException) -> None:
        self._failed = (piece, error)
        self._open = {k for k in self._open if k < piece}
        self._to_do = deque(k for k in self._to_do if k < piece)

    def _finish(self) -> None:
        """Leave nothing of this map behind; what is still being done is answered to nobody."""
        nobody = _Nobody()
        for request, number in self._where.items():
            seat = self._engine._seats[number]
            request.client = nobody
            if request in seat.waiting:
                seat.waiting.remove(request)
            elif seat.link is not None:
                seat.link.skip(self._task)
        self._engine._drop(self._task)


class _Nobody:
    """Who no longer wants an answer."""

    def __init__(self) -> None:
        self.warned: set[tuple[type[Warning], str]] = set()

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Ignore it."""

    def lost(self, request: Request, why: str, is_begun: bool) -> None:
        """Ignore it."""
