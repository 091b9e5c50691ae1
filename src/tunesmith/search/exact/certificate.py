"""What exact searches are given and what they return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tunesmith.arrays import Floats
from tunesmith.interruption import is_interrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.progress import progress
from tunesmith.search.exact.problem import Problem


def _now() -> float:
    return working_seconds()


@dataclass(frozen=True)
class SearchLimits:
    """When a search stops with what it has.

    Attributes
    ----------
    seconds, tests, megabytes
        At most so much time, so many tested choices, so much memory for what is still open;
        None is no limit.
    started
        When the time began, by :func:`~tunesmith.kernels.compiling.working_seconds`.
    """

    seconds: float | None = None
    tests: int | None = None
    megabytes: float | None = None
    started: float = field(default_factory=_now)

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return working_seconds() - self.started

    @property
    def left(self) -> float:
        """Seconds that are left: none after an interruption, and infinite without a limit."""
        if is_interrupted():
            return 0.0
        return float("inf") if self.seconds is None else self.seconds - self.passed

    def part(self, share: float) -> SearchLimits:
        """Return limits with a share of the time and the tests that are left."""
        return SearchLimits(
            None if self.seconds is None else share * max(self.left, 0.0),
            None if self.tests is None else int(share * self.tests),
            self.megabytes,
        )


@dataclass(frozen=True)
class ExactResult:
    """The best vector found, and what is known about all others.

    Attributes
    ----------
    vector : float64[D]
        Of length 1, for the points of the problem; None if none was found that counts.
    loss
        What it loses, in units of the problem; without a vector, more than any.
    bound
        No vector loses less, among those that count.
    tested
        Choices tested.
    unclear : float64[D]
        A vector that was met and loses less than the bound, but does not count: some winner's
        lead is below the tolerance. None if none was met.
    """

    vector: Floats | None
    loss: int
    bound: int
    tested: int
    unclear: Floats | None = None

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no vector is better."""
        return self.vector is not None and self.bound >= self.loss


class ContradictionError(Exception):
    """A vector that counts beats what was proven: the search itself is wrong."""

    def __init__(self, problem: Problem, loss: int, bound: int) -> None:
        super().__init__(
            f"an exact search contradicts itself: weights reach {problem.score(loss):.10g}, and it "
            f"has proven that none do better than {problem.score(bound):.10g}"
        )


#: Scores that differ by less, relative to their size, are the same: losses are rounded.
SAME = 1e-9

#: Called with the least loss known, the bound and the number of tests so far.
Tell = Callable[[int, int, int], None]


def progress_of(problem: Problem) -> Tell:
    """Return what tells whoever looks on how far a search is."""

    def tell(loss: int, bound: int, tested: int) -> None:
        best, limit = problem.score(loss), problem.score(min(bound, loss))
        progress("searching", tested, None, f"best {best:.2f}, bound {limit:.2f}")

    return tell


def certificate(
    problem: Problem,
    score: float,
    result: ExactResult | None,
    seconds: float,
    best_met: float | None = None,
) -> dict[str, Any]:
    """Return the JSON object that says how good weights of some score are.

    The weights need not be the best found. If any that were met score above all that count,
    because leads below the tolerance decide, the bound is what these reach; ``tie`` says so, and
    ``clear_bound`` what is proven of those that count.

    Parameters
    ----------
    score
        What the weights reach, in the metric's unit.
    result
        What is known; None where there is nothing to choose.
    best_met
        What the best weights reach that were met; those of ``score`` unless given.
    """
    sign = 1.0 if problem.metric.higher_is_better else -1.0
    bound = 0 if result is None else min(result.bound, result.loss)
    best, limit = sign * score, sign * problem.score(bound)
    met = best if best_met is None else max(best, sign * best_met)
    least = SAME * max(1.0, abs(best))
    is_tie = result is not None and met > limit + least
    # Where features differ by rounding alone, a bound may be above what candidates can reach.
    reached = not is_tie and best >= limit - least
    highest = max(met, limit)
    known = {
        "best": score,
        "bound": score if reached else sign * highest,
        "gap": 0.0 if reached else max(0.0, highest - best),
        "optimal": reached,
        "tested": 0 if result is None else result.tested,
        "total": problem.total,
        "seconds": seconds,
    }
    if is_tie:
        known |= {"tie": True, "clear_bound": sign * limit}
    return known
