"""Work on hypotheses that is shared out by the engine in force.

Threads have the hypotheses themselves. Other processes make them of their forests, which they
have already, or get them as they are pickled: made anew of their lists.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, TypeVar

from tunesmith.inference.hypotheses import Hypotheses
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.threads import ThreadEngine

R = TypeVar("R")


def share_out(
    hypotheses: Hypotheses,
    work: Callable[..., R],
    pieces: Sequence[Any],
    *common: Any,
    made: MutableMapping[int, R] | None = None,
) -> list[R]:
    """Return ``[work(hypotheses, piece, *common) for piece in pieces]``, by whoever works.

    ``made`` is given each result as it comes, by the number of its piece.
    """
    engine = current_engine()
    made_of: Callable[[], tuple[Any, Any]] | None = getattr(hypotheses, "made_of", None)
    if made_of is None or not works_elsewhere():
        return engine.map(work, hypotheses, pieces, *common, made=made)
    data, rest = made_of()
    about = type(hypotheses), rest, work
    return engine.map(_made_and_done, data, pieces, *about, *common, made=made)


def works_elsewhere() -> bool:
    """Tell whether other processes work, with memory of their own."""
    return not isinstance(current_engine(), ThreadEngine)


def _made_and_done(
    data: Any, piece: Any, kind: Any, rest: Any, work: Callable[..., R], *common: Any
) -> R:
    return work(kind.made_from(data, rest), piece, *common)
