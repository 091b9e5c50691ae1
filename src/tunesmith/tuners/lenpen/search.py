"""The exponent and the weights together: fits at some exponents, and exact searches between them.

For fixed weights the best exponent is found exactly (``line``), and for a fixed exponent any tuner
finds weights. A ridge may lead slantwise through both, along which neither alone goes far: so it
begins with exponents over the whole range, halves the distances around the best, walks from there
to other exponents near and far, each followed by a short climb, and ends with whole fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.interruption import Interruption, check, returns_so_far, uninterrupted
from tunesmith.progress import progress
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.lenpen.line import along_exponent, short_number
from tunesmith.tuners.lenpen.normalised import NormalisedLists

#: Exponents over the whole range to begin with.
COARSE = 9
#: How often distances around the best are halved, with two exponents on each side of it.
HALVINGS = 3
#: Where fits begin anew around the best exponent, in units of the last distance.
FRESH = (-1.0, -0.5, 0.0, 0.5, 1.0)
#: Walks to other exponents, twice, and how far they go: from this share of the range to that.
WALKS, NEAREST, FARTHEST = 50, 1 / 256, 1 / 8
#: Fits at the best exponent, at most: it stops after one that gains nothing.
MOST = 5

#: Tunes on lists at some exponent, from some weights.
Fit = Callable[[float, Mapping[str, float] | None], TuneResult]
#: Goes uphill at some exponent, from some weights, and no farther.
Climb = Callable[[float, Weights], Weights]


@dataclass
class LenpenSearch:
    """A search for the exponent and the weights.

    Attributes
    ----------
    lists
        What is tuned on.
    fit
        Finds weights at an exponent.
    climb
        Improves weights at an exponent; None where a tuner has no short form.
    rng
        Where walks go.
    best
        Gain, exponent, weights, and the fit that they come from.
    tried
        Exponent and score of each fit.
    stopped
        After what an interruption came; None without one.
    """

    lists: NormalisedLists
    fit: Fit
    climb: Climb | None
    rng: np.random.Generator
    best: tuple[float, float, Weights, TuneResult] | None = None
    tried: list[dict[str, float]] = field(default_factory=list)
    line_searches: int = 0
    stopped: str | None = None

    def run(self, start: Mapping[str, float] | None, begin: float) -> None:
        """Search; it begins with ``start`` at the exponent ``begin``."""
        try:
            self._run(start, begin)
        except Interruption:
            if self.best is None or not returns_so_far():
                raise
            self.stopped = f"interrupted after {len(self.tried)} exponents"
        with uninterrupted():
            self._settle()

    def _run(self, start: Mapping[str, float] | None, begin: float) -> None:
        low, high = self.lists.lenpen.low, self.lists.lenpen.high
        coarse = [short_number(x - 1e-3, x + 1e-3) for x in np.linspace(low, high, COARSE)]
        coarse = [float(np.clip(x, low, high)) for x in coarse]
        if low < begin < high:
            coarse.append(begin)
        self._count = len(coarse) + 3 * HALVINGS + len(FRESH) + 1
        for exponent in coarse:
            self._try(exponent, start)
        distance = (high - low) / (COARSE - 1)
        for _ in range(HALVINGS):
            distance *= 0.5
            _, middle, weights, _ = self._best
            for steps in (-2, -1, 1, 2):
                exponent = _short(middle + steps * distance)
                nearest = min(abs(entry["exponent"] - exponent) for entry in self.tried)
                if low <= exponent <= high and nearest >= 0.5 * distance:
                    self._try(exponent, weights)
        self._walk()
        # Fits from weights that are good already end in the same place; some begin where the
        # first ones did, at exponents that those did not have.
        _, middle, _, _ = self._best
        for share in FRESH:
            exponent = _short(middle + share * distance)
            if low <= exponent <= high:
                self._try(exponent, start)
        self._walk()
        for _ in range(MOST):
            before, exponent, weights, _ = self._best
            self._try(exponent, weights, is_last=True)
            if self._best[0] <= before:
                break

    def _walk(self) -> None:
        """Climb from the best weights at other exponents."""
        if self.climb is None:
            return
        low, high = self.lists.lenpen.low, self.lists.lenpen.high
        for _ in range(WALKS):
            check()
            _, middle, weights, result = self._best
            share = float(np.exp(self.rng.uniform(np.log(NEAREST), np.log(FARTHEST))))
            step = self.rng.choice([-1.0, 1.0]) * share * (high - low)
            exponent = float(np.clip(middle + step, low, high))
            self._look(exponent, self.climb(exponent, weights), result)

    def _settle(self) -> None:
        """Take a short number from the middle of the interval, where walks end anywhere in it.

        An exponent of 0 stays: nothing is divided then.
        """
        gain, exponent, weights, result = self._best
        top, other, _, _ = along_exponent(self.lists, weights).best()
        if exponent != 0.0 and top >= gain and self._gain(other, weights) >= gain:
            self.best = self._gain(other, weights), other, weights, result

    @property
    def _best(self) -> tuple[float, float, Weights, TuneResult]:
        assert self.best is not None  # the first fit has set it
        return self.best

    def _try(
        self, exponent: float, start: Mapping[str, float] | None, is_last: bool = False
    ) -> None:
        """Fit, and look for a better exponent for what was found.

        The last fit is taken where it gains nothing too: its weights have the scale of a result.
        """
        result = self.fit(exponent, start)
        self.tried.append({"exponent": exponent, "score": result.score})
        self.line_searches += result.line_searches
        weights = Weights.from_dict({**result.weights})
        if is_last and self._gain(exponent, weights) == self._best[0]:
            self.best = self._best[0], exponent, weights, result
        self._look(exponent, weights, result)
        progress("exponents", len(self.tried), max(self._count, len(self.tried)))
        check()

    def _look(self, exponent: float, weights: Weights, result: TuneResult) -> None:
        """Look along the exponent with some weights, and keep what is best."""
        gain = self._gain(exponent, weights)
        self._take(gain, exponent, weights, result)
        self.line_searches += 1
        better, other, _, _ = along_exponent(self.lists, weights).best()
        if better > max(gain, self._best[0]):
            # Counted afresh: an interval may be there by rounding alone.
            self._take(self._gain(other, weights), other, weights, result)

    def _gain(self, exponent: float, weights: Weights) -> float:
        at = self.lists.at(exponent)
        return float(at.metric.gain(at.total_at(weights.aligned(at.names))))

    def _take(self, gain: float, exponent: float, weights: Weights, result: TuneResult) -> None:
        if self.best is None or gain > self.best[0]:
            self.best = gain, exponent, weights, result

    def told(self) -> dict[str, Any]:
        """Return what a result says of the exponent."""
        _, exponent, weights, _ = self._best
        steps = along_exponent(self.lists, weights)
        k = int(np.searchsorted(steps.edges, exponent))
        ends = [steps.low, *steps.edges.tolist(), steps.high]
        divided = zip(self.lists.names, self.lists.divided, strict=True)
        return {
            "length": self.lists.length,
            "exponent": exponent,
            "low": ends[k],
            "high": ends[k + 1],
            "range": [steps.low, steps.high],
            "plain": [name for name, is_divided in divided if not is_divided],
            "tried": self.tried,
        }


def _short(exponent: float) -> float:
    return short_number(exponent - 1e-4, exponent + 1e-4)
