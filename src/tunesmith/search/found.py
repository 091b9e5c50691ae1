"""What exact searches are given and what they return."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tunesmith.arrays import Floats
from tunesmith.progress import progress
from tunesmith.search.problem import Problem


@dataclass(frozen=True)
class Limits:
    """When a search stops with what it has.

    Attributes
    ----------
    seconds, tests, megabytes
        At most so much time, so many tested choices, so much memory for what is still open;
        None is no limit.
    begun
        When the time began, by ``time.perf_counter``.
    """

    seconds: float | None = None
    tests: int | None = None
    megabytes: float | None = None
    begun: float = field(default_factory=time.perf_counter)

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.begun

    @property
    def left(self) -> float:
        """Seconds that are left; infinite without a limit."""
        return float("inf") if self.seconds is None else self.seconds - self.passed


@dataclass(frozen=True)
class Found:
    """The best vector found, and what is known about all others.

    Attributes
    ----------
    vector : float64[D]
        Of length 1, for the points of the problem.
    loss
        What it loses, in units of the problem.
    bound
        No vector loses less, among those that count.
    tested
        Choices tested.
    """

    vector: Floats
    loss: int
    bound: int
    tested: int

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no vector is better."""
        return self.bound >= self.loss


#: Called with the least loss known, the bound and the number of tests so far.
Tell = Callable[[int, int, int], None]


def progress_of(problem: Problem) -> Tell:
    """Return what tells whoever looks on how far a search is."""

    def tell(loss: int, bound: int, tested: int) -> None:
        best, limit = problem.score(loss), problem.score(min(bound, loss))
        progress("searching", tested, None, f"best {best:.2f}, bound {limit:.2f}")

    return tell


def certificate(
    problem: Problem, loss: int, bound: int, tested: int, seconds: float
) -> dict[str, Any]:
    """Return the JSON object that says how good a loss is: in the metric's unit.

    Numbers of combinations that a float cannot hold are written as texts.
    """
    best, limit = problem.score(loss), problem.score(min(bound, loss))
    total = problem.combinations
    return {
        "best": best,
        "bound": limit,
        "gap": abs(limit - best),
        "optimal": bound >= loss,
        "tested": tested,
        "total": total if total < 2**53 else str(total),
        "seconds": seconds,
    }
