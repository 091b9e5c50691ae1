"""The exponent and the weights together: fits at some exponents, and exact searches between them.

For fixed weights the best exponent is found exactly (``line``), and for a fixed exponent any tuner
finds weights. A ridge may lead slantwise through both, along which neither alone goes far: so it
begins with exponents over the whole range, halves the distances around the best, and goes back and
forth from there as long as that gains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.progress import progress
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.lenpen.line import along_exponent, short_number
from tunesmith.tuners.lenpen.normalised import NormalisedLists

#: Exponents over the whole range to begin with.
COARSE = 9
#: How often distances around the best are halved.
HALVINGS = 5
#: Fits at the best exponent without a gain after which it stops, and fits there at most.
PATIENCE, MOST = 2, 10

#: Tunes on lists at some exponent, from some weights.
Fit = Callable[[float, Mapping[str, float] | None], TuneResult]


@dataclass
class LenpenSearch:
    """A search for the exponent and the weights.

    Attributes
    ----------
    lists
        What is tuned on.
    fit
        Finds weights at an exponent.
    best
        Gain, exponent, weights, and the fit that they come from.
    tried
        Exponent and score of each fit.
    """

    lists: NormalisedLists
    fit: Fit
    best: tuple[float, float, Weights, TuneResult] | None = None
    tried: list[dict[str, float]] = field(default_factory=list)
    line_searches: int = 0

    def run(self, start: Mapping[str, float] | None, begin: float) -> None:
        """Search; it begins with ``start`` at the exponent ``begin``."""
        low, high = self.lists.lenpen.low, self.lists.lenpen.high
        coarse = [short_number(x - 1e-3, x + 1e-3) for x in np.linspace(low, high, COARSE)]
        coarse = [float(np.clip(x, low, high)) for x in coarse]
        if low < begin < high:
            coarse.append(begin)
        self._count = len(coarse) + 2 * HALVINGS + PATIENCE
        for exponent in coarse:
            if not self._try(exponent, start):
                return
        distance = (high - low) / (COARSE - 1)
        for _ in range(HALVINGS):
            distance *= 0.5
            _, middle, weights, _ = self._best
            for exponent in (middle - distance, middle + distance):
                if low <= exponent <= high and not self._try(_short(exponent), weights):
                    return
        failures = 0
        while failures < PATIENCE and len(self.tried) < len(coarse) + 2 * HALVINGS + MOST:
            before, exponent, weights, _ = self._best
            if not self._try(exponent, weights):
                return
            failures = 0 if self._best[0] > before else failures + 1

    @property
    def _best(self) -> tuple[float, float, Weights, TuneResult]:
        assert self.best is not None  # the first fit has set it
        return self.best

    def _try(self, exponent: float, start: Mapping[str, float] | None) -> bool:
        """Fit, and look for a better exponent for what was found; False if interrupted."""
        result = self.fit(exponent, start)
        metric = self.lists.lists.metric
        weights = Weights.from_dict({**result.weights})
        at = self.lists.at(exponent)
        gain = float(metric.gain(at.total_at(weights.aligned(at.names))))
        self._take(gain, exponent, weights, result)
        self.tried.append({"exponent": exponent, "score": result.score})
        self.line_searches += result.line_searches + 1
        better, other, _, _ = along_exponent(self.lists, weights).best()
        if better > gain:
            # Counted afresh: an interval may be there by rounding alone.
            there = self.lists.at(other)
            better = float(metric.gain(there.total_at(weights.aligned(there.names))))
            self._take(better, other, weights, result)
        progress("exponents", len(self.tried), max(self._count, len(self.tried)))
        return not result.interrupted

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
