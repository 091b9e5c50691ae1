"""Execution engines: threads of this process, worker processes, or a cluster.

Work is a module-level function, which other processes import by name. It is given the data, which
are large, constant and sent to each worker once, and a piece, which is small. Results come back in
the order of the pieces, and each is computed by a single worker: the engine never changes a bit of
them.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Answer:
    """What an actor returned."""

    actor: int
    value: Any


@dataclass(frozen=True)
class Lost:
    """An actor whose worker died, or was killed because it did not answer in time."""

    actor: int
    why: str


class Actors(ABC):
    """Stateful objects, each of which lives in a worker and answers one call at a time.

    Actors exchange messages through the caller. The state of a lost actor is gone: :meth:`replace`
    creates it again from a seed, and the call that it did not answer can be repeated.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of actors."""

    @abstractmethod
    def call(self, actor: int, method: str, *arguments: Any) -> None:
        """Call an actor that owes no answer, without waiting."""

    @abstractmethod
    def wait(self) -> Answer | Lost:
        """Return the next answer of any actor, or raise what its method raised."""

    @abstractmethod
    def ignore_answers(self) -> None:
        """Wait for all answers that are owed, and ignore them, be they errors or losses."""

    @abstractmethod
    def replace(self, actor: int, seed: Any) -> None:
        """Create an actor again, in another worker if need be."""

    @abstractmethod
    def close(self) -> None:
        """Delete all of them."""


class Engine(ABC):
    """Workers that run functions and actors.

    Attributes
    ----------
    workers
        How many run at once.
    losses
        Reasons why workers were lost, with counts.
    """

    name: ClassVar[str]
    workers: int
    losses: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def map(
        self,
        work: Callable[..., R],
        data: Any,
        pieces: Sequence[Any],
        *common: Any,
        results: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Return ``[work(data, piece, *common) for piece in pieces]``.

        Parameters
        ----------
        work
            A module-level function.
        data
            Anything constant; an object that was given before is not sent again.
        pieces
            The arguments that differ from call to call.
        common
            Small arguments that all calls share, such as weights.
        results
            Filled with each result as it arrives, keyed by the number of its piece: the partial
            results after an interrupt.
        """

    @abstractmethod
    def actors(self, make: Callable[[Any, Any], Any], data: Any, seeds: Sequence[Any]) -> Actors:
        """Return an actor for each seed: ``make(data, seed)``, called in its worker."""

    def close(self) -> None:  # noqa: B027  (threads have nothing to close)
        """Stop all workers."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _engine.set(None))  # workers stay with the parent


def current_engine() -> Engine:
    """Return the engine in force: threads of this process unless :func:`working_on` set another.

    Within a piece of work, and in a fork, it is always threads: workers have no workers.
    """
    from tunesmith.parallel.threads import ThreadEngine

    return _engine.get() or ThreadEngine()


@contextlib.contextmanager
def working_on(engine: Engine | None) -> Iterator[None]:
    """Put an engine in force within the block; None is threads."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


def map_over(
    data: Any,
    work: Callable[..., R],
    pieces: Sequence[Any],
    *common: Any,
    results: MutableMapping[int, R] | None = None,
) -> list[R]:
    """Return ``[work(data, piece, *common) for piece in pieces]``, by the engine in force."""
    return current_engine().map(work, data, pieces, *common, results=results)
