"""Places of workers elsewhere, what they have to do, and who wants it done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from tunesmith.parallel.remote.packing import Packed
from tunesmith.parallel.remote.worker import Outcome

#: A piece or an actor that ends so many workers is given up.
STRIKES = 3


class Link(ABC):
    """One worker, as the driver sees it; none of the methods waits for the worker.

    A link to a worker that has died takes everything and does nothing.
    """

    @abstractmethod
    def hold(self, number: int, block: Any) -> None:
        """Have a block held, that was published."""

    @abstractmethod
    def drop(self, number: int) -> None:
        """Have it dropped."""

    @abstractmethod
    def ask(self, message: Packed) -> None:
        """Send a message; its answer comes with ``_ready``, in the order of the messages."""

    @abstractmethod
    def skip(self, task: int) -> None:
        """Have no more pieces of a task done, though they are answered."""

    @abstractmethod
    def kill(self) -> None:
        """End the worker."""

    @abstractmethod
    def why(self) -> str:
        """Say how the worker ended: ``killed by signal 9``."""

    def has_given_up(self) -> bool:
        """Tell whether the worker ended by itself, as the next one in its place would."""
        return False


class Client(Protocol):
    """Who has something done."""

    warned: set[tuple[type[Warning], str]]

    def answered(self, request: Request, outcome: Outcome) -> None:
        """Take an answer."""

    def lost(self, request: Request, why: str, is_begun: bool) -> None:
        """Hear that a worker is lost before it answered, and perhaps because of this request."""


@dataclass(eq=False)
class Request:
    """A message to a worker, and who wants the answer.

    Attributes
    ----------
    numbers
        What the worker must hold for it.
    key
        The client's own.
    block
        The message, packed as soon as it is assigned.
    """

    message: Any
    numbers: tuple[int, ...]
    client: Client
    key: int
    block: Packed | None = None


@dataclass(eq=False)
class Seat:
    """The place of a worker, which may be taken by one after the other.

    Attributes
    ----------
    sent, waiting
        Requests that the worker has, the first of which it is doing, and those behind them.
    since
        When it began with the first.
    holds
        Numbers of the blocks that it was given.
    is_ready
        Whether it has said hello.
    failed_starts
        How many before it did not, in a row.
    """

    number: int
    link: Link | None = None
    sent: deque[Request] = field(default_factory=deque)
    waiting: deque[Request] = field(default_factory=deque)
    since: float = 0.0
    holds: set[int] = field(default_factory=set)
    is_ready: bool = False
    failed_starts: int = 0
