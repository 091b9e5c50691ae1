"""Who does the work: threads of this process, processes beside it, or a cluster.

What is shared out is a plain function of a module, which another process finds by its name. It is
given the data, which are large, do not change and reach each worker once, and a piece, which is
small. Results come back in the order of the pieces, and each is computed by one worker alone: who
does the work never changes a bit of it.
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
    """An actor whose worker has died, or was ended because it did not answer in time."""

    actor: int
    why: str


class Actors(ABC):
    """Objects with a state, each of which lives with some worker and answers one call at a time.

    Messages between them go through whoever calls. When an actor is lost its state is gone:
    :meth:`replace` makes it anew from a seed, and the call that it owed can be made again.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return how many there are."""

    @abstractmethod
    def call(self, actor: int, method: str, *arguments: Any) -> None:
        """Ask an actor that owes no answer; this does not wait."""

    @abstractmethod
    def wait(self) -> Answer | Lost:
        """Return the next answer, of whichever actor; what its method raised is raised here."""

    @abstractmethod
    def replace(self, actor: int, seed: Any) -> None:
        """Make an actor anew, with another worker if need be."""

    @abstractmethod
    def close(self) -> None:
        """Let all of them go."""


class Engine(ABC):
    """Workers, and what can be asked of them.

    Attributes
    ----------
    workers
        How many work at once.
    losses
        Why workers were lost, and how many of them.
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
        made: MutableMapping[int, R] | None = None,
    ) -> list[R]:
        """Return ``[work(data, piece, *common) for piece in pieces]``.

        Parameters
        ----------
        work
            A function that a module defines.
        data
            Anything; what was given before, the same object, is not sent again. Nobody changes it.
        pieces
            What differs from call to call.
        common
            What is the same for all, and small: weights.
        made
            Is given each result as it comes, by the number of its piece: what there is if an
            interrupt comes.
        """

    @abstractmethod
    def actors(self, make: Callable[[Any, Any], Any], data: Any, seeds: Sequence[Any]) -> Actors:
        """Return an actor for each seed: ``make(data, seed)``, made where it lives."""

    def close(self) -> None:  # noqa: B027  (threads have nothing to let go)
        """Let go of all workers."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _engine.set(None))  # workers stay with the parent


def current_engine() -> Engine:
    """Return who works; threads of this process unless :func:`working_on` says otherwise.

    Within a piece of work, in threads and in a fork it is always threads: workers have none of
    their own.
    """
    from tunesmith.parallel.threads import ThreadEngine

    return _engine.get() or ThreadEngine()


@contextlib.contextmanager
def working_on(engine: Engine | None) -> Iterator[None]:
    """Have an engine do what is shared out within the block; None is threads."""
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
    made: MutableMapping[int, R] | None = None,
) -> list[R]:
    """Return ``[work(data, piece, *common) for piece in pieces]``, by whoever works."""
    return current_engine().map(work, data, pieces, *common, made=made)
