"""The synthetic part of regularized_mert.py: which directions find weights that are known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tunesmith as ts
from tunesmith.inference.hypotheses import Direction, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.directions.base import DIRECTIONS, Climb
from tunesmith.search.line.search import LineStep

#: What finds directions, and how tables and pictures name it.
FINDERS = {
    "gradient": "gradient",
    "gradient:steps=0": "plain gradient (steps=0)",
    "gradient:paper": "the paper's gradient (paper)",
    "coordinate": "coordinate ascent",
    "powell": "Powell",
    "random": "random",
}
#: The clock is looked at after so many lines.
LINES = 16
#: Points that are kept of a way up.
KEPT = 200
#: The noise of the paper.
NOISE = 200.0


class OutOfTimeError(Exception):
    """The limit is reached."""


@dataclass
class Timed(Climb):
    """A climb that ends at a limit and keeps its best point.

    Attributes
    ----------
    limit
        Seconds, from the first line search on.
    best
        The best point so far.
    trace
        Line searches, seconds and objective of every step.
    """

    limit: float = np.inf
    best: Point | None = None
    trace: list[tuple[int, float, float]] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the climb was made."""
        return time.perf_counter() - self.begun

    def search(self, point: Point, directions: Sequence[Direction]) -> list[LineStep]:
        """Search lines, a few at a time, while there is time."""
        self._keep(point)
        found: list[LineStep] = []
        for first in range(0, len(directions), LINES):
            if self.seconds > self.limit:
                raise OutOfTimeError
            found += super().search(point, directions[first : first + LINES])
        return found

    def take(self, point: Point, direction: Direction, step: LineStep) -> Point:
        """Move, and keep what is better."""
        moved = super().take(point, direction, step)
        self._keep(moved)
        return moved

    def _keep(self, point: Point) -> None:
        if self.best is None or point.gain > self.best.gain:
            self.best = point
            self.trace.append((self.searches, self.seconds, point.gain))


@dataclass(frozen=True)
class Sizes:
    """The size of the synthetic task, the numbers of features, and the limit in seconds."""

    sentences: int
    candidates: int
    features: tuple[int, ...]
    limit: float


def run(
    sizes: Sizes, finders: Sequence[str], seed: int, keep: Callable[[dict[str, Any]], None]
) -> None:
    """Let every direction finder climb on every task; hand over each result as it comes."""
    warm_up(finders)
    for noise in (0.0, NOISE):
        for width in sizes.features:
            candidates, gold = ts.synthetic(sizes.sentences, sizes.candidates, width, noise, seed)
            tuning = ts.TuningSet(candidates, "column:score")
            hypotheses = ListHypotheses(tuning)
            goal = np.array([gold[name] for name in hypotheses.names])
            for finder in finders:
                found = climb(hypotheses, finder, goal, sizes.limit)
                keep({"features": width, "noise": noise, "finder": finder, **found})


def warm_up(finders: Sequence[str]) -> None:
    """Compile what will be timed."""
    candidates, gold = ts.synthetic(20, 10, 4, 0.0, 1)
    hypotheses = ListHypotheses(ts.TuningSet(candidates, "column:score"))
    for finder in finders:
        climb(hypotheses, finder, np.ones(len(gold)), 60.0)


def climb(hypotheses: ListHypotheses, finder: str, gold: Any, limit: float) -> dict[str, Any]:
    """Climb once from equal weights."""
    spread = hypotheses.spread()
    rng = np.random.default_rng(1).spawn(1)[0]  # another stream than that of the gold weights
    way = Timed(hypotheses, spread, rng, ceiling=1.0, limit=limit)
    finished = True
    try:
        DIRECTIONS.create(finder).climb(way, way.begin(np.ones(len(gold))))
    except OutOfTimeError:
        finished = False
    seconds = way.seconds
    if way.best is None:
        raise RuntimeError(f"{finder} searched no line")
    # Scores were added to step by step; what counts is what fresh ones say.
    end = hypotheses.point(way.best.weights)
    lengths = np.linalg.norm(end.weights) * np.linalg.norm(gold)
    at_gold = hypotheses.point(gold).gain
    return {
        "objective": end.gain,
        "at_gold": at_gold,
        "cosine": float(end.weights @ gold / lengths),
        "line_searches": way.searches,
        "seconds": seconds,
        "finished": finished,
        "trace": thinned(way.trace),
    }


def thinned(trace: list[tuple[int, float, float]]) -> list[list[float]]:
    """Return some of many points, the first and the last among them."""
    some = np.unique(np.linspace(0, len(trace) - 1, KEPT).astype(int))
    return [[trace[k][0], round(trace[k][1], 3), round(trace[k][2], 6)] for k in some]


def table(rows: Sequence[dict[str, Any]], sizes: Sizes) -> str:
    """Show objective and cosine, a line for every finder and a column for every width."""
    widths = sorted({row["features"] for row in rows})
    lines = []
    for noise in (0.0, NOISE):
        title = "without noise" if noise == 0.0 else f"with noise, σ = {noise:g}"
        lines += [f"| {title} | " + " | ".join(f"D = {d}" for d in widths) + " |"]
        lines += ["|---" * (1 + len(widths)) + "|"]
        found = {(r["finder"], r["features"]): r for r in rows if r["noise"] == noise}
        for finder, label in FINDERS.items():
            cells = [_cell(found.get((finder, d))) for d in widths]
            if any(cells):
                lines.append(f"| {label} | " + " | ".join(cells) + " |")
        gold = {d: r["at_gold"] for (_, d), r in found.items()}
        cells = [f"{gold[d]:.4f}, 1" if d in gold else "" for d in widths]
        lines += ["| the gold weights themselves | " + " | ".join(cells) + " |", ""]
    limit = f"{sizes.limit:g} s" if sizes.limit < 120 else f"{sizes.limit / 60:g} minutes"
    return (
        f"S = {sizes.sentences}, M = {sizes.candidates}; objective (mean pseudo-BLEU), cosine to "
        f"the gold weights, line searches and seconds; an asterisk where the limit of {limit} "
        "ended the search.\n\n" + "\n".join(lines)
    )


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    star = "" if row["finished"] else "*"
    digits = 5 if row["cosine"] > 0.99 else 3
    cosine = f"{math.floor(10**digits * row['cosine']) / 10**digits:.{digits}f}"
    spent = f"{row['line_searches']} in {row['seconds']:.1f} s{star}"
    return f"{row['objective']:.4f}, {cosine}; {spent}"
