"""Work on hypotheses that is shared out by the engine in force.

Threads have the hypotheses themselves. Other processes make them of their forests, which they
have already, or get them as they are pickled: made anew of their lists.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Protocol, TypeVar

from tunesmith.inference.hypotheses import Direction, Envelope, Hypotheses, Line, Point
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.local import pieces_of
from tunesmith.parallel.threads import ThreadEngine

R = TypeVar("R")

#: Runs of lines into which the batch of a worker is split.
RUNS = 16


class FollowsLines(Hypotheses, Protocol):
    """Hypotheses that follow one line at a time."""

    def envelope(self, point: Point, direction: Direction) -> Envelope:
        """Follow the winners along a line through the point."""
        ...


def share_out(
    hypotheses: Hypotheses,
    work: Callable[..., R],
    pieces: Sequence[Any],
    *common: Any,
    results: MutableMapping[int, R] | None = None,
) -> list[R]:
    """Return ``[work(hypotheses, piece, *common) for piece in pieces]``, by the engine in force.

    ``results`` is given each result as it comes, by the number of its piece.
    """
    side_by_side: Callable[..., list[R]] | None = getattr(hypotheses, "side_by_side", None)
    if side_by_side is not None:
        return side_by_side(work, pieces, *common, results=results)
    engine = current_engine()
    made_of: Callable[[], tuple[Any, Any]] | None = getattr(hypotheses, "made_of", None)
    if made_of is None or not works_elsewhere():
        return engine.map(work, hypotheses, pieces, *common, results=results)
    data, rest = made_of()
    arguments = type(hypotheses), rest, work
    return engine.map(_rebuild_and_work, data, pieces, *arguments, *common, results=results)


def share_out_lines(
    hypotheses: FollowsLines,
    work: Callable[[Point, Direction, Envelope], R],
    lines: Sequence[Line],
) -> list[R]:
    """Return ``[work(point, direction, envelope)]`` of lines; a worker has one envelope at a time.

    A single line is followed here: forests share that out themselves.
    """
    if len(lines) == 1:
        return _along_lines(hypotheses, [(0, lines[0][1])], [lines[0][0]], work)
    # A point has the scores of all candidates: it is sent once, and not with each line.
    points = {id(point): point for point, _ in lines}
    number = {key: k for k, key in enumerate(points)}
    numbered = [(number[id(point)], direction) for point, direction in lines]
    runs = pieces_of(len(lines), None, RUNS, current_engine().workers)
    pieces = [numbered[run] for run in runs]
    parts = share_out(hypotheses, _along_lines, pieces, list(points.values()), work)
    return [result for part in parts for result in part]


def _along_lines(
    hypotheses: FollowsLines,
    lines: Sequence[tuple[int, Direction]],
    points: Sequence[Point],
    work: Callable[[Point, Direction, Envelope], R],
) -> list[R]:
    """Follow some lines; each is given by the number of its point, and its direction."""
    return [
        work(points[k], direction, hypotheses.envelope(points[k], direction))
        for k, direction in lines
    ]


def works_elsewhere() -> bool:
    """Tell whether other processes work, with memory of their own."""
    return not isinstance(current_engine(), ThreadEngine)


def _rebuild_and_work(
    data: Any, piece: Any, kind: Any, rest: Any, work: Callable[..., R], *common: Any
) -> R:
    return work(kind.made_from(data, rest), piece, *common)
