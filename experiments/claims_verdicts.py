"""A claim of a paper, what data say to it, and the verdict that follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Numbers = dict[str, dict[str, Any]]
CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"


@dataclass(frozen=True)
class Finding:
    """What our data say to a claim, or to a part of it.

    Attributes
    ----------
    what
        What was measured, and by how many.
    value, low, high
        The number and its interval; NaN where there is none.
    least, most
        What the claim allows.
    shown
        How a number is written.
    """

    what: str
    value: float
    low: float
    high: float
    least: float = -math.inf
    most: float = math.inf
    shown: str = "{:+.2f}"

    @property
    def verdict(self) -> str:
        """Confirmed, refuted or undecided."""
        if math.isnan(self.low) or math.isnan(self.high):
            return UNDECIDED
        if self.least <= self.low and self.high <= self.most:
            return CONFIRMED
        return REFUTED if self.high < self.least or self.low > self.most else UNDECIDED

    def __str__(self) -> str:
        if math.isnan(self.low):
            return self.what
        value, low, high = (self.shown.format(x) for x in (self.value, self.low, self.high))
        return f"{self.what}: {value} ({low} to {high})"


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and how our data answer it.

    Attributes
    ----------
    paper, where, quote
        The sentence and where it stands.
    allowed
        What counts as the claim, in words.
    page, command
        Where our data are, and what makes them.
    find
        Makes the findings of the numbers of all pages; none where nothing was run.
    but
        What the verdict does not say.
    """

    paper: str
    where: str
    quote: str
    allowed: str
    page: str
    command: str
    find: Callable[[Numbers], list[Finding]]
    but: str = ""

    def row(self, numbers: Numbers) -> str:
        """Return the line of the table."""
        found = self.find(numbers)
        verdicts = [f"**{one.verdict}**" for one in found] or [f"**{UNDECIDED}**"]
        data = "<br>".join(map(str, found)) or "not run"
        verdict = verdicts[0] if len(set(verdicts)) == 1 else "; ".join(verdicts)
        cells = [
            f"{self.paper}, {self.where}: “{self.quote}”",
            self.allowed,
            data,
            verdict + (f". {self.but}" if self.but else ""),
            f"[page]({self.page}.md): `{self.command}`",
        ]
        return "| " + " | ".join(cells) + " |"


def share(hits: int, of: int) -> tuple[float, float, float]:
    """Return a share in per cent with Wilson's interval."""
    interval = stats.binomtest(hits, of).proportion_ci(method="wilson")
    return 100 * hits / of, 100 * interval.low, 100 * interval.high


def mean(values: Sequence[float]) -> tuple[float, float, float]:
    """Return a mean with Student's interval."""
    center = float(np.mean(values))
    if len(values) < 2:
        return center, math.nan, math.nan
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    return center, center - half, center + half


def paired(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean difference of pairs with Student's interval."""
    return mean([a - b for a, b in zip(first, second, strict=True)])
