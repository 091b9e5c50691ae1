"""The exact optimum over up to three weights, or over two with the others as they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, to_size_of
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Point
from tunesmith.interruption import check, is_interrupted, uninterrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.combination import Combination
from tunesmith.registry import Texts, option, texts
from tunesmith.search.exact.extreme import check_tolerance
from tunesmith.search.plane.search import TOLERANCE, PlaneResult, Slice, search_slice
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS, Outcome, Tuner, score_of

#: As many features as one can see at once: their weights are a sphere.
MOST_FEATURES = 3


def _names(flag: str, value: str | Iterable[str]) -> tuple[str, ...]:
    parts = (part.strip() for text in texts(flag, value) for part in text.split(","))
    return tuple(part for part in parts if part)


@TUNERS.register("plane")
@dataclass(frozen=True)
class Plane(Tuner):
    """Exact search: the best of all weights of up to three features, proven.

    It scores all regions of the weights in which no winner changes (Waite and Byrne 2015), for
    any metric. If there are more features, name two; the others keep their starting weights.
    """

    features: Texts = option(
        (),
        "the two weights that vary; all of them, if there are at most three",
        "NAME,NAME",
        convert=_names,
    )
    time_limit: float | None = option(
        None, "seconds after which the best weights so far are returned [default: none]", above=0
    )
    tolerance: float = option(
        TOLERANCE,
        "size, relative to the weights, of the smallest region that counts",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features and not len(self.features) == len({*self.features}) == 2:
            raise UsageError(
                f"features names {', '.join(self.features)}; give two different ones, as A,B"
            )
        check_tolerance(self.tolerance)

    def check_features(self, names: tuple[str, ...], strict: bool) -> None:
        """Raise an error if there are too many features, or those named are not there."""
        for name in self.features:
            if name not in names:
                raise UnknownNameError("feature", name, names)
        if not self.features and len(names) > MOST_FEATURES:
            raise UsageError(
                f"there are {len(names)} features, and plane finds the best of at most "
                f"{MOST_FEATURES}; name two with --features A,B, --keep three, or use --tuner mert"
            )

    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Search everywhere; the start itself is a choice too."""
        started = working_seconds()
        until = np.inf if self.time_limit is None else started + self.time_limit
        hypotheses = tuning.hypotheses()
        spread = hypotheses.spread()
        begin = 1.0 / spread if start is None else start.copy()
        varied = self._varied(hypotheses.names, begin * spread)
        first = hypotheses.point(begin)
        where = _slice(spread, begin, varied)
        with uninterrupted():  # it ends when it is asked to
            result = search_slice(hypotheses, where, self.tolerance, until)
        if result.point is None:
            check()
        best = result.point
        if best is not None and not where.half.any():
            best = hypotheses.scaled(best, to_size_of(begin * spread, best.weights * spread))
        if best is None or best.gain < first.gain:
            best = first
        history = [_entry(first, None, 0)]
        if best is not first:
            # Values that differ by hundreds of orders of magnitude have no radius.
            radius = {"radius": result.radius} if np.isfinite(result.radius) else {}
            history.append(_entry(best, "plane", result.lines) | radius)
        seconds = working_seconds() - started
        certificate = _certificate(tuning, best, result, seconds)
        if varied:
            a, b = (hypotheses.names[d] for d in varied)
            certificate["within"] = f"the plane of {a} and {b}"
        stopped = f"{result.lines} of {result.total} lines" if is_interrupted() else None
        return Outcome(best.weights, history, result.lines, certificate, stopped=stopped)

    def _varied(self, names: tuple[str, ...], sizes: Floats) -> tuple[int, ...]:
        """Return which two weights vary; none where all of them do.

        ``fit`` asks for names if there are many features; without it, the two with the most
        influence are taken.
        """
        if self.features:
            chosen = tuple(names.index(name) for name in self.features)
            return () if len(names) == len(chosen) else chosen
        if len(names) <= MOST_FEATURES:
            return ()
        order = np.argsort(-np.abs(sizes), kind="stable")[:2]
        return tuple(sorted(order.tolist()))


def _slice(spread: Floats, begin: Floats, varied: tuple[int, ...]) -> Slice:
    if not varied:
        return Slice.whole(spread)
    first, second = np.eye(len(spread))[list(varied)]
    others = begin.copy()
    others[list(varied)] = 0.0
    return Slice.plane(spread, others, first, second)


def _entry(point: Point, direction: str | None, lines: int) -> dict[str, Any]:
    return {"direction": direction, "gain": point.gain, "line_searches": lines}


def _certificate(
    tuning: TuningSet, best: Point, result: PlaneResult, seconds: float
) -> dict[str, Any]:
    """Return what no weights of the slice can do better than."""
    score = score_of(tuning.metric, best.gain)
    bound: float | None = score
    if not result.complete or result.point is None:
        ceiling = _ceiling(tuning)
        bound = None if ceiling is None else score_of(tuning.metric, max(ceiling, best.gain))
    return {
        "best": score,
        "bound": bound,
        "gap": None if bound is None else abs(bound - score),
        "optimal": bound == score,
        "tested": result.lines,
        "total": result.total,
        "seconds": seconds,
    }


def _ceiling(tuning: TuningSet) -> float | None:
    """Return a gain that no choice of candidates exceeds, where one is known.

    The oracle's if each group chooses by itself; otherwise what a metric in per cent can be at
    most: everything, or no errors.
    """
    metric = tuning.metric
    if tuning.is_sum:
        return float(metric.gain(tuning.total(tuning.oracle().chosen)))
    if isinstance(metric, Combination) or metric.scale != 100.0:
        return None
    return 1.0 if metric.higher_is_better else 0.0
