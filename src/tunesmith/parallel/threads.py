"""The engine that is always there: threads of this process."""

from __future__ import annotations

import queue
from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, TypeVar

from tunesmith.errors import UsageError
from tunesmith.parallel.engine import Actors, Answer, Engine, Lost, working_on
from tunesmith.parallel.local import map_pieces, thread_count, threads_of_piece

R = TypeVar("R")


class ThreadEngine(Engine):
    """Run work in the threads in force; kernels release the GIL."""

    name: ClassVar[str] = "threads"

    @property
    def workers(self) -> int:  # type: ignore[override]
        """The number of threads in force."""
        return thread_count()

    def map(
        self,
        work: Callable[..., R],
        data: Any,
        pieces: Sequence[Any],
        *common: Any,
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Map over pieces with the threads in force."""
        with working_on(None):
            return map_pieces(partial(_apply, work, data, common), pieces, results)

    def actors(self, make: Callable[[Any, Any], Any], data: Any, seeds: Sequence[Any]) -> Actors:
        """Create the objects in this process."""
        return ThreadActors(make, data, seeds, self.workers)


def _apply(work: Callable[..., R], data: Any, common: tuple[Any, ...], piece: Any) -> R:
    return work(data, piece, *common)


class ThreadActors(Actors):
    """Objects of this process, whose methods run in threads; none is ever lost."""

    def __init__(
        self, make: Callable[[Any, Any], Any], data: Any, seeds: Sequence[Any], workers: int
    ) -> None:
        self._make, self._data = make, data
        self._objects = [make(data, seed) for seed in seeds]
        self._done: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
        count = max(1, min(workers, len(seeds)))
        # Actors share the remaining threads, as pieces do.
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self._threads = max(1, workers // count)
        self._owing: set[int] = set()

    def __len__(self) -> int:
        return len(self._objects)

    def call(self, actor: int, method: str, *arguments: Any) -> None:
        """Run a method in a thread, or at once if there is one thread."""
        if actor in self._owing:
            raise UsageError(f"actor {actor} owes an answer; wait for it before the next call")
        run = getattr(self._objects[actor], method)
        self._owing.add(actor)
        if self._pool is None:
            self._run(actor, run, arguments)
        else:
            self._pool.submit(self._run_aside, actor, run, arguments)

    def _run_aside(self, actor: int, run: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        with threads_of_piece(self._threads):
            self._run(actor, run, arguments)

    def _run(self, actor: int, run: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        try:
            with working_on(None):
                self._done.put((actor, run(*arguments), None))
        except BaseException as error:  # noqa: BLE001  (wait() raises it)
            self._done.put((actor, None, error))

    def wait(self) -> Answer | Lost:
        """Return the next answer."""
        if not self._owing:
            raise UsageError("no actor owes an answer; call one before waiting")
        actor, value, error = self._done.get()
        self._owing.discard(actor)
        if error is not None:
            raise error
        return Answer(actor, value)

    def ignore_answers(self) -> None:
        """Wait for all answers that are owed."""
        while self._owing:
            self._owing.discard(self._done.get()[0])

    def replace(self, actor: int, seed: Any) -> None:
        """Create an object again."""
        if actor in self._owing:
            raise UsageError(f"actor {actor} owes an answer; wait for it before it is replaced")
        self._objects[actor] = self._make(self._data, seed)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
