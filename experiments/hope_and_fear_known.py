"""Finished runs of hope_and_fear.py, and how they are called on its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hope_and_fear_runs import Run

Row = dict[str, Any]
TUNERS = {
    "sgd": "SGD",
    "mira": "MIRA",
    "arow": "AROW",
    "min-risk": "minimum risk",
    "mert": "MERT",
}


class Known:
    """The rows of a protocol."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {row["run"]: row for row in rows}

    def __contains__(self, one: Run) -> bool:
        return one.name in self._rows

    def __getitem__(self, one: Run) -> Row:
        return self._rows[one.name]

    def of(self, runs: Iterable[Run]) -> list[Row]:
        """Return what those came to that are finished."""
        return [self[one] for one in runs if one in self]

    def __len__(self) -> int:
        return sum("tuner" in row for row in self._rows.values())

    @property
    def about(self) -> Row | None:
        """How large everything is."""
        return self._rows.get("about")

    @property
    def tests(self) -> list[Row]:
        """How sure the differences of Table 1 are."""
        found: list[Row] = self._rows.get("significance", {}).get("tests", [])
        return found


def best_on_dev(rows: Sequence[Row]) -> Row:
    """Return the run whose best epoch is best on Dev, the first among equals."""
    return max(rows, key=lambda row: max(row["dev"][1:]))


def label(one: Run) -> str:
    """Return what a run is called in a table."""
    if one.tuner == "mert":
        return f"{one.model}, MERT"
    words = [one.model, f"{TUNERS[one.tuner]} {rate(one)}", way(one)]
    if one.mu != Run.mu:
        words.append(f"μ = {one.mu:g}")
    if one.search != Run.search:
        words.append(one.search)
    return ", ".join(words)


def rate(one: Run) -> str:
    """Return the learning rate, and what else AROW has."""
    if one.tuner == "arow":
        return f"η₀ = {one.rate:g}, λ = {one.confidence:g}"
    return f"η = {one.rate:g}"


def way(one: Run) -> str:
    """Return how its learners work together."""
    return "serial" if one.learners == 1 else f"{one.parallel}, p = {one.learners}"
