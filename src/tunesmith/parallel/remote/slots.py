"""Slots of workers, the links to them, and requests with their clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from tunesmith.parallel.remote.packing import PackedValue
from tunesmith.parallel.remote.worker import PieceOutcome

#: Workers that a piece or an actor may kill before it is given up.
STRIKES = 3


class Link(ABC):
    """One worker, as the driver sees it; none of the methods waits for the worker.

    A link to a worker that has died takes everything and does nothing.
    """

    @abstractmethod
    def hold(self, number: int, block: Any) -> None:
        """Have the worker hold a published block."""

    @abstractmethod
    def drop(self, number: int) -> None:
        """Have the worker drop a block."""

    @abstractmethod
    def ask(self, message: PackedValue) -> None:
        """Send a message; its answer comes with ``_ready``, in the order of the messages."""

    @abstractmethod
    def skip(self, task: int) -> None:
        """Skip the remaining pieces of a task; they are still answered."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the worker."""

    @abstractmethod
    def why(self) -> str:
        """Say how the worker ended: ``killed by signal 9``."""

    def has_given_up(self) -> bool:
        """Tell whether the worker exited by itself, as the next one in its slot would."""
        return False


class Client(Protocol):
    """Sends requests, and is called with what comes of them."""

    warned: set[tuple[type[Warning], str]]

    def on_answer(self, request: Request, outcome: PieceOutcome) -> None:
        """Handle an answer."""

    def on_lost(self, request: Request, why: str, was_running: bool) -> None:
        """Handle a worker lost before it answered, perhaps because of this running request."""


@dataclass(eq=False)
class Request:
    """A message to a worker, and the client that gets the answer.

    Attributes
    ----------
    numbers
        What the worker must hold for it.
    key
        The client's identifier of it.
    block
        The message, packed as soon as it is assigned.
    """

    message: Any
    numbers: tuple[int, ...]
    client: Client
    key: int
    block: PackedValue | None = None


@dataclass(eq=False)
class Slot:
    """The slot of a worker; if one is lost another takes its place.

    Attributes
    ----------
    sent, waiting
        Requests that the worker has, of which it runs the first, and those queued behind them.
    since
        When it started the first.
    holds
        Numbers of the blocks that it holds.
    is_ready
        Whether it has answered Hello.
    failed_starts
        Consecutive workers before it that did not.
    """

    number: int
    link: Link | None = None
    sent: deque[Request] = field(default_factory=deque)
    waiting: deque[Request] = field(default_factory=deque)
    since: float = 0.0
    holds: set[int] = field(default_factory=set)
    is_ready: bool = False
    failed_starts: int = 0
